"""``tfx.image``: random brightness, contrast, saturation and hue, by a generator or by a seed."""

from __future__ import annotations

from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.image.color import adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation
from tfx.ops.random.random import stateless_uniform, uniform


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """``adjust_brightness`` by a number of ``[-max_delta, max_delta)``, one for all images.

    Raises:
        ValueError: ``max_delta`` is negative.

    Example:
        >>> import tfx as tf
        >>> tf.image.random_brightness(tf.zeros([2, 2, 3]), 0.2).shape
        TensorShape([2, 2, 3])
    """
    low, high = _around(max_delta, 1.0e9)
    return adjust_brightness(image, uniform([], low, high, seed=seed))


def stateless_random_brightness(image: Any, max_delta: float, seed: Any) -> Tensor:
    """``random_brightness`` by a seed of two integers alone."""
    low, high = _around(max_delta, 1.0e9)
    return adjust_brightness(image, stateless_uniform([], seed, low, high))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """``adjust_contrast`` by a factor of ``[lower, upper)``, one for all images.

    Raises:
        ValueError: not ``0 <= lower < upper``.

    Example:
        >>> import tfx as tf
        >>> tf.image.random_contrast(tf.zeros([2, 2, 3]), 0.2, 0.5).shape
        TensorShape([2, 2, 3])
    """
    _check(lower, upper)
    return adjust_contrast(image, uniform([], lower, upper, seed=seed))


def stateless_random_contrast(image: Any, lower: float, upper: float, seed: Any) -> Tensor:
    """``random_contrast`` by a seed of two integers alone."""
    _check(lower, upper)
    return adjust_contrast(image, stateless_uniform([], seed, lower, upper))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """``adjust_saturation`` by a factor of ``[lower, upper)``, one for all images.

    Raises:
        ValueError: not ``0 <= lower < upper``.

    Example:
        >>> import tfx as tf
        >>> tf.image.random_saturation(tf.zeros([2, 2, 3]), 0.2, 0.5).shape
        TensorShape([2, 2, 3])
    """
    _check(lower, upper)
    return adjust_saturation(image, uniform([], lower, upper, seed=seed))


def stateless_random_saturation(image: Any, lower: float, upper: float, seed: Any) -> Tensor:
    """``random_saturation`` by a seed of two integers alone."""
    _check(lower, upper)
    return adjust_saturation(image, stateless_uniform([], seed, lower, upper))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """``adjust_hue`` by a number of ``[-max_delta, max_delta)``, one for all images.

    Raises:
        ValueError: ``max_delta`` is not in ``[0, 0.5]``.

    Example:
        >>> import tfx as tf
        >>> tf.image.random_hue(tf.zeros([2, 2, 3]), 0.2).shape
        TensorShape([2, 2, 3])
    """
    low, high = _around(max_delta, 0.5)
    return adjust_hue(image, uniform([], low, high, seed=seed))


def stateless_random_hue(image: Any, max_delta: float, seed: Any) -> Tensor:
    """``random_hue`` by a seed of two integers alone."""
    low, high = _around(max_delta, 0.5)
    return adjust_hue(image, stateless_uniform([], seed, low, high))


def _around(max_delta: float, most: float) -> tuple[float, float]:
    if not 0 <= max_delta <= most:
        limit = f" and <= {most}" if most <= 1 else ""
        raise InvalidArgumentError(f"max_delta must be >= 0{limit}; got {max_delta!r}.")
    return -float(max_delta), float(max_delta)


def _check(lower: float, upper: float) -> None:
    if not 0 <= lower < upper:
        raise InvalidArgumentError(
            f"Expected 0 <= lower < upper; got lower={lower!r} and upper={upper!r}."
        )
