"""Initializers with TensorFlow 1's names, arguments and defaults.

They draw from the graph's generators: every run of a variable's initializer gives other numbers,
which the seeds decide.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfx.compat.v1.ops import array_ops
from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.framework.tensor import Tensor
from tfx.ops.array import creation
from tfx.ops.math import cast
from tfx.ops.random import random

# The standard deviation of a normal distribution that is cut off at two of its own.
_TRUNCATED = 0.87962566103423978


class Initializer:
    """Makes the initial value of a variable from its shape and dtype."""

    dtype: dtypes.DType = dtypes.float32

    def __call__(
        self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """The value.

        Args:
            shape: Shape of the variable.
            dtype: Its dtype; None: the initializer's.
            partition_info: Accepted for compatibility.
        """
        kind = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        return self._make(list(shape), kind)

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        raise AssertionError

    def get_config(self) -> dict[str, Any]:
        """The arguments that it was made with."""
        config = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        return {**config, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """The initializer of a configuration."""
        return cls(**config)


class Zeros(Initializer):
    """Zeros, or False, or empty strings."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return creation.zeros(shape, dtype)


class Ones(Initializer):
    """Ones, or True."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return creation.ones(shape, dtype)


class Constant(Initializer):
    """One value everywhere, or the values given.

    Args:
        value: A number, or nested lists of at most as many as the shape has elements.
        dtype: Element type.
        verify_shape: Whether values of another shape are refused.
    """

    def __init__(
        self, value: Any = 0, dtype: DTypeLike = dtypes.float32, verify_shape: bool = False
    ) -> None:
        if not (np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)):
            raise TypeError(
                f"Invalid type for initial value={value} of type: {type(value).__name__}. Expected "
                "Python scalar, list or tuple of values, or numpy.ndarray."
            )
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self._verify = verify_shape

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return array_ops.constant(self.value, dtype, shape, verify_shape=self._verify)


class RandomNormal(Initializer):
    """Normally distributed numbers.

    Args:
        mean: Mean.
        stddev: Standard deviation.
        seed: See ``random_normal``.
        dtype: Element type.
    """

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float = 1.0,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed
        self.dtype = dtypes.as_dtype(dtype)

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return random.normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Normal numbers within two standard deviations; see ``RandomNormal``."""

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class RandomUniform(Initializer):
    """Uniformly distributed numbers.

    Args:
        minval: Lower bound, included.
        maxval: Upper bound, excluded; None: 1.
        seed: See ``random_normal``.
        dtype: Element type.
    """

    def __init__(
        self,
        minval: Any = 0,
        maxval: Any = None,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed
        self.dtype = dtypes.as_dtype(dtype)

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return random.uniform(shape, self.minval, self.maxval, dtype, self.seed)


class VarianceScaling(Initializer):
    """Random numbers whose variance depends on how many inputs and outputs a layer has.

    Args:
        scale: Factor of the variance.
        mode: ``"fan_in"``, ``"fan_out"`` or ``"fan_avg"``.
        distribution: ``"normal"`` or ``"truncated_normal"`` (both cut off at two standard
            deviations), ``"untruncated_normal"`` or ``"uniform"``.
        seed: See ``random_normal``.
        dtype: Element type.

    Raises:
        ValueError: another mode or distribution, or a scale that is not positive.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(
                f"Argument `mode` should be one of fan_in, fan_out, fan_avg; got {mode}"
            )
        kinds = ("normal", "uniform", "truncated_normal", "untruncated_normal")
        if distribution.lower() not in kinds:
            raise ValueError(
                f"Argument `distribution` should be one of {', '.join(kinds)}; got {distribution}."
            )
        self.scale, self.mode, self.seed = scale, mode, seed
        self.distribution = distribution.lower()
        self.dtype = dtypes.as_dtype(dtype)

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        fan_in, fan_out = _fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random.uniform(shape, -limit, limit, dtype, self.seed)
        stddev = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return random.normal(shape, 0.0, stddev, dtype, self.seed)
        return random.truncated_normal(shape, 0.0, stddev / _TRUNCATED, dtype, self.seed)


def _fans(shape: list[int]) -> tuple[float, float]:
    """Return the number of inputs and outputs of a layer with weights of this shape."""
    if len(shape) < 2:
        size = float(shape[0]) if shape else 1.0
        return size, size
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)


class GlorotUniform(VarianceScaling):
    """Uniform numbers with the variance 2 / (inputs + outputs).

    Args:
        seed: See ``random_normal``.
        dtype: Element type.
    """

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments that it was made with."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """Normal numbers with the variance 2 / (inputs + outputs); see ``GlorotUniform``."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments that it was made with."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class Identity(Initializer):
    """A matrix with one number on its diagonal and zeros elsewhere.

    Args:
        gain: The number.
        dtype: Element type.
    """

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain = gain
        self.dtype = dtypes.as_dtype(dtype)

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        if len(shape) != 2:
            raise ValueError(
                "The tensor to initialize, specified by argument `shape` must be at least "
                f"two-dimensional. Received shape={shape}"
            )
        return cast.cast(self.gain, dtype) * creation.eye(shape[0], shape[1], dtype=dtype)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Normal numbers with the variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform numbers with the variance 2 / inputs."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Normal numbers with the variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform numbers with the variance 1 / inputs."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)
