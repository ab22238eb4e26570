"""``tfx.audio``: sounds as the bytes of WAV files of 16 bits a sample. Python does it."""

from __future__ import annotations

import io
import struct
import wave
from typing import Any, NamedTuple

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import tensor
from tfx.ops.common.python_ops import by_python
from tfx.ops.strings.strings import one_text


class DecodeWav(NamedTuple):
    """A sound.

    Attributes:
        audio: float32 of shape ``[samples, channels]``, from -1 to 1.
        sample_rate: Samples a second, int32.
    """

    audio: Tensor
    sample_rate: Tensor


def decode_wav(
    contents: Any,
    desired_channels: int = -1,
    desired_samples: int = -1,
    name: str | None = None,
) -> DecodeWav:
    """The sound in the bytes of a WAV file of 16 bits a sample.

    Args:
        contents: A scalar string.
        desired_channels: How many channels: the first ones, or the last one repeated; -1: as in
            the file.
        desired_samples: How many samples: the first ones, or silence behind; -1: as in the file.
        name: Accepted for compatibility.

    Returns:
        The samples, and how many there are in a second.

    Raises:
        InvalidArgumentError: no such file, a broken one, or one of another sample size.

    Example:
        >>> import tfx as tf
        >>> data = tf.audio.encode_wav([[0.5], [-0.5]], 8000)
        >>> audio, rate = tf.audio.decode_wav(data)
        >>> audio.numpy().ravel(), int(rate)
        (array([ 0.5, -0.5], dtype=float32), 8000)
    """
    x = one_text(contents, "DecodeWav", "use map_fn")

    def decode(data: Any) -> list[Any]:
        samples, rate = _decoded(data.item())
        if desired_channels >= 0:
            places = np.minimum(np.arange(desired_channels), samples.shape[1] - 1)
            samples = samples[:, places]
        if desired_samples >= 0:
            missing = max(desired_samples - len(samples), 0)
            samples = np.pad(samples[:desired_samples], [(0, missing), (0, 0)])
        return [samples, np.array(rate)]

    sizes = tuple(None if n < 0 else n for n in (desired_samples, desired_channels))
    outputs = [(dtypes.float32, sizes), (dtypes.int32, ())]
    return DecodeWav(*by_python("audio.decode_wav", decode, [x], outputs))


def _decoded(data: bytes) -> tuple[Any, int]:
    """The samples of a file, ``[samples, channels]``, and their rate."""
    try:
        with wave.open(io.BytesIO(data)) as sound:
            width, channels = sound.getsampwidth(), sound.getnchannels()
            count, rate = sound.getnframes(), sound.getframerate()
            frames = sound.readframes(count)
    except (wave.Error, EOFError, struct.error, ValueError, RuntimeError) as e:
        raise InvalidArgumentError(f"Invalid WAV data: {e or 'it ends too early'}") from e
    if width != 2 or channels < 1 or len(frames) != count * channels * 2:
        raise InvalidArgumentError(
            f"Can only read whole WAV files of 16 bits a sample; got {width * 8} bits, {channels} "
            f"channels and {len(frames)} bytes of {count * channels * width}."
        )
    samples = np.frombuffer(frames, "<i2").reshape(count, channels)
    return samples.astype(np.float32) / np.float32(32768), rate


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """A sound as the bytes of a WAV file of 16 bits a sample.

    Args:
        audio: float32 of shape ``[samples, channels]``; what is beyond -1 and 1 is cut off.
        sample_rate: Samples a second, an int32 scalar.
        name: Accepted for compatibility.

    Returns:
        A scalar string.

    Raises:
        InvalidArgumentError: another shape, or a rate that such a file cannot have.
    """

    def encode(frames: Any, rate: Any) -> list[Any]:
        if frames.ndim != 2:
            raise InvalidArgumentError(f"audio must be 2-dimensional, got {list(frames.shape)}.")
        return [np.array(wav(frames, int(rate)), object)]

    inputs = [tensor(audio), tensor(sample_rate)]
    return by_python("audio.encode_wav", encode, inputs, [(dtypes.string, ())])[0]


def wav(frames: np.ndarray[Any, Any], rate: int) -> bytes:
    """A sound ``[frames, channels]`` as a WAV file of 16 bits a sample; NaN is silence.

    Raises:
        InvalidArgumentError: a rate, or a number of channels, that such a file cannot have.
    """
    channels = frames.shape[1]
    if not (1 <= rate < 2**32 and 1 <= channels < 2**15 and rate * channels * 2 < 2**32):
        raise InvalidArgumentError(
            "A sound needs a positive sample rate and at least one channel, as a WAV file holds "
            f"them; got sample_rate={rate} and {channels} channels."
        )
    levels = np.nan_to_num(frames.astype(np.float64), nan=0.0) * 32768
    samples = np.clip(np.rint(levels), -32768, 32767).astype("<i2")
    data: bytes = samples.tobytes()
    layout = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    head = b"WAVEfmt " + struct.pack("<I", len(layout)) + layout
    body = head + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body
