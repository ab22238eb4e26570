"""Running sums and products along an axis, and their gradients."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.framework.apply import apply
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.ops._support import cast_to, require_dtype, scalar_like, single_axis, tensor
from tfx.ops.arithmetic import divide, multiply
from tfx.ops.comparison import equal


def _scan(op: str, x: Any, axis: Any, exclusive: bool, reverse: bool) -> Tensor:
    x = tensor(x)
    require_dtype(x, x.dtype.is_numeric_compatible, op, "a number dtype")
    attrs = {"exclusive": int(exclusive), "reverse": int(reverse)}
    position = int64_constant(single_axis(axis, x, op))
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
        InvalidArgumentError: an axis out of range, or known only at run time.

    Example:
        >>> import tfx as tf
        >>> tf.cumsum([1, 2, 3]).numpy()
        array([1, 3, 6], dtype=int32)
    """
    return _scan("CumSum", x, axis, exclusive, reverse)


@gradient("CumSum")
def _cumsum_grad(op: OpRecord, dy: Tensor) -> tuple[Tensor | None, None]:
    return _summed_back(op, dy), None


def _summed_back(op: OpRecord, dy: Tensor) -> Tensor:
    """The running sum in the other direction: what depends on an element comes after it."""
    attrs = {**op.attrs, "reverse": 1 - op.attrs.get("reverse", 0)}
    return apply("CumSum", (dy, op.inputs[1]), attrs)


def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The product of all elements up to each one along an axis.

    Its gradient is right where elements are 0 too. Graphs that use it need ONNX opset 26.

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
    slope = divide(_summed_back(op, multiply(dy, op.outputs[0])), apply("Where", (is_zero, one, x)))
    # The first zero on the way stands alone until the second one: there the products without it
    # count. The second one's slope is 0 but grows with the first. Later zeros have neither.
    before = apply("CumSum", (cast_to(is_zero, x.dtype), axis), {**op.attrs, "exclusive": 1})
    first = apply("And", (is_zero, equal(before, zero)))
    second = apply("And", (is_zero, equal(before, one)))
    without = apply("Where", (first, one, x))
    at_first = _summed_back(op, multiply(dy, apply("CumProd", (without, axis), op.attrs)))
    without = apply("Where", (second, one, without))
    others = _summed_back(op, multiply(dy, apply("CumProd", (without, axis), op.attrs)))
    along = apply("Reshape", (cast_to(axis, dtypes.int64), int64_constant([1])))
    first_one = apply("ReduceSum", (apply("Where", (first, x, zero)), along), {"keepdims": 1})
    at_second = apply("Where", (second, multiply(others, first_one), zero))
    at_zero = apply("Where", (first, at_first, at_second))
    return apply("Where", (is_zero, at_zero, slope)), None
