"""Observers that are called just before a variable is assigned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Each is called with the variable; usually there are none.
observers: list[Callable[[Any], None]] = []


def tell_observers(variable: Any) -> None:
    """A variable is about to get a new value."""
    for observer in tuple(observers):
        observer(variable)
