"""The saved form of positions and elements: JSON and the bytes of arrays, no code.

8 bytes   b"tfx-data"
8 bytes   length of the JSON, little-endian
JSON      what was encoded; {"$array": [dtype, shape, offset, size]} stands for an array
bytes     of the arrays
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import DataLossError
from tfx.core.specs import TensorSpec
from tfx.data.leaves import texts
from tfx.data.nodes import Node
from tfx.data.position import Unsaved
from tfx.data.sources import Elements
from tfx.data.structure import Structure
from tfx.framework.tensor import EagerTensor

_MAGIC = b"tfx-data"


class _Writer:
    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self.size = 0

    def plain(self, value: Any) -> Any:
        """A value as JSON has it."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list | tuple):
            return [self.plain(x) for x in value]
        if isinstance(value, dict):
            return {key: self.plain(x) for key, x in value.items()}
        if isinstance(value, bytes):
            return {"$bytes": base64.b64encode(value).decode()}
        if isinstance(value, EagerTensor):
            return self.plain(value.view())
        if isinstance(value, np.generic):
            return self.plain(np.asarray(value))
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, Elements):
            spec = value.structure.spec
            if isinstance(spec, TensorSpec):
                shape = spec.shape.as_list() if spec.shape.rank is not None else None
                rows = self.plain(list(value.elements.value))
                return {"$dataset": [spec.dtype.name, shape, rows]}
        what = "a nested dataset" if isinstance(value, Node) else f"{value!r}"
        raise Unsaved(f"{what} among the elements that are held back")

    def _array(self, array: np.ndarray[Any, Any]) -> Any:
        if array.dtype == object:
            rows = [base64.b64encode(bytes(x)).decode() for x in array.reshape(-1)]
            return {"$strings": [list(array.shape), rows]}
        blob = np.ascontiguousarray(array).tobytes()
        place = [dtypes.as_dtype(array.dtype).name, list(array.shape), self.size, len(blob)]
        self.blobs.append(blob)
        self.size += len(blob)
        return {"$array": place}


def encode(value: Any) -> bytes:
    """Plain data, arrays and tensors as bytes.

    Raises:
        Unsaved: there is something else in it.
    """
    writer = _Writer()
    text = json.dumps(writer.plain(value), separators=(",", ":")).encode()
    return b"".join([_MAGIC, len(text).to_bytes(8, "little"), text, *writer.blobs])


def decode(data: bytes, where: str) -> Any:
    """What ``encode`` made bytes of; tuples are lists, tensors arrays.

    Args:
        data: The bytes.
        where: What messages call them.

    Raises:
        DataLossError: they are damaged.
    """
    if data[:8] != _MAGIC or len(data) < 16:
        raise DataLossError(f"{where} does not hold elements or positions of a tfx dataset.")
    end = 16 + int.from_bytes(data[8:16], "little")
    blobs = memoryview(data)[end:]
    try:
        return json.loads(data[16:end], object_hook=lambda found: _restored(found, blobs))
    except (ValueError, IndexError, KeyError, TypeError) as e:
        raise DataLossError(f"{where} is damaged: {e}") from e


def _restored(found: dict[str, Any], blobs: memoryview) -> Any:
    if len(found) != 1:
        return found
    ((key, value),) = found.items()
    if key == "$bytes":
        return base64.b64decode(value)
    if key == "$strings":
        shape, rows = value
        return texts([base64.b64decode(x) for x in rows]).reshape(shape)
    if key == "$array":
        name, shape, offset, size = value
        kind = dtypes.as_dtype(name).as_numpy_dtype
        return np.frombuffer(blobs[offset : offset + size], kind).reshape(shape).copy()
    if key == "$dataset":
        name, shape, rows = value
        return Elements([tuple(row) for row in rows], Structure(TensorSpec(shape, name)))
    return found
