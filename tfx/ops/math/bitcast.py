"""Numbers reinterpreted as bits, and the parts of complex numbers.

ONNX Runtime has no kernel that takes complex numbers; Python computes with them, so functions with
one cannot be saved, except where a tensor of real numbers is its own result.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import broadcast_static_shape
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import DTypeMismatchError
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph import schema
from tfx.graph.ir import RawShape
from tfx.ops.common.arguments import (
    cast_to,
    require_dtype,
    same_dtype,
    scalar_like,
    tensor,
    with_last_axis,
)
from tfx.ops.common.python_ops import by_python
from tfx.ops.math.comparison import equal, less
from tfx.runtime.kernels import cpu_kernels


def bitcast(input: Any, type: DTypeLike, name: str | None = None) -> Tensor:
    """The same bytes as numbers of another dtype. No gradient flows through it.

    Args:
        input: Tensor of numbers, or a value convertible to one.
        type: A number dtype. If it is smaller the result has one more axis, for the parts of each
            number, the lowest first; if it is larger the last axis is taken together and must have
            as many parts as one number.
        name: Accepted for compatibility.

    Returns:
        A tensor of the dtype ``type``. A function with it can be saved unless one of the dtypes is
        complex; what is saved needs opset 26.

    Raises:
        InvalidArgumentError: a dtype that is none of numbers, or a last axis that does not fit.

    Example:
        >>> import tfx as tf
        >>> tf.bitcast(1.0, tf.uint32).numpy()
        np.uint32(1065353216)
        >>> tf.bitcast(-1, tf.uint8).numpy()
        array([255, 255, 255, 255], dtype=uint8)
    """
    target = dtypes.as_dtype(type)
    x = tensor(input)
    shape = _shape_of_bytes(x, target)
    if _has_kernel(x.dtype) and _has_kernel(target):
        return _bitcast(x, target, shape)

    def view(array: Any) -> list[Any]:
        shape = array.shape
        found = array.reshape(-1).view(target.as_numpy_dtype)
        if target.size < x.dtype.size:
            return [found.reshape((*shape, x.dtype.size // target.size))]
        return [found.reshape(shape if target.size == x.dtype.size else shape[:-1])]

    return by_python("bitcast", view, [x], [(target, shape)])[0]


_UNSIGNED = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


def _has_kernel(dtype: DType) -> bool:
    """True if the runtime takes numbers of a dtype as bits."""
    kernels = cpu_kernels("BitCast", schema.operator("BitCast").opset)
    return any(dtype.onnx in types.get("T1", ()) for types in kernels)


def _as(x: Tensor, dtype: DType) -> Tensor:
    """The bits as another dtype of the same size."""
    return ox.BitCast(x, to=dtype.onnx)


def _bitcast(x: Tensor, target: DType, shape: RawShape) -> Tensor:
    wide, narrow = x.dtype.size, target.size
    if wide == narrow:
        return _as(x, target)
    # Shifts have kernels of 32 and 64 bits.
    work = _UNSIGNED[max(wide, narrow, 4)]
    bits = cast_to(_as(x, _UNSIGNED[wide]), work)
    step = 8 * min(wide, narrow)
    count = max(wide, narrow) // min(wide, narrow)
    shifts = np.arange(0, step * count, step).astype(work.as_numpy_dtype)
    if wide > narrow:
        parts = ox.BitShift(with_last_axis(bits), embed(shifts), direction="RIGHT")
        mask = embed(np.array(2**step - 1, work.as_numpy_dtype))
        found = cast_to(ox.BitwiseAnd(parts, mask), _UNSIGNED[narrow])
    else:
        # The split refuses a last axis of another length.
        sizes = int64_constant([1] * count)
        pieces = ox.Split(bits, sizes, axis=-1, outputs=count)
        moved = [
            ox.BitShift(piece, embed(np.array(by)), direction="LEFT")
            for piece, by in zip(pieces, shifts, strict=True)
        ]
        whole = functools.reduce(lambda a, b: ox.BitwiseOr(a, b), moved)
        found = cast_to(ox.Squeeze(whole, int64_constant([-1])), _UNSIGNED[narrow])
    y = found if target is _UNSIGNED[narrow] else _as(found, target)
    if isinstance(y, SymbolicTensor) and shape is not None:
        y.set_shape(shape)
    return y


def _shape_of_bytes(x: Tensor, target: DType) -> RawShape:
    source = x.dtype
    if not (_has_bytes(source) and _has_bytes(target)):
        raise DTypeMismatchError(
            f"Cannot bitcast from {source.name} to {target.name}: expected two dtypes of numbers "
            "that fill whole bytes.",
            op="Bitcast",
        )
    shape = x.shape.symbolic
    if shape is None or source.size == target.size:
        return shape
    if source.size > target.size:
        return (*shape, source.size // target.size)
    parts = target.size // source.size
    if not shape or (isinstance(shape[-1], int) and shape[-1] != parts):
        raise DTypeMismatchError(
            f"Cannot bitcast from {source.name} to {target.name}: the last axis must have {parts} "
            f"elements, which make one {target.name}; got shape {x.shape}.",
            op="Bitcast",
        )
    return shape[:-1]


# TensorFlow's list.
_WITH_BYTES = frozenset(
    (
        *(dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64),
        *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
        *(dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
        *(dtypes.complex64, dtypes.complex128),
    )
)


def _has_bytes(dtype: DType) -> bool:
    return dtype in _WITH_BYTES


def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """The number next to ``x1`` in the direction of ``x2``. No gradient flows through it.

    Args:
        x1: Tensor of a floating dtype, or a value convertible to one.
        x2: The same dtype.
        name: Accepted for compatibility.

    Returns:
        A tensor of the broadcast shape. What is saved with it needs opset 26.

    Raises:
        InvalidArgumentError: another dtype.

    Example:
        >>> import tfx as tf
        >>> float(tf.math.nextafter(tf.constant(1.0, tf.float64), 2.0)) - 1.0
        2.220446049250313e-16
    """
    a, b = same_dtype(x1, x2, "NextAfter")
    require_dtype(a, a.dtype.is_floating, "NextAfter", "a floating dtype")
    if not _has_kernel(a.dtype):
        shape = broadcast_static_shape(a.shape.symbolic, b.shape.symbolic)

        def step(a: Any, b: Any) -> list[Any]:
            return [np.nextafter(a, b)]

        return by_python("math.nextafter", step, [a, b], [(a.dtype, shape)])[0]
    # Numbers of one sign follow each other as their bits do, read as integers. It is bits that are
    # chosen, too: ONNX Runtime's Where takes -0.0 for 0.0.
    kind = _SIGNED[a.dtype.size]
    number = a.dtype.as_numpy_dtype
    tiny = np.array(1, kind.as_numpy_dtype).view(number)

    def bits(value: Any) -> Tensor:
        return embed(np.array(value, number).view(kind.as_numpy_dtype))

    def choose(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
        return ox.Where(condition, x, y)

    zero = scalar_like(0, a)
    away = equal(less(a, b), less(zero, a))
    given, one = _as(a, kind), np.array(1, kind.as_numpy_dtype)
    beside = ox.Add(given, choose(away, embed(one), embed(np.array(-one))))
    least = choose(less(b, zero), bits(-tiny), bits(tiny))
    moved = choose(equal(a, zero), least, beside)
    found = choose(equal(a, b), _as(b, kind), moved)
    unknown = ox.Or(ox.IsNaN(a), ox.IsNaN(b))
    return _as(choose(unknown, bits(np.nan), found), a.dtype)


_SIGNED = {2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}
