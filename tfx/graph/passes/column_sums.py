"""Sums over all axes but the last one, as our kernel of columns has them: for CPU plans alone.

Batch normalization asks for them, biases in gradients do. ``kernels.accurate_sums`` writes such a
sum in stages, and where the batch is not known as a branch, in what runs and in what is saved. Here
what it wrote is found, so that a loaded graph has the same results as the one that was traced. A
product of two tensors of one shape that nothing else uses is added up without being made, and so
are the differences of each column to its mean.
"""

from __future__ import annotations

import math

import numpy as np

from tfx.graph.ir import COLUMN_SUM, Graph, Node, Value
from tfx.graph.passes.long_sums import LongSum, staged_sum
from tfx.graph.passes.pattern_rewriter import PatternRewriter
from tfx.graph.rewrite import Inputs
from tfx.graph.tags import Mark
from tfx.kernels.programs import MAX_RANK

_FLOAT = 1
# Fewer elements are a part of a program. One column is a vector, more are no channels.
_FEWEST, _FEWEST_COLUMNS, _MOST_COLUMNS = 1 << 14, 2, 1 << 12


def use_column_sums(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, with ``ColumnSum`` nodes."""
    marked = (n.tag is Mark.PART_OF_SUM for g in (graph, *graph.subgraphs()) for n in g.nodes)
    return _ColumnSums().run(graph) if any(marked) else graph


class _ColumnSums(PatternRewriter):
    def is_user(self, node: Node) -> bool:
        return self.needs_elements(node)

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        found = staged_sum(node, self.made)
        if found is None or not _is_of_columns(found):
            super().rewrite(node, self.with_source_of_shape(node, inputs), out)
            return
        kept = len(found.x.shape or ()) if found.keeps else 1
        out.nodes.append(
            Node(
                COLUMN_SUM,
                self._operands(found.x, out),
                {"mean": int(found.mean), "axes": kept},
                node.name,
                node.source,
                node.outputs,
            )
        )

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


def _is_of_columns(found: LongSum) -> bool:
    shape = found.x.shape
    if found.x.dtype != _FLOAT or found.x.const is not None or shape is None:
        return False
    if not 2 <= len(shape) <= MAX_RANK:
        return False
    if sorted(axis % len(shape) for axis in found.axes) != list(range(len(shape) - 1)):
        return False
    if not _FEWEST_COLUMNS <= _columns(found.x) <= _MOST_COLUMNS:
        return False
    sizes = [size for size in shape if isinstance(size, int)]
    return len(sizes) < len(shape) or math.prod(sizes) > _FEWEST
