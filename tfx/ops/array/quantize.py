"""Gradients of operators that quantize and dequantize: ``framework.straight_through``.

``DequantizeLinear`` is linear in the scale, so scales can be trained.
"""

from __future__ import annotations

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.batching import BatchedOp, Results, batching
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    filled,
    known_rank,
    reshape_to,
    shape_vector,
)


@gradient("QuantizeLinear", "com.microsoft::QuantizeLinear")
def _quantize_grad(op: OpRecord, dy: Tensor | None) -> list[Tensor | None]:
    """Straight through where the number lay in the range, 0 where it was cut off.

    The scale's part is that of ``x / scale``, without the rounding; with that of the
    ``DequantizeLinear`` behind it, it is the gradient of a learned step size.
    """
    nothing: list[Tensor | None] = [None] * len(op.inputs)
    if dy is None:
        return nothing
    x, scale = op.inputs[:2]
    settings = _Settings(op, scale, known_rank(x, op.op))
    zero = op.inputs[2] if len(op.inputs) > 2 else None
    kind = op.outputs[0].dtype
    low, high = (settings.spread(number, kind, zero, x) for number in _range_of(kind))
    numbers = cast_to(x, dy.dtype)
    inside = ox.And(
        ox.GreaterOrEqual(numbers, cast_to(low, dy.dtype)),
        ox.LessOrEqual(numbers, cast_to(high, dy.dtype)),
    )
    each = cast_to(settings.each(x), dy.dtype)
    dx = ox.Where(inside, ox.Div(dy, each), scalar_like(0, dy))
    dscale = None
    if op.needs[1]:
        terms = ox.Neg(ox.Mul(dx, ox.Div(numbers, each)))
        dscale = cast_to(settings.sums(terms), scale.dtype)
    return [cast_to(dx, x.dtype), dscale, *nothing[2:]]


def _range_of(kind: DType) -> tuple[float, float]:
    """The least and greatest number of a dtype, as far as it is not infinite."""
    return float(kind.min), float(kind.max)


@gradient("DynamicQuantizeLinear")
def _dynamic_quantize_grad(
    op: OpRecord, dy: Tensor | None, dscale: Tensor | None = None, dzero: Tensor | None = None
) -> list[Tensor | None]:
    """Straight through, every number lies in the range; the scale is a part of the range's width.

    What multiplies by the scale again gives it nearly the opposite gradient: they cancel but for
    the rounding.
    """
    x, scale = op.inputs[0], op.outputs[1]
    dx = None
    total = dscale
    if dy is not None:
        dx = ox.Div(dy, scale)
        lost = ox.Neg(ox.Div(ox.ReduceSum(ox.Mul(dx, x), keepdims=0), scale))
        total = lost if total is None else ox.Add(total, lost)
    if total is None:
        return [dx]
    zero, steps = scalar_like(0, x), scalar_like(255, x)
    top, bottom = ox.ReduceMax(x, keepdims=0), ox.ReduceMin(x, keepdims=0)
    share = ox.Div(total, steps)
    above = _share(ox.And(ox.Equal(x, top), ox.Greater(x, zero)), share)
    below = _share(ox.And(ox.Equal(x, bottom), ox.Less(x, zero)), share)
    of_range = ox.Sub(above, below)
    return [of_range if dx is None else ox.Add(dx, of_range)]


def _share(which: Tensor, total: Tensor) -> Tensor:
    """A number shared out among the elements of a mask; nothing if there are none."""
    ones = ox.Cast(which, to=total.dtype.onnx)
    count = ox.Max(ox.ReduceSum(ones, keepdims=0), scalar_like(1, total))
    return ox.Mul(ones, ox.Div(total, count))


@gradient("DequantizeLinear", "com.microsoft::DequantizeLinear")
def _dequantize_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """For the integers ``dy`` times the scale; for a scale the sum of what it multiplies."""
    x, scale = op.inputs[:2]
    settings = _Settings(op, scale, known_rank(dy, "The gradient of DequantizeLinear"))
    rest = [None for _ in op.inputs[2:]]
    dx = ox.Mul(dy, settings.each(x)) if op.needs[0] else None
    if not op.needs[1]:
        return [dx, None, *rest]
    ones = filled(shape_vector(scale), 1, scale.dtype)
    terms = ox.Mul(dy, ox.apply(op.op, (x, ones, *op.inputs[2:]), op.attrs))
    return [dx, settings.sums(terms), *rest]


class _Settings:
    """How scales belong to the elements of a tensor: one to all, to an axis, or to blocks.

    Args:
        op: Quantizes or dequantizes.
        scale: Its scale.
        rank: Of the tensor.
    """

    def __init__(self, op: OpRecord, scale: Tensor, rank: int) -> None:
        self.scale, self.rank = scale, rank
        self.block = int(op.attrs.get("block_size", 0))
        self.axis = int(op.attrs.get("axis", 1)) % max(rank, 1)
        self._attrs = {k: v for k, v in op.attrs.items() if k in ("axis", "block_size")}
        of_vector = scale.shape.rank == 1 and scale.shape[0] != 1
        self.single = not self.block and not (of_vector and rank > 0)

    def each(self, x: Tensor) -> Tensor:
        """The scale of each element, in a form that broadcasts to that of the tensor."""
        return self.spread(1, dtypes.int8, None, x)

    def spread(self, number: float, kind: DType, zero: Tensor | None, x: Tensor) -> Tensor:
        """A quantized number as each element's scale and zero point make of it.

        Args:
            number: The number.
            kind: The quantized dtype.
            zero: The zero points.
            x: The tensor.
        """
        if self.single:
            difference = scalar_like(number, self.scale)
            if zero is not None:
                difference = ox.Sub(difference, ox.Cast(zero, to=self.scale.dtype.onnx))
            return ox.Mul(difference, self.scale)
        if self.block:
            same = filled(shape_vector(x), number, kind)
            return ox.DequantizeLinear(same, self.scale, zero, **self._attrs)
        form = [1] * self.rank
        form[self.axis] = -1
        difference = scalar_like(number, self.scale)
        if zero is not None:
            difference = ox.Sub(difference, ox.Cast(zero, to=self.scale.dtype.onnx))
        return ox.Reshape(ox.Mul(difference, self.scale), int64_constant(form))

    def sums(self, terms: Tensor) -> Tensor:
        """The sums over what has one scale."""
        if self.block:
            return _block_sums(terms, self.scale, self.axis, self.block)
        if self.single:
            total = ox.ReduceSum(terms, keepdims=0)
            return total if self.scale.shape.rank == 0 else reshape_to(total, int64_constant([1]))
        others = int64_constant([a for a in range(self.rank) if a != self.axis])
        return ox.ReduceSum(terms, others, keepdims=0, noop_with_empty_axes=1)


def _block_sums(terms: Tensor, scale: Tensor, axis: int, block: int) -> Tensor:
    """The sums over blocks of an axis; the last block may be shorter."""
    count = dimension(scale, axis)
    missing = ox.Sub(ox.Mul(count, int64_constant([block])), dimension(terms, axis))
    pads = ox.Concat(int64_constant([0]), missing, axis=0)
    whole = ox.Pad(terms, pads, None, int64_constant([axis]))
    apart = reshape_to(
        whole,
        concat_shape(
            shape_vector(terms, 0, axis),
            count,
            int64_constant([block]),
            shape_vector(terms, axis + 1),
        ),
    )
    return ox.ReduceSum(apart, int64_constant([axis + 1]), keepdims=0)


@batching("QuantizeLinear", "DequantizeLinear")
def _quantize_batching(op: BatchedOp) -> Results:
    """Scales of one axis stay with it, those of blocks have all axes."""
    axis = op.attrs.get("axis", 1)
    if op.attrs.get("block_size"):
        full = [op.full(i) if op.given(i) else None for i in range(len(op.inputs))]
        return op.apply(full, {**op.attrs, "axis": axis + 1 if axis >= 0 else axis})
    op.only(0)
    attrs = dict(op.attrs)
    if op.rank(1):
        attrs["axis"] = axis + 1 if axis >= 0 else axis
    return op.apply(op.inputs, attrs)
