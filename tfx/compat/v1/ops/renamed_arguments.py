"""Older names of arguments."""

from __future__ import annotations

from typing import Any


def one_of(new_name: str, new: Any, old_name: str, old: Any) -> Any:
    """The value of an argument that has an older name.

    Raises:
        ValueError: both were given.
    """
    if old is None:
        return new
    if new is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old


def only_named(function: str, sentinel: Any) -> None:
    """Refuse positional arguments, whose order is easily mistaken.

    Raises:
        ValueError: there was one.
    """
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)."
        )
