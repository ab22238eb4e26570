"""The activations of ONNX's ``RNN``, ``GRU`` and ``LSTM``, with their derivatives.

A number that an attribute leaves out is the default of the ONNX operator of that name, or 0 where
that has none, as ONNX Runtime takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like, scaled
from tfx.ops.common.shapes import zeros_shaped

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
        return _VALUES[self.name](self, self._clipped(x))

    def both(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The function and its derivative; at the ends of a clipped range the latter is not 0."""
        inner = self._clipped(x)
        y = _VALUES[self.name](self, inner)
        slope = _SLOPES[self.name](self, inner, y)
        if self.clip:
            inside = ox.LessOrEqual(ox.Abs(x), scalar_like(self.clip, x))
            slope = ox.Where(inside, slope, scalar_like(0, x))
        return y, slope

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


def _number(value: float, x: Tensor) -> Tensor:
    return scalar_like(value, x)


def _over(x: Tensor, limit: float) -> Tensor:
    """1 above a limit, else 0."""
    return cast_to(ox.Greater(x, scalar_like(limit, x)), x.dtype)


def _affine(a: Activation, x: Tensor) -> Tensor:
    return ox.Add(scaled(x, a.alpha), _number(a.beta, x))


_VALUES: dict[str, Callable[[Activation, Tensor], Tensor]] = {
    "Affine": _affine,
    "Elu": lambda a, x: ox.Elu(x, alpha=a.alpha),
    "HardSigmoid": lambda a, x: ox.Clip(_affine(a, x), _number(0, x), _number(1, x)),
    "LeakyRelu": lambda a, x: ox.LeakyRelu(x, alpha=a.alpha),
    "Relu": lambda a, x: ox.Relu(x),
    "ScaledTanh": lambda a, x: scaled(ox.Tanh(scaled(x, a.beta)), a.alpha),
    "Sigmoid": lambda a, x: ox.Sigmoid(x),
    "Softplus": lambda a, x: ox.Softplus(x),
    "Softsign": lambda a, x: ox.Softsign(x),
    "Tanh": lambda a, x: ox.Tanh(x),
    "ThresholdedRelu": lambda a, x: ox.Mul(x, _over(x, a.alpha)),
}


def _sigmoid_slope(a: Activation, x: Tensor, y: Tensor) -> Tensor:
    return ox.Mul(y, ox.Sub(_number(1, y), y))


def _tanh_slope(a: Activation, x: Tensor, y: Tensor) -> Tensor:
    return ox.Sub(_number(1, y), ox.Mul(y, y))


def _scaled_tanh_slope(a: Activation, x: Tensor, y: Tensor) -> Tensor:
    inner = ox.Tanh(scaled(x, a.beta))
    return scaled(_tanh_slope(a, x, inner), a.alpha * a.beta)


def _hard_sigmoid_slope(a: Activation, x: Tensor, y: Tensor) -> Tensor:
    inner = _affine(a, x)
    inside = ox.And(ox.Greater(inner, _number(0, x)),
                           ox.Less(inner, _number(1, x)))  # fmt: skip
    return scaled(cast_to(inside, x.dtype), a.alpha)


def _constant_slope(a: Activation, x: Tensor, y: Tensor) -> Tensor:
    return ox.Add(zeros_shaped(x), _number(a.alpha, x))


def _softsign_slope(a: Activation, x: Tensor, y: Tensor) -> Tensor:
    size = ox.Add(ox.Abs(x), _number(1, x))
    return ox.Reciprocal(ox.Mul(size, size))


def _split_slope(a: Activation, x: Tensor, y: Tensor, below: Tensor) -> Tensor:
    """1 above 0, else another slope."""
    return ox.Where(ox.Greater(x, _number(0, x)), _number(1, x), below)


_SLOPES: dict[str, Callable[[Activation, Tensor, Tensor], Tensor]] = {
    "Affine": _constant_slope,
    "Elu": lambda a, x, y: _split_slope(a, x, y, ox.Add(y, _number(a.alpha, x))),
    "HardSigmoid": _hard_sigmoid_slope,
    "LeakyRelu": lambda a, x, y: _split_slope(a, x, y, _number(a.alpha, x)),
    "Relu": lambda a, x, y: _over(x, 0),
    "ScaledTanh": _scaled_tanh_slope,
    "Sigmoid": _sigmoid_slope,
    "Softplus": lambda a, x, y: ox.Sigmoid(x),
    "Softsign": _softsign_slope,
    "Tanh": _tanh_slope,
    "ThresholdedRelu": lambda a, x, y: _over(x, a.alpha),
}
