"""The header of a safetensors file: from untrusted JSON to entries that can be relied on.

Owns every rule on dtypes, shapes and offsets. Must not open files. The one decision: it is as
strict as the format's specification, and accepts nothing that two readers could understand
differently (duplicate keys, holes, overlaps, trailing bytes).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from tfx.bundle import limits, strict_json
from tfx.bundle.dtypes import BY_SAFETENSORS, element_type
from tfx.bundle.tensor_bytes import stored_form
from tfx.core.errors import BundleError

ENCODING_KEY = "tfx.encoding"
"""The metadata key under which the true dtype and shape of encoded tensors are."""


class TensorEntry(NamedTuple):
    """A tensor of a file; ``offset`` counts from the beginning of the file.

    ``dtype`` and ``shape`` are the tensor's; ``stored_dtype`` and ``stored_shape`` are what the
    file calls it, which differs for strings, 4-bit integers and complex128.
    """

    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    stored_dtype: str
    stored_shape: tuple[int, ...]


class Header(NamedTuple):
    """A checked header; ``metadata`` is without the entry of ours."""

    metadata: dict[str, str]
    entries: dict[str, TensorEntry]


def parse_header(text: bytes, *, begin: int, size: int, path: str) -> Header:
    """Check a header.

    Args:
        text: The JSON.
        begin: Where the tensors' bytes begin in the file.
        size: The size of the file.
        path: The file, for messages.

    Returns:
        The tensors in the header's order.

    Raises:
        BundleError: The header breaks a rule of the format; the message names file and tensor.
    """
    table = _load(text, path)
    metadata = _metadata(table.pop("__metadata__", {}), path)
    encodings = _encodings(metadata.pop(ENCODING_KEY, None), path)
    entries = {key: _entry(item, begin, f"{path}: tensor {key!r}") for key, item in table.items()}
    _check_layout(entries, begin, size, path)
    for key, item in encodings.items():
        if key not in entries:
            raise BundleError(f"{path}: {ENCODING_KEY} describes {key!r}, which is no tensor of it")
        entries[key] = _decoded(entries[key], item, f"{path}: tensor {key!r}")
    return Header(metadata, entries)


def _load(text: bytes, path: str) -> dict[str, Any]:
    if text[:1] != b"{":
        raise BundleError(
            f"{path}: its header begins with {text[:8]!r}, expected '{{'; not a safetensors file"
        )
    try:
        table = strict_json.loads(text.decode())
    except (ValueError, RecursionError) as error:  # also bad UTF-8 and endless numbers
        raise BundleError(
            f"{path}: its header is not what safetensors allows ({error}); the file is damaged"
        ) from error
    if not isinstance(table, dict):
        raise BundleError(f"{path}: its header is a {type(table).__name__}, expected an object")
    return table


def _metadata(item: Any, path: str) -> dict[str, str]:
    if not isinstance(item, dict) or not all(isinstance(text, str) for text in item.values()):
        raise BundleError(f"{path}: __metadata__ is {item!r:.80}, expected an object of strings")
    return item


def _encodings(text: str | None, path: str) -> Mapping[str, Any]:
    if text is None:
        return {}
    try:
        table = strict_json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path}: {ENCODING_KEY} is not JSON ({error})") from error
    if not isinstance(table, dict):
        raise BundleError(f"{path}: {ENCODING_KEY} is {table!r:.80}, expected an object")
    return table


def _entry(item: Any, begin: int, where: str) -> TensorEntry:
    if not isinstance(item, dict) or not item.keys() >= {"dtype", "shape", "data_offsets"}:
        raise BundleError(f"{where}: {item!r:.80}, expected dtype, shape and data_offsets")
    dtype = item["dtype"]
    row = BY_SAFETENSORS.get(dtype) if isinstance(dtype, str) else None
    if row is None:
        raise BundleError(
            f"{where}: dtype {dtype!r:.80}, expected one of {', '.join(BY_SAFETENSORS)}"
        )
    shape = _shape(item["shape"], where)
    offsets = _integers(item["data_offsets"], where, "data_offsets")
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        raise BundleError(f"{where}: data_offsets {offsets}, expected a begin and an end after it")
    nbytes = offsets[1] - offsets[0]
    expected = math.prod(shape) * row.bits // 8
    if nbytes != expected:
        raise BundleError(
            f"{where}: data_offsets {offsets} give it {nbytes} bytes, expected {expected} for "
            f"{dtype} of shape {list(shape)}"
        )
    return TensorEntry(row.name, shape, begin + offsets[0], nbytes, dtype, shape)


def _shape(item: Any, where: str) -> tuple[int, ...]:
    shape = _integers(item, where, "shape")
    if len(shape) > limits.MAX_RANK:
        raise BundleError(f"{where}: {len(shape)} dimensions, limit {limits.MAX_RANK}")
    if math.prod(filter(None, shape)) > limits.MAX_ELEMENTS:
        raise BundleError(
            f"{where}: shape {list(shape)}, expected at most {limits.MAX_ELEMENTS} elements"
        )
    return tuple(shape)


def _integers(item: Any, where: str, what: str) -> list[int]:
    # type() and not isinstance(): JSON's true is an int to Python.
    if not isinstance(item, list) or not all(type(part) is int and part >= 0 for part in item):
        raise BundleError(f"{where}: {what} is {item!r:.80}, expected a list of integers >= 0")
    if any(part > limits.MAX_ELEMENTS for part in item):
        raise BundleError(f"{where}: {what} is {item!r:.80}, limit {limits.MAX_ELEMENTS}")
    return item


def _check_layout(entries: Mapping[str, TensorEntry], begin: int, size: int, path: str) -> None:
    end, last = begin, "the header"
    for key, entry in sorted(entries.items(), key=lambda pair: pair[1][2:4]):
        if entry.offset != end:
            what = "a hole" if entry.offset > end else "an overlap"
            raise BundleError(
                f"{path}: {what} of {abs(entry.offset - end)} bytes between {last} and tensor "
                f"{key!r}, expected contiguous tensors; the file is damaged"
            )
        end, last = entry.offset + entry.nbytes, f"tensor {key!r}"
    if end != size:
        what = "is truncated" if size < end else "has bytes that belong to no tensor"
        raise BundleError(
            f"{path}: {size} bytes, expected {end} from its header; the file {what}: copy or save "
            "it again"
        )


def _decoded(entry: TensorEntry, item: Any, where: str) -> TensorEntry:
    """Replace the dtype and shape under which a tensor is stored by the true ones."""
    if not isinstance(item, dict) or not item.keys() >= {"dtype", "shape"}:
        raise BundleError(f"{where}: encoding {item!r:.80}, expected dtype and shape")
    name = item["dtype"]
    if not isinstance(name, str):
        raise BundleError(f"{where}: encoding of dtype {name!r:.80}, expected a name")
    row = element_type(name, where)
    shape = _shape(item["shape"], where)
    stored, stored_shape = stored_form(row.name, shape, where)
    fits = len(entry.shape) == 1 if stored_shape is None else entry.shape == stored_shape
    if entry.stored_dtype != stored or not fits:
        raise BundleError(
            f"{where}: stored as {entry.stored_dtype} of shape {list(entry.shape)}, expected "
            f"{stored} for {row.name} of shape {list(shape)}"
        )
    return entry._replace(dtype=row.name, shape=shape)
