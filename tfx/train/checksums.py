"""CRC-32s of a checkpoint's values: damage is found at the speed at which the values are read.

Owns the text ``tfx.crc32`` in the metadata of each file: a JSON object with ``graph``, the CRC-32
of the names, dtypes and shapes of all values and of the object graph, and ``tensors``, for each
value the CRC-32s of its stored bytes, one for each 16 MiB begun. Must not know of files. The one
decision: beside the SHA-256 of whole files there is a sum that is several times quicker, of parts
that several threads can compare at once, so that one value can be had without reading the others.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy.typing as npt

from tfx.bundle.encodings import Encoded, encode
from tfx.core.errors import BundleError

CHECKSUM_KEY = "tfx.crc32"
PIECE = 16 << 20
_THREADS = 2
# What else is compared: everything in the metadata that restoring goes by.
_COVERED = ("tfx.checkpoint", "tfx.objects")


class Checksums(NamedTuple):
    """The sums of a checkpoint; ``tensors`` has those of each value's pieces by key."""

    graph: int
    tensors: dict[str, tuple[int, ...]]


class Form(NamedTuple):
    """A value's key, dtype and shape."""

    key: str
    dtype: str
    shape: tuple[int, ...]


def piece_count(nbytes: int) -> int:
    """How many pieces a value of so many stored bytes has."""
    return -(-nbytes // PIECE)


def graph_sum(metadata: Mapping[str, str], forms: Iterable[Form]) -> int:
    """The CRC-32 of what a checkpoint consists of, values left aside."""
    table = [*(metadata.get(name) for name in _COVERED), sorted(forms)]
    return zlib.crc32(json.dumps(table, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def checksum_text(tensors: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, str]) -> str:
    """The sums of values that are about to be written.

    Args:
        tensors: Arrays by key.
        metadata: What the files say beside them.

    Raises:
        BundleError: a tensor cannot be stored.
    """
    encoded = {key: encode(array, f"tensor {key!r}") for key, array in tensors.items()}
    graph = graph_sum(metadata, (Form(k, e.dtype, tuple(e.shape)) for k, e in encoded.items()))
    if sum(item.nbytes for item in encoded.values()) < PIECE:
        sums = [_sums(item) for item in encoded.values()]
    else:
        with ThreadPoolExecutor(_THREADS) as pool:
            sums = list(pool.map(_sums, encoded.values()))
    table = {"graph": f"{graph:08x}", "tensors": dict(sorted(zip(encoded, sums, strict=True)))}
    return json.dumps(table, ensure_ascii=False, separators=(",", ":"))


def parse_checksums(text: str, sizes: Mapping[str, int], where: str) -> Checksums:
    """Read the text of ``checksum_text``.

    Args:
        text: The text.
        sizes: The number of stored bytes of each value by key.
        where: The file, for messages.

    Raises:
        BundleError: it is no such text, or does not fit the values.
    """
    try:
        table = json.loads(text)
        graph, rows = table["graph"], table["tensors"]
        if rows.keys() != sizes.keys():
            raise ValueError("it is about other tensors")
        sums = {key: _parsed(item, piece_count(sizes[key])) for key, item in rows.items()}
        return Checksums(_parsed(graph, 1)[0], sums)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise BundleError(
            f"{where}: its {CHECKSUM_KEY} cannot be used ({e!r:.200}); the file was changed or "
            "damaged: use an older checkpoint, or a copy"
        ) from e


def _sums(item: Encoded) -> str:
    data = item.buffer()
    return "".join(
        f"{zlib.crc32(data[begin : begin + PIECE]):08x}" for begin in range(0, len(data), PIECE)
    )


def _parsed(text: str, count: int) -> tuple[int, ...]:
    if len(text) != 8 * count:
        raise ValueError(f"{len(text)} digits, expected {8 * count}")
    return tuple(int(text[8 * i : 8 * i + 8], 16) for i in range(count))
