"""The tensors of a bundle: variables under their names, constants each once.

The one decision: a constant that several functions close over is stored once, whether they hold one
array or equal ones. A variable is never stored together with anything: it can be replaced.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from tfx.exporters.names import unique_name

_SAMPLE = 1 << 16


class Contents:
    """Arrays by their keys in the store.

    Attributes:
        arrays: The arrays, without copies.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._by_memory: dict[tuple[Any, ...], str] = {}
        self._alike: dict[tuple[Any, ...], list[str]] = {}

    def add_variable(self, name: str, array: np.ndarray[Any, Any]) -> None:
        """Store a variable; its name must be unique."""
        assert name not in self.arrays
        self.arrays[name] = array

    def add_constant(self, name: str, array: np.ndarray[Any, Any]) -> str:
        """Store a constant.

        Returns:
            The key: one made from ``name``, or that of an equal constant.
        """
        if array.dtype.hasobject or not array.size:
            return self._new(name, array)
        kind = (str(array.dtype), array.shape)
        memory = (*kind, array.ctypes.data, array.strides)
        key = self._by_memory.get(memory)
        if key is None:
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            group = self._alike.setdefault((*kind, zlib.crc32(flat[:_SAMPLE].data)), [])
            key = next((k for k in group if _same_bytes(self.arrays[k], flat)), None)
            if key is None:
                key = self._new(name, array)
                group.append(key)
            self._by_memory[memory] = key
        return key

    def _new(self, name: str, array: np.ndarray[Any, Any]) -> str:
        key = unique_name(name, self.arrays)
        self.arrays[key] = array
        return key


def _same_bytes(array: np.ndarray[Any, Any], flat: np.ndarray[Any, Any]) -> bool:
    other = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return bool(np.array_equal(other, flat))
