"""``Reference``: what ``ref()`` of a tensor or a variable returns."""

from __future__ import annotations

from typing import Any


class Reference:
    """Hashable wrapper of a tensor or variable, equal to another of the same object."""

    __slots__ = ("_target",)

    def __init__(self, target: Any) -> None:
        self._target = target

    def deref(self) -> Any:
        """The object itself."""
        return self._target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._target is other._target

    def __lt__(self, other: object) -> bool:
        """An order within one process, so that dictionaries by reference can be flattened."""
        if not isinstance(other, Reference):
            return NotImplemented
        return id(self._target) < id(other._target)

    def __hash__(self) -> int:
        return id(self._target)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._target!r}>"
