"""Kaiser's windows, lapped cosine transforms (MDCT) and half turns of a spectrum.

A lapped transform is a window, a fold of each frame to half its samples and a type 4 cosine
transform. What the fold adds by mistake is of opposite sign in neighbouring frames, so adding up
overlapping frames on the way back removes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat, split
from tfx.ops.array.gather import gather
from tfx.ops.array.shape import shape
from tfx.ops.array.transpose import reverse, roll
from tfx.ops.common.arguments import static_int, static_ints, tensor
from tfx.ops.common.shapes import known_rank, shape_argument
from tfx.ops.math.arithmetic import floordiv, multiply, subtract
from tfx.ops.math.elementwise import negative
from tfx.ops.math.special_tables import I0E
from tfx.ops.signal.spectral import dct, frame, overlap_and_add, vorbis_window, window_tensor

Window = Callable[..., Any]


def kaiser_window(
    window_length: Any,
    beta: Any = 12.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Kaiser's window.

    Args:
        window_length: Samples.
        beta: How fast it falls towards its ends; 0 is a rectangle.
        dtype: A floating dtype.
        name: Accepted for compatibility.

    Returns:
        ``[window_length]``.

    Raises:
        ValueError: no floating dtype, or a length or ``beta`` that is not known.

    Example:
        >>> import tfx as tf
        >>> tf.signal.kaiser_window(3, beta=4.0).numpy().round(4)
        array([0.0885, 1.    , 0.0885], dtype=float32)
    """
    return window_tensor(_kaiser(_length(window_length), _beta(beta)), dtype)


def kaiser_bessel_derived_window(
    window_length: Any,
    beta: Any = 12.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The power complementary window made of Kaiser's; see ``kaiser_window``.

    Args:
        window_length: Samples; of an odd number the last one is left out.
        beta: Of Kaiser's window.
        dtype: A floating dtype.
        name: Accepted for compatibility.

    Returns:
        ``[window_length // 2 * 2]``.

    Raises:
        ValueError: no floating dtype, or a length or ``beta`` that is not known.

    Example:
        >>> import tfx as tf
        >>> w = tf.signal.kaiser_bessel_derived_window(4, beta=4.0)
        >>> (w[:2] ** 2 + w[2:] ** 2).numpy().round(4)
        array([1., 1.], dtype=float32)
    """
    sums = np.cumsum(_kaiser(_length(window_length) // 2 + 1, _beta(beta)))
    half = np.sqrt(sums[:-1] / sums[-1])
    return window_tensor(np.concatenate([half, half[::-1]]), dtype)


def _kaiser(size: int, beta: float) -> Any:
    if size == 1:
        return np.ones(1)
    places = 2 * np.arange(size) / (size - 1) - 1
    inner = abs(beta) * np.sqrt(np.maximum(0.0, 1 - places**2))
    inner_i0, top = (_scaled_i0(b) for b in (inner, np.array([abs(beta)])))
    return inner_i0 / top * np.exp(inner - abs(beta))


def _scaled_i0(x: Any) -> Any:
    """``bessel_i0e`` of numbers from 0 on that are known now."""
    position = x / (x + 4) * len(I0E)
    piece = np.minimum(position.astype(int), len(I0E) - 1)
    inside = 2 * (position - piece) - 1
    total = np.zeros(x.shape)
    for column in np.array(I0E).T[::-1]:
        total = total * inside + column[piece]
    return total / np.sqrt(1 + x)


def _length(value: Any) -> int:
    found = static_int(tensor(value))
    if found is None or found < 1:
        raise InvalidArgumentError(
            f"window_length must be an integer above 0 that is known now; got {value!r}."
        )
    return found


def _beta(value: Any) -> float:
    try:
        return float(value)
    except TypeError as error:
        raise InvalidArgumentError(
            f"beta must be a number that is known now; got {value!r}."
        ) from error


def mdct(
    signals: Any,
    frame_length: Any,
    window_fn: Window | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The modified discrete cosine transform of frames that overlap by half.

    Args:
        signals: ``[..., samples]`` of a floating dtype, of a known number of samples.
        frame_length: Samples of a frame, a multiple of 4.
        window_fn: Makes the window, called as ``window_fn(frame_length, dtype=dtype)``; None for
            the same weight everywhere.
        pad_end: Also transform frames that go beyond the end, with zeros there.
        norm: None or ``"ortho"``.
        name: Accepted for compatibility.

    Returns:
        ``[..., frames, frame_length // 2]``.

    Raises:
        ValueError: another length, dtype or norm.

    Example:
        >>> import tfx as tf
        >>> x = tf.range(16.0)
        >>> waves = tf.signal.mdct(x, 8, norm="ortho")
        >>> waves.shape
        TensorShape([3, 4])
        >>> tf.signal.inverse_mdct(waves, norm="ortho")[4:12].numpy().round(4)
        array([ 4.,  5.,  6.,  7.,  8.,  9., 10., 11.], dtype=float32)
    """
    x = _signal(signals, 1, "mdct", norm)
    length = static_int(tensor(frame_length))
    if length is None or length < 1 or length % 4:
        raise InvalidArgumentError(
            f"The frame length must be a multiple of 4 that is known now; got {frame_length!r}."
        )
    windowed = _weighted(frame(x, length, length // 2, pad_end), window_fn, length)
    a, b, c, d = split(windowed, 4, axis=-1)
    folded = [subtract(negative(_back(c)), d), subtract(a, _back(b))]
    return dct(concat(folded, axis=-1), type=4, norm=norm)


def inverse_mdct(
    mdcts: Any,
    window_fn: Window | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The signal of a modified discrete cosine transform; see ``mdct`` for an example.

    The first and the last half frame have no neighbour and do not come back as they were.

    Args:
        mdcts: ``[..., frames, frame_length // 2]`` of a floating dtype and known numbers.
        window_fn: As of ``mdct``; a power complementary window brings the signal back.
        norm: As of ``mdct``.
        name: Accepted for compatibility.

    Returns:
        ``[..., (frames + 1) * frame_length // 2]``.

    Raises:
        ValueError: another rank, dtype or norm, or numbers that are not known.

    Example:
        >>> import tfx as tf
        >>> tf.signal.inverse_mdct(tf.zeros([3, 4])).shape
        TensorShape([16])
    """
    x = _signal(mdcts, 2, "inverse_mdct", norm)
    half = x.shape[-1]
    if half is None or half < 2 or half % 2:
        raise InvalidArgumentError(
            f"inverse_mdct takes [..., frames, half_length] of known, even half_length; got "
            f"{x.shape}."
        )
    found = dct(x, type=4, norm=norm)
    if norm is None:
        found = multiply(found, constant(0.5 / half, x.dtype))
    low, high = split(found, 2, axis=-1)
    parts = [high, negative(_back(high)), negative(_back(low)), negative(low)]
    whole = _weighted(concat(parts, axis=-1), window_fn, 2 * half)
    return overlap_and_add(whole, half)


def _signal(value: Any, rank: int, what: str, norm: str | None) -> Tensor:
    x = tensor(value)
    if not x.dtype.is_floating:
        raise InvalidArgumentError(
            f"dtype must be a floating point type; {what} got {x.dtype.name}."
        )
    if known_rank(x, what) < rank:
        raise InvalidArgumentError(f"Shape {x.shape} must have rank at least {rank} for {what}.")
    if norm not in (None, "ortho"):
        raise InvalidArgumentError(
            f"Unknown normalization. Expected None or 'ortho', got: {norm!r}."
        )
    return x


def _weighted(frames: Tensor, window_fn: Window | None, length: int) -> Tensor:
    if window_fn is None:
        return multiply(frames, constant(math.sqrt(0.5), frames.dtype))
    return multiply(frames, window_fn(length, dtype=frames.dtype))


def _back(x: Tensor) -> Tensor:
    return reverse(x, [-1])


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The elements moved by half of each axis: frequency 0 goes to the middle.

    Args:
        x: Tensor.
        axes: An axis or several; None for all.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: an axis out of range.

    Example:
        >>> import tfx as tf
        >>> tf.signal.fftshift([0, 1, 2, -2, -1]).numpy()
        array([-2, -1,  0,  1,  2], dtype=int32)
    """
    return _half_turned(x, axes, "fftshift", forward=True)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """The inverse of ``fftshift``; of axes with an odd number of elements it is another one.

    Args:
        x: Tensor.
        axes: An axis or several; None for all.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: an axis out of range.

    Example:
        >>> import tfx as tf
        >>> tf.signal.ifftshift([-2, -1, 0, 1, 2]).numpy()
        array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    return _half_turned(x, axes, "ifftshift", forward=False)


def _half_turned(value: Any, axes: Any, what: str, *, forward: bool) -> Tensor:
    x = tensor(value)
    if axes is not None:
        known = static_ints(vector := shape_argument(axes, what))
        if known is None:
            return _half_turned_late(x, vector, forward)
        axes = known
    rank = known_rank(x, what)
    places = list(range(rank)) if axes is None else axes
    for place in places:
        size = x.shape[place] if -rank <= place < rank else 0
        by: Any = floordiv(shape(x)[place], 2) if size is None else size // 2
        if not forward:
            by = negative(by) if size is None else -by
        x = roll(x, by, place)
    return x


def _half_turned_late(x: Tensor, axes: Tensor, forward: bool) -> Tensor:
    """The same along axes that only a run tells."""
    halves = floordiv(gather(shape(x), axes), 2)
    return roll(x, halves if forward else negative(halves), axes)
