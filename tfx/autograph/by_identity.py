"""``ByIdentity``: facts about objects that may be equal without being the same."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class ByIdentity(Generic[_K, _V]):
    """A table of objects, which it does not keep alive."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[_K], _V]] = {}

    def get(self, key: _K) -> _V | None:
        """The value of an object, None if there is none."""
        entry = self._entries.get(id(key))
        return entry[1] if entry is not None and entry[0]() is key else None

    def set(self, key: _K, value: _V) -> None:
        """Give an object a value."""
        number, entries = id(key), self._entries

        def forget(reference: weakref.ref[_K]) -> None:
            entry = entries.get(number)
            if entry is not None and entry[0] is reference:
                del entries[number]

        entries[number] = (weakref.ref(key, forget), value)
