"""Sums over all axes but the last, or over that, as our kernels have them: for CPU plans alone.

Batch and layer normalizations ask for them, biases in gradients do. ``kernels.accurate_sums``
writes such a sum in stages, and where the batch is not known as a branch, in what runs and in what
is saved. Here what it wrote is found, so that a loaded graph has the same results as the one that
was traced. A product of two tensors of one shape that nothing else uses is added up without being
made, and so are the differences of each column to its mean. Gradients of lookups and sums of
segments, which add rows to others by an index, have one, too: 100,000 rows of 8 take 0.7 ms for
9.5, since ONNX Runtime's takes an index for each number.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from tfx.graph.ir import ADD_ROWS, COLUMN_SUM, ROW_SUM, Graph, Node, Value
from tfx.graph.passes.long_sums import LongSum, long_sum, staged_sum
from tfx.graph.passes.pattern_rewriter import PatternRewriter
from tfx.graph.rewrite import Inputs
from tfx.graph.tags import Mark
from tfx.kernels.programs import MAX_RANK

_FLOAT, _INT32, _INT64, _DOUBLE = 1, 6, 7, 11
# How what is there and a row become one, as sums.h numbers it, and of which types.
_WAYS = {"add": 0, "mul": 1, "max": 2, "min": 3}
_BY_SUM = 0
_ADDED, _COMBINED = (_FLOAT, _DOUBLE, _INT32, _INT64), (_FLOAT, _DOUBLE)
# Fewer elements are a part of a program. One column is a vector, more are no channels.
_FEWEST, _FEWEST_COLUMNS, _MOST_COLUMNS = 1 << 14, 2, 1 << 12


def use_sum_kernels(graph: Graph, known: Collection[Value] = ()) -> Graph:
    """A copy of the graph, bodies and callees included, with ``ColumnSum`` and ``RowSum`` nodes.

    Args:
        graph: The graph, with sums in stages.
        known: Inputs that never change. Sums of what is made of such ONNX Runtime computes once.
    """
    found = any(
        node.tag is Mark.PART_OF_SUM or node.op == "ScatterElements" or node.op.startswith("Reduce")
        for node in graph.all_nodes()
    )
    return _Sums(known).run(graph) if found else graph


class _Sums(PatternRewriter):
    counts_shapes = False

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        if node.op == "ScatterElements" and self._add_rows(node, out):
            return
        staged = staged_sum(node, self.made)
        # What is not long is the same by either kernel, and ours is quicker at columns.
        found = staged or (long_sum(node, self.made) if node.tag is None else None)
        if found is not None and self.is_constant(found.x):
            found = None
        of_columns = found is not None and _is_of_columns(found)
        if found is None or not (of_columns or (staged is not None and _is_of_rows(found))):
            super().rewrite(node, self.with_source_of_shape(node, inputs), out)
            return
        rank = len(found.x.shape or ())
        if of_columns:
            op, operands, kept = (
                COLUMN_SUM,
                self._operands(found.x, out),
                rank if found.keeps else 1,
            )
        else:
            op, operands = ROW_SUM, tuple(map(self.value, self._factors(found.x)))
            kept = rank if found.keeps else rank - 1
        attrs = {"mean": int(found.mean), "axes": kept}
        out.nodes.append(Node(op, operands, attrs, node.name, node.source, node.outputs))

    def _add_rows(self, node: Node, out: Graph) -> bool:
        """Write what adds to a tensor, or combines with it, by an index."""
        way = _WAYS.get(node.attrs.get("reduction", "none"))
        if way is None or node.tag is not None or len(node.inputs) != 3:
            return False
        to, indices, x = node.inputs
        if to is None or indices is None or x is None or to.shape is None or x.shape is None:
            return False
        rank = len(to.shape)
        if to.dtype not in (_ADDED if way == _BY_SUM else _COMBINED) or not 0 < rank <= MAX_RANK:
            return False
        axis = node.attrs.get("axis", 0) % rank
        pairs = enumerate(zip(to.shape, x.shape, strict=True))
        # ONNX's operator takes fewer of any axis.
        if any(a != b and i != axis and not (rank == i + 1 == axis + 2) for i, (a, b) in pairs):
            return False
        index = self._index(indices, x, axis)
        rows = self._one_number(x, out) if axis == rank - 1 and index is indices else None
        values = (self.value(to), self.value(index), self.value(x) if rows is None else rows)
        attrs = {"index": index.dtype, "type": to.dtype, "axis": axis, "way": way}
        out.nodes.append(Node(ADD_ROWS, values, attrs, node.name, node.source, node.outputs))
        return True

    def _index(self, indices: Value, x: Value, axis: int) -> Value:
        """An index as it was before it was spread over what stands behind each of its numbers."""
        spread = self.made.by(indices, "Expand")
        index = None if spread is None else spread.inputs[0]
        sizes = x.shape or ()
        if index is None or index.shape is None or len(index.shape) > len(sizes):
            return indices
        own = [1] * (len(sizes) - len(index.shape)) + [*index.shape]
        front = own[:axis] in ([1] * axis, [*sizes[:axis]]) and None not in own[:axis]
        is_one = all(size == 1 for size in own[axis + 1 :])
        return index if front and is_one else indices

    def _one_number(self, x: Value, out: Graph) -> Value | None:
        """What a tensor consists of, if that is one number."""
        made = self.made.any(x)
        if made is None or made.op not in ("Expand", "ConstantOfShape"):
            return None
        source = made.inputs[0] if made.op == "Expand" else None
        number = made.attrs.get("value") if source is None else source.const
        if number is None or number.size != 1:
            return None
        return out.add_constant(number.reshape([1] * len(x.shape or ())), x.dtype)

    def _operands(self, x: Value, out: Graph) -> tuple[Value, ...]:
        """What is added up: a value, two factors, or these and what to subtract from them."""
        factors = self._factors(x)
        parts = [self._shifted(factor) for factor in factors]
        values = tuple(self.value(value) for value, _ in parts)
        if len(factors) < 2 or all(shift is None for _, shift in parts):
            return tuple(map(self.value, factors))
        shifts = [None if shift is None else self.value(shift) for _, shift in parts]
        none = out.add_constant(np.zeros(_columns(x), np.float32), _FLOAT)
        return *values, *(none if shift is None else shift for shift in shifts)

    def _factors(self, x: Value) -> tuple[Value, ...]:
        """The factors of a product that is only added up; else the value alone."""
        product = self.made.by(x, "Mul")
        # Of sizes that are not known either may be 1.
        if product is None or not self.has_one_user(x) or x.shape is None or None in x.shape:
            return (x,)
        factors = tuple(v for v in product.inputs if v is not None and v.shape == x.shape)
        return factors if len(factors) == 2 else (x,)

    def _shifted(self, x: Value) -> tuple[Value, Value | None]:
        """A tensor and what is subtracted from each of its columns."""
        difference = self.made.by(x, "Sub")
        if difference is None:
            return x, None
        value, shift = difference.inputs
        if value is None or shift is None or value.shape != x.shape or shift.shape is None:
            return x, None
        fits = [*shift.shape] == [1] * (len(shift.shape) - 1) + [*(x.shape or ())[-1:]]
        return (value, shift) if fits and len(shift.shape) <= len(x.shape or ()) else (x, None)


def _columns(x: Value) -> int:
    """How many columns there are; 0 where that is not known."""
    last = x.shape[-1] if x.shape else None
    return last if isinstance(last, int) else 0


def _is_of_rows(found: LongSum) -> bool:
    shape = found.x.shape or ()
    return _is_large(found) and [axis % len(shape) for axis in found.axes] == [len(shape) - 1]


def _is_of_columns(found: LongSum) -> bool:
    shape = found.x.shape or ()
    if not _is_large(found):
        return False
    if sorted(axis % len(shape) for axis in found.axes) != list(range(len(shape) - 1)):
        return False
    return _FEWEST_COLUMNS <= _columns(found.x) <= _MOST_COLUMNS


def _is_large(found: LongSum) -> bool:
    """True if a sum is of a tensor that the kernels take, and that may be no part of a program."""
    shape = found.x.shape
    if found.x.dtype != _FLOAT or found.x.const is not None or shape is None:
        return False
    if not 2 <= len(shape) <= MAX_RANK:
        return False
    sizes = [size for size in shape if isinstance(size, int)]
    return len(sizes) < len(shape) or math.prod(sizes) > _FEWEST
