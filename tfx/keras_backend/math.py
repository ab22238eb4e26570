"""Segments, spectra, errors and order: ``keras.ops`` of mathematics beyond NumPy."""

from __future__ import annotations

from typing import Any

from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.dtypes import result_type

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor, floats

Pair = tuple[Any, Any]


# Segments


def segment_sum(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> Any:
    """Sums of the slices that have one number."""
    return _segments("sum", data, segment_ids, num_segments, sorted)


def segment_max(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> Any:
    """The largest elements of the slices that have one number."""
    return _segments("max", data, segment_ids, num_segments, sorted)


def segment_min(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> Any:
    """The smallest elements of the slices that have one number."""
    return _segments("min", data, segment_ids, num_segments, sorted)


def segment_prod(
    data: Any, segment_ids: Any, num_segments: int | None = None, sorted: bool = False
) -> Any:
    """Products of the slices that have one number."""
    return _segments("prod", data, segment_ids, num_segments, sorted)


def _segments(kind: str, data: Any, ids: Any, count: Any, sorted: bool) -> Any:
    """What TensorFlow's functions of that kind compute; those for sorted ids count themselves."""
    data = convert_to_tensor(data)
    ids = convert_to_tensor(ids, "int32")
    if sorted and count is None:
        return getattr(tf.math, f"segment_{kind}")(data, ids)
    if count is None:
        count = tf.reduce_max(ids) + 1
    return getattr(tf.math, f"unsorted_segment_{kind}")(data, ids, count)


# Order


def top_k(x: Any, k: int, sorted: bool = True) -> Any:
    """The ``k`` largest elements of the last axis, and their indices."""
    return tf.math.top_k(convert_to_tensor(x), k, sorted=sorted)


def in_top_k(targets: Any, predictions: Any, k: int) -> Any:
    """True where the target is among the ``k`` largest predictions."""
    return tf.math.in_top_k(convert_to_tensor(targets), convert_to_tensor(predictions), k)


# Sums of exponentials, errors


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The logarithm of the sum of exponentials."""
    return tf.reduce_logsumexp(floats(x), list(axis) if isinstance(axis, tuple) else axis, keepdims)


def rsqrt(x: Any) -> Any:
    """1 over the square root."""
    return tf.math.rsqrt(floats(x))


def erf(x: Any) -> Any:
    """The error function."""
    return tf.math.erf(floats(x))


def erfc(x: Any) -> Any:
    """1 minus the error function."""
    return tf.math.erfc(floats(x))


def erfinv(x: Any) -> Any:
    """The inverse of the error function."""
    return tf.math.erfinv(floats(x))


def logdet(x: Any) -> Any:
    """The logarithm of the determinant of positive definite matrices."""
    return tf.linalg.logdet(floats(x))


def cdist(x: Any, y: Any) -> Any:
    """The distances of all pairs of rows."""
    dtype = result_type(*(standardize_dtype(convert_to_tensor(v).dtype) for v in (x, y)), float)
    x, y = convert_to_tensor(x, dtype), convert_to_tensor(y, dtype)
    apart = x[..., :, None, :] - y[..., None, :, :]
    total = tf.reduce_sum(tf.math.square(apart), -1)
    # The slope of the root at 0 is infinite: equal rows have the slope 0.
    same = tf.equal(total, 0)
    return tf.where(
        same, tf.zeros_like(total), tf.math.sqrt(tf.where(same, tf.ones_like(total), total))
    )


# Spectra: complex numbers are pairs of real and imaginary parts


def fft(x: Pair) -> Pair:
    """The discrete Fourier transform along the last axis."""
    return _transformed(x, (-1,), inverse=False)


def fft2(x: Pair) -> Pair:
    """The discrete Fourier transform along the last two axes."""
    return _transformed(x, (-1, -2), inverse=False)


def ifft2(x: Pair) -> Pair:
    """The inverse of ``fft2``."""
    return _transformed(x, (-1, -2), inverse=True)


def _transformed(x: Pair, axes: tuple[int, ...], *, inverse: bool) -> Pair:
    if not isinstance(x, tuple | list) or len(x) != 2:
        raise ValueError(
            f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}"
        )
    real, imaginary = (floats(part) for part in x)
    if real.shape.rank is not None and real.shape.rank < len(axes):
        raise ValueError(
            f"Input should have rank >= {len(axes)} because the transform is along the last "
            f"{len(axes)} axes. Received: input.shape={tuple(real.shape)}"
        )
    if not real.shape.is_compatible_with(imaginary.shape):
        raise ValueError(
            "Input `x` should be a tuple of two tensors - real and imaginary. Both the real and "
            f"imaginary parts should have the same shape. Received: x[0].shape = "
            f"{tuple(real.shape)}, x[1].shape = {tuple(imaginary.shape)}"
        )
    transforms: dict[tuple[int, bool], Any] = {
        (1, False): tf.signal.fft,
        (2, False): tf.signal.fft2d,
        (2, True): tf.signal.ifft2d,
    }
    return _pair(transforms[len(axes), inverse](_complex(real, imaginary)), real.dtype)


def _wide(x: Any) -> Any:
    """Numbers of float32 or float64, of which complex ones can be made."""
    return x if x.dtype in (tf.float32, tf.float64) else tf.cast(x, tf.float32)


def _complex(real: Any, imaginary: Any) -> Any:
    return tf.complex(_wide(real), _wide(imaginary))


def _pair(z: Any, dtype: Any) -> Pair:
    return tf.cast(tf.math.real(z), dtype), tf.cast(tf.math.imag(z), dtype)


def rfft(x: Any, fft_length: int | None = None) -> Pair:
    """The first half of the transform of real numbers."""
    x = floats(x)
    length = None if fft_length is None else [fft_length]
    return _pair(tf.signal.rfft(_wide(x), length), x.dtype)


def irfft(x: Pair, fft_length: int | None = None) -> Any:
    """Real numbers from the first half of their transform."""
    real, imaginary = (floats(part) for part in x)
    length = None if fft_length is None else [fft_length]
    return tf.cast(tf.signal.irfft(_complex(real, imaginary), length), real.dtype)


def _sized(x: Any, size: int | None) -> Any:
    """The first ``size`` elements of the last axis, zeros behind where there are fewer."""
    have = x.shape[-1]
    if size is None or have == size:
        return x
    if have is not None and have > size:
        return x[..., :size]
    missing = tf.maximum(size - tf.shape(x)[-1], 0) if have is None else size - have
    return tf.pad(x, [[0, 0]] * (x.shape.rank - 1) + [[0, missing]])[..., :size]


def extract_sequences(x: Any, sequence_length: int, sequence_stride: int) -> Any:
    """Windows of the last axis, one after the other."""
    return tf.signal.frame(convert_to_tensor(x), sequence_length, sequence_stride, pad_end=False)


def _window(window: Any, sequence_length: int, fft_length: int, dtype: Any) -> Any:
    """The weights of a window, in the middle of a longer one of zeros; None: ones."""
    if window is None:
        weights = tf.ones([sequence_length], dtype)
    elif isinstance(window, str):
        if window not in ("hann", "hamming"):
            raise ValueError(
                "If a string is passed to `window`, it must be one of `'hann'`, `'hamming'`. "
                f"Received: window={window}"
            )
        make = getattr(tf.signal, f"{window}_window")
        weights = make(sequence_length, periodic=True, dtype=dtype)
    else:
        weights = convert_to_tensor(window, standardize_dtype(dtype))
        if tuple(weights.shape) != (sequence_length,):
            raise ValueError(
                "The shape of `window` must be equal to [sequence_length]. Received: window "
                f"shape={tuple(weights.shape)}"
            )
    left = (fft_length - sequence_length) // 2
    return tf.pad(weights, [[left, fft_length - sequence_length - left]])


def stft(
    x: Any,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    window: Any = "hann",
    center: bool = True,
) -> Pair:
    """Spectra of windows of the last axis.

    Raises:
        TypeError: integers.
        ValueError: sizes or a window that do not fit.
    """
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        raise TypeError(
            "Invalid input type. Expected `float32` or `float64`. Received: input "
            f"type={x.dtype.name}"
        )
    _check_lengths(sequence_length, fft_length)
    if center:
        around = [[0, 0]] * (x.shape.rank - 1) + [[fft_length // 2, fft_length // 2]]
        x = tf.pad(x, around, "REFLECT")
    weights = _window(window, sequence_length, fft_length, x.dtype)
    return rfft(extract_sequences(x, fft_length, sequence_stride) * weights)


def _check_lengths(sequence_length: int, fft_length: int) -> None:
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. Received: "
            f"sequence_length={sequence_length}, fft_length={fft_length}"
        )


def istft(
    x: Pair,
    sequence_length: int,
    sequence_stride: int,
    fft_length: int,
    length: int | None = None,
    window: Any = "hann",
    center: bool = True,
) -> Any:
    """The numbers whose spectra ``stft`` gave."""
    _check_lengths(sequence_length, fft_length)
    frames = irfft(x, fft_length)
    weights = _window(window, sequence_length, fft_length, frames.dtype)
    if window is None:
        found = tf.signal.overlap_and_add(frames, sequence_stride)
    else:
        inverse = _inverse(weights, sequence_stride)
        found = tf.signal.overlap_and_add(frames * inverse, sequence_stride)
    start = fft_length // 2 if center else 0
    if length is not None:
        return found[..., start : start + length]
    return found[..., start:-start] if start else found


def _inverse(weights: Any, stride: int) -> Any:
    """The weights that undo a window, which overlaps itself: a period of the stride."""
    length = weights.shape[0]
    whole = -(-length // stride) * stride
    squares = tf.reshape(_sized(tf.math.square(weights), whole), [-1, stride])
    total = tf.tile(tf.reduce_sum(squares, 0), [squares.shape[0]])[:length]
    return tf.math.divide_no_nan(weights, total)
