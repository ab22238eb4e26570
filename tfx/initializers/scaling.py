"""Initializers whose spread follows from the number of inputs and outputs of a layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tfx.core.dtypes import DTypeLike
from tfx.framework.tensor import Tensor
from tfx.initializers.initializer import known_shape
from tfx.initializers.random import (
    NORMAL,
    TRUNCATED_NORMAL,
    UNIFORM,
    RandomInitializer,
    Sampler,
)

_MODES = ("fan_in", "fan_out", "fan_avg")
_DISTRIBUTIONS = ("truncated_normal", "untruncated_normal", "uniform")
# Standard deviation of a standard normal distribution cut at 2.
_CUT = 0.87962566103423978


class VarianceScaling(RandomInitializer):
    """Random numbers whose variance is ``scale / n``, n being a number of inputs or outputs.

    Args:
        scale: Positive.
        mode: What n is: ``"fan_in"``, ``"fan_out"`` or their mean, ``"fan_avg"``. The last two
            dimensions are inputs and outputs, the ones before them a window.
        distribution: ``"truncated_normal"`` (or ``"normal"``), ``"untruncated_normal"`` or
            ``"uniform"``.
        seed: Makes every call return the same numbers.

    Raises:
        ValueError: ``scale`` is not positive, or an unknown mode or distribution.

    Example:
        >>> import tfx as tf
        >>> w = tf.initializers.VarianceScaling(2.0, distribution="uniform", seed=1)([600, 50])
        >>> bool(abs(w.numpy()).max() <= 0.1)
        True
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if scale <= 0.0:
            raise ValueError(f"Argument `scale` must be positive float. Received: scale={scale}")
        mode, distribution = mode.lower(), distribution.lower()
        distribution = "truncated_normal" if distribution == "normal" else distribution
        if mode not in _MODES:
            raise ValueError(
                f"Invalid `mode` argument: {mode!r}. Please use one of {', '.join(_MODES)}."
            )
        if distribution not in _DISTRIBUTIONS:
            raise ValueError(
                f"Invalid `distribution` argument: {distribution!r}. Please use one of "
                f"{', '.join(_DISTRIBUTIONS)}."
            )
        self.scale = scale
        self.mode = mode
        self.distribution = distribution

    def __call__(self, shape: Any, dtype: DTypeLike | None = None) -> Tensor:
        """A tensor of a shape; float32 unless a dtype is given."""
        samplers, *numbers = scaled(known_shape(shape), self.scale, self.mode, self.distribution)
        return self.draw(samplers, shape, dtype, *numbers)


def scaled(
    sizes: Sequence[int], scale: float, mode: str, distribution: str
) -> tuple[tuple[Sampler, Sampler], float, float]:
    """The samplers for weights of a shape, and the two numbers that they take."""
    inputs, outputs = _fans(sizes)
    count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[mode]
    variance = scale / max(1.0, count)
    if distribution == "uniform":
        limit = math.sqrt(3.0 * variance)
        return UNIFORM, -limit, limit
    if distribution == "untruncated_normal":
        return NORMAL, 0.0, math.sqrt(variance)
    return TRUNCATED_NORMAL, 0.0, math.sqrt(variance) / _CUT


def _fans(sizes: Sequence[int]) -> tuple[int, int]:
    """Numbers of inputs and outputs of a layer with weights of this shape."""
    if len(sizes) < 2:
        size = sizes[0] if sizes else 1
        return size, size
    window = math.prod(sizes[:-2])
    return sizes[-2] * window, sizes[-1] * window


class _Preset(VarianceScaling):
    """A ``VarianceScaling`` with everything but the seed chosen."""

    preset: tuple[float, str, str]

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(*self.preset, seed)

    def get_config(self) -> dict[str, Any]:
        """The seed."""
        return {"seed": self.seed}


class GlorotUniform(_Preset):
    """Glorot's (Xavier's) uniform initializer, of variance 2 / (inputs + outputs).

    Args:
        seed: Makes every call return the same numbers.
    """

    preset = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Preset):
    """Glorot's (Xavier's) normal initializer, of variance 2 / (inputs + outputs).

    Args:
        seed: Makes every call return the same numbers.
    """

    preset = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Preset):
    """He's uniform initializer, of variance 2 / inputs.

    Args:
        seed: Makes every call return the same numbers.
    """

    preset = (2.0, "fan_in", "uniform")


class HeNormal(_Preset):
    """He's normal initializer, of variance 2 / inputs.

    Args:
        seed: Makes every call return the same numbers.
    """

    preset = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Preset):
    """LeCun's uniform initializer, of variance 1 / inputs.

    Args:
        seed: Makes every call return the same numbers.
    """

    preset = (1.0, "fan_in", "uniform")


class LecunNormal(_Preset):
    """LeCun's normal initializer, of variance 1 / inputs.

    Args:
        seed: Makes every call return the same numbers.
    """

    preset = (1.0, "fan_in", "truncated_normal")
