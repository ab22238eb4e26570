"""Sums over the iterations of a loop that are better computed once, after it.

The gradient of a weight matrix is a sum of products ``A.T @ B``, one for each iteration. Adding up
matrices of the weight's size costs more than keeping the rows of ``A`` and ``B``, whose product
after the loop is the same sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.graph.ir import Value
from tfx.graph.symbolic_shapes import elements


class DeferredSum:
    """A sum that is computed from values of all iterations.

    Attributes:
        values: What each iteration contributes.
    """

    def __init__(
        self, values: Sequence[Value], finish: Callable[[Sequence[Tensor]], Tensor]
    ) -> None:
        self.values = list(values)
        self._finish = finish

    def total(self, stacked: Sequence[Tensor]) -> Tensor:
        """The sum, of the values of all iterations along a new first axis."""
        return self._finish(stacked)


def late_product(part: Value, changes: Callable[[Value], bool]) -> DeferredSum | None:
    """A sum of products of two matrices, the first of them transposed.

    Args:
        part: What an iteration adds.
        changes: Whether a value is another in each iteration.
    """
    node = part.node
    if node is None or node.op != "Gemm" or len(node.inputs) != 2:
        return None
    if node.attrs.get("transB", 0) or not node.attrs.get("transA", 0):
        return None
    if float(node.attrs.get("alpha", 1.0)) != 1.0:
        return None
    a, b = node.inputs
    if a is None or b is None or not (changes(a) and changes(b)):
        return None
    rows, width, height = _rows(a), _width(a), _width(b)
    if width is None or height is None or _rows(b) is None:
        return None
    if isinstance(rows, int) and rows * (width + height) > 2 * width * height:
        return None  # the rows are larger than the sum

    def finish(stacked: Sequence[Tensor]) -> Tensor:
        x, y = stacked
        return ox.Gemm(_flat(x, width), _flat(y, height), transA=1, transB=0)

    return DeferredSum((a, b), finish)


def late_row_sum(part: Value, kept: Callable[[Value], bool]) -> DeferredSum | None:
    """A sum of sums over the rows of a matrix that is kept anyway.

    Args:
        part: What an iteration adds.
        kept: Whether a value is kept for all iterations.
    """
    node = part.node
    if node is not None and node.op == "Squeeze":
        part = node.inputs[0] or part
        node = part.node
    if node is None or node.op != "ReduceSum" or len(node.inputs) != 2:
        return None
    data, axes = node.inputs
    if data is None or elements(axes) != (0,) or not kept(data):
        return None
    width = _width(data)
    if width is None:
        return None

    def finish(stacked: Sequence[Tensor]) -> Tensor:
        return ox.ReduceSum(_flat(stacked[0], width), int64_constant([0]), keepdims=0)

    return DeferredSum((data,), finish)


def _rows(x: Value) -> int | str | None:
    return x.shape[0] if x.shape is not None and len(x.shape) == 2 else None


def _width(x: Value) -> int | None:
    width = x.shape[1] if x.shape is not None and len(x.shape) == 2 else None
    return width if isinstance(width, int) and width > 0 else None


def _flat(x: Tensor, width: int) -> Tensor:
    """All rows of all iterations."""
    return ox.Reshape(x, int64_constant([-1, width]))
