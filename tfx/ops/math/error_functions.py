"""Error functions and products that take 0 times anything for 0.

Owns what statistics and information theory add to the elementary functions. The decision:
composites keep NaN and infinity out of the branch that is not taken, so that gradients are finite
wherever the function has one.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.graph.formulas import elementary_functions
from tfx.ops.common.arguments import (
    cast_to,
    require_dtype,
    same_dtype,
    scalar_like,
    tensor,
    unary_floating,
)
from tfx.ops.common.complex_parts import conjugate
from tfx.ops.common.shapes import raw_shape
from tfx.ops.common.traced_once import Composite, eagerly_at_once
from tfx.ops.math.arithmetic import divide, multiply, subtract, truediv
from tfx.ops.math.comparison import equal, logical_not, logical_or
from tfx.ops.math.elementwise import exp, is_finite, log, log1p, negative, square


def erf(x: Any, name: str | None = None) -> Tensor:
    """The Gauss error function.

    Args:
        x: Tensor of a floating dtype, or a value convertible to one.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Example:
        >>> import tfx as tf
        >>> tf.math.erf([0.0, 10.0]).numpy()
        array([0., 1.], dtype=float32)
    """
    return unary_floating("Erf", x)


@gradient("Erf")
def _erf_grad(op: OpRecord, dy: Tensor) -> Tensor:
    bell = exp(negative(square(op.inputs[0])))
    return multiply(dy, multiply(bell, 2.0 / math.sqrt(math.pi)))


def erfc(x: Any, name: str | None = None) -> Tensor:
    """``1 - erf(x)``, accurate also where it is close to 0: in float64 to 8 units.

    Example:
        >>> import tfx as tf
        >>> float(tf.math.erfc(5.0)) > 0.0
        True
    """
    x = tensor(x)
    require_dtype(x, x.dtype.is_floating, "Erfc", "a floating dtype")
    wide = cast_to(x, dtypes.float64)
    return cast_to(_accurate_erfc(wide, shapes=[raw_shape(x)])[0], x.dtype)


def _erfc_slope(x: Tensor) -> Tensor:
    return multiply(exp(negative(square(x))), -2.0 / math.sqrt(math.pi))


_accurate_erfc = Composite(lambda x: (elementary_functions.erfc(ox, x),), "erfc", [_erfc_slope])


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``(x - y) ** 2`` element by element, with broadcasting; of complex numbers the magnitudes.

    Example:
        >>> import tfx as tf
        >>> tf.math.squared_difference([1, 5], 3).numpy()
        array([4, 4], dtype=int32)
    """
    difference = subtract(x, y)
    if difference.dtype.is_complex:
        return multiply(conjugate(difference), difference)
    return square(difference)


def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x * log(y)``, and 0 (with gradient 0) where ``x`` is 0, whatever ``y`` is.

    Args:
        x: Tensor of a floating dtype, or a value convertible to one.
        y: The same dtype.
        name: Accepted for compatibility.

    Returns:
        A tensor of the broadcast shape.

    Example:
        >>> import tfx as tf
        >>> tf.math.xlogy([0.0, 2.0], [0.0, 1.0]).numpy()
        array([0., 0.], dtype=float32)
    """
    x, y, absent = _factors("Xlogy", x, y)
    return multiply(x, log(ox.Where(absent, scalar_like(1, y), y)))


def xlog1py(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x * log(1 + y)``, and 0 (with gradient 0) where ``x`` is 0, whatever ``y`` is.

    Example:
        >>> import tfx as tf
        >>> tf.math.xlog1py([0.0, 2.0], [-1.0, 0.0]).numpy()
        array([0., 0.], dtype=float32)
    """
    x, y, absent = _factors("Xlog1py", x, y)
    return multiply(x, log1p(ox.Where(absent, scalar_like(0, y), y)))


def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y``, and 0 (with gradient 0) where ``x`` is 0, whatever ``y`` is.

    Example:
        >>> import tfx as tf
        >>> tf.math.xdivy([0.0, 2.0], [0.0, 4.0]).numpy()
        array([0. , 0.5], dtype=float32)
    """
    x, y, absent = _factors("Xdivy", x, y)
    quotient = divide(x, ox.Where(absent, scalar_like(1, y), y))
    return ox.Where(absent, scalar_like(0, x), quotient)


def _factors(op: str, x: Any, y: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The operands and where the first one is 0."""
    a, b = same_dtype(x, y, op)
    require_dtype(a, _is_inexact(a), op, "a floating or complex dtype")
    return a, b, equal(a, scalar_like(0, a))


def _is_inexact(x: Tensor) -> bool:
    return x.dtype.is_floating or x.dtype.is_complex


def divide_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y`` as real numbers, and 0 (with gradient 0) where ``y`` is 0.

    Integers are converted to floats first, as in ``truediv``.

    Example:
        >>> import tfx as tf
        >>> tf.math.divide_no_nan([3.0, 1.0], [0.0, 2.0]).numpy()
        array([0. , 0.5], dtype=float32)
    """
    return _quotient_or_zero(*same_dtype(x, y, "DivNoNan"))


@eagerly_at_once
def _quotient_or_zero(a: Tensor, b: Tensor) -> Tensor:
    absent = equal(b, scalar_like(0, b))
    quotient = truediv(a, ox.Where(absent, scalar_like(1, b), b))
    return ox.Where(absent, scalar_like(0, quotient), quotient)


def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x * y``, and 0 where ``y`` is 0 even if ``x`` is infinite or NaN.

    Example:
        >>> import tfx as tf
        >>> tf.math.multiply_no_nan([float("inf"), 3.0], [0.0, 2.0]).numpy()
        array([0., 6.], dtype=float32)
    """
    a, b = same_dtype(x, y, "MulNoNan")
    require_dtype(a, _is_inexact(a), "MulNoNan", "a floating or complex dtype")
    counts = logical_or(is_finite(a), logical_not(equal(b, scalar_like(0, b))))
    return multiply(ox.Where(counts, a, scalar_like(0, a)), b)
