"""Inverses of the error functions and of the normal distribution's.

The value comes from an iteration without gradient. What carries the gradient are steps of Newton's
method taken from it: a step doubles the number of derivatives that are right, so that after two of
them those up to the third are.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.graph.formulas import elementary_functions
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.shapes import raw_shape
from tfx.ops.common.traced_once import Composite
from tfx.ops.math.arithmetic import add, multiply, subtract
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.comparison import less
from tfx.ops.math.elementwise import abs, exp, is_finite, sign, square
from tfx.ops.math.error_functions import erf
from tfx.ops.math.gamma import in_double

_MOST_POWER = 709.0


def erfinv(x: Any, name: str | None = None) -> Tensor:
    """The number whose ``erf`` is ``x``: infinite at -1 and 1, NaN outside.

    Derivatives up to the third order are right.

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
    size = abs(wide)
    y = multiply(sign(wide), _solve(size, subtract(1.0, size)))
    return cast_to(_differentiable(y, wide), x.dtype)


def erfcinv(x: Any, name: str | None = None) -> Tensor:
    """The number whose ``erfc`` is ``x``: infinite at 0 and 2, NaN outside.

    Example:
        >>> import tfx as tf
        >>> tf.math.erfcinv([1.0, 0.0]).numpy()
        array([ 0., inf], dtype=float32)
    """
    x, wide = in_double(x, "Erfcinv")
    return cast_to(_inverse_erfc(wide), x.dtype)


def ndtri(x: Any, name: str | None = None) -> Tensor:
    """The quantile of the standard normal distribution: infinite at 0 and 1, NaN outside.

    Example:
        >>> import tfx as tf
        >>> tf.math.ndtri([0.5, 0.975]).numpy()
        array([-0.       ,  1.9599644], dtype=float32)
    """
    x, wide = in_double(x, "Ndtri")
    return cast_to(multiply(_inverse_erfc(multiply(wide, 2.0)), -math.sqrt(2.0)), x.dtype)


def _inverse_erfc(x: Tensor) -> Tensor:
    """The smaller one of ``x`` and ``2 - x`` says how far out the result is, exactly."""
    rest = subtract(2.0, x)
    mirrored = less(rest, x)
    tail = ox.Where(mirrored, rest, x)
    y = _solve(subtract(1.0, tail), tail)
    y = multiply(y, ox.Where(mirrored, scalar_like(-1, x), scalar_like(1, x)))
    return _differentiable(y, subtract(1.0, x))


def _solve(erf_value: Tensor, erfc_value: Tensor) -> Tensor:
    a, q = stop_gradient(erf_value), stop_gradient(erfc_value)
    return stop_gradient(_solution(a, q, shapes=[raw_shape(a)])[0])


def _solution_body(a: Tensor, q: Tensor) -> tuple[Tensor]:
    y = elementary_functions.inverse_erf(ox, a, q)
    return (ox.Where(ox.Equal(q, ox.number(0.0)), ox.number(math.inf), y),)


_solution = Composite(_solution_body, "inverse_erf")


def _differentiable(y: Tensor, x: Tensor) -> Tensor:
    """``y = erfinv(x)`` with derivatives."""
    for _ in range(2):
        inner = ox.Where(is_finite(y), y, scalar_like(0, y))
        power = square(inner)  # of which exp must stay finite
        limit = scalar_like(_MOST_POWER, x)
        power = ox.Where(less(power, limit), power, limit)
        slope = multiply(exp(power), math.sqrt(math.pi) / 2)
        step = multiply(subtract(x, erf(inner)), slope)
        y = add(y, subtract(step, stop_gradient(step)))
    return y
