"""``image``: pictures as PNG."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.summary import event_pb2 as pb
from tfx.summary.messages import plugin, value_summary
from tfx.summary.recording import NOTHING, record, skipped, summary_scope

# PNG's colour types by number of channels: grey, grey and alpha, RGB, RGBA.
_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}


def image(
    name: str,
    data: Any,
    step: Any = None,
    max_outputs: int = 3,
    description: str | None = None,
) -> Tensor:
    """Write pictures.

    Args:
        name: Their name; name scopes come in front.
        data: ``[count, height, width, channels]`` with 1 to 4 channels: uint8, another integer
            dtype whose full range is scaled to it, or a floating dtype from 0 to 1 (what lies
            outside is clipped); or a function that gives it.
        step: An integer, integer tensor or variable; None: the default step.
        max_outputs: How many of them to write at most.
        description: Markdown that TensorBoard shows.

    Returns:
        A bool tensor: whether they were written.

    Raises:
        ValueError: there is no step.
        InvalidArgumentError: another shape.

    Example:
        >>> import tfx as tf
        >>> bool(tf.summary.image("input", tf.zeros([1, 8, 8, 3]), step=1))  # no default writer
        False
    """
    if skipped():
        return NOTHING
    with summary_scope(name, "image_summary") as (tag, _):
        metadata = plugin("images", description=description)

        def payload(array: np.ndarray[Any, Any]) -> pb.Summary:
            check_images(array, tag, tuple(_COLOURS))
            pixels = as_uint8(array[: max(max_outputs, 0)])
            size = [str(array.shape[2]).encode(), str(array.shape[1]).encode()]
            parts = np.array([*size, *[png(p) for p in pixels]], object)
            return value_summary(tag, parts, metadata)

        return record(tag, data, step, payload)


def check_images(array: np.ndarray[Any, Any], tag: str, channels: tuple[int, ...]) -> None:
    """Refuse what is not a batch of images that a PNG file can hold.

    Args:
        array: The value of the summary.
        tag: The name of the summary, for the messages.
        channels: The numbers of channels that an image may have.

    Raises:
        InvalidArgumentError: another rank or number of channels, or images without pixels.
    """
    if array.ndim != 4 or array.shape[3] not in channels:
        allowed = ", ".join(map(str, channels[:-1]))
        raise InvalidArgumentError(
            f"Summary {tag!r} takes images [count, height, width, channels] with {allowed} or "
            f"{channels[-1]} channels; got the shape {array.shape}."
        )
    if len(array) and not (array.shape[1] and array.shape[2]):
        raise InvalidArgumentError(
            f"Summary {tag!r}: an image without pixels cannot be written; got the shape "
            f"{array.shape}."
        )


def as_uint8(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Pixels of any dtype as bytes."""
    pixels: np.ndarray[Any, Any]
    if array.dtype == np.uint8:
        pixels = array
    elif array.dtype == np.bool_:
        pixels = array.astype(np.uint8) * np.uint8(255)
    elif array.dtype.kind in "iu":
        top = int(np.iinfo(array.dtype).max)
        wide = array.astype(np.int64 if top < 2**63 else np.uint64)
        pixels = wide * (256 // (top + 1)) if top < 255 else wide // ((top + 1) // 256)
    else:
        wide = array.astype(np.float64 if array.dtype == np.float64 else np.float32)
        pixels = np.nan_to_num(wide, nan=0.0) * wide.dtype.type(255.5)
    return pixels.clip(0, 255).astype(np.uint8)


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    """A picture ``[height, width, channels]`` of bytes as a PNG file."""
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, width * channels)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check
