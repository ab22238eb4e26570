"""Numbers looked at as bits, and the parts of complex numbers.

ONNX has no operator for either; Python does it, so functions with one cannot be saved, except where
a tensor of real numbers is its own result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import broadcast_static_shape
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.tensor import Tensor
from tfx.graph.ir import RawShape
from tfx.ops._by_python import by_python
from tfx.ops._support import matching, require_dtype, scalar_like, tensor
from tfx.ops.casting import identity
from tfx.ops.comparison import less
from tfx.ops.creation import zeros_like


def bitcast(input: Any, type: DTypeLike, name: str | None = None) -> Tensor:
    """The same bytes as numbers of another dtype. No gradient flows through it.

    Args:
        input: Tensor of numbers, or a value convertible to one.
        type: A number dtype. If it is smaller the result has one more axis, for the parts of each
            number, the lowest first; if it is larger the last axis is taken together and must have
            as many parts as one number.
        name: Accepted for compatibility.

    Returns:
        A tensor of the dtype ``type``. A function with it cannot be saved.

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

    def view(array: Any) -> list[Any]:
        shape = array.shape
        found = array.reshape(-1).view(target.as_numpy_dtype)
        if target.size < x.dtype.size:
            return [found.reshape((*shape, x.dtype.size // target.size))]
        return [found.reshape(shape if target.size == x.dtype.size else shape[:-1])]

    return by_python("bitcast", view, [x], [(target, shape)])[0]


def _shape_of_bytes(x: Tensor, target: DType) -> RawShape:
    source = x.dtype
    if not (_has_bytes(source) and _has_bytes(target)):
        raise InvalidArgumentError(
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
        raise InvalidArgumentError(
            f"Cannot bitcast from {source.name} to {target.name}: the last axis must have {parts} "
            f"elements, which make one {target.name}; got shape {x.shape}.",
            op="Bitcast",
        )
    return shape[:-1]


def _has_bytes(dtype: DType) -> bool:
    return dtype.is_floating or dtype.is_complex or (dtype.is_integer and "int4" not in dtype.name)


def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """The number next to ``x1`` in the direction of ``x2``. No gradient flows through it.

    Args:
        x1: Tensor of a floating dtype, or a value convertible to one.
        x2: The same dtype.
        name: Accepted for compatibility.

    Returns:
        A tensor of the broadcast shape. A function with it cannot be saved.

    Raises:
        InvalidArgumentError: another dtype.

    Example:
        >>> import tfx as tf
        >>> float(tf.math.nextafter(tf.constant(1.0, tf.float64), 2.0)) - 1.0
        2.220446049250313e-16
    """
    a, b = matching(x1, x2, "NextAfter")
    require_dtype(a, a.dtype.is_floating, "NextAfter", "a floating dtype")
    shape = broadcast_static_shape(a.shape.symbolic, b.shape.symbolic)

    def step(a: Any, b: Any) -> list[Any]:
        return [np.nextafter(a, b)]

    return by_python("math.nextafter", step, [a, b], [(a.dtype, shape)])[0]


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Complex numbers of real and imaginary parts. No gradient flows through it.

    Such tensors can be kept and given on; ONNX Runtime does not compute with them.

    Args:
        real: Tensor of float32 or float64, or a value convertible to one.
        imag: The same dtype.
        name: Accepted for compatibility.

    Returns:
        complex64 of float32 and complex128 of float64, of the broadcast shape. A function with it
        cannot be saved.

    Raises:
        TypeError: other dtypes, or two different ones.

    Example:
        >>> import tfx as tf
        >>> tf.complex([2.25, 3.25], [4.75, 5.75]).numpy()
        array([2.25+4.75j, 3.25+5.75j], dtype=complex64)
    """
    a, b = matching(real, imag, "Complex")
    if a.dtype not in (dtypes.float32, dtypes.float64):
        raise TypeError(
            f"The `real` and `imag` components have incorrect types: {a.dtype.name} {b.dtype.name}."
            " They must be consistent, and one of float32 and float64; use tfx.cast."
        )
    kind = dtypes.complex64 if a.dtype is dtypes.float32 else dtypes.complex128
    shape = broadcast_static_shape(a.shape.symbolic, b.shape.symbolic)

    def join(a: Any, b: Any) -> list[Any]:
        whole = np.empty(np.broadcast_shapes(a.shape, b.shape), kind.as_numpy_dtype)
        whole.real, whole.imag = a, b
        return [whole]

    return by_python("complex", join, [a, b], [(kind, shape)])[0]


def conj(x: Any, name: str | None = None) -> Tensor:
    """Complex numbers with the imaginary part negated; others as they are.

    Example:
        >>> import tfx as tf
        >>> tf.math.conj([1 + 2j]).numpy()
        array([1.-2.j])
    """
    z = tensor(x)
    return _part(z, "math.conj", np.conj, z.dtype) if z.dtype.is_complex else _real(z, "Conj")


def real(input: Any, name: str | None = None) -> Tensor:
    """The real parts of complex numbers; others as they are.

    Example:
        >>> import tfx as tf
        >>> tf.math.real([1 + 2j]).numpy()
        array([1.])
    """
    z = tensor(input)
    kind = z.dtype.real_dtype
    return _part(z, "math.real", np.real, kind) if z.dtype.is_complex else _real(z, "Real")


def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary parts of complex numbers; of others 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.imag([1 + 2j]).numpy()
        array([2.])
    """
    z = tensor(input)
    kind = z.dtype.real_dtype
    if z.dtype.is_complex:
        return _part(z, "math.imag", np.imag, kind)
    return zeros_like(_real(z, "Imag"))


def angle(input: Any, name: str | None = None) -> Tensor:
    """The angles of complex numbers, from -pi to pi; of others pi where they are negative, else 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.angle([-1.0, 1.0]).numpy()
        array([3.1415927, 0.       ], dtype=float32)
    """
    z = tensor(input)
    if z.dtype.is_complex:
        return _part(z, "math.angle", np.angle, z.dtype.real_dtype)
    x, zero = _real(z, "Angle"), scalar_like(0, z)
    return apply("Where", (less(x, zero), scalar_like(math.pi, x), zero))


def _part(z: Tensor, kind: str, compute: Any, dtype: DType) -> Tensor:
    return by_python(kind, lambda a: [compute(a)], [z], [(dtype, z.shape.symbolic)])[0]


def _real(x: Tensor, op: str) -> Tensor:
    require_dtype(x, x.dtype.is_numeric_compatible, op, "a number dtype")
    return identity(x)
