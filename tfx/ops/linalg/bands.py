"""How a band of diagonals is stored: one row for each, the upper ones first, padded to the longest.

``Band`` is made of constants for matrices of static size, ``TracedBand`` of operators for others.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.tensor import Tensor


class Band:
    """The diagonals ``low`` to ``high`` of ``rows`` x ``columns`` matrices.

    Attributes:
        inside: Whether a place is in the band, ``[rows, columns]``.
        index: Flat index in the stored band ``[diagonals, length]`` of each place, 0 outside.
        length: Length of the longest diagonal.
    """

    def __init__(self, rows: int, columns: int, low: int, high: int, align: str) -> None:
        self.length = max(0, min(rows + min(high, 0), columns - max(low, 0)))
        self._sizes = rows, columns
        self._align = align
        number = np.arange(columns)[None, :] - np.arange(rows)[:, None]
        self._inside = (number >= low) & (number <= high)
        self._range = low, high
        self.inside = embed(self._inside)

    @cached_property
    def _index(self) -> Any:
        high = self._range[1]
        rows, columns = self._sizes
        i, j = np.arange(rows)[:, None], np.arange(columns)[None, :]
        number = j - i
        along = np.where(number >= 0, i, j)
        along = along + _shifts(number, rows, columns, self.length, self._align)
        return np.where(self._inside, (high - number) * self.length + along, 0)

    @cached_property
    def index(self) -> Tensor:
        """See the class."""
        return embed(self._index)

    def stored(self) -> Tensor:
        """The shape ``[diagonals, length]``."""
        low, high = self._range
        return int64_constant([high - low + 1, self.length])

    def places(self) -> tuple[Tensor, Tensor]:
        """Return flat indices in the matrix for the stored band, and a mask without its padding."""
        low, high = self._range
        flat = np.zeros((high - low + 1) * self.length, np.int64)
        filled = np.zeros(flat.shape, bool)
        matrix = np.arange(self._inside.size).reshape(self._inside.shape)
        flat[self._index[self._inside]] = matrix[self._inside]
        filled[self._index[self._inside]] = True
        shape = (high - low + 1, self.length)
        return embed(flat.reshape(shape)), embed(filled.reshape(shape))


def _shifts(number: Any, rows: int, columns: int, length: int, align: str) -> Any:
    """Return how far the elements of each diagonal are shifted to the right."""
    own = np.minimum(rows + np.minimum(number, 0), columns - np.maximum(number, 0))
    upper, lower = align.split("_")
    right = np.where(number >= 0, upper == "RIGHT", lower == "RIGHT")
    return np.where(right, length - own, 0)


class TracedBand:
    """The same for matrices whose size a run tells.

    Args:
        rows: Rows of the matrices, an int64 scalar.
        columns: Their columns.
        low: The lowest diagonal.
        high: The highest one.
        align: At which side diagonals are aligned.
    """

    def __init__(self, rows: Tensor, columns: Tensor, low: int, high: int, align: str) -> None:
        self._rows, self._columns, self._range, self._align = rows, columns, (low, high), align
        longest = ox.Min(
            ox.Add(rows, int64_constant(min(high, 0))), ox.Sub(columns, int64_constant(max(low, 0)))
        )
        self._length = ox.Max(longest, int64_constant(0))
        i = ox.Unsqueeze(numbers(rows), int64_constant([1]))
        j = numbers(columns)
        number = ox.Sub(j, i)
        above = ox.GreaterOrEqual(number, int64_constant(low))
        self.inside = ox.And(above, ox.LessOrEqual(number, int64_constant(high)))
        along = ox.Where(ox.GreaterOrEqual(number, int64_constant(0)), i, j)
        along = ox.Add(along, self._shifts(number))
        start = ox.Mul(ox.Sub(int64_constant(high), number), self._length)
        self.index = ox.Where(self.inside, ox.Add(start, along), int64_constant(0))

    def stored(self) -> Tensor:
        """The shape ``[diagonals, length]``."""
        low, high = self._range
        length = ox.Reshape(self._length, int64_constant([1]))
        return ox.Concat(int64_constant([high - low + 1]), length, axis=0)

    def places(self) -> tuple[Tensor, Tensor]:
        """Return flat indices in the matrix for the stored band, and a mask without its padding."""
        low, high = self._range
        number = embed(np.arange(high, low - 1, -1)[:, None])
        along = ox.Sub(numbers(self._length), self._shifts(number))
        begun = ox.GreaterOrEqual(along, int64_constant(0))
        filled = ox.And(begun, ox.Less(along, self._own(number)))
        row = ox.Sub(along, ox.Min(number, int64_constant(0)))
        flat = ox.Add(ox.Mul(row, self._columns), ox.Add(row, number))
        return ox.Where(filled, flat, int64_constant(0)), filled

    def _own(self, number: Tensor) -> Tensor:
        """The length of diagonals."""
        zero = int64_constant(0)
        below = ox.Add(self._rows, ox.Min(number, zero))
        return ox.Min(below, ox.Sub(self._columns, ox.Max(number, zero)))

    def _shifts(self, number: Tensor) -> Tensor:
        upper, lower = (side == "RIGHT" for side in self._align.split("_"))
        rest = ox.Sub(self._length, self._own(number))
        zero = int64_constant(0)
        if upper == lower:
            return rest if upper else zero
        is_upper = ox.GreaterOrEqual(number, zero)
        return ox.Where(is_upper, *((rest, zero) if upper else (zero, rest)))


def numbers(size: Tensor) -> Tensor:
    """0, 1, 2... as int64."""
    return ox.Range(int64_constant(0), size, int64_constant(1))
