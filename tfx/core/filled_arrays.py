"""NumPy arrays of one value, and the shapes that no array can have."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from tfx.core.errors import InvalidArgumentError, ResourceExhaustedError

_MOST: Final = 2**63 - 1


def check_sizes(sizes: Sequence[int]) -> None:
    """Refuse the sizes of a tensor that cannot be.

    Raises:
        InvalidArgumentError: a negative size, or more elements than int64 can number.
    """
    negative = next((size for size in sizes if size < 0), None)
    if negative is not None:
        raise InvalidArgumentError(
            f"Dimension {negative} must be >= 0; got the shape {list(sizes)}.", op="Fill"
        )
    if prod(sizes) > _MOST:
        raise InvalidArgumentError(
            f"The shape {list(sizes)} has more than 2**63 - 1 elements.", op="Fill"
        )


def filled_array(sizes: Sequence[int], value: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """A new array of one value.

    Raises:
        InvalidArgumentError: a shape that cannot be.
        ResourceExhaustedError: more elements than there is memory for.

    Example:
        >>> filled_array([2], 7, np.int32)
        array([7, 7], dtype=int32)
    """
    check_sizes(sizes)
    check_memory(sizes, dtype)
    try:
        return np.full(tuple(sizes), value, dtype)
    except MemoryError as e:
        raise _exhausted(sizes, dtype) from e


def check_memory(sizes: Sequence[int], dtype: Any) -> None:
    """Refuse a tensor that is larger than the machine's memory, before it is filled.

    A system that promises more memory than there is would end the process instead.

    Raises:
        ResourceExhaustedError: there is no room for it.
    """
    size = np.dtype(dtype).itemsize
    # NumPy numbers the bytes of the other axes of an array without elements, too.
    if prod(sizes) * size > _memory() or prod(n or 1 for n in sizes) * size > _MOST:
        raise _exhausted(sizes, dtype)


@functools.cache
def _memory() -> int:
    """The bytes of memory that the machine has; where it does not say, those that can be named."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _MOST


def _exhausted(sizes: Sequence[int], dtype: Any) -> ResourceExhaustedError:
    return ResourceExhaustedError(
        f"There is no memory for a tensor of the shape {list(sizes)} and dtype {np.dtype(dtype)}.",
        op="Fill",
    )
