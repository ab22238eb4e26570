"""Inverses of the error functions and of the normal distribution's.

The value comes from Newton's method, in float64. Slopes are written with it, so there are
derivatives of every order.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.graph.formulas import elementary_functions
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.shapes import raw_shape
from tfx.ops.common.traced_once import Composite
from tfx.ops.math.arithmetic import multiply, subtract
from tfx.ops.math.comparison import less
from tfx.ops.math.elementwise import abs, exp, sign, square
from tfx.ops.math.gamma import in_double


def erfinv(x: Any, name: str | None = None) -> Tensor:
    """The number whose ``erf`` is ``x``: infinite at -1 and 1, NaN outside.

    Args:
        x: Tensor of a floating dtype, or a value convertible to one.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Example:
        >>> import tfx as tf
        >>> tf.math.erfinv([0.0, 1.0]).numpy()
        array([ 0., inf], dtype=float32)
    """
    x, wide = in_double(x, "Erfinv")
    return cast_to(_applied(_erfinv, wide, _steps(x)), x.dtype)


def erfcinv(x: Any, name: str | None = None) -> Tensor:
    """The number whose ``erfc`` is ``x``: infinite at 0 and 2, NaN outside.

    Example:
        >>> import tfx as tf
        >>> tf.math.erfcinv([1.0, 0.0]).numpy()
        array([ 0., inf], dtype=float32)
    """
    x, wide = in_double(x, "Erfcinv")
    return cast_to(_applied(_erfcinv, wide, _steps(x)), x.dtype)


def ndtri(x: Any, name: str | None = None) -> Tensor:
    """The quantile of the standard normal distribution: infinite at 0 and 1, NaN outside.

    Example:
        >>> import tfx as tf
        >>> tf.math.ndtri([0.5, 0.975]).numpy()
        array([-0.       ,  1.9599644], dtype=float32)
    """
    x, wide = in_double(x, "Ndtri")
    found = _applied(_erfcinv, multiply(wide, 2.0), _steps(x))
    return cast_to(multiply(found, -math.sqrt(2.0)), x.dtype)


def _steps(x: Tensor) -> int:
    """How often Newton's method is applied for all digits of a dtype."""
    return 3 if x.dtype is dtypes.float64 else 2


def _applied(inverse: Composite, x: Tensor, steps: int) -> Tensor:
    return inverse(x, shapes=[raw_shape(x)], steps=steps)[0]


def _erfinv_body(x: Tensor, steps: int) -> tuple[Tensor]:
    size = abs(x)
    return (multiply(sign(x), _solution(size, subtract(1.0, size), steps)),)


def _erfcinv_body(x: Tensor, steps: int) -> tuple[Tensor]:
    """The smaller one of ``x`` and ``2 - x`` says how far out the result is, exactly."""
    rest = subtract(2.0, x)
    mirrored = less(rest, x)
    tail = ox.Where(mirrored, rest, x)
    y = _solution(subtract(1.0, tail), tail, steps)
    return (multiply(y, ox.Where(mirrored, scalar_like(-1, x), scalar_like(1, x))),)


def _solution(a: Tensor, q: Tensor, steps: int) -> Tensor:
    y = elementary_functions.inverse_erf(ox, a, q, steps)
    return ox.Where(ox.Equal(q, ox.number(0.0)), ox.number(math.inf), y)


def _erfinv_slope(x: Tensor) -> Tensor:
    return multiply(exp(square(_applied(_erfinv, x, 3))), math.sqrt(math.pi) / 2)


def _erfcinv_slope(x: Tensor) -> Tensor:
    return multiply(exp(square(_applied(_erfcinv, x, 3))), -math.sqrt(math.pi) / 2)


_erfinv = Composite(_erfinv_body, "erfinv", [_erfinv_slope])
_erfcinv = Composite(_erfcinv_body, "erfcinv", [_erfcinv_slope])
