"""``reduce_retracing``: fewer traces by leaving open what has varied.

Owns, for one function, the shapes that calls of one kind had so far. Where two calls differ in
nothing but shapes, the next trace is made for what both have in common: a size that varied is left
open, and where ranks varied the whole shape.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from tfx.function.tracing.trace_key import shapes_of, with_shapes


class Relaxed:
    """The shapes that the calls of one function have in common."""

    def __init__(self) -> None:
        # Key without shapes -> the shapes that cover all calls of this kind.
        self._seen: dict[Any, list[Any]] = {}
        # Kinds that could not be traced for an unknown rank: every rank is a kind of its own.
        self._ranked: set[Any] = set()

    def relax(self, key: Any) -> list[Any] | None:
        """The shapes to trace for, None for the call's own.

        Args:
            key: Key of the call that needs a trace.
        """
        shapes = shapes_of(key)
        kind = self._kind(key, shapes)
        previous = self._seen.get(kind)
        if previous is None:
            self._seen[kind] = shapes
            return None
        merged = [
            _merge(a, b, f"arg{i}") for i, (a, b) in enumerate(zip(previous, shapes, strict=True))
        ]
        self._seen[kind] = merged
        return None if merged == shapes else merged

    def traced(self, key: Any, shapes: list[Any], trace: Callable[[list[Any]], Any]) -> Any:
        """Trace for widened shapes; if an unknown rank will not do, for the known ones.

        Args:
            key: Key of the call.
            shapes: What ``relax`` gave.
            trace: Makes a trace for given shapes.
        """
        own = shapes_of(key)
        if all(s is not None or o is None for s, o in zip(shapes, own, strict=True)):
            return trace(shapes)
        try:
            return trace(shapes)
        except Exception:  # whatever the function raises without a rank; it says so again below
            self._ranked.add(_without_shapes(key))
            again = self.relax(key)
            return trace(own if again is None else again)

    def _kind(self, key: Any, shapes: list[Any]) -> Any:
        kind = _without_shapes(key)
        if kind in self._ranked:
            return (kind, tuple(None if s is None else len(s) for s in shapes))
        return kind


def _without_shapes(key: Any) -> Any:
    return with_shapes(key, repeat(None))


def _merge(a: Any, b: Any, name: str) -> Any:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else f"{name}.r{i}" for i, (x, y) in enumerate(zip(a, b, strict=True)))
