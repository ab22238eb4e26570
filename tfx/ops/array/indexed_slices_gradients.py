"""Gradient rules that give and take ``IndexedSlices``: gathered rows, and what hands them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices, slices_like
from tfx.framework.context import current
from tfx.framework.convert import int64_constant
from tfx.framework.indexed_slices_rules import slices_gradient
from tfx.framework.indices import counted_from_the_front
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import Tensor
from tfx.ops.array.indexed_slices import dense, dense_shape_of, slices_at
from tfx.ops.common.arguments import cast_to
from tfx.ops.common.shapes import rank_of, raw_shape


@slices_gradient("Gather")
def _gather(op: OpRecord, dy: Any) -> Any:
    """The rows as they are.

    Only where the axis is written out, as ``tf.gather`` does: ``x[i]`` has a dense gradient, as in
    TensorFlow.
    """
    x, indices = op.inputs
    if op.attrs.get("axis") != 0:
        return NotImplemented
    size = ox.Squeeze(ox.Shape(x, start=0, end=1))
    return slices_at(counted_from_the_front(indices, size), dense(dy), x), None


@slices_gradient("GatherND")
def _gather_nd(op: OpRecord, dy: Any) -> Any:
    """Coordinates of the first axis alone are the numbers of rows."""
    x, indices = op.inputs
    shape = raw_shape(indices)
    if op.attrs.get("batch_dims", 0) or shape is None or shape[-1] != 1:
        return NotImplemented
    size = ox.Squeeze(ox.Shape(x, start=0, end=1))
    rows = ox.Squeeze(indices, int64_constant([-1]))
    rows = counted_from_the_front(rows, size)
    return slices_at(rows, dense(dy), x), None


def _passes(of_values: Callable[[OpRecord, Tensor], Tensor]) -> Callable[..., Any]:
    """A rule for an operator of one input that treats every row alike."""

    def rule(op: OpRecord, dy: Any) -> Any:
        if not isinstance(dy, IndexedSlices):
            return NotImplemented
        return (slices_like(dy, of_values(op, dy.values)),)

    return rule


slices_gradient("Identity", hands_on=True)(_passes(lambda op, values: values))
slices_gradient("Neg", hands_on=True)(_passes(lambda op, values: ox.Neg(values)))
slices_gradient("Cast", hands_on=True)(
    _passes(lambda op, values: cast_to(values, op.inputs[0].dtype))
)


@slices_gradient("Sum", hands_on=True)
def _sum(op: OpRecord, dy: Any) -> Any:
    """The same to each of several tensors of one shape."""
    if not isinstance(dy, IndexedSlices):
        return NotImplemented
    shapes = [x.shape for x in op.inputs]
    if not all(s.is_fully_defined() and s == shapes[0] for s in shapes):
        return NotImplemented
    return [dy if needed else None for needed in op.needs]


@slices_gradient("Add", "Sub", hands_on=True)
def _add(op: OpRecord, dy: Any) -> Any:
    """A scalar that is added does not change the rows; a tensor of the same shape has them too.

    The latter while tracing only: eagerly TensorFlow gives dense gradients there.
    """
    if not isinstance(dy, IndexedSlices):
        return NotImplemented
    x, y = op.inputs
    same = current().graph is not None and x.shape.is_fully_defined() and x.shape == y.shape
    if not same and (op.needs[1] or rank_of(y) != 0) and (op.needs[0] or rank_of(x) != 0):
        return NotImplemented
    of_y = dy if op.op == "Add" else -dy
    return dy if op.needs[0] else None, of_y if op.needs[1] else None


@slices_gradient("Concat", hands_on=True)
def _concat(op: OpRecord, dy: Any) -> Any:
    """Give each tensor the rows of the gradient that are its own."""
    axis, known = op.attrs["axis"], all(x.shape.is_fully_defined() for x in op.inputs)
    if not isinstance(dy, IndexedSlices) or not known:
        return NotImplemented
    axis %= op.inputs[0].shape.rank
    sizes = [x.shape[axis] for x in op.inputs]
    if axis:
        parts = ox.Split(dy.values, int64_constant(sizes), axis=axis, outputs=len(sizes))
        return [
            IndexedSlices(part, dy.indices, dense_shape_of(x)) if needed else None
            for part, x, needed in zip(parts, op.inputs, op.needs, strict=True)
        ]
    indices = cast_to(dy.indices, dtypes.int64)
    total = sum(sizes)
    behind = ox.Less(indices, int64_constant(0))
    indices = ox.Where(behind, ox.Add(indices, int64_constant(total)), indices)
    found, start = [], 0
    for x, size, needed in zip(op.inputs, sizes, op.needs, strict=True):
        found.append(_between(dy, indices, start, size, x) if needed else None)
        start += size
    return found


def _between(dy: IndexedSlices, indices: Tensor, start: int, size: int, x: Tensor) -> IndexedSlices:
    """Return the ``size`` rows from ``start`` on."""
    inside = ox.And(
        ox.GreaterOrEqual(indices, int64_constant(start)),
        ox.Less(indices, int64_constant(start + size)),
    )
    rows = ox.Compress(dy.values, inside, axis=0)
    own = ox.Sub(ox.Compress(indices, inside), int64_constant(start))
    return slices_at(cast_to(own, dy.indices.dtype), rows, x)
