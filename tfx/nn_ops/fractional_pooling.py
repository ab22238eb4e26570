"""Pools whose windows are of two sizes, so that sizes shrink by a ratio that is no integer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tfx.core import dtypes
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.creation import zeros_like
from tfx.ops.array.gather import gather
from tfx.ops.array.ranges import range as numbers
from tfx.ops.array.reshape import expand_dims, reshape
from tfx.ops.array.shape import shape
from tfx.ops.array.transpose import transpose
from tfx.ops.array.where import where
from tfx.ops.common.arguments import tensor
from tfx.ops.math.argmax import argmax
from tfx.ops.math.arithmetic import maximum, minimum
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import less
from tfx.ops.math.cumulative import cumsum
from tfx.ops.math.derived_arithmetic import truncatediv
from tfx.ops.math.elementwise import ceil, floor
from tfx.ops.math.reduction import reduce_max, reduce_sum
from tfx.ops.random import random


class FractionalPool(NamedTuple):
    """The result of a fractional pool."""

    output: Tensor
    row_pooling_sequence: Tensor
    col_pooling_sequence: Tensor


def fractional_max_pool(
    value: Any,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> FractionalPool:
    """The largest elements of windows whose borders are drawn at random.

    Args:
        value: ``[batch, height, width, channels]`` of float32, float64, int32 or int64.
        pooling_ratio: By how much height and width shrink: a number, two, or four of which the
            first and the last are 1; at least 1.
        pseudo_random: Borders are nearly evenly spread; False: the two sizes follow at random.
        overlapping: A window includes the first row and column of the next.
        seed: Not 0: the borders are the same at each call.
        name: Accepted for compatibility.

    Returns:
        ``(output, row_pooling_sequence, col_pooling_sequence)``: the maxima, and int64 vectors of
        the borders.

    Raises:
        ValueError: another ratio, or another rank.

    Example:
        >>> import tfx as tf
        >>> x = tf.reshape(tf.range(49.0), [1, 7, 7, 1])
        >>> y, rows, columns = tf.nn.fractional_max_pool(x, 1.44, seed=1)
        >>> y.shape, float(y[0, -1, -1, 0]), rows.shape
        (TensorShape([1, 4, 4, 1]), 48.0, TensorShape([5]))
    """
    seeds = (seed, 0) if seed else None
    return fractional_pool(value, pooling_ratio, pseudo_random, overlapping, seeds, largest)


def fractional_avg_pool(
    value: Any,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> FractionalPool:
    """The means of windows whose borders are drawn at random; see ``fractional_max_pool``."""
    seeds = (seed, 0) if seed else None
    return fractional_pool(value, pooling_ratio, pseudo_random, overlapping, seeds, mean)


def fractional_pool(
    value: Any,
    pooling_ratio: Any,
    pseudo_random: bool,
    overlapping: bool,
    seeds: tuple[int, int] | None,
    combine: Any,
) -> FractionalPool:
    """A fractional pool.

    Args:
        value: See ``fractional_max_pool``, as of all up to ``overlapping``.
        pooling_ratio: The same.
        pseudo_random: The same.
        overlapping: The same.
        seeds: Makes the borders the same at each call; None: they are drawn each time.
        combine: Takes the windows ``[batch, height, width, channels, elements]`` and which of
            their elements count.
    """
    x = tensor(value)
    if x.shape.rank != 4:
        raise ValueError(
            "A fractional pool takes [batch, height, width, channels]; got a tensor of the shape "
            f"{x.shape}."
        )
    ratios = _ratios(pooling_ratio)
    borders = []
    for i, ratio in enumerate(ratios):
        size: Any = x.shape[i + 1]
        known = size is not None
        size = size if known else cast(shape(x)[i + 1], dtypes.int64)
        count = int(size / ratio) if known else cast(floor(cast(size, "float64") / ratio), "int64")
        own = None if seeds is None else (seeds[0] + i, seeds[1])
        borders.append(_borders(size, count, pseudo_random, own))
    (rows, in_rows), (columns, in_columns) = (_windows(b, overlapping) for b in borders)
    picked = gather(gather(x, rows, axis=1), columns, axis=3)  # [batch, oh, t, ow, s, channels]
    windows = transpose(picked, [0, 1, 3, 5, 2, 4])
    counted = expand_dims(in_rows, 1)[:, :, :, None] & in_columns[None, :, None, :]
    area = shape(rows)[1] * shape(columns)[1]
    flat = reshape(windows, concat([shape(windows)[:4], [area]], 0))
    mask = reshape(counted, [1, shape(rows)[0], shape(columns)[0], 1, area])
    return FractionalPool(combine(flat, mask), *borders)


def _ratios(pooling_ratio: Any) -> list[float]:
    """The ratios of height and width.

    Raises:
        ValueError: see ``fractional_max_pool``.
    """
    given = [pooling_ratio] if isinstance(pooling_ratio, int | float) else list(pooling_ratio)
    if len(given) not in (1, 2, 4):
        raise ValueError(
            f"`pooling_ratio` should be one number, two or four. Received: {pooling_ratio}"
        )
    if len(given) == 4:
        if given[0] != 1.0 or given[3] != 1.0:
            raise ValueError(
                "`pooling_ratio` should have first and last elements with value 1.0. Received: "
                f"pooling_ratio={pooling_ratio}"
            )
        given = given[1:3]
    if any(ratio < 1.0 for ratio in given):
        raise ValueError(
            f"`pooling_ratio` elements should be >= 1.0. Received: pooling_ratio={pooling_ratio}"
        )
    return [float(ratio) for ratio in (given * 2 if len(given) == 1 else given)]


def _borders(size: Any, count: Any, pseudo_random: bool, seeds: Sequence[int] | None) -> Tensor:
    """Where windows begin, and behind the last the size: int64 ``[count + 1]``."""
    n, m = (cast(tensor(v), dtypes.int64) for v in (size, count))
    if pseudo_random:
        return _even_borders(n, m, seeds)
    longer = cast(less(numbers(m), n % m), dtypes.int64)
    steps = random.shuffle(longer) if seeds is None else random.stateless_shuffle(longer, seeds)
    return concat([zeros_like(steps[:1]), cumsum(steps + n // m)], 0)


def _even_borders(n: Tensor, m: Tensor, seeds: Sequence[int] | None) -> Tensor:
    """The multiples of the ratio from a random start, rounded up."""
    size, count = cast(n, dtypes.float64), cast(m, dtypes.float64)
    ratio = size / count
    least = floor(ratio)
    most = minimum((least + 2.0) / ratio - 1.0, (size + 1.0 - least) / ratio - (count - 1.0))
    if seeds is None:
        drawn = random.uniform([], dtype=dtypes.float64)
    else:
        drawn = random.stateless_uniform([], seeds, dtype=dtypes.float64)
    inner = numbers(tensor(1, dtypes.int64), m)
    places = cast(ceil(ratio * (cast(inner, dtypes.float64) + drawn * most)), dtypes.int64) - 1
    # A start of exactly 0 would leave nothing for the first window.
    return concat([zeros_like(m)[None], maximum(places, inner), n[None]], 0)


def _windows(borders: Tensor, overlapping: bool) -> tuple[Tensor, Tensor]:
    """Places ``[windows, elements]``, and which of them are within the window."""
    first, behind = borders[:-1], borders[1:]
    if overlapping:
        behind = minimum(behind + 1, borders[-1])
    places = first[:, None] + numbers(reduce_max(behind - first))[None]
    inside = less(places, behind[:, None])
    return where(inside, places, first[:, None]), inside


def largest(windows: Tensor, counted: Tensor) -> Tensor:
    """The first largest element of each window; see ``fractional_pool``."""
    least = tensor(windows.dtype.min, windows.dtype)
    place = argmax(where(counted, windows, least), -1)
    return gather(windows, place[..., None], axis=-1, batch_dims=4)[..., 0]


def mean(windows: Tensor, counted: Tensor) -> Tensor:
    """The mean of each window; see ``fractional_pool``."""
    total = reduce_sum(where(counted, windows, zeros_like(windows)), -1)
    count = reduce_sum(cast(counted, windows.dtype), -1)
    return total / count if windows.dtype.is_floating else truncatediv(total, count)
