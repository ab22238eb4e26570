"""Places of a program that can get new parts without a notification.

A plain list, a dict, an object of a plain class: none reports what is put into it. A ``Place``
remembers how one looked, so that a later look tells whether a walk over it would be worthwhile.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

from tfx.framework.trackable import attributes, members


class Place(NamedTuple):
    """A container or plain object below an object that is held weakly.

    Attributes:
        owner: The object.
        path: Names of the edges from the owner to the place.
        mark: What was in it.
    """

    owner: weakref.ref[Any]
    path: tuple[str, ...]
    mark: tuple[int, ...]

    def changed(self) -> bool:
        """True if something else is in it now."""
        item = self.owner()
        if item is None:
            return False
        try:
            for name in self.path:
                item = next((part for key, part in members(item) if key == name), None)
            return mark_of(item) != self.mark
        except (TypeError, ValueError, RuntimeError):  # changed by another thread, or not walkable
            return True


def mark_of(item: Any) -> tuple[int, ...]:
    """Return numbers that identify the parts of an object; other numbers mean other parts."""
    if isinstance(item, Mapping):
        return tuple(map(id, item.values()))
    if isinstance(item, list | tuple):
        return tuple(map(id, item))
    return tuple(map(id, attributes(item).values()))
