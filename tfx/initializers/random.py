"""Random initializers of a given spread, and random orthogonal matrices.

With a seed the numbers are a function of seed and shape: one initializer makes the same tensor
every time. Without one they come from the global generators: each call makes another tensor, and
``tfx.random.set_seed`` makes the sequence repeatable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.framework.context import init_scope
from tfx.framework.convert import embed
from tfx.framework.tensor import Tensor
from tfx.initializers.initializer import Initializer, floating_dtype, known_shape
from tfx.ops.random import random

Sampler = Callable[..., Tensor]

# Drawing with a seed of one's own, and from the global generators.
NORMAL = (random.stateless_normal, random.normal)
TRUNCATED_NORMAL = (random.stateless_truncated_normal, random.truncated_normal)
UNIFORM = (random.stateless_uniform, random.uniform)


class RandomInitializer(Initializer):
    """Base class of the random ones.

    Args:
        seed: An integer, or None.

    Raises:
        ValueError: ``seed`` is something else.
    """

    def __init__(self, seed: int | None = None) -> None:
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
            raise ValueError(
                "Argument `seed` should be an integer or None. Received: "
                f"seed={seed!r} (of type {type(seed).__name__})."
            )
        self.seed = None if seed is None else int(seed)

    def draw(
        self, samplers: tuple[Sampler, Sampler], shape: Any, dtype: DTypeLike | None, *spread: float
    ) -> Tensor:
        """Numbers by one of the pairs of samplers above."""
        kind = floating_dtype(dtype, type(self).__name__)
        seeded, free = samplers
        sizes = known_shape(shape)
        if self.seed is None:
            return free(sizes, *spread, dtype=kind)
        return seeded(sizes, [self.seed, 0], *spread, dtype=kind)


class RandomNormal(RandomInitializer):
    """Normally distributed numbers.

    Args:
        mean: Their mean.
        stddev: Their standard deviation.
        seed: Makes every call return the same numbers.

    Example:
        >>> import tfx as tf
        >>> initializer = tf.initializers.RandomNormal(stddev=0.1, seed=1)
        >>> bool((initializer([3]).numpy() == initializer([3]).numpy()).all())
        True
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        super().__init__(seed)
        self.mean = mean
        self.stddev = stddev

    def __call__(self, shape: Any, dtype: DTypeLike | None = None) -> Tensor:
        """A tensor of a shape; float32 unless a dtype is given."""
        return self.draw(NORMAL, shape, dtype, self.mean, self.stddev)


class TruncatedNormal(RandomNormal):
    """Normally distributed numbers, none further than two standard deviations from the mean.

    Args:
        mean: Mean before the cut.
        stddev: Standard deviation before the cut.
        seed: Makes every call return the same numbers.
    """

    def __call__(self, shape: Any, dtype: DTypeLike | None = None) -> Tensor:
        """A tensor of a shape; float32 unless a dtype is given."""
        return self.draw(TRUNCATED_NORMAL, shape, dtype, self.mean, self.stddev)


class RandomUniform(RandomInitializer):
    """Uniformly distributed numbers.

    Args:
        minval: Lower bound, included.
        maxval: Upper bound, excluded.
        seed: Makes every call return the same numbers.
    """

    def __init__(
        self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None
    ) -> None:
        super().__init__(seed)
        self.minval = minval
        self.maxval = maxval

    def __call__(self, shape: Any, dtype: DTypeLike | None = None) -> Tensor:
        """A tensor of a shape; float32 unless a dtype is given."""
        return self.draw(UNIFORM, shape, dtype, self.minval, self.maxval)


class Orthogonal(RandomInitializer):
    """A random matrix with orthonormal rows or columns, whichever are fewer.

    A tensor of more dimensions is such a matrix, all dimensions but the last taken together. The
    numbers are made when this is called, while a function is traced too.

    Args:
        gain: Factor.
        seed: Makes every call return the same numbers.

    Example:
        >>> import tfx as tf
        >>> q = tf.initializers.Orthogonal(seed=1)([2, 3]).numpy()
        >>> bool(abs(q @ q.T - [[1, 0], [0, 1]]).max() < 1e-6)
        True
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        super().__init__(seed)
        self.gain = gain

    def __call__(self, shape: Any, dtype: DTypeLike | None = None) -> Tensor:
        """A tensor of a shape.

        Raises:
            ValueError: fewer than two dimensions.
        """
        kind = floating_dtype(dtype, "Orthogonal")
        sizes = known_shape(shape)
        if len(sizes) < 2:
            raise ValueError(
                "The tensor to initialize must be at least two-dimensional. Received: "
                f"shape={sizes} of rank {len(sizes)}."
            )
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        with init_scope():
            drawn = np.asarray(
                self.draw(NORMAL, [max(rows, columns), min(rows, columns)], dtypes.float64)
            )
        q, r = np.linalg.qr(drawn)
        q *= np.where(np.diag(r) < 0, -1.0, 1.0)  # QR alone prefers some signs
        matrix = (q if rows >= columns else q.T) * self.gain
        return embed(np.array(matrix.reshape(sizes), kind.as_numpy_dtype, order="C"))
