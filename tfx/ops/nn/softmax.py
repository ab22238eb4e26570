"""The logistic family: sigmoid, softplus, softsign, softmax and their logarithms."""

from __future__ import annotations

from typing import Any

from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, elementwise, forward, gradient
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.activations import sigmoid_slope
from tfx.ops.common.arguments import require_dtype, single_axis, tensor, unary_floating
from tfx.ops.common.batching import along_axis, batching
from tfx.ops.math.arithmetic import add, divide, multiply, subtract
from tfx.ops.math.elementwise import abs, exp, negative, square


def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """``1 / (1 + exp(-x))`` element by element.

    It is relatively accurate (4 units in the last place) however small the result is, except as a
    gate in the body of a loop: what there only multiplies has an absolute error of 1e-7 in float32.
    The slope is computed from the result: accurate below 0, and to one unit of 1 above.

    Args:
        x: Tensor of a floating dtype, or a value convertible to one.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: ``x`` is not floating.

    Example:
        >>> import tfx as tf
        >>> tf.sigmoid(0.0).numpy()
        np.float32(0.5)
    """
    return unary_floating("Sigmoid", x)


@gradient("Sigmoid")
def _sigmoid_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return multiply(dy, sigmoid_slope(ox, op.outputs[0]))


def softplus(features: Any, name: str | None = None) -> Tensor:
    """``log(1 + exp(x))`` element by element, without overflow; in float32 to 5 units.

    Example:
        >>> import tfx as tf
        >>> tf.math.softplus([0.0, 1000.0]).numpy()
        array([6.931472e-01, 1.000000e+03], dtype=float32)
    """
    return unary_floating("Softplus", features)


@gradient("Softplus")
def _softplus_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return multiply(dy, sigmoid(op.inputs[0]))


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """``log(sigmoid(x))`` element by element, without underflow; in float32 to 5 units.

    Example:
        >>> import tfx as tf
        >>> tf.math.log_sigmoid([0.0, -1000.0]).numpy()
        array([-6.931472e-01, -1.000000e+03], dtype=float32)
    """
    return negative(softplus(negative(x)))


def softsign(features: Any, name: str | None = None) -> Tensor:
    """``x / (1 + abs(x))`` element by element.

    Example:
        >>> import tfx as tf
        >>> tf.nn.softsign([0.0, -1.0]).numpy()
        array([ 0. , -0.5], dtype=float32)
    """
    return unary_floating("Softsign", features)


@gradient("Softsign")
def _softsign_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """The slope is ``1 / (1 + |x|)**2``; of the result ``1 - |y|`` would lose what is small."""
    return divide(dy, square(add(abs(op.inputs[0]), 1.0)))


def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """``exp(x)`` over its sum along an axis.

    Args:
        logits: Tensor of a floating dtype, or a value convertible to one.
        axis: The axis; negative ones count from the end. None means the last.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape, whose elements along the axis add up to 1.

    Raises:
        InvalidArgumentError: ``logits`` is not floating or a scalar, or the axis is out of range.

    Example:
        >>> import tfx as tf
        >>> tf.nn.softmax([0.0, 0.0]).numpy()
        array([0.5, 0.5], dtype=float32)
    """
    return _along("Softmax", logits, axis)


@gradient("Softmax")
def _softmax_grad(op: OpRecord, dy: Tensor) -> Tensor:
    y = op.outputs[0]
    return multiply(subtract(dy, _axis_sum(op, multiply(dy, y))), y)


# The derivative is diag(y) - y y^T, which is symmetric.
elementwise("Softmax")


def log_softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """The logarithm of ``softmax``, without underflow.

    Example:
        >>> import tfx as tf
        >>> tf.nn.log_softmax([0.0, 1000.0]).numpy()
        array([-1000.,     0.], dtype=float32)
    """
    return _along("LogSoftmax", logits, axis)


@gradient("LogSoftmax")
def _log_softmax_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return subtract(dy, multiply(exp(op.outputs[0]), _axis_sum(op, dy)))


@forward("LogSoftmax")
def _log_softmax_forward(op: OpRecord, tangent: Tensor) -> Tensor:
    return ox.Sub(tangent, _axis_sum(op, ox.Mul(ox.Exp(op.outputs[0]), tangent)))


def _along(op: str, logits: Any, axis: Any) -> Tensor:
    x = tensor(logits)
    require_dtype(x, x.dtype.is_floating, op, "a floating dtype")
    return apply(op, (x,), {"axis": -1 if axis is None else single_axis(axis, x, op)})


def _axis_sum(op: OpRecord, x: Tensor) -> Tensor:
    axes = int64_constant([op.attrs.get("axis", -1)])
    return ox.ReduceSum(x, axes, keepdims=1)


batching("Softmax", "LogSoftmax")(along_axis(-1))
