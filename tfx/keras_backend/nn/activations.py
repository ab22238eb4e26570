"""Activation functions: of each element here, and those along an axis in ``softmax``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.nn.arguments import floating


def _activation(name: str, compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of one argument, integers of which become floating numbers."""

    def call(x: Any) -> Any:
        return compute(floating(x))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``{name}`` of each element."
    return call


def _node(operator: str, x: Any, **attributes: float) -> Any:
    """One node of the ONNX graph; of these none takes bfloat16."""
    run = getattr(tf.raw, operator)
    if x.dtype == tf.bfloat16:
        return tf.cast(run(tf.cast(x, tf.float32), **attributes), x.dtype)
    return run(x, **attributes)


log_sigmoid = _activation("log_sigmoid", tf.math.log_sigmoid)
selu = _activation("selu", tf.nn.selu)
silu = _activation("silu", tf.nn.silu)
softplus = _activation("softplus", tf.nn.softplus)
softsign = _activation("softsign", tf.nn.softsign)
tanh = _activation("tanh", tf.math.tanh)
hard_sigmoid = _activation("hard_sigmoid", lambda x: _node("HardSigmoid", x, alpha=1 / 6, beta=0.5))
hard_silu = _activation("hard_silu", lambda x: x * hard_sigmoid(x))
hard_tanh = _activation("hard_tanh", lambda x: tf.clip_by_value(x, -1.0, 1.0))
tanh_shrink = _activation("tanh_shrink", lambda x: x - tf.math.tanh(x))
sparse_sigmoid = _activation(
    "sparse_sigmoid", lambda x: tf.clip_by_value(0.5 * (x + 1.0), 0.0, 1.0)
)
# Clipped, so that the slope of the parabola is finite where it does not count.
sparse_plus = _activation(
    "sparse_plus",
    lambda x: tf.where(x < 1.0, 0.25 * tf.square(tf.clip_by_value(x, -1.0, 1.0) + 1.0), x),
)


def relu(x: Any) -> Any:
    """What is positive, and 0 elsewhere."""
    return tf.nn.relu(convert_to_tensor(x))


def relu6(x: Any) -> Any:
    """The nearest number between 0 and 6."""
    return tf.nn.relu6(convert_to_tensor(x))


def leaky_relu(x: Any, negative_slope: Any = 0.2) -> Any:
    """What is positive, and a share of what is negative."""
    return tf.nn.leaky_relu(floating(x), negative_slope)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """What is positive, and ``alpha * (exp(x) - 1)`` elsewhere."""
    x = floating(x)
    return tf.nn.elu(x) if alpha == 1 else _node("Elu", x, alpha=alpha)


def celu(x: Any, alpha: float = 1.0) -> Any:
    """What is positive, and ``alpha * (exp(x / alpha) - 1)`` elsewhere."""
    x = floating(x)
    if alpha == 1:
        return tf.nn.elu(x)
    return tf.where(x > 0, x, alpha * tf.nn.elu(tf.minimum(x, 0.0) / alpha))


def gelu(x: Any, approximate: bool = True) -> Any:
    """``x`` times the probability that a normal number is less."""
    return tf.nn.gelu(floating(x), approximate)


def glu(x: Any, axis: int = -1) -> Any:
    """The first half along an axis, gated by the sigmoid of the second.

    Raises:
        ValueError: the axis has no halves.
    """
    x = floating(x)
    size = x.shape[axis]
    if size is not None and size % 2:
        raise ValueError(
            f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}"
        )
    first, second = tf.split(x, 2, axis)
    return first * tf.nn.sigmoid(second)


def squareplus(x: Any, b: Any = 4) -> Any:
    """``(x + sqrt(x ** 2 + b)) / 2``."""
    x = floating(x)
    return (x + tf.sqrt(tf.square(x) + convert_to_tensor(b, x.dtype))) * 0.5


def soft_shrink(x: Any, threshold: float = 0.5) -> Any:
    """``x``, nearer to 0 by the threshold; 0 where it is nearer already."""
    return _node("Shrink", floating(x), lambd=threshold, bias=threshold)


def hard_shrink(x: Any, threshold: float = 0.5) -> Any:
    """``x``, but 0 where it is no further from 0 than the threshold."""
    return _node("Shrink", floating(x), lambd=threshold, bias=0.0)


def threshold(x: Any, threshold: Any, default_value: Any) -> Any:
    """``x`` where it is above the threshold, and another value elsewhere."""
    x = convert_to_tensor(x)
    default_value = convert_to_tensor(default_value, x.dtype)
    return tf.where(x > convert_to_tensor(threshold, x.dtype), x, default_value)
