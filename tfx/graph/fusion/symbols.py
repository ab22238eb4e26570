"""Shapes of values in which unknown sizes are symbols: equal where it is proved, and only there."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tfx.graph.ir import Node, RawDim, Value

Shape = tuple[RawDim, ...]


class Symbols:
    """The shapes of a graph's values, bodies included."""

    def __init__(self) -> None:
        # With the value, which is kept: else another one could get its ``id``.
        self._shapes: dict[int, tuple[Value, Shape | None]] = {}
        self._fresh = itertools.count()

    def shape(self, value: Value) -> Shape | None:
        """The shape of a value, each unknown size as a symbol of its own; None: of unknown rank."""
        known = self._shapes.get(id(value))
        if known is None:
            said = value.shape
            shape = None if said is None else tuple([self._new() if d is None else d for d in said])
            known = self._shapes[id(value)] = value, shape
        return known[1]

    def known(self, value: Value) -> Shape:
        """The shape of a value whose rank is known."""
        shape = self.shape(value)
        assert shape is not None
        return shape

    def learn_reduced(self, node: Node, axes: Sequence[int], keeps: bool) -> Shape | None:
        """The shape of a reducing node's result: that of its input without axes."""
        (x, *_) = node.inputs
        shape = None if x is None else self.shape(x)
        if shape is not None:
            parts = [1 if axis in axes else size for axis, size in enumerate(shape)]
            shape = tuple([s for axis, s in enumerate(parts) if keeps or axis not in axes])
        return self.learnt(node, shape)

    def learn_product(self, node: Node, turned: bool, right_turned: bool) -> Shape | None:
        """The shape of a product of matrices, each perhaps transposed."""
        left, right = (None if x is None else self.shape(x) for x in node.inputs[:2])
        if left is None or right is None:
            return None
        rows, columns = left[-1 if turned else -2], right[-2 if right_turned else -1]
        return self.learnt(node, (*left[:-2], rows, columns))

    def learn(self, node: Node) -> Shape | None:
        """What an element-wise node's operands broadcast to: its result's shape from now on."""
        return self.learnt(node, self._broadcast(node))

    def learnt(self, node: Node, shape: Shape | None) -> Shape | None:
        """The shape of a node's result from now on; None: what the value says counts."""
        if shape is not None:
            self._shapes[id(node.outputs[0])] = node.outputs[0], shape
        return shape

    def _new(self) -> str:
        return f"?{next(self._fresh)}"

    def _broadcast(self, node: Node) -> Shape | None:
        shapes = [self.shape(x) for x in node.inputs if x is not None]
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes):
            return None
        if known.count(known[0]) == len(known):
            return known[0]
        rank = max(map(len, known))
        said = node.outputs[0].shape
        result: list[RawDim] = []
        for axis in range(-rank, 0):
            sizes = {shape[axis] for shape in known if len(shape) >= -axis} - {1}
            fixed = [size for size in sizes if isinstance(size, int)]
            if len(sizes) <= 1:
                result.append(sizes.pop() if sizes else 1)
            elif fixed:
                result.append(fixed[0])
            else:
                known_size = said[axis] if said is not None and len(said) == rank else None
                # 1, or the name of one of several, would make the smaller shape of larger ones.
                fits = isinstance(known_size, int) and known_size > 1
                result.append(known_size if fits else self._new())
        return tuple(result)


def stretched(shape: Shape, rank: int) -> Shape:
    """A shape with axes of size 1 in front, so that it has a rank."""
    return (1,) * (rank - len(shape)) + shape
