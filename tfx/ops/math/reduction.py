"""Sums, products, extremes and truth over axes, and their gradients.

The decision: every ONNX reduction goes through ``_reduce``, which settles what ``axis`` may be
(None, a number, several, a tensor known only at run time). Dtypes that the standard's reductions
lack are computed in a wider one and come back in the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.indices import contents
from tfx.framework.rules import OpRecord, forward, gradient, linear
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.symbolic_shapes import elements
from tfx.graph.traits import operators
from tfx.ops.array.creation import ones_like
from tfx.ops.common.arguments import (
    cast_to,
    reduction_axes,
    require_dtype,
    scalar_like,
    static_ints,
    tensor,
)
from tfx.ops.common.batching import (
    BatchedOp,
    CannotBatchError,
    Results,
    batching,
    shifted,
    shifted_axes,
)
from tfx.ops.common.complex_parts import conjugate
from tfx.ops.common.shapes import concat_shape, filled, raw_shape, shape_vector
from tfx.ops.common.tangents import gradient_of
from tfx.ops.math import integer_reductions
from tfx.ops.math.arithmetic import divide, multiply, subtract
from tfx.ops.math.comparison import equal
from tfx.ops.math.elementwise import exp, is_inf, sign, sqrt

# Less than every sum of weights, and representable in float16.
_TINY = 1e-7
# Elements that are looked at before they are multiplied.
_FEW = 1024
_DROP: dict[str, Any] = {"keepdims": 0}
_KEEP: dict[str, Any] = {"keepdims": 1}


def _reduce(op: str, x: Tensor, axis: Any, keepdims: bool | None) -> Tensor:
    attrs = _KEEP if keepdims else _DROP
    if axis is None:
        known = integer_reductions.reduced(op, x, None, keepdims)
        if known is not None:
            return known
        whole = apply(op, (x,), attrs)
        if not keepdims and isinstance(whole, SymbolicTensor):
            whole.set_shape([])  # of an unknown rank, too
        return whole
    axes = reduction_axes(axis, x, op)
    if isinstance(axes, Tensor):
        result = apply(op, (x, axes), {**attrs, "noop_with_empty_axes": 1})
        rank, count = x.shape.rank, axes.shape[0]
        if rank is not None and (keepdims or count is not None):
            result.set_shape([None] * (rank if keepdims else rank - count))
        return result
    # The standard takes an empty list of axes for all of them.
    if not axes:
        return ox.Identity(x)
    found = integer_reductions.reduced(op, x, axes, keepdims)
    return apply(op, (x, int64_constant(axes)), attrs) if found is None else found


def _reduce_numbers(op: str, x: Any, axis: Any, keepdims: bool | None) -> Tensor:
    x = tensor(x)
    require_dtype(x, x.dtype.is_numeric_compatible, op, "a number dtype")
    if x.dtype.is_integer and x.dtype.size < 4:
        found = _reduce(op, cast_to(x, dtypes.int32), axis, keepdims)
        shape = raw_shape(x)
        if op in ("ReduceMax", "ReduceMin") and (shape is None or not all(map(_is_some, shape))):
            # Of no elements it is the limit of int32.
            limits = scalar_like(x.dtype.min, found), scalar_like(x.dtype.max, found)
            found = ox.Clip(found, *limits)
        return cast_to(found, x.dtype)
    return _reduce(op, x, axis, keepdims)


def _is_some(dimension: object) -> bool:
    """True if a dimension is known not to be 0."""
    return isinstance(dimension, int) and dimension > 0


# What the gradient rules share


def _restore_axes(op: OpRecord, reduced: Tensor) -> Tensor:
    """A result (or its gradient) with the reduced axes as axes of length 1."""
    if op.attrs.get("keepdims", 1) or _axes_of(op) is None:
        return reduced  # without axes it is a scalar, which broadcasts
    return ox.Unsqueeze(reduced, op.inputs[1])


def _axes_of(op: OpRecord) -> Tensor | None:
    """Return the axes; None means all, as does an empty list unless a parameter says otherwise."""
    axes: Tensor | None = op.inputs[1] if len(op.inputs) > 1 else None
    if axes is not None and axes.shape == (0,) and not op.attrs.get("noop_with_empty_axes"):
        return None
    return axes


def _again(op: OpRecord, reduction: str, x: Tensor) -> Tensor:
    """Another reduction over the same axes, which are kept."""
    return apply(reduction, (x, *op.inputs[1:]), {**op.attrs, "keepdims": 1})


def _broadcast_back(op: OpRecord, restored: Tensor) -> Tensor:
    return ox.Expand(restored, shape_vector(op.inputs[0]))


def _result(op: OpRecord, dx: Tensor) -> list[Tensor | None]:
    """The gradients of a reduction's inputs: the axes have none."""
    return [dx, None][: len(op.inputs)]


def reduce_sum(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The sum over axes.

    Args:
        input_tensor: Tensor of a number dtype, or a value convertible to one.
        axis: A number or several; negative ones count from the end. None: all axes.
        keepdims: Keep the axes with length 1.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype. Integers wrap around.

    Raises:
        InvalidArgumentError: an axis out of range or given twice, or a dtype without sums.

    Example:
        >>> import tfx as tf
        >>> tf.reduce_sum([[1, 2], [3, 4]], axis=0).numpy()
        array([4, 6], dtype=int32)
    """
    return _reduce_numbers("ReduceSum", input_tensor, axis, keepdims)


@gradient("ReduceSum")
def _sum_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    return _result(op, _broadcast_back(op, _restore_axes(op, dy)))


linear("ReduceSum", inputs=(0,))


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The mean over axes; of no elements NaN (0 for integers). Means of integers are truncated.

    Example:
        >>> import tfx as tf
        >>> tf.reduce_mean([[1.0, 2.0], [3.0, 5.0]], axis=1).numpy()
        array([1.5, 4. ], dtype=float32)
    """
    x = tensor(input_tensor)
    axes = None if axis is None else reduction_axes(axis, x, "ReduceMean")
    if x.dtype.is_integer and x.dtype.size == 8:
        # Where there is nothing the sum is 0 as well.
        count = ox.Max(cast_to(element_count(x, axes), x.dtype), scalar_like(1, x))
        return ox.Div(_reduce("ReduceSum", x, axis, keepdims), count)
    if not x.dtype.is_floating or _static_count(x, axes):
        return _reduce_numbers("ReduceMean", x, axis, keepdims)
    # ReduceMean of nothing is 0 in ONNX Runtime; the sum over the count is 0 / 0.
    wide = x.dtype if x.dtype.size >= 4 else dtypes.float32
    total = _reduce("ReduceSum", cast_to(x, wide), axis, keepdims)
    return cast_to(ox.Div(total, cast_to(element_count(x, axes), wide)), x.dtype)


def _static_count(x: Tensor, axes: list[int] | Tensor | None) -> int | None:
    """Return the number of elements reduced to one if it is static, else None."""
    shape = x.shape
    if shape.rank is None or isinstance(axes, Tensor):
        return None
    dims = shape.as_list()
    if axes is not None:
        dims = [dims[a] for a in axes]
    return None if None in dims else math.prod(d for d in dims if d is not None)


def element_count(x: Tensor, axes: list[int] | Tensor | None) -> Tensor:
    """Return the number of elements reduced to one, as an int64 scalar.

    Args:
        x: What is reduced.
        axes: The axes, not negative, or a vector of them; None: all axes.
    """
    known = _static_count(x, axes)
    if known is not None:
        return int64_constant(known)
    if axes is None:
        return ox.Size(x)
    where = axes if isinstance(axes, Tensor) else int64_constant(axes)
    return ox.ReduceProd(ox.Gather(ox.Shape(x), where), **_DROP)


@gradient("ReduceMean")
def _mean_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    x, axes = op.inputs[0], _axes_of(op)
    known = _static_count(x, axes if axes is None else static_ints(axes) or axes)
    count = cast_to(element_count(x, axes), dy.dtype) if known is None else scalar_like(known, dy)
    return _result(op, _broadcast_back(op, _restore_axes(op, divide(dy, count))))


linear("ReduceMean", inputs=(0,))


def reduce_max(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The largest element over axes; of no elements the dtype's lowest value.

    The gradient is shared equally by all elements that are the largest. Where an element is NaN
    the result is NaN.

    Example:
        >>> import tfx as tf
        >>> tf.reduce_max([[1, 5], [3, 4]], axis=1).numpy()
        array([5, 4], dtype=int32)
    """
    return _reduce_numbers("ReduceMax", input_tensor, axis, keepdims)


def reduce_min(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The smallest element over axes; of no elements the dtype's highest value.

    The gradient is shared equally by all elements that are the smallest. Where an element is NaN
    the result is NaN.

    Example:
        >>> import tfx as tf
        >>> tf.reduce_min([[1, 5], [3, 4]], axis=1).numpy()
        array([1, 3], dtype=int32)
    """
    return _reduce_numbers("ReduceMin", input_tensor, axis, keepdims)


@gradient("ReduceMax", "ReduceMin")
def _extremum_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    x, y = op.inputs[0], _restore_axes(op, op.outputs[0])
    chosen = cast_to(equal(x, y), dy.dtype)
    share = divide(chosen, _again(op, "ReduceSum", chosen))
    return _result(op, multiply(share, _restore_axes(op, dy)))


def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The product over axes. Its gradient is right where elements are 0 too.

    Products of integers wrap around (of a tensor whose rank is known while tracing).

    Example:
        >>> import tfx as tf
        >>> tf.reduce_prod([[1, 2], [3, 4]], axis=1).numpy()
        array([ 2, 12], dtype=int32)
    """
    x = tensor(input_tensor)
    if x.dtype.is_integer and not _has_small_product(x):
        axes = range(x.shape.rank) if axis is None and x.shape.rank is not None else axis
        axes = None if axes is None else reduction_axes(axes, x, "ReduceProd")
        if not isinstance(axes, Tensor):
            known = integer_reductions.reduced("ReduceProd", x, axes, keepdims) if axes else None
            return _wrapping_product(x, axes, keepdims) if known is None else known
        if x.shape.rank:
            return _late_wrapping_product(x, axes, keepdims, x.shape.rank)
    return _reduce_numbers("ReduceProd", x, axis, keepdims)


def _has_small_product(x: Tensor) -> bool:
    """True if the product is known to fit into int32, as that of a shape in a graph does."""
    if (
        isinstance(x, SymbolicTensor)
        and elements(x._symbol) is not None
        and x._symbol.const is None
    ):
        return True
    known = contents(x)
    if known is None or known.size > _FEW:
        return False
    sizes = np.maximum(np.abs(known.astype(np.float64)), 1)
    with np.errstate(over="ignore"):
        return bool(sizes.prod() < 2.0**31)


def _late_wrapping_product(x: Tensor, axes: Tensor, keepdims: bool, rank: int) -> Tensor:
    """The same over axes that only a run tells: each axis keeps its length or shrinks to 1."""
    axes = ox.Reshape(cast_to(axes, dtypes.int64), int64_constant([-1]))
    zero, one = int64_constant(0), int64_constant([1])
    counted = ox.Where(ox.Less(axes, zero), ox.Add(axes, int64_constant(rank)), axes)
    found = cast_to(x, dtypes.int32 if x.dtype.size < 4 else dtypes.int64)
    for axis in range(rank):
        hits = cast_to(ox.Equal(counted, int64_constant(axis)), dtypes.int64)
        chosen = ox.Greater(ox.ReduceSum(hits, keepdims=0), zero)
        form, size = shape_vector(found), shape_vector(found, axis, axis + 1)
        length = ox.Squeeze(size, int64_constant([0]))
        places = ox.Range(zero, length, int64_constant(1))
        places = ox.Where(chosen, zero, places)
        behind = int64_constant([-1] + [1] * (rank - axis - 1))
        places = ox.Expand(ox.Reshape(places, behind), form)
        line = concat_shape(
            shape_vector(found, 0, axis), ox.Where(chosen, one, size), shape_vector(found, axis + 1)
        )
        start = filled(line, 1, found.dtype)
        found = ox.ScatterElements(start, places, found, axis=axis, reduction="mul")
    found = ox.Squeeze(found, axes)  # which refuses axes that there are not
    if keepdims:
        found = ox.Unsqueeze(found, axes)
        found.set_shape([None] * rank)
    return cast_to(found, x.dtype)


def _wrapping_product(x: Tensor, axes: list[int] | None, keepdims: bool) -> Tensor:
    """A product of integers: kernels of ``ReduceProd`` cut off, those that scatter wrap around.

    Args:
        x: Tensor of an integer dtype.
        axes: The axes; None: all of a tensor whose rank is not known.
        keepdims: Keep the axes with length 1.
    """
    shape = shape_vector(x)
    found = cast_to(x, dtypes.int32 if x.dtype.size < 4 else dtypes.int64)
    if axes is None:
        found = ox.Reshape(found, int64_constant([-1]))
    for axis in [0] if axes is None else axes:
        form = shape_vector(found)
        behind = [shape_vector(found, axis + 1)] if axis != -1 else []
        line = concat_shape(shape_vector(found, 0, axis), int64_constant([1]), *behind)
        parts = filled(line, 1, found.dtype), filled(form, 0, dtypes.int64), found
        found = ox.ScatterElements(*parts, axis=axis, reduction="mul")
    if axes is None:
        ones = ox.Expand(int64_constant(1), ox.Shape(shape))
        found = ox.Reshape(found, ones if keepdims else int64_constant([]))
    elif axes and not keepdims:
        found = ox.Squeeze(found, int64_constant(axes))
    return cast_to(found, x.dtype)


@gradient("ReduceProd")
def _prod_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    x, dy = op.inputs[0], _restore_axes(op, dy)
    zero, one = scalar_like(0, x), scalar_like(1, x)
    is_zero = equal(x, zero)
    others = ox.Where(is_zero, one, x)
    # Elsewhere the product over the element; at a zero the product of the others, if it is alone.
    slope = divide(_restore_axes(op, op.outputs[0]), others)
    count = _again(op, "ReduceSum", cast_to(is_zero, x.dtype))
    zeros = ox.Where(is_zero, x, zero)
    squares = multiply(zeros, zeros)
    sums = [subtract(_again(op, "ReduceSum", z), z) for z in (zeros, squares)]
    share = product_of_zeros(count, *sums)
    at_zero = multiply(_again(op, "ReduceProd", others), share)
    return _result(op, multiply(dy, ox.Where(is_zero, at_zero, slope)))


def product_of_zeros(count: Tensor, others: Tensor, squares: Tensor) -> Tensor:
    """The product of all zeros but one, with the right derivatives up to the third of a product.

    Of two zeros each one's slope is 0, but it grows with the other; of three, with the product of
    the other two.

    Args:
        count: How many zeros there are.
        others: The sum of the others.
        squares: The sum of their squares.
    """
    zero, one = scalar_like(0, others), scalar_like(1, others)
    pair = divide(subtract(multiply(others, others), squares), scalar_like(2, others))
    share = ox.Where(equal(count, one), one, zero)
    share = ox.Where(equal(count, scalar_like(2, others)), others, share)
    return ox.Where(equal(count, scalar_like(3, others)), pair, share)


def reduce_all(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return whether all elements over axes are true; True over no elements.

    Example:
        >>> import tfx as tf
        >>> tf.reduce_all([[True, True], [True, False]], axis=1).numpy()
        array([ True, False])
    """
    return _reduce_truth("ReduceMin", input_tensor, axis, keepdims)


def reduce_any(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return whether any element over axes is true; False over no elements.

    Example:
        >>> import tfx as tf
        >>> tf.reduce_any([[False, True], [False, False]], axis=1).numpy()
        array([ True, False])
    """
    return _reduce_truth("ReduceMax", input_tensor, axis, keepdims)


def _reduce_truth(op: str, x: Any, axis: Any, keepdims: bool | None) -> Tensor:
    # As numbers, because the standard has no truth of nothing.
    numbers = cast_to(tensor(x, dtypes.bool), dtypes.uint8)
    return cast_to(_reduce(op, numbers, axis, keepdims), dtypes.bool)


def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """``log(sum(exp(x)))`` over axes without overflow; of no elements -inf.

    Example:
        >>> import tfx as tf
        >>> tf.reduce_logsumexp([1000.0, 1000.0]).numpy()
        np.float32(1000.6932)
    """
    x = tensor(input_tensor)
    require_dtype(x, x.dtype.is_floating, "ReduceLogSumExp", "a floating dtype")
    return _reduce("ReduceLogSumExp", x, axis, keepdims)


@gradient("ReduceLogSumExp")
def _logsumexp_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    x, y = op.inputs[0], _restore_axes(op, op.outputs[0])
    # Where everything is -inf nothing has weight (and -inf - -inf would be NaN).
    finite = ox.Where(is_inf(y), scalar_like(0, y), y)
    weights = exp(subtract(x, finite))
    # They add up to 1 but for the rounding of the result, which is large where that is.
    total = ox.Max(_again(op, "ReduceSum", weights), scalar_like(_TINY, y))
    return _result(op, multiply(_restore_axes(op, dy), divide(weights, total)))


def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the sum of squares over axes; its gradient at 0 is 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.reduce_euclidean_norm([[3.0, 4.0], [0.0, 2.0]], axis=1).numpy()
        array([5., 2.], dtype=float32)
    """
    x = tensor(input_tensor)
    if x.dtype.is_complex:
        return _complex_norm(x, axis, keepdims)
    axes = None if axis is None else reduction_axes(axis, x, "ReduceL2")
    if isinstance(axes, list) and not axes:
        return ox.Abs(x)
    return _reduce_numbers("ReduceL2", x, axis, keepdims)


def _complex_norm(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    """The norm of the moduli, as complex numbers."""
    squares = _reduce("ReduceSum", multiply(x, conjugate(x)), axis, keepdims)
    return sqrt(squares)


@gradient("ReduceL2")
def _norm_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    x, y = op.inputs[0], _restore_axes(op, op.outputs[0])
    divisor = ox.Where(equal(y, 0.0), scalar_like(1, y), y)
    return _result(op, multiply(x, divide(_restore_axes(op, dy), divisor)))


# Reductions that no function here emits, but imported models and ``raw`` do


@gradient("ReduceL1")
def _l1_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    return _result(op, multiply(_restore_axes(op, dy), sign(op.inputs[0])))


@gradient("ReduceSumSquare")
def _sum_square_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    return _result(op, multiply(_restore_axes(op, dy), multiply(op.inputs[0], 2.0)))


@gradient("ReduceLogSum")
def _log_sum_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    total = _again(op, "ReduceSum", op.inputs[0])
    return _result(op, _broadcast_back(op, divide(_restore_axes(op, dy), total)))


@forward("ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare")
@forward("ReduceLogSum", "ReduceLogSumExp")
def _reduce_forward(op: OpRecord, tangent: Tensor | None, *_: None) -> Tensor | None:
    """Each element has one slope: the gradient for ones."""
    if tangent is None:
        return None
    slopes = gradient_of(op, 0, ones_like(op.outputs[0]))
    assert slopes is not None
    return apply("ReduceSum", (ox.Mul(slopes, tangent), *op.inputs[1:]), op.attrs)


@batching(*operators(lambda t: t.reduction))
def _reduce_batching(op: BatchedOp) -> Results:
    """The same axes; all axes of an element are all but the first."""
    op.only(0)
    x = op.input(0)
    keepdims = op.attrs.get("keepdims", 1)
    axes = static_ints(op.input(1)) if op.given(1) else []
    noop = op.attrs.get("noop_with_empty_axes", 0)
    if axes is None:
        if not noop and op.input(1).shape.num_elements() in (None, 0):
            raise CannotBatchError("whether there are axes is known at run time only")
        return op.apply((x, shifted_axes(op.input(1))))
    if not axes and noop:
        return op.apply(op.inputs)
    rank = op.rank(0)
    if rank == 0:
        x = ox.Unsqueeze(x, int64_constant([1]))
        rank, keepdims = 1, 0
    moved: Sequence[int] = [shifted(a) for a in axes] or range(1, rank + 1)
    return op.apply((x, int64_constant(moved)), {"keepdims": keepdims})
