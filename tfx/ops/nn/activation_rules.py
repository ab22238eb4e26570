"""Gradient rules of activations that no operation here emits, but imported models and ``raw`` do.

At a kink the slope is the one that TensorFlow takes for ``relu`` and ``relu6``: that of the flat
side, and for leaky activations that of the negative side.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord, forward, gradient, no_gradient
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.activations import tanh_slope
from tfx.ops.common.arguments import scalar_like, unbroadcast
from tfx.ops.common.batching import BatchedOp, Results, along_axis, batching
from tfx.ops.common.tangents import broadcasting
from tfx.ops.math.arithmetic import add, divide, minimum, multiply, subtract
from tfx.ops.math.elementwise import abs, exp
from tfx.ops.math.trigonometry import tanh
from tfx.ops.nn.softmax import sigmoid, softplus


def _where(condition: str, x: Tensor, limit: float, yes: Tensor, no: Tensor) -> Tensor:
    """``yes`` where ``x`` compares with a number, ``no`` elsewhere."""
    return ox.Where(apply(condition, (x, scalar_like(limit, x))), yes, no)


@gradient("Celu")
def _celu_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """``exp(x / alpha)`` below 0, 1 above: both are 1 at 0."""
    (x,) = op.inputs
    return multiply(dy, exp(divide(minimum(x, 0.0), op.attrs.get("alpha", 1.0))))


@gradient("Mish")
def _mish_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """Return the gradient of ``x * tanh(softplus(x))``."""
    (x,) = op.inputs
    bent = tanh(softplus(x))
    slope = multiply(sigmoid(x), tanh_slope(ox, bent))
    return multiply(dy, add(bent, multiply(x, slope)))


@gradient("Swish")
def _swish_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """Return the gradient of ``x * sigmoid(alpha * x)``."""
    (x,) = op.inputs
    scaled = multiply(x, op.attrs.get("alpha", 1.0))
    gate = sigmoid(scaled)
    return multiply(dy, multiply(gate, add(1.0, multiply(scaled, subtract(1.0, gate)))))


@gradient("HardSigmoid")
def _hard_sigmoid_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """``alpha`` where the result is strictly between 0 and 1."""
    slope = multiply(dy, op.attrs.get("alpha", 0.2))
    zero = scalar_like(0, dy)
    y = op.outputs[0]
    return _where("Greater", y, 0, _where("Less", y, 1, slope, zero), zero)


@gradient("HardSwish")
def _hard_swish_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """Return the gradient of ``x * max(0, min(1, x / 6 + 1/2))``: 0 up to -3, 1 from 3 on."""
    (x,) = op.inputs
    middle = multiply(dy, add(divide(x, 3.0), 0.5))
    return _where("Greater", x, -3, _where("Less", x, 3, middle, dy), scalar_like(0, dy))


@gradient("ThresholdedRelu")
def _thresholded_relu_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return _where("Greater", op.inputs[0], op.attrs.get("alpha", 1.0), dy, scalar_like(0, dy))


@gradient("Shrink")
def _shrink_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """1 outside of ``[-lambd, lambd]``."""
    (x,) = op.inputs
    return _where("Greater", abs(x), op.attrs.get("lambd", 0.5), dy, scalar_like(0, dy))


@gradient("PRelu")
def _prelu_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, slope = op.inputs
    zero = scalar_like(0, dy)
    dx = _where("Greater", x, 0, dy, multiply(dy, slope)) if op.needs[0] else None
    bent = _where("Greater", x, 0, zero, multiply(dy, x)) if op.needs[1] else None
    return dx, None if bent is None else unbroadcast(bent, slope)


forward("PRelu")(broadcasting)


no_gradient("Hardmax", why="the result is piecewise constant")


@batching("PRelu")
def _prelu_batching(op: BatchedOp) -> Results:
    """The slope broadcasts to the input, never the other way round."""
    if op.batched[1]:
        return op.apply((op.full(0), op.aligned(1, op.rank(0))))
    return op.apply(op.inputs)


batching("Hardmax")(along_axis(-1))
