"""``one_hot``: indices as rows with a single element switched on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.guards import refused_if_negative
from tfx.framework.rules import OpRecord, gradient, linear
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import (
    cast_to,
    integers,
    is_tensor_like,
    numpy_as_integers,
    required_int,
    static_int,
    tensor,
)
from tfx.ops.common.batching import BatchedOp, Results, batching, concat_shapes, shifted
from tfx.ops.common.shapes import known_rank, rank_of

_INDEX_DTYPES = (dtypes.uint8, dtypes.int8, dtypes.int32, dtypes.int64)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """For every index a vector that is ``on_value`` at that place and ``off_value`` elsewhere.

    Args:
        indices: Integers; one out of ``[0, depth)`` switches nothing on.
        depth: Length of the vectors.
        on_value: Scalar; None means 1.
        off_value: Scalar; None means 0.
        axis: Where the vectors' axis stands in the result; None or -1 means last.
        dtype: Element type; None takes the values', or float32.
        name: Accepted for compatibility.

    Returns:
        ``indices.shape`` with ``depth`` inserted.

    Raises:
        InvalidArgumentError: no integers, a negative depth or an axis out of range.
        TypeError: values of different dtypes.

    Example:
        >>> import tfx as tf
        >>> tf.one_hot([0, 2, -1], 3).numpy()
        array([[1., 0., 0.],
               [0., 0., 1.],
               [0., 0., 0.]], dtype=float32)
    """
    where, size = integers(indices, dtypes.int64), tensor(numpy_as_integers(depth))
    place = -1 if axis is None else required_int(axis, "axis of one_hot")
    _check(where, size, place)
    kind = _element_type(on_value, off_value, dtype)
    on, off = _value(on_value, 1, kind), _value(off_value, 0, kind)
    # Three times as fast as ONNX's OneHot, which also counts negative indices from the end.
    size = refused_if_negative(size, Refusal.DEPTH)
    wide = cast_to(where, dtypes.int64)
    steps = ox.Range(int64_constant(0), cast_to(size, dtypes.int64), int64_constant(1))
    if place != -1:
        behind = known_rank(where, "one_hot") - place
        steps = ox.Reshape(steps, int64_constant([-1] + [1] * behind))
    hot = ox.Equal(ox.Unsqueeze(wide, int64_constant([place])), steps)
    if on_value is None and off_value is None:
        return cast_to(hot, kind)
    return ox.Where(hot, on, off)


def _check(where: Tensor, size: Tensor, axis: int) -> None:
    if where.dtype not in _INDEX_DTYPES:
        raise DTypeMismatchError(
            f"Value for attr 'TI' of {where.dtype.name} is not in the list of allowed values: the "
            f"indices of one_hot must be {', '.join(d.name for d in _INDEX_DTYPES)}; use tfx.cast.",
            op="OneHot",
        )
    if rank_of(size) not in (0, None) or not size.dtype.is_integer:
        raise InvalidArgumentError(
            f"depth must be a scalar, but got: {size.shape} of {size.dtype.name}", op="OneHot"
        )
    known = static_int(size)
    if known is not None and known < 0:
        raise InvalidArgumentError(f"depth must be non-negative, got: {known}", op="OneHot")
    rank = rank_of(where)
    if rank is not None and not -1 <= axis <= rank:
        raise InvalidArgumentError(
            f"Expected axis to be -1 or between [0, {rank + 1}).  But received: {axis}", op="OneHot"
        )


def _element_type(on: Any, off: Any, dtype: DTypeLike | None) -> DType:
    found = [None if v is None else tensor(v).dtype for v in (on, off)]
    if dtype is not None:
        kind = dtypes.as_dtype(dtype)
        for value, given, what in zip((on, off), found, ("on_value", "off_value"), strict=True):
            if given not in (None, kind) and is_tensor_like(value):
                raise TypeError(
                    f"dtype {given!r} of {what} does not match dtype parameter {kind!r}"
                )
        return kind
    if None not in found and found[0] is not found[1]:
        raise TypeError(
            f"dtype {found[0]!r} of on_value does not match dtype {found[1]!r} of off_value"
        )
    return next((d for d in found if d is not None), dtypes.float32)


def _value(value: Any, default: int, kind: DType) -> Tensor:
    if value is None and kind in (dtypes.bool, dtypes.string):
        raise TypeError(f"Cannot convert {default} to EagerTensor of dtype {kind.name}")
    return convert_to_tensor(default if value is None else value, kind)


@gradient("OneHot")
def _one_hot_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """Both values collect the gradients of the places that they were put to."""
    places, size, _ = op.inputs
    hot = ox.OneHot(places, size, convert_to_tensor([0.0, 1.0], dy.dtype), **op.attrs)
    on = ox.ReduceSum(ox.Mul(dy, hot), keepdims=0)
    off = ox.Sub(ox.ReduceSum(dy, keepdims=0), on)
    axis = int64_constant([0])
    pair = [ox.Unsqueeze(v, axis) for v in (off, on)]
    return None, None, ox.Concat(*pair, axis=0)


linear("OneHot", inputs=(2,))


@batching("OneHot")
def _one_hot_batching(op: BatchedOp) -> Results:
    """The new axis among those of the result; values of their own come last."""
    if op.batched[1]:
        op.only(0)
    axis = op.attrs.get("axis", -1)
    if not op.batched[2]:
        return op.apply(op.inputs, {"axis": shifted(axis)})
    rank = op.rank(0) + 1
    kind = op.input(2).dtype
    zero_one = ox.Cast(int64_constant([0, 1]), to=kind.onnx)
    at = shifted(axis) if op.batched[0] else axis
    hot = op.apply((op.input(0), op.input(1), zero_one), {"axis": at})[0]
    chosen = ox.Cast(hot, to=_BOOL)
    off, on = (ox.Slice(op.input(2), *(int64_constant([i]) for i in (k, k + 1, 1))) for k in (0, 1))
    shape = concat_shapes(op.lead(), int64_constant([1] * rank))
    off, on = (ox.Reshape(v, shape) for v in (off, on))
    return ox.Where(chosen, on, off)


_BOOL = 9
