"""Random numbers from Keras' seeds: the same seed gives the same numbers everywhere."""

from __future__ import annotations

from typing import Any

from keras.src.backend.common import standardize_dtype
from keras.src.backend.config import floatx
from keras.src.random.seed_generator import SeedGenerator as SeedGenerator
from keras.src.random.seed_generator import draw_seed as draw_seed
from keras.src.random.seed_generator import make_default_seed as make_default_seed

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor


def _seed(seed: Any) -> Any:
    return convert_to_tensor(draw_seed(seed), "int32")


def _dtype(dtype: Any) -> Any:
    return standardize_dtype(dtype or floatx())


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Numbers of a normal distribution."""
    return tf.random.stateless_normal(
        shape, _seed(seed), mean=mean, stddev=stddev, dtype=_dtype(dtype)
    )


def uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Numbers that are equally likely between two bounds, the upper one excluded."""
    kind = _dtype(dtype)
    low, high = (convert_to_tensor(x, kind) for x in (minval, maxval))
    return tf.random.stateless_uniform(shape, _seed(seed), minval=low, maxval=high, dtype=kind)


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Numbers of a normal distribution, none of them beyond two standard deviations."""
    return tf.random.stateless_truncated_normal(
        shape, _seed(seed), mean=mean, stddev=stddev, dtype=_dtype(dtype)
    )


def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
    """Integers from ``minval`` up to, without, ``maxval``."""
    kind = standardize_dtype(dtype)
    drawn = kind if kind in ("int32", "int64") else "int32"
    low, high = (convert_to_tensor(x, drawn) for x in (minval, maxval))
    found = tf.random.stateless_uniform(shape, _seed(seed), minval=low, maxval=high, dtype=drawn)
    return found if kind == drawn else tf.cast(found, kind)


def categorical(logits: Any, num_samples: int, dtype: Any = "int64", seed: Any = None) -> Any:
    """Numbers of categories, as likely as their logits say, for each row."""
    found = tf.random.stateless_categorical(
        convert_to_tensor(logits), num_samples, _seed(seed), dtype=tf.int32
    )
    kind = standardize_dtype(dtype)
    return found if kind == "int32" else tf.cast(found, kind)


def dropout(inputs: Any, rate: Any, noise_shape: Any = None, seed: Any = None) -> Any:
    """Elements set to 0 at random, the others scaled so that the mean stays."""
    inputs = convert_to_tensor(inputs)
    if isinstance(rate, int | float) and rate >= 1:
        return tf.zeros_like(inputs)
    if noise_shape is not None:
        sizes = tf.shape(inputs)
        noise_shape = [sizes[i] if d is None else d for i, d in enumerate(noise_shape)]
    return tf.nn.experimental.stateless_dropout(
        inputs, rate=rate, seed=_seed(seed), noise_shape=noise_shape
    )


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Any:
    """The slices along an axis in random order."""
    x = convert_to_tensor(x)
    size = x.shape[axis]
    count = tf.shape(x)[axis] if size is None else size
    order = tf.argsort(tf.random.stateless_uniform([count], _seed(seed)))
    return tf.gather(x, order, axis=axis)


def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers of gamma distributions."""
    kind = _dtype(dtype)
    return tf.random.stateless_gamma(
        shape, _seed(seed), alpha=convert_to_tensor(alpha, kind), dtype=kind
    )


def binomial(
    shape: Any, counts: Any, probabilities: Any, dtype: Any = None, seed: Any = None
) -> Any:
    """How often something happens in a number of trials."""
    kind = _dtype(dtype)
    return tf.random.stateless_binomial(
        shape,
        _seed(seed),
        counts=convert_to_tensor(counts, kind),
        probs=convert_to_tensor(probabilities, kind),
        output_dtype=kind,
    )


def beta(shape: Any, alpha: Any, beta: Any, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers of beta distributions: a gamma variable's part in the sum of two."""
    kind = _dtype(dtype)
    first = _seed(seed)
    alpha, beta = (convert_to_tensor(x, kind) for x in (alpha, beta))
    a = tf.random.stateless_gamma(shape, first, alpha=alpha, dtype=kind)
    b = tf.random.stateless_gamma(shape, first + 12, alpha=beta, dtype=kind)
    return a / (a + b)
