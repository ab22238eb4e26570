"""``tfx.io.decode_png`` and ``encode_png``: PNG files without loss. Python does it."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import tensor
from tfx.ops.common.python_ops import by_python
from tfx.ops.strings.strings import one_text

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Kind of colour -> channels: grey, RGB, palette, grey and alpha, RGBA.
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_KINDS = {1: 0, 2: 4, 3: 2, 4: 6}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PALETTE = 3
# The most pixels, and rows or columns, that are taken from a file: what it claims is believed only
# so far.
_MOST, _LONGEST = 1 << 28, 1_000_000
# Of a file: where the rows and columns of each pass begin, and how far they are apart.
_WHOLE = ((0, 0, 1, 1),)
_INTERLACED = (
    (0, 0, 8, 8),
    (0, 4, 8, 8),
    (4, 0, 8, 4),
    (0, 2, 4, 4),
    (2, 0, 4, 2),
    (0, 1, 2, 2),
    (1, 0, 2, 1),
)


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """An image as the bytes of a PNG file.

    Args:
        image: ``[height, width, channels]``, uint8 or uint16, with 1 to 4 channels (grey, grey and
            alpha, RGB, RGBA); axes in front are a batch.
        compression: 0 to 9; -1: zlib's default.
        name: Accepted for compatibility.

    Returns:
        A string for each image.

    Raises:
        InvalidArgumentError: another dtype, rank, number of channels or compression.

    Example:
        >>> import tfx as tf
        >>> data = tf.io.encode_png(tf.zeros([2, 2, 3], tf.uint8))
        >>> tf.io.decode_png(data).shape
        TensorShape([2, 2, 3])
    """
    x = tensor(image)
    if x.dtype not in (dtypes.uint8, dtypes.uint16) or not -1 <= compression <= 9:
        raise InvalidArgumentError(
            f"encode_png takes uint8 or uint16 and a compression of -1 to 9; got {x.dtype.name} "
            f"and {compression!r}."
        )

    def encode(array: Any) -> list[Any]:
        if array.ndim < 3 or array.shape[-1] not in _KINDS:
            raise InvalidArgumentError(
                f"image must have a shape of [height, width, 1 to 4 channels]; got {array.shape}."
            )
        found = np.empty(array.shape[:-3], object)
        for index in np.ndindex(found.shape):
            found[index] = _encoded(array[index], compression)
        return [found]

    shape = x.shape.symbolic
    outputs = [(dtypes.string, None if shape is None else shape[:-3])]
    return by_python("io.encode_png", encode, [x], outputs)[0]


def _encoded(pixels: Any, compression: int) -> bytes:
    height, width, channels = pixels.shape
    depth = pixels.dtype.itemsize * 8
    rows = np.ascontiguousarray(pixels.astype(f">u{depth // 8}")).view(np.uint8)
    lines = np.zeros((height, 1 + rows.reshape(height, -1).shape[1]), np.uint8)
    lines[:, 1:] = rows.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, depth, _KINDS[channels], 0, 0, 0)
    data = zlib.compress(lines.tobytes(), compression)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def decode_png(
    contents: Any, channels: int = 0, dtype: DTypeLike = dtypes.uint8, name: str | None = None
) -> Tensor:
    """The image in the bytes of a PNG file.

    Args:
        contents: A scalar string.
        channels: 1: grey, 3: RGB, 4: RGBA; 0: as in the file.
        dtype: uint8 or uint16.
        name: Accepted for compatibility.

    Returns:
        ``[height, width, channels]``.

    Raises:
        InvalidArgumentError: no PNG file, or a broken one.

    Example:
        >>> import tfx as tf
        >>> data = tf.io.encode_png(tf.constant([[[7]]], tf.uint8))
        >>> tf.io.decode_png(data, channels=3).numpy().ravel()
        array([7, 7, 7], dtype=uint8)
    """
    kind = dtypes.as_dtype(dtype)
    if channels not in (0, 1, 3, 4) or kind not in (dtypes.uint8, dtypes.uint16):
        raise InvalidArgumentError(
            f"channels must be 0, 1, 3 or 4 and dtype uint8 or uint16; got {channels!r} and "
            f"{kind.name}."
        )
    x = one_text(contents, "DecodePng", "use map_fn")

    def decode(data: Any) -> list[Any]:
        return [decoded_png(data.item(), channels, kind)]

    outputs = [(kind, (None, None, channels or None))]
    return by_python("io.decode_png", decode, [x], outputs)[0]


def decoded_png(data: bytes, channels: int, kind: DType) -> Any:
    """The pixels of a file, ``[height, width, channels]``.

    Args:
        data: Its bytes.
        channels: As ``decode_png`` takes them.
        kind: uint8 or uint16.

    Raises:
        InvalidArgumentError: no PNG file, or a broken one.
    """
    try:
        pixels = _decoded(data, channels)
    except (zlib.error, struct.error, ValueError, IndexError) as e:
        if isinstance(e, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"Invalid PNG data: {e}") from e
    return _deep(_with_channels(pixels, channels or pixels.shape[-1]), kind)


def _chunks(data: bytes) -> dict[bytes, bytes]:
    """The chunks of a file; those of one kind are one."""
    if not data.startswith(_SIGNATURE):
        raise InvalidArgumentError("Unknown image file format: these bytes are no PNG file.")
    found: dict[bytes, list[bytes]] = {}
    place = len(_SIGNATURE)
    while b"IEND" not in found:
        size, kind = struct.unpack_from(">I4s", data, place)
        body = data[place + 8 : place + 8 + size]
        (check,) = struct.unpack_from(">I", data, place + 8 + size)
        if zlib.crc32(body, zlib.crc32(kind)) != check:
            raise ValueError(f"the checksum of {kind!r} does not hold")
        found.setdefault(kind, []).append(body)
        place += 12 + size
    return {kind: b"".join(bodies) for kind, bodies in found.items()}


def _decoded(data: bytes, wanted: int) -> Any:
    """``[height, width, channels]`` as in the file; with alpha where 4 are wanted and it has it."""
    chunks = _chunks(data)
    if b"IHDR" not in chunks or b"IDAT" not in chunks:
        raise ValueError("the file has no image")
    width, height, depth, kind, *methods, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if depth not in _DEPTHS.get(kind, ()) or any(methods) or interlaced > 1:
        raise ValueError(f"kind {kind}, depth {depth}, methods {methods} and {interlaced}")
    if not 0 < width * height <= _MOST or max(width, height) > _LONGEST:
        raise ValueError(f"{width} x {height} pixels")
    pixels = _pixels(chunks[b"IDAT"], (height, width, _CHANNELS[kind]), depth, interlaced)
    if kind == _PALETTE:
        return _coloured(pixels[..., 0], chunks)
    alpha = _clear(pixels, chunks) if wanted == 4 else None
    if depth < 8:
        pixels = (pixels * (255 // (2**depth - 1))).astype(np.uint8)
    return pixels if alpha is None else np.concatenate([pixels, alpha], axis=-1)


def _pixels(packed: bytes, shape: tuple[int, int, int], depth: int, interlaced: int) -> Any:
    """The numbers of a file: of all rows, or of the passes that it consists of."""
    height, width, channels = shape
    parts = []
    for y, x, down, right in _INTERLACED if interlaced else _WHOLE:
        rows, columns = -(-(height - y) // down), -(-(width - x) // right)
        if rows > 0 and columns > 0:
            place = (slice(y, None, down), slice(x, None, right))
            parts.append((place, rows, columns, 1 + (columns * channels * depth + 7) // 8))
    total = sum(rows * line for _, rows, _, line in parts)
    raw = np.frombuffer(zlib.decompressobj().decompress(packed, total), np.uint8)
    if raw.size != total:
        raise ValueError(f"{raw.size} of {total} bytes")
    pixels = np.empty(shape, np.uint16 if depth == 16 else np.uint8)
    for place, rows, columns, line in parts:
        lines, raw = raw[: rows * line].reshape(rows, line), raw[rows * line :]
        plain = _unfiltered(lines, max(1, channels * depth // 8))
        numbers = _unpacked(plain, depth, columns * channels)
        pixels[place] = numbers.reshape(rows, columns, channels)
    return pixels


def _clear(pixels: Any, chunks: dict[bytes, bytes]) -> Any:
    """The alpha of a file in which one colour is transparent; None: it has none."""
    channels = pixels.shape[-1]
    text = chunks.get(b"tRNS", b"")
    if channels not in (1, 3) or len(text) < 2 * channels:
        return None
    colour = np.frombuffer(text, ">u2", channels)
    opaque = (pixels != colour).any(axis=-1, keepdims=True)
    return opaque.astype(pixels.dtype) * np.iinfo(pixels.dtype).max


def _coloured(indices: Any, chunks: dict[bytes, bytes]) -> Any:
    colours = np.frombuffer(chunks.get(b"PLTE", b""), np.uint8).reshape(-1, 3)
    alpha = np.frombuffer(chunks.get(b"tRNS", b""), np.uint8)
    if not alpha.size:
        return colours[indices]
    whole = np.full((len(colours), 1), 255, np.uint8)
    whole[: alpha.size, 0] = alpha
    return np.concatenate([colours, whole], axis=1)[indices]


def _unpacked(rows: Any, depth: int, count: int) -> Any:
    if depth == 16:
        return np.ascontiguousarray(rows).view(">u2").astype(np.uint16)
    if depth == 8:
        return rows
    bits = np.unpackbits(rows, axis=1)[:, : count * depth].reshape(len(rows), count, depth)
    return bits @ (1 << np.arange(depth)[::-1]).astype(np.uint8)


def _unfiltered(lines: Any, step: int) -> Any:
    """Rows whose bytes say how they differ from those to the left and above, made plain."""
    rows = np.zeros((len(lines), lines.shape[1] - 1), np.uint8)
    above = np.zeros(rows.shape[1], np.uint8)
    for y, line in enumerate(lines):
        rows[y] = above = _plain_row(int(line[0]), line[1:], above, step)
    return rows


def _plain_row(kind: int, line: Any, above: Any, step: int) -> Any:
    if kind == 0:
        return line
    if kind == 2:
        return line + above
    if kind == 1:
        padded = np.zeros(-(-line.size // step) * step, np.uint8)
        padded[: line.size] = line
        return np.cumsum(padded.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)[: line.size]
    if kind not in (3, 4):
        raise ValueError(f"filter {kind}")
    out = [0] * step
    up, corner = above.tolist(), [0] * step + above.tolist()
    for i, value in enumerate(line.tolist()):
        a, b = out[i], up[i]
        guess = (a + b) // 2 if kind == 3 else _nearest(a, b, corner[i])
        out.append(value + guess & 255)
    return np.array(out[step:], np.uint8)


def _nearest(a: int, b: int, c: int) -> int:
    """Return which of three bytes is nearest to ``a + b - c``."""
    to_a, to_b, to_c = abs(b - c), abs(a - c), abs(a + b - 2 * c)
    if to_a <= to_b and to_a <= to_c:
        return a
    return b if to_b <= to_c else c


def _with_channels(pixels: Any, wanted: int) -> Any:
    have = pixels.shape[-1]
    if have == wanted:
        return pixels
    alpha = pixels[..., -1:] if have in (2, 4) else None
    colours = pixels[..., : have - (alpha is not None)]
    if wanted == 1 and colours.shape[-1] == 3:
        # The weights of ITU-R BT.601, in parts of 32768.
        mixed = colours.astype(np.uint64) @ np.array([9798, 19235, 3735], np.uint64)
        colours = ((mixed + (16384 if pixels.dtype == np.uint16 else 0)) >> 15)[..., None]
    elif wanted >= 3 and colours.shape[-1] == 1:
        colours = np.repeat(colours, 3, axis=-1)
    if wanted == 4:
        opaque = np.full_like(pixels[..., :1], np.iinfo(pixels.dtype).max)
        colours = np.concatenate([colours, opaque if alpha is None else alpha], axis=-1)
    return colours.astype(pixels.dtype)


def _deep(pixels: Any, kind: Any) -> Any:
    wanted = kind.as_numpy_dtype
    if pixels.dtype == wanted:
        return pixels
    if wanted == np.uint8:
        return (pixels >> 8).astype(np.uint8)
    return pixels.astype(np.uint16) * 257
