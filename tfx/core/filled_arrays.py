"""NumPy arrays of one value, and the shapes that no array can have."""

from __future__ import annotations

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
    if prod(sizes) > _MOST // np.dtype(dtype).itemsize:
        raise _exhausted(sizes, dtype)
    try:
        return np.full(tuple(sizes), value, dtype)
    except MemoryError as e:
        raise _exhausted(sizes, dtype) from e


def _exhausted(sizes: Sequence[int], dtype: Any) -> ResourceExhaustedError:
    return ResourceExhaustedError(
        f"There is no memory for a tensor of the shape {list(sizes)} and dtype {np.dtype(dtype)}.",
        op="Fill",
    )
