"""Functions of one number, element by element: signs, powers, exponentials, rounding, tests.

Owns the unary operators that are neither trigonometric nor sigmoids. The decision: each function
emits the ONNX operator of its meaning in the dtype it was given; kernels that the runtime lacks
are the passes' business.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord, gradient, linear, no_gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import scalar_like, tensor, unary_floating, zeros_of
from tfx.ops.common.traced_once import eagerly_at_once
from tfx.ops.math.arithmetic import divide, multiply, subtract
from tfx.ops.math.cast import stop_gradient


def abs(x: Any, name: str | None = None) -> Tensor:
    """The absolute value; its gradient at 0 is 0.

    Args:
        x: Tensor of a number dtype, or a value convertible to one.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape; of complex numbers the magnitudes, which are real.

    Raises:
        InvalidArgumentError: ``x`` is not a number.

    Example:
        >>> import tfx as tf
        >>> tf.abs([-2.0, 3.0]).numpy()
        array([2., 3.], dtype=float32)
    """
    return ox.Abs(tensor(x))


@gradient("Abs")
def _abs_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return multiply(dy, sign(op.inputs[0]))


def negative(x: Any, name: str | None = None) -> Tensor:
    """``-x`` element by element.

    Example:
        >>> import tfx as tf
        >>> tf.negative([1, -2]).numpy()
        array([-1,  2], dtype=int32)
    """
    return ox.Neg(tensor(x))


@gradient("Neg")
def _neg_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return negative(dy)


linear("Neg")


def sign(x: Any, name: str | None = None) -> Tensor:
    """-1, 0 or 1, like the sign of ``x``; its gradient is 0 everywhere.

    Example:
        >>> import tfx as tf
        >>> tf.sign([-2.5, 0.0, 3.0]).numpy()
        array([-1.,  0.,  1.], dtype=float32)
    """
    return ox.Sign(tensor(x))


@gradient("Sign")
def _sign_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return zeros_of(dy)


def exp(x: Any, name: str | None = None) -> Tensor:
    """The exponential function, e to the power ``x``.

    Args:
        x: Tensor of a floating dtype, or a value convertible to one.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: ``x`` is not floating.

    Example:
        >>> import tfx as tf
        >>> tf.exp([0.0, 1.0]).numpy()
        array([1.       , 2.7182817], dtype=float32)
    """
    return unary_floating("Exp", x)


@gradient("Exp")
def _exp_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return multiply(dy, op.outputs[0])


def expm1(x: Any, name: str | None = None) -> Tensor:
    """``exp(x) - 1``, accurate also for small ``x``.

    Example:
        >>> import tfx as tf
        >>> float(tf.math.expm1(1e-10)) > 0.0
        True
    """
    return _expm1(tensor(x))


@eagerly_at_once
def _expm1(x: Tensor) -> Tensor:
    power = exp(x)
    plain = subtract(power, 1.0)
    if x.dtype.is_complex:
        return plain
    # With u = exp(x) as rounded, expm1(x) is close to (u - 1) * x / log(u), in which the rounding
    # cancels (Kahan). What it adds to the plain formula is rounding error, which has no gradient:
    # the gradient is exactly exp(x).
    lost = ox.Equal(plain, scalar_like(0, x))  # nothing is left of x, which is the result
    u = ox.Where(lost, scalar_like(2, x), stop_gradient(power))
    accurate = multiply(stop_gradient(plain), divide(x, ox.Log(u)))
    accurate = ox.Where(lost, x, accurate)
    small = ox.Less(ox.Abs(x), scalar_like(0.5, x))
    rest = ox.Where(small, subtract(accurate, plain), scalar_like(0, x))
    return ox.Add(plain, stop_gradient(rest))


def log(x: Any, name: str | None = None) -> Tensor:
    """The natural logarithm: -inf at 0, NaN below.

    Example:
        >>> import tfx as tf
        >>> tf.math.log([1.0, 0.0]).numpy()
        array([  0., -inf], dtype=float32)
    """
    return unary_floating("Log", x)


@gradient("Log")
def _log_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return divide(dy, op.inputs[0])


def log1p(x: Any, name: str | None = None) -> Tensor:
    """``log(1 + x)``, accurate also for small ``x``.

    Example:
        >>> import tfx as tf
        >>> float(tf.math.log1p(1e-10)) > 0.0
        True
    """
    return _log1p(tensor(x))


@eagerly_at_once
def _log1p(x: Tensor) -> Tensor:
    one = scalar_like(1, x)
    u = ox.Add(x, one)
    # u = 1 + x was rounded by lost = (u - 1) - x, and log(u - lost) = log(u) - lost / u to first
    # order. Exact sums (infinity and -1 among them) lose nothing. Rounding has no gradient.
    back = ox.Sub(u, one)
    exact = ox.Equal(back, x)
    lost = divide(ox.Sub(back, x), u)
    lost = ox.Where(exact, scalar_like(0, x), lost)
    return ox.Sub(log(u), stop_gradient(lost))


def sqrt(x: Any, name: str | None = None) -> Tensor:
    """The square root: NaN below 0; its gradient at 0 is infinite.

    Example:
        >>> import tfx as tf
        >>> tf.sqrt([4.0, 9.0]).numpy()
        array([2., 3.], dtype=float32)
    """
    return unary_floating("Sqrt", x)


@gradient("Sqrt")
def _sqrt_grad(op: OpRecord, dy: Tensor) -> Tensor:
    y = op.outputs[0]
    return ox.Div(dy, ox.Add(y, y))


def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """One over the square root.

    Example:
        >>> import tfx as tf
        >>> tf.math.rsqrt([4.0, 0.25]).numpy()
        array([0.5, 2. ], dtype=float32)
    """
    return ox.Reciprocal(sqrt(x))


def square(x: Any, name: str | None = None) -> Tensor:
    """``x * x`` element by element.

    Example:
        >>> import tfx as tf
        >>> tf.square([2, -3]).numpy()
        array([4, 9], dtype=int32)
    """
    x = tensor(x)
    return ox.Mul(x, x)


def reciprocal(x: Any, name: str | None = None) -> Tensor:
    """``1 / x`` element by element, for floating dtypes.

    Example:
        >>> import tfx as tf
        >>> tf.math.reciprocal([2.0, 0.5]).numpy()
        array([0.5, 2. ], dtype=float32)
    """
    return unary_floating("Reciprocal", x)


@gradient("Reciprocal")
def _reciprocal_grad(op: OpRecord, dy: Tensor) -> Tensor:
    y = op.outputs[0]
    return negative(multiply(dy, multiply(y, y)))


def floor(x: Any, name: str | None = None) -> Tensor:
    """The largest integer that is not larger than ``x``, in the dtype of ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.floor([1.7, -1.2]).numpy()
        array([ 1., -2.], dtype=float32)
    """
    return unary_floating("Floor", x)


def ceil(x: Any, name: str | None = None) -> Tensor:
    """The smallest integer that is not smaller than ``x``, in the dtype of ``x``.

    Example:
        >>> import tfx as tf
        >>> tf.math.ceil([1.2, -1.7]).numpy()
        array([ 2., -1.], dtype=float32)
    """
    return unary_floating("Ceil", x)


def round(x: Any, name: str | None = None) -> Tensor:
    """The nearest integer, in the dtype of ``x``; halves go to the even neighbour.

    Example:
        >>> import tfx as tf
        >>> tf.round([0.5, 1.5, -0.9]).numpy()
        array([ 0.,  2., -1.], dtype=float32)
    """
    x = tensor(x)
    return x if x.dtype.is_integer else unary_floating("Round", x)


def rint(x: Any, name: str | None = None) -> Tensor:
    """``round`` for floating dtypes only.

    Example:
        >>> import tfx as tf
        >>> tf.math.rint([0.5, 1.5]).numpy()
        array([0., 2.], dtype=float32)
    """
    return unary_floating("Round", x)


no_gradient("Floor", "Ceil", "Round", why="the result is piecewise constant")


def is_nan(x: Any, name: str | None = None) -> Tensor:
    """Return whether each element is NaN.

    Example:
        >>> import tfx as tf
        >>> tf.math.is_nan([1.0, float("nan")]).numpy()
        array([False,  True])
    """
    return unary_floating("IsNaN", x)


def is_inf(x: Any, name: str | None = None) -> Tensor:
    """Return whether each element is infinite, of either sign.

    Example:
        >>> import tfx as tf
        >>> tf.math.is_inf([1.0, float("-inf")]).numpy()
        array([False,  True])
    """
    return unary_floating("IsInf", x)


no_gradient("IsNaN", "IsInf", why="the result is boolean")


def is_finite(x: Any, name: str | None = None) -> Tensor:
    """Return whether each element is neither infinite nor NaN.

    Example:
        >>> import tfx as tf
        >>> tf.math.is_finite([1.0, float("inf"), float("nan")]).numpy()
        array([ True, False, False])
    """
    size = unary_floating("Abs", x)
    return ox.Less(size, scalar_like(math.inf, size))
