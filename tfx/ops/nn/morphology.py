"""Grayscale dilation and erosion, and the patches of volumes: windows cut out by slices."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.array.concat import stack
from tfx.ops.array.transpose import reverse
from tfx.ops.common.arguments import require_dtype, same_dtype, scalar_like, tensor
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.shapes import dimension
from tfx.ops.math.elementwise import negative


def dilation2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: str,
    data_format: str,
    dilations: Any,
    name: str | None = None,
) -> Tensor:
    """Grayscale dilation: the largest of a window's pixels, each with a filter's element added.

    Args:
        input: ``[batch, height, width, channels]`` of a floating dtype.
        filters: ``[rows, columns, channels]`` of the same dtype.
        strides: ``[1, rows, columns, 1]``: how far windows are apart.
        padding: ``"SAME"`` or ``"VALID"``; what is outside of the image never is the largest.
        data_format: ``"NHWC"``.
        dilations: ``[1, rows, columns, 1]``: how far the pixels of a window are apart.
        name: Accepted for compatibility.

    Returns:
        ``[batch, rows, columns, channels]``. The gradient goes to the first of equal pixels.

    Raises:
        InvalidArgumentError: other ranks, or channels that do not agree.
        ValueError: another padding or layout.

    Example:
        >>> import tfx as tf
        >>> x = tf.reshape([1.0, 5.0, 2.0], [1, 1, 3, 1])
        >>> ones = [1, 1, 1, 1]
        >>> tf.nn.dilation2d(x, tf.zeros([1, 2, 1]), ones, "VALID", "NHWC", ones).numpy().ravel()
        array([5., 5.], dtype=float32)
    """
    op = "Dilation2D"
    if data_format != "NHWC":
        raise InvalidArgumentError(
            f"`data_format` values other than NHWC are not supported: {data_format!r}"
        )
    x, w = same_dtype(input, filters, op)
    require_dtype(x, x.dtype.is_floating, op, "a floating dtype")
    if x.shape.rank != 4 or w.shape.rank != 3 or not w.shape[:2].is_fully_defined():
        raise InvalidArgumentError(
            f"{op} takes [batch, height, width, channels] and filters [rows, columns, channels] "
            f"of known size; got {x.shape} and {w.shape}.",
            op=op,
        )
    if not x.shape[3:].is_compatible_with(w.shape[2:]):
        raise InvalidArgumentError(
            f"input and filter must have the same depth: {x.shape} vs {w.shape} in {op}.", op=op
        )
    rows, columns = (int(d) for d in w.shape.as_list()[:2] if d is not None)
    cut = windows_of(x, (rows, columns), strides, dilations, padding, x.dtype.min, op)
    shifts = (w[i, j] for i, j in itertools.product(range(rows), range(columns)))
    sums = stack([ox.Add(a, b) for a, b in zip(cut, shifts, strict=True)], 0)
    first = ox.ArgMax(sums, axis=0, keepdims=1, select_last_index=0)
    return ox.Squeeze(ox.GatherElements(sums, first, axis=0), int64_constant([0]))


def erosion2d(
    value: Any,
    filters: Any,
    strides: Any,
    padding: str,
    data_format: str,
    dilations: Any,
    name: str | None = None,
) -> Tensor:
    """Grayscale erosion: the smallest of a window's pixels, each minus a filter's element.

    See ``dilation2d``, of whose arguments it is the mirror: the filter stands upside down.

    Example:
        >>> import tfx as tf
        >>> x = tf.reshape([1.0, 5.0, 2.0], [1, 1, 3, 1])
        >>> ones = [1, 1, 1, 1]
        >>> tf.nn.erosion2d(x, tf.zeros([1, 2, 1]), ones, "VALID", "NHWC", ones).numpy().ravel()
        array([1., 2.], dtype=float32)
    """
    mirrored = reverse(tensor(filters), [0, 1])
    turned = negative(tensor(value))
    return negative(dilation2d(turned, mirrored, strides, padding, data_format, dilations))


def extract_volume_patches(
    input: Any, ksizes: Any, strides: Any, padding: str, name: str | None = None
) -> Tensor:
    """Windows of volumes, one after the other, with their elements along the last axis.

    Args:
        input: ``[batch, planes, rows, columns, channels]``.
        ksizes: ``[1, planes, rows, columns, 1]``: the windows.
        strides: ``[1, planes, rows, columns, 1]``: how far windows are apart.
        padding: ``"SAME"`` or ``"VALID"``.
        name: Accepted for compatibility.

    Returns:
        ``[batch, planes, rows, columns, size * channels]``.

    Raises:
        InvalidArgumentError: another rank.
        ValueError: another padding.

    Example:
        >>> import tfx as tf
        >>> tf.extract_volume_patches(
        ...     tf.zeros([1, 4, 4, 4, 2]), [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID"
        ... ).shape
        TensorShape([1, 2, 2, 2, 16])
    """
    op = "ExtractVolumePatches"
    x = of_rank(tensor(input), 5)
    if x.shape.rank != 5:
        raise InvalidArgumentError(
            f"{op} takes [batch, planes, rows, columns, channels]; got {x.shape}.", op=op
        )
    sizes = [int(k) for k in ksizes[1:4]]
    return ox.Concat(*windows_of(x, sizes, strides, [1] * 5, padding, 0, op), axis=-1)


def windows_of(
    x: Tensor,
    sizes: Sequence[int],
    strides: Any,
    rates: Any,
    padding: str,
    outside: Any,
    op: str,
) -> list[Tensor]:
    """The first elements of all windows, their second ones, and so on.

    Args:
        x: ``[batch, *space, channels]``.
        sizes: Elements of a window along the axes of ``space``.
        strides: ``[1, *space, 1]``.
        rates: ``[1, *space, 1]``.
        padding: ``"SAME"`` or ``"VALID"``.
        outside: What is around the elements for ``"SAME"``.
        op: For messages.
    """
    if padding not in ("SAME", "VALID"):
        raise InvalidArgumentError(f"padding of {op} must be 'SAME' or 'VALID'; got {padding!r}.")
    axes = range(1, len(sizes) + 1)
    steps = [int(strides[a]) for a in axes]
    apart = [int(rates[a]) for a in axes]
    front, back, spans = [int64_constant([0])], [int64_constant([0])], []
    shape: list[int | None] = [x.shape[0]]
    for axis, size, step, rate in zip(axes, sizes, steps, apart, strict=True):
        reach = (size - 1) * rate + 1
        side, known = dimension(x, axis), x.shape[axis]
        count, missing = _counted(side, reach, step, padding)
        before = ox.Div(missing, int64_constant([2]))
        front.append(before)
        back.append(ox.Sub(missing, before))
        # The end of a slice that begins at 0.
        last = ox.Mul(ox.Sub(count, int64_constant([1])), int64_constant([step]))
        spans.append(ox.Add(last, int64_constant([1])))
        valid = 0 if known is None else max((known - reach) // step + 1, 0)
        shape.append(None if known is None else -(-known // step) if padding == "SAME" else valid)
    if padding == "SAME":
        none = int64_constant([0])
        x = ox.Pad(x, ox.Concat(*front, none, *back, none, axis=0), scalar_like(outside, x))
    found = []
    for place in itertools.product(*map(range, sizes)):
        offset = [p * r for p, r in zip(place, apart, strict=True)]
        ends = [ox.Add(s, int64_constant([o])) for s, o in zip(spans, offset, strict=True)]
        cut = ox.Slice(
            x,
            int64_constant(offset),
            ox.Concat(*ends, axis=0),
            int64_constant(axes),
            int64_constant(steps),
        )
        if isinstance(cut, SymbolicTensor):
            cut.set_shape([*shape, x.shape[-1]])
        found.append(cut)
    return found


def _counted(side: Tensor, reach: int, step: int, padding: str) -> tuple[Tensor, Tensor]:
    """How many windows there are along an axis, and how many elements they miss."""
    one, none = int64_constant([1]), int64_constant([0])
    by, length = int64_constant([step]), int64_constant([reach])
    if padding == "VALID":
        windows = ox.Add(ox.Div(ox.Sub(side, length), by), one)
        return ox.Max(windows, none), none
    count = ox.Div(ox.Add(side, int64_constant([step - 1])), by)
    covered = ox.Add(ox.Mul(ox.Sub(count, one), by), length)
    return count, ox.Max(ox.Sub(covered, side), none)
