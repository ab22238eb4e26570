"""``tfx.signal``: frames, windows, cosine transforms and mel scales of real signals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import constant, int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.array.concat import stack
from tfx.ops.array.gather import gather, rows_at
from tfx.ops.array.pad import pad
from tfx.ops.common.arguments import require_dtype, single_axis, static_int, tensor
from tfx.ops.common.dynamic_axis import folded, found_axis
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    known_rank,
    product,
    reshape_to,
    shape_vector,
)


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Overlapping pieces of a signal.

    Args:
        signal: Tensor of rank 1 or more.
        frame_length: Samples of a frame.
        frame_step: Samples between the beginnings of two frames.
        pad_end: Also return frames that go beyond the end, with ``pad_value`` there.
        pad_value: What is beyond the end.
        axis: The axis of the samples, which becomes two: frames and their samples.
        name: Accepted for compatibility.

    Returns:
        ``[..., frames, frame_length, ...]``.

    Raises:
        ValueError: lengths below 1 or not known now.

    Example:
        >>> import tfx as tf
        >>> tf.signal.frame([1, 2, 3, 4, 5], 3, 2).numpy()
        array([[1, 2, 3],
               [3, 4, 5]], dtype=int32)
    """
    x = tensor(signal)
    length, step = _count("frame_length", frame_length), _count("frame_step", frame_step)
    late = found_axis(axis, x, "frame")
    if late is not None:
        whole = folded(x, late)
        pieces = frame(whole.x, length, step, pad_end, pad_value, 1)
        return whole.unfolded(pieces, shape_vector(pieces, 1, 3), axes=2)
    rank = known_rank(x, "frame")
    place = single_axis(axis, x, "frame") % rank
    size = x.shape[place]
    if size is None:
        return _late_frames(x, length, step, pad_value if pad_end else None, place)
    frames = -(-size // step) if pad_end else max(0, (size - length) // step + 1)
    missing = max(0, (frames - 1) * step + length - size) if pad_end and frames else 0
    if missing:
        around = [[0, missing if i == place else 0] for i in range(rank)]
        x = pad(x, around, constant_values=pad_value)
    part = math.gcd(length, step)
    places = np.arange(frames)[:, None] * (step // part) + np.arange(length // part)
    return _picked(x, constant(places, dtypes.int32), part, place)


def _taken(x: Tensor, places: Tensor, axis: int) -> Tensor:
    return gather(x, places, axis=axis) if axis else rows_at(x, places)


def _picked(x: Tensor, places: Tensor, part: int, axis: int) -> Tensor:
    """Frames of a signal, whose samples are taken by parts.

    Args:
        x: The signal.
        places: Which parts make each frame.
        part: Samples of a part.
        axis: The axis of the samples.
    """
    if part == 1:
        return _taken(x, places, axis)
    one, length = int64_constant([axis]), int64_constant([part])
    count = ox.Div(dimension(x, axis), length)
    whole = ox.Slice(x, int64_constant([0]), ox.Mul(count, length), one)
    head, tail = shape_vector(x, 0, axis), shape_vector(x, axis + 1)
    parts = reshape_to(whole, concat_shape(head, count, length, tail))
    found = _taken(parts, places, axis)
    frames, row = dimension(found, axis), ox.Mul(dimension(found, axis + 1), length)
    return reshape_to(found, concat_shape(head, frames, row, tail))


def _late_frames(x: Tensor, length: int, step: int, padding: Any, place: int) -> Tensor:
    """``frame`` of a signal whose length only a run tells; no padding is None."""
    size, zero, stride = dimension(x, place), int64_constant([0]), int64_constant([step])
    if padding is None:
        room = ox.Max(size - int64_constant([length - step]), zero)
        frames = ox.Div(room, stride)
    else:
        frames = ox.Div(size + int64_constant([step - 1]), stride)
        end = (frames - int64_constant([1])) * stride + int64_constant([length])
        missing = ox.Max(end - size, zero)
        # One row for each axis, of which this one alone gets something, at its end.
        amounts = [missing if i == place else zero for i in range(x.shape.rank or 0)]
        rows = [ox.Concat(zero, n, axis=0) for n in amounts]
        x = pad(x, stack(rows), constant_values=padding)
    part = math.gcd(length, step)
    return _picked(x, _late_places(frames, length // part, step // part), part, place)


def _late_places(frames: Tensor, length: int, step: int) -> Tensor:
    """The numbers of the samples, or parts, of each of as many frames as only a run tells."""
    count = ox.Squeeze(frames, int64_constant([0]))
    starts = ox.Range(int64_constant(0), count, int64_constant(1)) * int64_constant([step])
    column = ox.Unsqueeze(starts, int64_constant([1]))
    return column + int64_constant(range(length))


def _count(what: str, value: Any) -> int:
    found = static_int(tensor(value))
    if found is None or found < 1:
        raise InvalidArgumentError(
            f"{what} must be an integer above 0 that is known now; got {value!r}."
        )
    return found


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """The signal of which overlapping frames are the pieces: samples that meet are added up.

    Args:
        signal: ``[..., frames, frame_length]``, the length a known number.
        frame_step: Samples between the beginnings of two frames.
        name: Accepted for compatibility.

    Returns:
        ``[..., (frames - 1) * frame_step + frame_length]``.

    Raises:
        ValueError: a step below 1, or a length that is not known.

    Example:
        >>> import tfx as tf
        >>> tf.signal.overlap_and_add([[1, 1, 1], [1, 1, 1]], 2).numpy()
        array([1, 1, 2, 1, 1], dtype=int32)
    """
    x = tensor(signal)
    step = _count("frame_step", frame_step)
    rank = known_rank(x, "overlap_and_add")
    if rank < 2 or x.shape[-1] is None:
        raise InvalidArgumentError(
            f"overlap_and_add takes [..., frames, frame_length] of a known length; got {x.shape}."
        )
    length = int(x.shape[-1])
    # Each frame as pieces as long as a step, of which the last is filled up with zeros.
    pieces = -(-length // step)
    head, count = shape_vector(x, 0, rank - 2), dimension(x, rank - 2)
    batch, some = product(head), int64_constant([pieces])
    flat = reshape_to(x, concat_shape(batch, count, int64_constant([length])))
    if pieces * step > length:
        ends = int64_constant([0, pieces * step - length])
        flat = ox.Pad(flat, ends, None, int64_constant([2]))
    cut = reshape_to(flat, concat_shape(batch, count, int64_constant([pieces, step])))
    # A row for each piece's number, every one a step further to the right than the one above: that
    # many zeros behind each row, seen as rows that are shorter by one.
    rows = ox.Transpose(cut, perm=(0, 2, 1, 3))
    rows = ox.Pad(rows, ox.Concat(int64_constant([0]), some, axis=0), None, int64_constant([2]))
    wide = ox.Add(count, some)
    shorter = ox.Sub(wide, int64_constant([1]))
    ends, stride = ox.Mul(wide, some), int64_constant([step])
    rows = reshape_to(rows, concat_shape(batch, ends, stride))
    rows = ox.Slice(rows, int64_constant([0]), ox.Mul(shorter, some), int64_constant([1]))
    rows = reshape_to(rows, concat_shape(batch, some, shorter, stride))
    total = ox.ReduceSum(rows, int64_constant([1]), keepdims=0)
    total = reshape_to(total, concat_shape(head, ox.Mul(shorter, stride)))
    rest = ox.Mul(ox.Min(count, int64_constant([1])), int64_constant([length - step]))
    size = ox.Add(ox.Mul(count, stride), rest)
    found = ox.Slice(total, int64_constant([0]), size, int64_constant([-1]))
    frames = x.shape[-2]
    if isinstance(found, SymbolicTensor) and frames is not None:
        last = (frames - 1) * step + length if frames else 0
        found.set_shape([*x.shape.as_list()[:-2], last])
    return found


def hann_window(
    window_length: Any,
    periodic: bool = True,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Hann's window.

    Args:
        window_length: Samples.
        periodic: For transforms: the last sample of the symmetric window is left out.
        dtype: A floating dtype.
        name: Accepted for compatibility.

    Returns:
        ``[window_length]``.

    Raises:
        ValueError: no floating dtype, or a length that is not known.

    Example:
        >>> import tfx as tf
        >>> tf.signal.hann_window(4).numpy()
        array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _raised_cosine(window_length, periodic, dtype, 0.5)


def hamming_window(
    window_length: Any,
    periodic: bool = True,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Hamming's window; see ``hann_window``.

    Example:
        >>> import tfx as tf
        >>> tf.signal.hamming_window(4).numpy().round(2)
        array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _raised_cosine(window_length, periodic, dtype, 0.54)


def _raised_cosine(length: Any, periodic: bool, dtype: DTypeLike, level: float) -> Tensor:
    size = _count("window_length", length)
    even = 1 - size % 2
    period = max(size + int(bool(periodic)) * even - 1, 1)
    wave = level - (1 - level) * np.cos(2 * math.pi * np.arange(size) / period)
    return window_tensor(wave if size > 1 else np.ones(1), dtype)


def window_tensor(values: Any, dtype: DTypeLike) -> Tensor:
    """The values of a window as a tensor of a floating dtype."""
    kind = dtypes.as_dtype(dtype)
    if not kind.is_floating:
        raise InvalidArgumentError(f"dtype must be a floating point type; got {kind.name}.")
    return constant(values, kind)


def vorbis_window(
    window_length: Any, dtype: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """The power complementary window of Vorbis; see ``hann_window``.

    Example:
        >>> import tfx as tf
        >>> tf.signal.vorbis_window(2).numpy().round(4)
        array([0.7071, 0.7071], dtype=float32)
    """
    size = _count("window_length", window_length)
    wave = np.sin(np.pi / size * (np.arange(size) + 0.5))
    return window_tensor(np.sin(np.pi / 2 * wave**2), dtype)


def dct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform along the last axis.

    Args:
        input: ``[..., samples]`` of a floating dtype, of a known number of samples.
        type: 1, 2, 3 or 4.
        n: Cut or fill with zeros to this number of samples.
        axis: -1.
        norm: None or ``"ortho"``.
        name: Accepted for compatibility.

    Raises:
        ValueError: another type, norm or axis, type 1 with ``"ortho"`` or of less than 2 samples.

    Example:
        >>> import tfx as tf
        >>> tf.signal.dct([1.0, 1.0]).numpy().round(4)
        array([4., 0.], dtype=float32)
    """
    return _cosine(input, type, n, axis, norm)


def idct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of ``dct`` but for a factor: types 2 and 3 are exchanged.

    Example:
        >>> import tfx as tf
        >>> x = tf.signal.dct([1.0, 3.0], norm="ortho")
        >>> tf.signal.idct(x, norm="ortho").numpy().round(4)
        array([1., 3.], dtype=float32)
    """
    return _cosine(input, {2: 3, 3: 2}.get(type, type), n, axis, norm)


def _cosine(signal: Any, kind: int, n: int | None, axis: int, norm: str | None) -> Tensor:
    x = tensor(signal)
    require_dtype(x, x.dtype.is_floating, "dct", "a floating dtype")
    if axis != -1 or kind not in (1, 2, 3, 4) or norm not in (None, "ortho"):
        raise InvalidArgumentError(
            "dct takes axis=-1, type 1 to 4 and norm None or 'ortho'; got "
            f"axis={axis}, type={kind}, norm={norm!r}."
        )
    if kind == 1 and norm == "ortho":
        raise InvalidArgumentError("Normalization is not supported for the Type-I DCT.")
    size = x.shape[-1]
    if size is None or (n is not None and n < 1):
        raise InvalidArgumentError(
            f"dct needs a known number of samples above 0; got {x.shape} and n={n}."
        )
    if n is not None and n != size:
        ends = int64_constant([0]), int64_constant([n]), int64_constant([-1])
        rank = known_rank(x, "dct")
        behind = [[0, 0]] * (rank - 1) + [[0, n - size]]
        x = ox.Slice(x, *ends) if n < size else pad(x, behind)
        size = n
    if not size:
        return x
    if kind == 1 and size < 2:
        raise InvalidArgumentError("Type-I DCT requires the dimension to be greater than one.")
    return ox.MatMul(x, constant(_cosines(kind, size, norm), x.dtype))


def _cosines(kind: int, size: int, norm: str | None) -> Any:
    """The transform as a matrix, a row for each sample."""
    samples, waves = np.arange(size)[:, None], np.arange(size)[None, :]
    if kind == 1:
        weights = np.where((samples == 0) | (samples == size - 1), 1.0, 2.0)
        return weights * np.cos(np.pi * samples * waves / (size - 1))
    if kind == 2:
        found = 2 * np.cos(np.pi * (2 * samples + 1) * waves / (2 * size))
        ends = np.where(waves == 0, math.sqrt(0.25 / size), math.sqrt(0.5 / size))
        return found * ends if norm else found
    if kind == 3:
        found = 2 * np.cos(np.pi * (2 * waves + 1) * samples / (2 * size))
        if norm:
            return found * np.where(samples == 0, math.sqrt(0.25 / size), math.sqrt(0.5 / size))
        return found * np.where(samples == 0, 0.5, 1.0)
    found = 2 * np.cos(np.pi * (2 * samples + 1) * (2 * waves + 1) / (4 * size))
    return found * math.sqrt(0.5 / size) if norm else found


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: float = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return the weight of each frequency of a spectrogram in each band of the mel scale.

    Args:
        num_mel_bins: Bands.
        num_spectrogram_bins: Frequencies, from 0 to half the sample rate.
        sample_rate: Samples in a second.
        lower_edge_hertz: Where the lowest band begins.
        upper_edge_hertz: Where the highest band ends.
        dtype: A floating dtype.
        name: Accepted for compatibility.

    Returns:
        ``[num_spectrogram_bins, num_mel_bins]``.

    Raises:
        ValueError: numbers that are not positive, or edges in the wrong order.

    Example:
        >>> import tfx as tf
        >>> tf.signal.linear_to_mel_weight_matrix().shape
        TensorShape([129, 20])
    """
    if num_mel_bins <= 0 or num_spectrogram_bins <= 0 or sample_rate <= 0:
        raise InvalidArgumentError(
            "num_mel_bins, num_spectrogram_bins and sample_rate must be positive; got "
            f"{num_mel_bins}, {num_spectrogram_bins} and {sample_rate}."
        )
    if not 0 <= lower_edge_hertz < upper_edge_hertz <= sample_rate / 2:
        raise InvalidArgumentError(
            "Expected 0 <= lower_edge_hertz < upper_edge_hertz <= sample_rate / 2; got "
            f"{lower_edge_hertz}, {upper_edge_hertz} and sample_rate={sample_rate}."
        )
    heights = _mel(np.linspace(0.0, sample_rate / 2, num_spectrogram_bins)[1:])[:, None]
    edges = np.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), num_mel_bins + 2)
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    rising, falling = (heights - low) / (middle - low), (high - heights) / (high - middle)
    weights = np.maximum(0.0, np.minimum(rising, falling))
    return window_tensor(np.pad(weights, [[1, 0], [0, 0]]), dtype)


def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log1p(np.asarray(hertz) / 700.0)


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """Mel-frequency cepstral coefficients: an orthogonal cosine transform, as HTK scales it.

    Args:
        log_mel_spectrograms: ``[..., num_mel_bins]`` of a floating dtype.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: no bands.

    Example:
        >>> import tfx as tf
        >>> tf.signal.mfccs_from_log_mel_spectrograms(tf.ones([3, 20])).shape
        TensorShape([3, 20])
    """
    x = tensor(log_mel_spectrograms)
    count = 0 if x.shape.rank == 0 else x.shape[-1]
    if count == 0:
        raise InvalidArgumentError(f"num_mel_bins must be positive; got {x.shape}.", op="mfccs")
    found = dct(x)
    size = 1.0 if count is None else math.sqrt(2.0 * count)
    return found / constant(size, x.dtype)
