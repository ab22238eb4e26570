"""CRC-32s of a checkpoint's values: damage is found at the speed at which the values are read.

Owns two texts in the metadata of each file: ``tfx.crc32``, a JSON object with the CRC-32s of each
value's stored bytes by its key, one for each 16 MiB begun, and ``tfx.header``, the CRC-32 of the
file's header. Must not know of files. The one decision: all files of a checkpoint have the same
``tfx.crc32``, about all values. So parts are compared by several threads at once, one value can be
had without reading the others, and files of two checkpoints cannot be taken for one, without a hash
of whole files, which takes several times as long.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from tfx.bundle.crc32 import crc32
from tfx.bundle.piece_checksums import piece_count
from tfx.core.errors import BundleError

CHECKSUM_KEY = "tfx.crc32"
HEADER_KEY = "tfx.header"
NO_SUM = "0" * 8


def header_sum(header: bytes) -> tuple[str, int] | None:
    """The CRC-32 of a file's header, as it should be there, and where it should be.

    Args:
        header: The first bytes of the file: the length of the JSON text, and the text.

    Returns:
        The digits and their place; None if the header has no place for them.
    """
    # Quotes cannot stand inside of another text of a header.
    label = f'"{HEADER_KEY}":"'.encode()
    place = header.find(label)
    if place < 0:
        return None
    place += len(label)
    end = place + len(NO_SUM)
    found = crc32(header[end:], crc32(NO_SUM.encode(), crc32(header[:place])))
    return f"{found:08x}", place


def checksum_text(tensors: Mapping[str, Iterable[int]]) -> str:
    """The text ``tfx.crc32``.

    Args:
        tensors: The sums of each value's pieces by key.
    """
    rows = {key: "".join(f"{s:08x}" for s in sums) for key, sums in sorted(tensors.items())}
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def blank_text(sizes: Mapping[str, int]) -> str:
    """A text of the same length as ``checksum_text`` will give, before any value was summed.

    Args:
        sizes: The number of stored bytes of each value by key.
    """
    return checksum_text({key: [0] * piece_count(size) for key, size in sizes.items()})


def parse_checksums(text: str, sizes: Mapping[str, int], where: str) -> dict[str, tuple[int, ...]]:
    """Read the text of ``checksum_text``.

    Args:
        text: The text.
        sizes: The number of stored bytes of each value by key.
        where: The file, for messages.

    Returns:
        The sums of each value's pieces by key.

    Raises:
        BundleError: it is no such text, or does not fit the values.
    """
    try:
        rows = json.loads(text)
        if rows.keys() != sizes.keys():
            raise ValueError("it is about other tensors")
        return {key: _parsed(item, piece_count(sizes[key])) for key, item in rows.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise BundleError(
            f"{where}: its {CHECKSUM_KEY} cannot be used ({e!r:.200}); the file was changed or "
            "damaged: use an older checkpoint, or a copy"
        ) from e


def _parsed(text: str, count: int) -> tuple[int, ...]:
    if len(text) != 8 * count:
        raise ValueError(f"{len(text)} digits, expected {8 * count}")
    return tuple(int(text[8 * i : 8 * i + 8], 16) for i in range(count))
