"""The caps that keep a hostile bundle from exhausting the process that reads it.

Owns every number of that kind. Knows nothing of what is being read. The one decision: a cap is far
above what honest bundles need and is checked before memory is taken, so nobody has to tune it.
"""

from __future__ import annotations

from typing import Final

MAX_MANIFEST_BYTES: Final = 256 << 20
"""Size of ``bundle.pb``. A model of 10,000 variables takes about 2 MiB."""

MAX_INLINE_CONSTANT_BYTES: Final = 1 << 20
"""Size of a constant kept in the manifest; greater ones belong into the variable store."""

MAX_STRUCTURE_DEPTH: Final = 30
"""Nesting of arguments and results: protobuf stops at 100 messages, and a level takes three."""

MAX_RANK: Final = 64
"""Dimensions of a tensor: NumPy's own limit."""

MAX_ELEMENTS: Final = (1 << 63) - 1
"""Elements of a tensor, and bytes of a file: what a signed 64-bit integer holds."""

MAX_PATH_LENGTH: Final = 1024
"""Characters of a path inside a bundle."""

MAX_NAME_LENGTH: Final = 65_536
"""Characters of a name."""

MAX_TENSOR_HEADER_BYTES: Final = 100_000_000
"""Length of a safetensors header: the limit of the format itself."""

MAX_ARCHIVE_DIRECTORY_BYTES: Final = 64 << 20
"""Size of an archive's list of entries: about a million files."""

MAX_INDEX_BYTES: Final = 100_000_000
"""Size of the JSON index of a sharded store."""

MAX_SHARD_BYTES: Final = 4 << 30
"""Data of one safetensors file that we write: 32-bit readers (wasm) address no more."""

HASH_ON_LOAD_BYTES: Final = 4 << 20
"""Files up to this size are hashed whenever a bundle is loaded (about 3 ms), what is
used of others is compared with CRC-32s: hashing a GiB takes most of a second."""
