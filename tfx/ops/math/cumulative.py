"""Running sums, products and sums of exponentials along an axis, and their gradients."""

from __future__ import annotations

import math
from typing import Any

from tfx.core import dtypes
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient, linear
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.common.arguments import (
    cast_to,
    numpy_as_integers,
    require_dtype,
    scalar_like,
    single_axis,
    tensor,
    with_last_axis,
)
from tfx.ops.common.batching import along_axes, batching
from tfx.ops.common.dynamic_axis import folded, found_axis, late_axis
from tfx.ops.common.shapes import dimension, known_rank, raw_shape
from tfx.ops.common.traced_once import Composite
from tfx.ops.math.arithmetic import divide, multiply
from tfx.ops.math.comparison import equal
from tfx.ops.math.elementwise import log1p

# A running product has right derivatives so far where many elements are 0.
_ORDERS = 3


def _scan(op: str, x: Any, axis: Any, exclusive: bool, reverse: bool) -> Tensor:
    x = tensor(x)
    require_dtype(x, x.dtype.is_numeric_compatible, op, "a number dtype")
    attrs = {"exclusive": int(exclusive), "reverse": int(reverse)}
    late = late_axis(axis, op)
    if late is None:
        position = int64_constant(single_axis(numpy_as_integers(axis), x, op))
    else:
        position = ox.Reshape(late, int64_constant([]))
    if x.dtype.is_integer and x.dtype.size < 4:
        return cast_to(apply(op, (cast_to(x, dtypes.int32), position), attrs), x.dtype)
    return apply(op, (x, position), attrs)


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The sum of all elements up to each one along an axis.

    Args:
        x: Tensor of a number dtype, or a value convertible to one.
        axis: The axis; negative ones count from the end.
        exclusive: Leave the element itself out.
        reverse: Go from the end to the start.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: an axis out of range.

    Example:
        >>> import tfx as tf
        >>> tf.cumsum([1, 2, 3]).numpy()
        array([1, 3, 6], dtype=int32)
    """
    return _scan("CumSum", x, axis, exclusive, reverse)


@gradient("CumSum")
def _cumsum_grad(op: OpRecord, dy: Tensor) -> tuple[Tensor | None, None]:
    return _summed_back(op, dy), None


linear("CumSum", inputs=(0,))


def _summed_back(op: OpRecord, dy: Tensor) -> Tensor:
    """The running sum in the other direction: what depends on an element comes after it."""
    attrs = {**op.attrs, "reverse": 1 - op.attrs.get("reverse", 0)}
    return ox.CumSum(dy, op.inputs[1], **attrs)


def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The product of all elements up to each one along an axis.

    Its derivatives up to the third are right where elements are 0 too. Graphs that use it need ONNX
    opset 26.

    Example:
        >>> import tfx as tf
        >>> tf.math.cumprod([2, 3, 4], exclusive=True).numpy()
        array([1, 2, 6], dtype=int32)
    """
    return _scan("CumProd", x, axis, exclusive, reverse)


@gradient("CumProd")
def _cumprod_grad(op: OpRecord, dy: Tensor) -> tuple[Tensor | None, None]:
    x, axis = op.inputs
    zero, one = scalar_like(0, x), scalar_like(1, x)
    is_zero = equal(x, zero)
    slope = divide(_summed_back(op, multiply(dy, op.outputs[0])), ox.Where(is_zero, one, x))
    if isinstance(is_zero, EagerTensor) and not is_zero.view().any():
        return slope, None
    # At a zero count the products without it. They are 0 behind other zeros, but grow with those:
    # the n-th zero on the way has only slopes of order n and higher. Each has a place of its own
    # along a new last axis.
    before = ox.CumSum(cast_to(is_zero, x.dtype), axis, **{**op.attrs, "exclusive": 1})
    number = with_last_axis(ox.Where(is_zero, before, scalar_like(-1, x)))
    chosen = equal(number, tensor(range(_ORDERS), x.dtype))
    without = ox.Where(chosen, one, with_last_axis(x))
    inner = OpRecord(op.op, op.attrs, (without, _before_last(axis)), ())
    products = ox.CumProd(*inner.inputs, **op.attrs)
    slopes = _summed_back(inner, multiply(with_last_axis(dy), products))
    own = ox.Where(chosen, slopes, zero)
    at_zero = ox.ReduceSum(own, int64_constant([-1]), keepdims=0)
    return ox.Where(is_zero, at_zero, slope), None


def _before_last(axis: Tensor) -> Tensor:
    """The same axis of a tensor that got a new last one."""
    moved = cast_to(ox.Less(axis, scalar_like(0, axis)), axis.dtype)
    return ox.Sub(axis, moved)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The logarithm of the running sum of exponentials, without leaving the range of numbers.

    Args:
        x: Tensor of a floating dtype.
        axis: The axis; negative ones count from the end. Its length is best known statically:
            otherwise the work is that of its square.
        exclusive: Leave the element itself out; the first one is minus infinity.
        reverse: Go from the end to the start.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: an axis out of range, or not a floating dtype.

    Example:
        >>> import tfx as tf
        >>> tf.math.cumulative_logsumexp([1e3, 1e3, 1e3]).numpy().round(2)
        array([1000.  , 1000.69, 1001.1 ], dtype=float32)
    """
    op = "CumulativeLogsumexp"
    found = tensor(x)
    require_dtype(found, found.dtype.is_floating, op, "a floating dtype")
    late = found_axis(axis, found, op)
    if late is not None:
        around = folded(found, late)
        summed = cumulative_logsumexp(around.x, 1, exclusive, reverse)
        result = around.unfolded(summed, around.size)
        result.set_shape(found.shape)
        return result
    place = single_axis(axis, found, op)
    place += known_rank(found, op) if place < 0 else 0
    size = found.shape[place]
    if exclusive and size != 0:
        found = _moved(found, place, 1, reverse)
    if size is None:
        return _by_pairs(found, place, reverse)
    step = 1
    while step < size:
        (found,) = _log_of_sum(
            found, _moved(found, place, step, reverse), shapes=[raw_shape(found)]
        )
        step *= 2
    return found


def _log_of_sum_body(x: Tensor, y: Tensor) -> tuple[Tensor]:
    """The larger one, and ``log(1 + exp(-d))`` of how far the other one is below it."""
    apart = ox.Where(ox.Equal(x, y), scalar_like(0, x), ox.Abs(ox.Sub(x, y)))
    return (ox.Add(ox.Max(x, y), log1p(ox.Exp(ox.Neg(apart)))),)


def _share(x: Tensor, y: Tensor) -> Tensor:
    """The slope by the first one: its part of the sum."""
    return ox.Sigmoid(ox.Where(ox.Equal(x, y), scalar_like(0, x), ox.Sub(x, y)))


_log_of_sum = Composite(_log_of_sum_body, "log_add_exp", [_share, lambda x, y: _share(y, x)])


def _moved(x: Tensor, axis: int, step: int, reverse: bool) -> Tensor:
    """Moved along an axis, with what stands for the logarithm of zero at the other end."""
    least = scalar_like(-math.inf, x)
    pads = int64_constant([0, step] if reverse else [step, 0])
    along = int64_constant([axis])
    wide = ox.Pad(x, pads, least, along)
    start, end = (step, 2**62) if reverse else (0, -step)
    return ox.Slice(wide, int64_constant([start]), int64_constant([end]), along)


def _by_pairs(x: Tensor, axis: int, reverse: bool) -> Tensor:
    """Compare all pairs of places, for a length that is known at run time only."""
    size = ox.Squeeze(dimension(x, axis))
    steps = ox.Range(int64_constant(0), size, int64_constant(1))
    rows = ox.Unsqueeze(steps, int64_constant([1]))
    counted = ox.LessOrEqual(*((rows, steps) if reverse else (steps, rows)))
    behind = known_rank(x, "CumulativeLogsumexp") - axis - 1
    counted = ox.Unsqueeze(counted, int64_constant(range(2, behind + 2)))
    least = scalar_like(-math.inf, x)
    chosen = ox.Where(counted, ox.Unsqueeze(x, int64_constant([axis])), least)
    return ox.ReduceLogSumExp(chosen, int64_constant([axis + 1]), keepdims=0)


batching("CumSum", "CumProd")(along_axes)
