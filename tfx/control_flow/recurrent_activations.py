"""The activations of ONNX's ``RNN``, ``GRU`` and ``LSTM``, with their derivatives.

Most are operators by that name, whose gradient rules have the derivative.

A number that an attribute leaves out is the default of the ONNX operator of that name, or 0 where
that has none, as ONNX Runtime takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.activations import sigmoid_slope, tanh_slope

# Importing the families fills the rule table.
from tfx.ops.common import registration as registration
from tfx.ops.common.arguments import cast_to, scalar_like, scaled
from tfx.ops.common.shapes import zeros_shaped
from tfx.ops.common.tangents import gradient_of

# What a missing alpha or beta is; a name that is not here takes none and uses up none.
_ALPHA = {
    "Affine": 0.0,
    "Elu": 1.0,
    "HardSigmoid": 0.2,
    "LeakyRelu": 0.01,
    "ScaledTanh": 0.0,
    "ThresholdedRelu": 0.0,
}
_BETA = {"Affine": 0.0, "HardSigmoid": 0.5, "ScaledTanh": 0.0}
_NAMES = {
    name.lower(): name for name in (*_ALPHA, "Relu", "Sigmoid", "Softplus", "Softsign", "Tanh")
}


@dataclass(frozen=True, slots=True)
class Activation:
    """A function of one number.

    Attributes:
        name: ONNX's name.
        alpha: Its first number, where it has one.
        beta: Its second number, where it has one.
        clip: Arguments are brought to ``[-clip, clip]`` first; 0: they are not.
    """

    name: str
    alpha: float = 0.0
    beta: float = 0.0
    clip: float = 0.0

    def value(self, x: Tensor) -> Tensor:
        """The function of each element."""
        return self._of(self._clipped(x))

    def both(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The function and its derivative; at the ends of a clipped range the latter is not 0."""
        inner = self._clipped(x)
        y = self._of(inner)
        slope = self._slope(inner, y)
        if self.clip:
            inside = ox.LessOrEqual(ox.Abs(x), scalar_like(self.clip, x))
            slope = ox.Where(inside, slope, scalar_like(0, x))
        return y, slope

    def _of(self, x: Tensor) -> Tensor:
        if self.name in ("Affine", "HardSigmoid"):
            y = ox.Add(scaled(x, self.alpha), scalar_like(self.beta, x))
            hard = self.name == "HardSigmoid"  # whose kernel has no float64
            return ox.Clip(y, scalar_like(0, y), scalar_like(1, y)) if hard else y
        if self.name == "ScaledTanh":
            return scaled(ox.Tanh(scaled(x, self.beta)), self.alpha)
        if self.name == "ThresholdedRelu":  # the same
            return ox.Mul(x, cast_to(ox.Greater(x, scalar_like(self.alpha, x)), x.dtype))
        return apply(self.name, (x,), self._attrs())

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        if self.name == "Affine":
            return ox.Add(zeros_shaped(x), scalar_like(self.alpha, x))
        if self.name == "Sigmoid":
            return sigmoid_slope(ox, y)
        if self.name == "Tanh":
            return tanh_slope(ox, y)
        if self.name == "ScaledTanh":
            inner = ox.Tanh(scaled(x, self.beta))
            return scaled(tanh_slope(ox, inner), self.alpha * self.beta)
        # As the operator's gradient has it: the others are not worth a shorter way.
        operation = OpRecord(self.name, self._attrs(), (x,), (y,))
        slope = gradient_of(operation, 0, scalar_like(1, x))
        assert slope is not None
        return slope

    def _attrs(self) -> dict[str, Any]:
        """The attributes of the operator of this name."""
        numbers = (("alpha", self.alpha, _ALPHA), ("beta", self.beta, _BETA))
        return {key: number for key, number, takes in numbers if self.name in takes}

    def _clipped(self, x: Tensor) -> Tensor:
        if not self.clip:
            return x
        return ox.Clip(x, scalar_like(-self.clip, x), scalar_like(self.clip, x))


def activations_of(attrs: dict[str, Any], default: Sequence[str]) -> list[Activation]:
    """The activations of a node.

    Args:
        attrs: Its attributes.
        default: Their names where none are given.
    """
    alphas = [float(a) for a in attrs.get("activation_alpha") or ()]
    betas = [float(b) for b in attrs.get("activation_beta") or ()]
    clip = float(attrs.get("clip") or 0.0)
    found = []
    for given in attrs.get("activations") or default:
        text = given.decode() if isinstance(given, bytes) else given
        name = _NAMES.get(text.lower(), text)
        alpha = (alphas.pop(0) if alphas else _ALPHA[name]) if name in _ALPHA else 0.0
        beta = (betas.pop(0) if betas else _BETA[name]) if name in _BETA else 0.0
        found.append(Activation(name, alpha, beta, clip))
    return found
