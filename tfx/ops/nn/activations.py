"""Activation functions: rectifiers and their smooth relatives."""

from __future__ import annotations

import math
from typing import Any

from tfx.core import dtypes
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.common.arguments import (
    cast_to,
    is_tensor_like,
    require_dtype,
    same_dtype,
    scalar_like,
    tensor,
)
from tfx.ops.math.arithmetic import add, multiply, subtract
from tfx.ops.math.elementwise import exp, expm1, square
from tfx.ops.math.error_functions import erf, erfc
from tfx.ops.math.trigonometry import tanh
from tfx.ops.nn.softmax import sigmoid

# The constants of self-normalizing networks.
_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805
# The approximation of the normal distribution by tanh.
_TANH_SCALE, _TANH_CUBE = math.sqrt(2 / math.pi), 0.044715


def relu(features: Any, name: str | None = None) -> Tensor:
    """``max(features, 0)``; the slope at 0 is 0.

    Args:
        features: Tensor of a number dtype.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.nn.relu([-2.0, 0.0, 3.0]).numpy()
        array([0., 0., 3.], dtype=float32)
    """
    x = tensor(features)
    require_dtype(x, x.dtype.is_floating or x.dtype.is_integer, "Relu", "a number dtype")
    if x.dtype.is_integer:  # the kernel of 64 bits would go through float64
        return x if x.dtype.is_unsigned else ox.Max(x, scalar_like(0, x))
    return ox.Relu(x)


@gradient("Relu")
def _relu_grad(op: OpRecord, dy: Tensor) -> Tensor:
    # A product, as in TensorFlow: infinity behind a flat part is NaN. The second derivative is 0.
    return multiply(dy, ox.Sign(op.outputs[0]))


def _where_positive(x: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return ox.Where(ox.Greater(x, scalar_like(0, x)), yes, no)


def _where_negative(x: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return ox.Where(ox.Less(x, scalar_like(0, x)), yes, no)


def _through_float32(op: str, x: Tensor) -> Tensor:
    """An operator in float32, which is how float16 is computed, too; ONNX lacks bfloat16."""
    return cast_to(apply(op, (cast_to(x, dtypes.float32),)), x.dtype)


def relu6(features: Any, name: str | None = None) -> Tensor:
    """``min(max(features, 0), 6)``; the slope is 1 strictly between 0 and 6.

    Example:
        >>> import tfx as tf
        >>> tf.nn.relu6([-2.0, 3.0, 7.0]).numpy()
        array([0., 3., 6.], dtype=float32)
    """
    x = relu(features)
    if x.dtype.is_integer:
        return ox.Min(x, scalar_like(6, x))
    # ONNX Runtime makes one Clip of the two, which it can also fuse into a convolution.
    return ox.Clip(x, None, scalar_like(6, x))


def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """``features`` where positive, ``alpha * features`` elsewhere; the slope at 0 is ``alpha``.

    Args:
        features: Tensor of a floating dtype; integers become float32.
        alpha: Slope for negative values.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.nn.leaky_relu([-2.0, 3.0], alpha=0.5).numpy()
        array([-1.,  3.], dtype=float32)
    """
    x = tensor(features)
    if x.dtype.is_integer:
        x = cast_to(x, dtypes.float32)
    require_dtype(x, x.dtype.is_floating, "LeakyRelu", "a floating dtype")
    if not is_tensor_like(alpha) and x.dtype is not dtypes.float64:
        return ox.LeakyRelu(x, alpha=float(alpha))
    # The operator's slope is a float32 constant.
    x, slope = same_dtype(x, alpha, "LeakyRelu")
    return _where_positive(x, x, multiply(x, slope))


@gradient("LeakyRelu")
def _leaky_relu_grad(op: OpRecord, dy: Tensor) -> Tensor:
    slope = scalar_like(op.attrs.get("alpha", 0.01), dy)
    return _where_positive(op.inputs[0], dy, ox.Mul(dy, slope))


def elu(features: Any, name: str | None = None) -> Tensor:
    """``features`` where positive, ``exp(features) - 1`` elsewhere.

    In float32 with an absolute error of 1e-7, as in TensorFlow: ``expm1`` is exact near 0.

    Example:
        >>> import tfx as tf
        >>> tf.nn.elu([-1.0, 3.0]).numpy()
        array([-0.63212055,  3.        ], dtype=float32)
    """
    x = tensor(features)
    require_dtype(x, x.dtype.is_floating, "Elu", "a floating dtype")
    if x.dtype is dtypes.float64:
        return _exponential(x, 1.0, 1.0)
    return _through_float32("Elu", x)


@gradient("Elu")
def _elu_grad(op: OpRecord, dy: Tensor) -> Tensor:
    (x,), y = op.inputs, op.outputs[0]
    slope = ox.Add(y, scalar_like(op.attrs.get("alpha", 1.0), y))
    return _where_negative(x, ox.Mul(dy, slope), dy)


def selu(features: Any, name: str | None = None) -> Tensor:
    """The scaled exponential linear unit of self-normalizing networks; at 0 the right slope counts.

    In float32 with an absolute error of 2e-7, as in TensorFlow.

    Example:
        >>> import tfx as tf
        >>> tf.nn.selu([0.0, 1.0]).numpy()
        array([0.      , 1.050701], dtype=float32)
    """
    x = tensor(features)
    require_dtype(x, x.dtype.is_floating, "Selu", "a floating dtype")
    if x.dtype is dtypes.float64:
        return _exponential(x, _SELU_ALPHA, _SELU_SCALE)
    return _through_float32("Selu", x)


@gradient("Selu")
def _selu_grad(op: OpRecord, dy: Tensor) -> Tensor:
    (x,), y = op.inputs, op.outputs[0]
    alpha, scale = op.attrs.get("alpha", _SELU_ALPHA), op.attrs.get("gamma", _SELU_SCALE)
    slope = ox.Add(y, scalar_like(alpha * scale, y))
    bent, straight = ox.Mul(dy, slope), ox.Mul(dy, scalar_like(scale, y))
    return _where_negative(x, bent, straight)


def _exponential(x: Tensor, alpha: float, scale: float) -> Tensor:
    """Elu and Selu in float64, which their operators lack; large inputs must not overflow."""
    bent = expm1(ox.Min(scalar_like(0, x), x))
    straight = multiply(x, scalar_like(scale, x))
    return _where_negative(x, multiply(bent, scalar_like(alpha * scale, x)), straight)


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Tensor:
    """The Gaussian error linear unit: ``x`` times the probability that a normal number is less.

    In float32 the probability has an absolute error of 2e-7 (with ``approximate`` 4e-7), as in
    TensorFlow: it is computed from 1, and what keeps it small takes ten times as long.

    Args:
        features: Tensor of a floating dtype.
        approximate: Use the formula with ``tanh``.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.nn.gelu([-10.0, 0.0, 1.0]).numpy().round(4)
        array([-0.    ,  0.    ,  0.8413], dtype=float32)
    """
    x = tensor(features)
    require_dtype(x, x.dtype.is_floating, "Gelu", "a floating dtype")
    if x.dtype is dtypes.float64:  # which the operator lacks
        if approximate:  # (1 + tanh(u)) / 2 = sigmoid(2u), which does not cancel
            return multiply(x, sigmoid(multiply(scalar_like(2, x), _tanh_argument(x))))
        return multiply(multiply(scalar_like(0.5, x), x), erfc(multiply(x, -math.sqrt(0.5))))
    return ox.Gelu(x, **({"approximate": "tanh"} if approximate else {}))


@gradient("Gelu")
def _gelu_grad(op: OpRecord, dy: Tensor) -> Tensor:
    (x,) = op.inputs
    if op.attrs.get("approximate") in ("tanh", b"tanh"):
        cdf, pdf = _tanh_cdf(x), _tanh_pdf(x)
    else:
        cdf, pdf = _normal_cdf(x), _normal_pdf(x)
    return multiply(dy, add(cdf, multiply(x, pdf)))


def _normal_cdf(x: Tensor) -> Tensor:
    half = scalar_like(0.5, x)
    return multiply(half, add(scalar_like(1, x), erf(multiply(x, scalar_like(math.sqrt(0.5), x)))))


def _normal_pdf(x: Tensor) -> Tensor:
    power = exp(multiply(square(x), scalar_like(-0.5, x)))
    return multiply(power, scalar_like(1 / math.sqrt(2 * math.pi), x))


def _tanh_cdf(x: Tensor) -> Tensor:
    return multiply(scalar_like(0.5, x), add(scalar_like(1, x), tanh(_tanh_argument(x))))


def _tanh_argument(x: Tensor) -> Tensor:
    bend = add(scalar_like(1, x), multiply(scalar_like(_TANH_CUBE, x), square(x)))
    return multiply(multiply(scalar_like(_TANH_SCALE, x), x), bend)


def _tanh_pdf(x: Tensor) -> Tensor:
    """The slope of ``_tanh_cdf``."""
    one = scalar_like(1, x)
    bend = subtract(one, square(tanh(_tanh_argument(x))))
    inner = add(one, multiply(scalar_like(3 * _TANH_CUBE, x), square(x)))
    return multiply(scalar_like(0.5 * _TANH_SCALE, x), multiply(bend, inner))


def silu(features: Any, beta: Any = 1.0, name: str | None = None) -> Tensor:
    """``features * sigmoid(beta * features)``, also called swish.

    Args:
        features: Tensor of a floating dtype.
        beta: Steepness.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.nn.silu([0.0, 1.0]).numpy().round(4)
        array([0.    , 0.7311], dtype=float32)
    """
    x = tensor(features)
    known = x.dtype.is_floating or x.dtype.is_complex
    require_dtype(x, known, "Swish", "a floating or complex dtype")
    plain = not is_tensor_like(beta) and beta == 1.0
    if not plain:
        beta = cast_to(tensor(beta), x.dtype)
    if x.dtype.size < 4:  # rounded once, and no gate is denormal
        scaled = x if plain else multiply(x, beta)
        wide, scaled = cast_to(x, dtypes.float32), cast_to(scaled, dtypes.float32)
        return cast_to(multiply(wide, sigmoid(scaled)), x.dtype)
    return multiply(x, sigmoid(x if plain else multiply(x, beta)))


swish = silu


def crelu(features: Any, axis: int = -1, name: str | None = None) -> Tensor:
    """``relu(features)`` and ``relu(-features)`` one behind the other along ``axis``.

    Example:
        >>> import tfx as tf
        >>> tf.nn.crelu([-2.0, 3.0]).numpy()
        array([0., 3., 2., 0.], dtype=float32)
    """
    x = tensor(features)
    return relu(concat([x, ox.Neg(x)], axis))
