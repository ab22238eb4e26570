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
from tfx.core.mixins import FromConfig
from tfx.framework.tensor import Tensor
from tfx.initializers import scaling
from tfx.linalg_ops.qr import qr
from tfx.ops.array import creation
from tfx.ops.array.reshape import reshape
from tfx.ops.linalg.diagonals import diag_part
from tfx.ops.linalg.matmul import matrix_transpose
from tfx.ops.math import cast, elementwise
from tfx.ops.random import random


class Initializer(FromConfig):
    """Makes the initial value of a variable from its shape and dtype."""

    dtype: dtypes.DType = dtypes.float32

    def __call__(
        self, shape: Any, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Tensor:
        """The value.

        Args:
            shape: Shape of the variable.
            dtype: Its dtype; None: the initializer's.
            partition_info: Of a piece of a variable: ``full_shape`` is that of the whole.
        """
        kind = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        if partition_info is None:
            return self._make(list(shape), kind)
        return self._make_piece(list(shape), kind, list(partition_info.full_shape))

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        raise AssertionError

    def _make_piece(self, shape: list[int], dtype: dtypes.DType, whole: list[int]) -> Tensor:
        return self._make(shape, dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments that it was made with."""
        config = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        return {**config, "dtype": self.dtype.name}


class _Fixed(Initializer):
    """One that has no other argument than its dtype."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)


class Zeros(_Fixed):
    """Zeros, or False, or empty strings."""

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        return creation.zeros(shape, dtype)


class Ones(_Fixed):
    """Ones, or True."""

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
        return self._make_piece(shape, dtype, shape)

    def _make_piece(self, shape: list[int], dtype: dtypes.DType, whole: list[int]) -> Tensor:
        (_, sampler), *numbers = scaling.scaled(whole, self.scale, self.mode, self.distribution)
        return sampler(shape, *numbers, dtype, self.seed)


class _Glorot(VarianceScaling):
    """The variance 2 / (inputs + outputs)."""

    preset: tuple[float, str, str]

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(*self.preset, seed, dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments that it was made with."""
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotUniform(_Glorot):
    """Uniform numbers with the variance 2 / (inputs + outputs).

    Args:
        seed: See ``random_normal``.
        dtype: Element type.
    """

    preset = scaling.GlorotUniform.preset


class GlorotNormal(_Glorot):
    """Normal numbers with the variance 2 / (inputs + outputs); see ``GlorotUniform``."""

    preset = scaling.GlorotNormal.preset


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


class Orthogonal(Initializer):
    """A random matrix with orthonormal rows or columns, whichever are fewer.

    A tensor of more dimensions is such a matrix, all dimensions but the last taken together.

    Args:
        gain: Factor.
        seed: See ``random_normal``.
        dtype: Element type.
    """

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32
    ) -> None:
        self.gain, self.seed = gain, seed
        self.dtype = dtypes.as_dtype(dtype)

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        if len(shape) < 2:
            raise ValueError(
                "The tensor to initialize, specified by argument `shape` must be at least "
                f"two-dimensional. Received shape={shape}"
            )
        rows, columns = math.prod(shape[:-1]), shape[-1]
        drawn = random.normal([max(rows, columns), min(rows, columns)], 0.0, 1.0, dtype, self.seed)
        q, r = qr(drawn)
        q = q * elementwise.sign(diag_part(r))  # QR alone prefers some signs
        return self.gain * reshape(matrix_transpose(q) if rows < columns else q, shape)


class UniformUnitScaling(Initializer):
    """Uniform numbers that keep the scale of a layer's inputs.

    Args:
        factor: Factor of the largest, ``sqrt(3 / inputs)``.
        seed: See ``random_normal``.
        dtype: Element type.
    """

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32
    ) -> None:
        self.factor, self.seed = factor, seed
        self.dtype = dtypes.as_dtype(dtype)

    def _make(self, shape: list[int], dtype: dtypes.DType) -> Tensor:
        most = self.factor * math.sqrt(3.0 / max(1.0, math.prod(shape[:-1])))
        return random.uniform(shape, -most, most, dtype, self.seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Normal numbers with the variance 2 / inputs."""
    return VarianceScaling(*scaling.HeNormal.preset, seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform numbers with the variance 2 / inputs."""
    return VarianceScaling(*scaling.HeUniform.preset, seed)


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Normal numbers with the variance 1 / inputs."""
    return VarianceScaling(*scaling.LecunNormal.preset, seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform numbers with the variance 1 / inputs."""
    return VarianceScaling(*scaling.LecunUniform.preset, seed)
