"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

import math
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.activations import tanh_slope
from tfx.ops.common.arguments import require_dtype, same_dtype, scalar_like, unary_floating
from tfx.ops.common.traced_once import eagerly_at_once
from tfx.ops.math.arithmetic import add, divide, multiply, subtract
from tfx.ops.math.elementwise import abs, negative, sqrt, square


def sin(x: Any, name: str | None = None) -> Tensor:
    """The sine of an angle in radians.

    In float64 the kernel rounds multiples of pi/2: up to 15 its error is absolute, 7e-16. Larger
    angles of any size are reduced exactly.

    Args:
        x: Tensor of a floating dtype, or a value convertible to one.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: ``x`` is not floating.

    Example:
        >>> import tfx as tf
        >>> tf.sin(0.0).numpy()
        np.float32(0.0)
    """
    return unary_floating("Sin", x)


@gradient("Sin")
def _sin_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return multiply(dy, cos(op.inputs[0]))


def cos(x: Any, name: str | None = None) -> Tensor:
    """The cosine of an angle in radians; as accurate as ``sin``.

    Example:
        >>> import tfx as tf
        >>> tf.cos(0.0).numpy()
        np.float32(1.0)
    """
    return unary_floating("Cos", x)


@gradient("Cos")
def _cos_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return negative(multiply(dy, sin(op.inputs[0])))


def tan(x: Any, name: str | None = None) -> Tensor:
    """The tangent of an angle in radians; in float64 as accurate as ``sin``.

    Example:
        >>> import tfx as tf
        >>> tf.tan(0.0).numpy()
        np.float32(0.0)
    """
    return unary_floating("Tan", x)


@gradient("Tan")
def _tan_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return multiply(dy, add(square(op.outputs[0]), 1.0))


def asin(x: Any, name: str | None = None) -> Tensor:
    """The angle from -pi/2 to pi/2 whose sine is ``x``; NaN outside of [-1, 1].

    Example:
        >>> import tfx as tf
        >>> tf.asin(0.0).numpy()
        np.float32(0.0)
    """
    return unary_floating("Asin", x)


@gradient("Asin")
def _asin_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return divide(dy, _circle(op.inputs[0]))


def _circle(x: Tensor) -> Tensor:
    """``sqrt(1 - x**2)``, accurate near 1 too."""
    return sqrt(multiply(subtract(1.0, x), add(x, 1.0)))


def acos(x: Any, name: str | None = None) -> Tensor:
    """The angle from 0 to pi whose cosine is ``x``; NaN outside of [-1, 1].

    Example:
        >>> import tfx as tf
        >>> tf.acos(1.0).numpy()
        np.float32(0.0)
    """
    return unary_floating("Acos", x)


@gradient("Acos")
def _acos_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return negative(divide(dy, _circle(op.inputs[0])))


def atan(x: Any, name: str | None = None) -> Tensor:
    """The angle from -pi/2 to pi/2 whose tangent is ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.atan(0.0).numpy()
        np.float32(0.0)
    """
    return unary_floating("Atan", x)


@gradient("Atan")
def _atan_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return divide(dy, add(square(op.inputs[0]), 1.0))


def sinh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic sine.

    Example:
        >>> import tfx as tf
        >>> tf.sinh(0.0).numpy()
        np.float32(0.0)
    """
    return unary_floating("Sinh", x)


@gradient("Sinh")
def _sinh_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return multiply(dy, cosh(op.inputs[0]))


def cosh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic cosine.

    Example:
        >>> import tfx as tf
        >>> tf.cosh(0.0).numpy()
        np.float32(1.0)
    """
    return unary_floating("Cosh", x)


@gradient("Cosh")
def _cosh_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return multiply(dy, sinh(op.inputs[0]))


def tanh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic tangent, never above 1.

    The error is up to 6 units in the last place in float32 and 8 in float64: ONNX Runtime's kernel,
    which the layers of networks spend their time in, is a quotient of polynomials.

    Example:
        >>> import tfx as tf
        >>> tf.tanh([0.0, 100.0]).numpy()
        array([0., 1.], dtype=float32)
    """
    return unary_floating("Tanh", x)


@gradient("Tanh")
def _tanh_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return multiply(dy, tanh_slope(ox, op.outputs[0]))


def asinh(x: Any, name: str | None = None) -> Tensor:
    """The number whose hyperbolic sine is ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.asinh(0.0).numpy()
        np.float32(0.0)
    """
    return unary_floating("Asinh", x)


@gradient("Asinh")
def _asinh_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return divide(dy, cosh(op.outputs[0]))


def acosh(x: Any, name: str | None = None) -> Tensor:
    """The number >= 0 whose hyperbolic cosine is ``x``; NaN below 1.

    Example:
        >>> import tfx as tf
        >>> tf.acosh(1.0).numpy()
        np.float32(0.0)
    """
    return unary_floating("Acosh", x)


@gradient("Acosh")
def _acosh_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return divide(dy, sinh(op.outputs[0]))


def atanh(x: Any, name: str | None = None) -> Tensor:
    """The number whose hyperbolic tangent is ``x``; NaN outside of [-1, 1].

    Example:
        >>> import tfx as tf
        >>> tf.atanh(0.0).numpy()
        np.float32(0.0)
    """
    return unary_floating("Atanh", x)


@gradient("Atanh")
def _atanh_grad(op: OpRecord, dy: Tensor) -> Tensor:
    x = op.inputs[0]
    return divide(dy, multiply(subtract(1.0, x), add(x, 1.0)))


def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point ``(x, y)``, from -pi to pi, with broadcasting.

    Signs of zeros count as in C. At the origin, where there is none, the gradient is finite.

    Args:
        y: Tensor of a floating dtype, or a value convertible to one.
        x: The same dtype.
        name: Accepted for compatibility.

    Returns:
        The angles, of the broadcast shape.

    Example:
        >>> import tfx as tf
        >>> tf.atan2([1.0, 0.0], [0.0, -1.0]).numpy()
        array([1.5707964, 3.1415927], dtype=float32)
    """
    y, x = same_dtype(y, x, "Atan2")
    require_dtype(y, y.dtype.is_floating, "Atan2", "a floating dtype")
    return _angle(y, x)


@eagerly_at_once
def _angle(y: Tensor, x: Tensor) -> Tensor:
    # The angle of the smaller over the larger coordinate, which is at most 1 ...
    steep = ox.Greater(abs(y), abs(x))
    larger, smaller = ox.Where(steep, y, x), ox.Where(steep, x, y)
    origin = ox.Equal(larger, scalar_like(0, x))
    larger = ox.Where(origin, scalar_like(1, x), larger)
    infinite = ox.IsInf(smaller)  # then both are, and only their signs count
    larger = ox.Where(infinite, ox.Sign(larger), larger)
    smaller = ox.Where(infinite, ox.Sign(smaller), smaller)
    angle = atan(divide(smaller, larger))
    # ... and from there to the octant of the point.
    half_turn = ox.Where(_is_negative(y), scalar_like(-math.pi, x), scalar_like(math.pi, x))
    flat = ox.Where(_is_negative(x), add(half_turn, angle), angle)
    return ox.Where(steep, subtract(multiply(half_turn, 0.5), angle), flat)


def _is_negative(x: Tensor) -> Tensor:
    """The sign bit, that of -0 included (one over which is -infinity)."""
    zero = scalar_like(0, x)
    below = ox.Less(x, zero)
    return ox.Or(below, ox.Less(ox.Reciprocal(x), zero))
