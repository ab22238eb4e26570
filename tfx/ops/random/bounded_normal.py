"""Normal numbers between two bounds, by the inverse of the distribution's function."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import tensor
from tfx.ops.math.arithmetic import add, divide, multiply, subtract
from tfx.ops.math.clip import clip_by_value
from tfx.ops.math.error_functions import erf
from tfx.ops.math.inverse_erf import ndtri
from tfx.ops.random.random import stateless_uniform


def stateless_parameterized_truncated_normal(
    shape: Any,
    seed: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    name: str | None = None,
) -> Tensor:
    """Normal numbers between bounds, as a function of ``seed``; see ``stateless_normal``.

    Args:
        shape: Shape of the result, to which the parameters broadcast.
        seed: Two integers.
        means: Means of the normal distributions, of a floating dtype.
        stddevs: Their standard deviations.
        minvals: Lower bounds.
        maxvals: Upper bounds.
        name: Accepted for compatibility.

    Returns:
        Numbers of the dtype of ``means``. They are not TensorFlow's. Bounds more than some six
        standard deviations on one side of the mean give these bounds.

    Example:
        >>> import tfx as tf
        >>> x = tf.random.stateless_parameterized_truncated_normal([100], [1, 2], minvals=0.0)
        >>> bool(tf.reduce_all((x >= 0.0) & (x <= 2.0)))
        True
    """
    mean = tensor(means)
    kind = mean.dtype if mean.dtype.is_floating else dtypes.float32
    mean, deviation, low, high = (tensor(p, kind) for p in (means, stddevs, minvals, maxvals))
    below, above = (divide(subtract(b, mean), deviation) for b in (low, high))
    start, end = _share(below), _share(above)
    drawn = stateless_uniform(shape, seed, dtype=kind)
    share = add(start, multiply(drawn, subtract(end, start)))
    found = add(mean, multiply(deviation, clip_by_value(ndtri(share), below, above)))
    return clip_by_value(found, low, high)


def _share(x: Tensor) -> Tensor:
    """How much of the standard normal distribution is below a number."""
    root = tensor(0.7071067811865476, x.dtype)
    return multiply(add(tensor(1.0, x.dtype), erf(multiply(x, root))), tensor(0.5, x.dtype))
