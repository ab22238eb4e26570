"""Rearrangements that several layers need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tfx.graph.ops import Ops

V = TypeVar("V")

# As the end of a slice that goes backwards: the first element is the last one taken.
_FRONT = -(2**63)


def reversed_along(f: Ops[V], x: V, axes: Sequence[int] = (0,)) -> V:
    """A value whose elements are turned around along some axes, the first one if none are named."""
    back = f.ints([-1] * len(axes))
    return f.Slice(x, back, f.ints([_FRONT] * len(axes)), f.ints(axes), back)
