"""What has a position that can be saved: stages, streams of positions, random numbers.

A class names the attributes that make up its position; whatever else it has follows from how it was
made. An attribute that has a position itself is saved and restored in place.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np


class Unsaved(Exception):  # noqa: N818
    """What cannot be saved, in the middle of a position; says why."""


class HasPosition:
    """Base of what goes through elements."""

    __slots__ = ()

    # Plain data, arrays, and parts that have positions themselves.
    _position: ClassVar[tuple[str, ...]] = ()
    # Lists of elements.
    _elements: ClassVar[tuple[str, ...]] = ()

    def save(self) -> Any:
        """The position, as plain data and arrays.

        Raises:
            Unsaved: it cannot be saved.
        """
        names = (*self._position, *self._elements)
        return {name: _saved(getattr(self, name)) for name in names}

    def restore(self, state: Any) -> None:
        """Continue from a saved position."""
        for name in self._position:
            part = getattr(self, name)
            if isinstance(part, HasPosition):
                part.restore(state[name])
            else:
                setattr(self, name, state[name])
        for name in self._elements:
            setattr(self, name, [tuple(leaves) for leaves in state[name]])


def _saved(value: Any) -> Any:
    """A value that nobody changes any more."""
    if isinstance(value, HasPosition):
        return value.save()
    if isinstance(value, list):
        return [_saved(x) for x in value]
    return value.copy() if isinstance(value, np.ndarray) else value
