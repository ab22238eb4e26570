"""``stft`` and its inverse: transforms of the overlapping frames of a signal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.array.creation import zeros_like
from tfx.ops.array.pad import pad
from tfx.ops.array.reshape import reshape
from tfx.ops.array.tile import tile
from tfx.ops.array.where import where
from tfx.ops.common.arguments import static_int, tensor
from tfx.ops.common.shapes import rank_of
from tfx.ops.math.arithmetic import divide, multiply
from tfx.ops.math.comparison import equal
from tfx.ops.math.elementwise import square
from tfx.ops.math.reduction import reduce_sum
from tfx.ops.signal.fourier import irfft, rfft
from tfx.ops.signal.spectral import frame, hann_window, overlap_and_add


def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The short-time Fourier transform: that of overlapping frames, each times a window.

    Args:
        signals: ``[..., samples]`` of float32 or float64.
        frame_length: Samples of a frame, a number that is known now.
        frame_step: Samples between the beginnings of two frames, known now.
        fft_length: Samples of a transform; None: the smallest power of 2 that holds a frame.
        window_fn: Takes a length and ``dtype=``, returns a window; None: no window.
        pad_end: Also transform frames that go beyond the end, with zeros there.
        name: Accepted for compatibility.

    Returns:
        ``[..., frames, fft_length // 2 + 1]`` of complex64 or complex128. A function of which
        only real numbers come out, such as magnitudes, is saved as ONNX operators.

    Raises:
        ValueError: lengths that are no scalars, below 1 or not known; another dtype, or a scalar.

    Example:
        >>> import tfx as tf
        >>> spectrogram = tf.abs(tf.signal.stft(tf.ones([1000]), 255, 128))
        >>> spectrogram.shape
        TensorShape([6, 129])
    """
    x = tensor(signals)
    if rank_of(x) == 0:
        raise InvalidArgumentError(f"Shape {x.shape} must have rank at least 1")
    length = _scalar("frame_length", frame_length)
    step = _scalar("frame_step", frame_step)
    frames = frame(x, length, step, pad_end=pad_end)
    if window_fn is not None:
        frames = multiply(frames, window_fn(length, dtype=frames.dtype))
    return rfft(frames, [_transform_length(length, fft_length)])


def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """The signal of a short-time Fourier transform: frames times a window, added up.

    It is the inverse of ``stft`` with the window of ``inverse_stft_window_fn``.

    Args:
        stfts: ``[..., frames, fft_length // 2 + 1]`` of complex64 or complex128.
        frame_length: Samples of a frame, a number that is known now.
        frame_step: Samples between the beginnings of two frames, known now.
        fft_length: Samples of a transform; None: the smallest power of 2 that holds a frame.
        window_fn: Takes a length and ``dtype=``, returns a window; None: no window.
        name: Accepted for compatibility.

    Returns:
        ``[..., samples]`` of float32 or float64.

    Raises:
        ValueError: lengths that are no scalars, below 1 or not known; another dtype, or a rank
            below 2.

    Example:
        >>> import tfx as tf
        >>> z = tf.signal.stft(tf.ones([16]), 4, 2)
        >>> window = tf.signal.inverse_stft_window_fn(2)
        >>> tf.signal.inverse_stft(z, 4, 2, window_fn=window).numpy()[2:-2].round(4)
        array([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.], dtype=float32)
    """
    z = tensor(stfts)
    rank = rank_of(z)
    if rank is not None and rank < 2:
        raise InvalidArgumentError(f"Shape {z.shape} must have rank at least 2")
    length = _scalar("frame_length", frame_length)
    step = _scalar("frame_step", frame_step)
    size = _transform_length(length, fft_length)
    frames = irfft(z, [size])
    if size != length:
        axis, zero = int64_constant([-1]), int64_constant([0])
        if size > length:
            frames = ox.Slice(frames, zero, int64_constant([length]), axis)
        else:
            frames = ox.Pad(frames, int64_constant([0, length - size]), None, axis)
    if isinstance(frames, SymbolicTensor) and frames.shape.rank is not None:
        frames.set_shape([*frames.shape.as_list()[:-1], length])
    if window_fn is not None:
        frames = multiply(frames, window_fn(length, dtype=frames.dtype))
    return overlap_and_add(frames, step)


def inverse_stft_window_fn(
    frame_step: Any,
    forward_window_fn: Callable[..., Any] = hann_window,
    name: str | None = None,
) -> Callable[[Any, DTypeLike], Tensor]:
    """The windows with which ``inverse_stft`` is the inverse of ``stft``.

    Args:
        frame_step: Samples between the beginnings of two frames.
        forward_window_fn: The window of ``stft``.
        name: Accepted for compatibility.

    Returns:
        A function of a length and a dtype that returns a window.

    Raises:
        ValueError: when the function is called: lengths that are no scalars, below 1 or not known.

    Example:
        >>> import tfx as tf
        >>> tf.signal.inverse_stft_window_fn(2, tf.signal.hamming_window)(
        ...     4, tf.float32
        ... ).numpy().round(4)
        array([0.0795, 0.9259, 0.9936, 0.9259], dtype=float32)
    """

    def window(frame_length: Any, dtype: DTypeLike) -> Tensor:
        length = _scalar("frame_length", frame_length)
        step = _scalar("frame_step", frame_step)
        forward = tensor(forward_window_fn(length, dtype=dtype))
        overlaps = -(-length // step)
        # What all frames together give a sample.
        squares = pad(square(forward), [[0, overlaps * step - length]])
        total = reduce_sum(reshape(squares, [overlaps, step]), 0)
        total = tile(total, [overlaps])[:length]
        return where(equal(total, 0.0), zeros_like(forward), divide(forward, total))

    return window


def _scalar(what: str, value: Any) -> int:
    """A number of samples."""
    given = tensor(value)
    if given.shape.rank not in (None, 0):
        raise InvalidArgumentError(f"{what}: Shape {given.shape} must have rank 0")
    found = static_int(given) if given.dtype.is_integer else None
    if found is None or found < 1:
        raise InvalidArgumentError(
            f"{what} must be an integer above 0 that is known now; got {value!r}."
        )
    return found


def _transform_length(frame_length: int, fft_length: Any) -> int:
    if fft_length is None:
        return 1 << (frame_length - 1).bit_length()
    return _scalar("fft_length", fft_length)
