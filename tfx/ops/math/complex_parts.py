"""Complex numbers and their parts: ``complex``, ``real``, ``imag``, ``conj``, ``angle``."""

from __future__ import annotations

import math
from typing import Any

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import zeros_like
from tfx.ops.common.arguments import require_dtype, same_dtype, scalar_like, tensor
from tfx.ops.common.complex_parts import conjugate, halves, whole
from tfx.ops.common.shapes import raw_shape, shape_vector
from tfx.ops.math.cast import identity
from tfx.ops.math.comparison import less
from tfx.ops.math.trigonometry import atan2


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Complex numbers of real and imaginary parts.

    Args:
        real: Tensor of float32 or float64, or a value convertible to one.
        imag: The same dtype.
        name: Accepted for compatibility.

    Returns:
        complex64 of float32 and complex128 of float64, of the broadcast shape.

    Raises:
        TypeError: other dtypes, or two different ones.

    Example:
        >>> import tfx as tf
        >>> tf.complex([2.25, 3.25], [4.75, 5.75]).numpy()
        array([2.25+4.75j, 3.25+5.75j], dtype=complex64)
    """
    a, b = same_dtype(real, imag, "Complex")
    if a.dtype not in (dtypes.float32, dtypes.float64):
        raise TypeError(
            f"The `real` and `imag` components have incorrect types: {a.dtype.name} {b.dtype.name}."
            " They must be consistent, and one of float32 and float64; use tfx.cast."
        )
    dims = raw_shape(a)
    if dims is None or dims != raw_shape(b) or None in dims:
        a, b = ox.Expand(a, shape_vector(b)), ox.Expand(b, shape_vector(a))
    return whole(a, b)


def conj(x: Any, name: str | None = None) -> Tensor:
    """Complex numbers with the imaginary part negated; others as they are.

    Example:
        >>> import tfx as tf
        >>> tf.math.conj([1 + 2j]).numpy()
        array([1.-2.j])
    """
    z = tensor(x)
    return conjugate(z) if z.dtype.is_complex else _real(z, "Conj")


def real(input: Any, name: str | None = None) -> Tensor:
    """The real parts of complex numbers; others as they are.

    Example:
        >>> import tfx as tf
        >>> tf.math.real([1 + 2j]).numpy()
        array([1.])
    """
    z = tensor(input)
    return halves(z)[0] if z.dtype.is_complex else _real(z, "Real")


def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary parts of complex numbers; of others 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.imag([1 + 2j]).numpy()
        array([2.])
    """
    z = tensor(input)
    return halves(z)[1] if z.dtype.is_complex else zeros_like(z)


def angle(input: Any, name: str | None = None) -> Tensor:
    """The angles of complex numbers, from -pi to pi; of others pi where they are negative, else 0.

    Example:
        >>> import tfx as tf
        >>> tf.math.angle([-1.0, 1.0]).numpy()
        array([3.1415927, 0.       ], dtype=float32)
    """
    z = tensor(input)
    if z.dtype.is_complex:
        x, y = halves(z)
        return atan2(y, x)
    x, zero = _real(z, "Angle"), scalar_like(0, z)
    return ox.Where(less(x, zero), scalar_like(math.pi, x), zero)


def _real(x: Tensor, op: str) -> Tensor:
    require_dtype(x, x.dtype.is_numeric_compatible, op, "a number dtype")
    return identity(x)
