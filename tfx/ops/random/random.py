"""Random tensors: from the global generators, and stateless ones that are a function of a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, embed, int64_constant
from tfx.framework.rules import no_gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import as_int64, dtype_or, tensor
from tfx.ops.common.shapes import shape_argument
from tfx.ops.random import distributions, rejection, samplers
from tfx.ops.random.distributions import StatelessSource
from tfx.ops.random.generator import generator_for

no_gradient("BitShift", why="integer bits")
no_gradient(
    *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
    *("Bernoulli", "Multinomial"),
    why="the result is random and does not depend on the values of an input smoothly",
)


def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed random numbers.

    Args:
        shape: Shape of the result.
        mean: Mean, of the result's dtype; broadcasts against ``shape``.
        stddev: Standard deviation, likewise.
        dtype: float16, bfloat16, float32 or float64.
        seed: The operation's own seed; see ``random.set_seed`` for what shares a sequence.
        name: Accepted for compatibility.

    Raises:
        ValueError: another dtype, or a shape that is not fully known.

    Example:
        >>> import tfx as tf
        >>> tf.random.normal([2, 3], mean=5.0).shape
        TensorShape([2, 3])
    """
    return distributions.normal(
        generator_for(seed, "normal", dtypes.as_dtype(dtype)), shape, mean, stddev, dtype
    )


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed random numbers within two standard deviations of the mean.

    See ``normal`` for the arguments.

    Example:
        >>> import tfx as tf
        >>> bool(tf.reduce_all(abs(tf.random.truncated_normal([100])) <= 2.0))
        True
    """
    return distributions.truncated_normal(
        generator_for(seed, "truncated_normal", dtypes.as_dtype(dtype)), shape, mean, stddev, dtype
    )


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Uniformly distributed random numbers in ``[minval, maxval)``.

    Args:
        shape: Shape of the result.
        minval: Lower bound, included.
        maxval: Upper bound, excluded; 1 by default, required for integers.
        dtype: float16, bfloat16, float32, float64, int32, int64, uint32 or uint64.
        seed: The operation's own seed; see ``random.set_seed`` for what shares a sequence.
        name: Accepted for compatibility.

    Raises:
        ValueError: another dtype, or integers without ``maxval``.
        InvalidArgumentError: ``minval >= maxval`` of integers, in eager mode.

    Example:
        >>> import tfx as tf
        >>> x = tf.random.uniform([100], maxval=3, dtype=tf.int32)
        >>> bool(tf.reduce_all((x >= 0) & (x < 3)))
        True
    """
    kind = dtypes.as_dtype(dtype)
    if kind.is_integer and maxval is None:
        raise InvalidArgumentError(f"Must specify maxval for integer dtype {kind.name}")
    return distributions.uniform(generator_for(seed, "uniform", kind), shape, minval, maxval, kind)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The slices of ``value`` along its first axis in random order.

    Example:
        >>> import tfx as tf
        >>> sorted(tf.random.shuffle([1, 2, 3]).numpy().tolist())
        [1, 2, 3]
    """
    x = tensor(value)
    return distributions.shuffle(generator_for(seed, "shuffle", x.dtype), x)


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Class numbers drawn with unnormalized log-probabilities.

    Args:
        logits: ``[batch, classes]``.
        num_samples: How many to draw for each row.
        dtype: int32 or int64 (the default).
        seed: The operation's own seed; see ``random.set_seed`` for what shares a sequence.
        name: Accepted for compatibility.

    Returns:
        ``[batch, num_samples]``.

    Example:
        >>> import tfx as tf
        >>> tf.random.categorical([[-100.0, 0.0, -100.0]], 4).numpy()
        array([[1, 1, 1, 1]])
    """
    scores = tensor(logits)
    kind = dtypes.int64 if dtype is None else dtypes.as_dtype(dtype)
    generator = generator_for(seed, "categorical", scores.dtype, kind)
    return distributions.categorical(generator, scores, num_samples, dtype)


def gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Gamma distributed random numbers.

    Several proposals are drawn for each number: it takes some hundred times as long as ``normal``.

    Args:
        shape: How many to draw for each parameter.
        alpha: Shape parameter of the distribution. Gradients flow to it: those of the number with
            the same share of the distribution below it. Python computes them: they have no further
            gradient, and a function that computes them cannot be saved.
        beta: Inverse scale; None: 1.
        dtype: float16, bfloat16, float32 or float64.
        seed: The operation's own seed; see ``random.set_seed`` for what shares a sequence.
        name: Accepted for compatibility.

    Returns:
        ``shape`` followed by the shape that ``alpha`` and ``beta`` broadcast to.

    Raises:
        ValueError: another dtype.

    Example:
        >>> import tfx as tf
        >>> tf.random.gamma([5], [0.5, 1.5]).shape
        TensorShape([5, 2])
    """
    kind = dtypes.as_dtype(dtype)
    parameters = [convert_to_tensor(p, kind) for p in (alpha, beta) if p is not None]
    whole = rejection.per_parameter(shape, *parameters)
    return rejection.gamma(generator_for(seed, "gamma", kind), whole, alpha, beta, kind)


def poisson(
    shape: Any,
    lam: Any,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Poisson distributed random counts.

    Several proposals are drawn for each number: it takes some hundred times as long as ``normal``.

    Args:
        shape: How many to draw for each rate.
        lam: The mean; no gradient flows to it.
        dtype: float16, bfloat16, float32, float64, int32 or int64.
        seed: The operation's own seed; see ``random.set_seed`` for what shares a sequence.
        name: Accepted for compatibility.

    Returns:
        ``shape`` followed by the shape of ``lam``.

    Raises:
        ValueError: another dtype.

    Example:
        >>> import tfx as tf
        >>> tf.random.poisson([5], [0.5, 20.0]).shape
        TensorShape([5, 2])
    """
    whole = rejection.per_parameter(shape, lam)
    generator = generator_for(seed, "poisson", dtypes.as_dtype(dtype))
    return rejection.poisson(generator, whole, lam, dtype)


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike | None = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Normally distributed numbers that are a function of ``seed``.

    Args:
        shape: Shape of the result.
        seed: Two integers, may be a tensor. The same seed and shape give the same numbers on every
            device and runtime; they are not TensorFlow's.
        mean: Mean.
        stddev: Standard deviation.
        dtype: float16, bfloat16, float32 or float64.
        name: Accepted for compatibility.
        alg: Accepted for compatibility; the algorithm is Philox4x32-10.

    Example:
        >>> import tfx as tf
        >>> a = tf.random.stateless_normal([3], seed=[1, 2])
        >>> bool(tf.reduce_all(a == tf.random.stateless_normal([3], seed=[1, 2])))
        True
    """
    source = StatelessSource(seed, "stateless_normal")
    return distributions.normal(source, shape, mean, stddev, dtype_or(dtype, dtypes.float32))


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike | None = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """``truncated_normal`` as a function of ``seed``; see ``stateless_normal``."""
    source = StatelessSource(seed, "stateless_truncated_normal")
    kind = dtype_or(dtype, dtypes.float32)
    return distributions.truncated_normal(source, shape, mean, stddev, kind)


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """``uniform`` as a function of ``seed``; see ``stateless_normal``.

    Integers are drawn from the dtype's full range if both bounds are None.

    Example:
        >>> import tfx as tf
        >>> tf.random.stateless_uniform([2], seed=[1, 2], minval=None, dtype=tf.int64).dtype
        tf.int64
    """
    source = StatelessSource(seed, "stateless_uniform")
    return distributions.uniform(source, shape, minval, maxval, dtype)


def stateless_categorical(
    logits: Any,
    num_samples: Any,
    seed: Any,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """``categorical`` as a function of ``seed``; see ``stateless_normal``."""
    source = StatelessSource(seed, "stateless_categorical")
    return distributions.categorical(source, logits, num_samples, dtype)


def stateless_gamma(
    shape: Any,
    seed: Any,
    alpha: Any,
    beta: Any = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """``gamma`` as a function of ``seed``; see ``stateless_normal``.

    ``shape`` is that of the result, which the parameters broadcast to.

    Example:
        >>> import tfx as tf
        >>> tf.random.stateless_gamma([5, 2], [1, 2], [0.5, 1.5]).shape
        TensorShape([5, 2])
    """
    source = StatelessSource(seed, "stateless_gamma")
    return rejection.gamma(source, shape_argument(shape, "stateless_gamma"), alpha, beta, dtype)


def stateless_poisson(
    shape: Any,
    seed: Any,
    lam: Any,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """``poisson`` as a function of ``seed``; see ``stateless_gamma``.

    Example:
        >>> import tfx as tf
        >>> tf.random.stateless_poisson([5, 2], [1, 2], [0.5, 20.0]).dtype
        tf.int32
    """
    source = StatelessSource(seed, "stateless_poisson")
    return rejection.poisson(source, shape_argument(shape, "stateless_poisson"), lam, dtype)


def stateless_binomial(
    shape: Any,
    seed: Any,
    counts: Any,
    probs: Any,
    output_dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Draw numbers of successes in ``counts`` trials of chance ``probs``; a function of ``seed``.

    Args:
        shape: Shape of the result, which the parameters broadcast to.
        seed: Two integers, may be a tensor.
        counts: How many trials.
        probs: The chance of each; no gradient flows to it.
        output_dtype: float16, bfloat16, float32, float64, int32 or int64.
        name: Accepted for compatibility.

    Raises:
        ValueError: another dtype.
        InvalidArgumentError: the parameters do not broadcast to ``shape``.

    Example:
        >>> import tfx as tf
        >>> bool(tf.reduce_all(tf.random.stateless_binomial([9], [1, 2], 10.0, 0.5) <= 10))
        True
    """
    source = StatelessSource(seed, "stateless_binomial")
    whole = shape_argument(shape, "stateless_binomial")
    return rejection.binomial(source, whole, counts, probs, output_dtype)


def stateless_shuffle(
    value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None
) -> Tensor:
    """``shuffle`` as a function of ``seed``; see ``stateless_normal``."""
    return distributions.shuffle(StatelessSource(seed, "stateless_shuffle"), value)


def split(seed: Any, num: int = 2, alg: Any = "auto_select") -> Tensor:
    """``num`` new seeds for the stateless functions, ``[num, 2]``, from one.

    Example:
        >>> import tfx as tf
        >>> tf.random.split([1, 2], num=3).shape
        TensorShape([3, 2])
    """
    given = tensor(seed)
    source = StatelessSource(_separated(as_int64(given), 1), "split")
    shape = shape_argument([num, 2], "random.split")
    return source.draw(samplers.full_range, shape, dtype=_seed_dtype(given))


def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Tensor:
    """A new seed for the stateless functions from a seed and an integer, such as a step number.

    Example:
        >>> import tfx as tf
        >>> tf.random.fold_in([1, 2], 3).shape
        TensorShape([2])
    """
    given = tensor(seed)
    source = StatelessSource(_separated(as_int64(given), 2), "fold_in")
    base = source.draw(samplers.full_range, int64_constant([2]), dtype=dtypes.int64)
    number = ox.Mul(as_int64(data), int64_constant([1, 0]))
    mixed = StatelessSource(ox.Add(base, number), "fold_in")
    return mixed.draw(samplers.full_range, int64_constant([2]), dtype=_seed_dtype(given))


def _seed_dtype(seed: Tensor) -> DType:
    """Seeds are int32 or int64; new ones are like the old."""
    return dtypes.int32 if seed.dtype is dtypes.int32 else dtypes.int64


def _separated(seed: Tensor, purpose: int) -> Tensor:
    """A seed whose bits have nothing to do with those that ``seed`` itself gives."""
    high = embed(np.array([purpose << 61, 0], np.int64))
    return ox.BitwiseXor(seed, high)
