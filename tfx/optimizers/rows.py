"""``Rows``: the gradient of a table that a step used few rows of, in the formulas of updates.

It behaves like the dense gradient, but holds only the rows that are not zero. Operations linear in
the gradient are computed on these rows; added to a whole table (``table + rows``), they are added
to its rows. A square, or another non-linear operation, first sums rows that occur twice. So no
dense gradient is ever made, and a rule is written once for both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops.array import indexed_slices as slices
from tfx.ops.common.arguments import cast_to, is_tensor_like
from tfx.ops.common.shapes import filled, shape_vector

Array = Any


class Rows:
    """Rows of a gradient that is zero elsewhere.

    Args:
        values: ``[n, ...]``.
        indices: ``[n]`` int64, none negative.
        size: How many rows the table has, int64 ``[1]``.
        distinct: Whether no row is there twice.
    """

    __slots__ = ("_once", "distinct", "indices", "size", "values")

    def __init__(
        self, values: Array, indices: Tensor, size: Tensor, *, distinct: bool = False
    ) -> None:
        self.values = values
        self.indices = indices
        self.size = size
        self.distinct = distinct
        self._once: Rows | None = None

    @property
    def dtype(self) -> DType:
        """Element type of the values."""
        kind: DType = self.values.dtype
        return kind

    def once(self) -> Rows:
        """The same with each row there once: those of one number are added up."""
        if self.distinct:
            return self
        if self._once is None:
            places, _, numbers = ox.Unique(self.indices, sorted=1, outputs=3)
            count = ox.Shape(places)
            shape = ox.Concat(count, shape_vector(self.values, 1), axis=0)
            zeros = filled(shape, 0, self.dtype)
            total = slices.added_to(zeros, IndexedSlices(self.values, numbers))
            self._once = Rows(total, places, self.size, distinct=True)
        return self._once

    def mapped(self, function: Callable[[Array], Array]) -> Rows:
        """A function of the elements that is 0 at 0."""
        rows = self.once()
        return Rows(function(rows.values), rows.indices, rows.size, distinct=True)

    def scaled(self, function: Callable[..., Array], *tables: Array) -> Rows:
        """A linear function of each row, to which rows of tables at the same place belong."""
        rows = self if self._once is None else self._once  # fewer, where they are there
        values = function(rows.values, *(ox.Gather(t, rows.indices) for t in tables))
        return Rows(values, rows.indices, rows.size, distinct=rows.distinct)

    def slices(self) -> IndexedSlices:
        """Return the update of a table as slices; rows that occur twice add up."""
        rows = self if self._once is None else self._once
        return IndexedSlices(rows.values, rows.indices)

    def dense(self) -> Array:
        """The whole gradient."""
        shape = ox.Concat(self.size, shape_vector(self.values, 1), axis=0)
        return self + filled(shape, 0, self.dtype)

    def __neg__(self) -> Rows:
        return self.scaled(lambda values: -values)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Rows):
            a, b = self.once(), other.once()
            if a.indices is not b.indices:
                return a.dense() * b.dense()
            return Rows(a.values * b.values, a.indices, a.size, distinct=True)
        if _is_table(other):
            return self.scaled(operator.mul, other)
        return self.scaled(lambda values: values * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if _is_table(other):
            return self.scaled(operator.truediv, other)
        return self.scaled(lambda values: values / other)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Rows):
            values = ox.Concat(self.values, other.values, axis=0)
            indices = ox.Concat(self.indices, other.indices, axis=0)
            return Rows(values, indices, self.size)
        return slices.added_to(other, self.slices())

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other


def _is_table(x: Any) -> bool:
    return is_tensor_like(x) and x.shape.rank != 0


def rows_of(gradient: IndexedSlices, variable: Variable, kind: DType) -> Rows:
    """The gradient of a variable, in a given dtype.

    Raises:
        ValueError: its rows are not of the variable's shape.
    """
    values = cast_to(convert_to_tensor(gradient.values), kind)
    if not values.shape[1:].is_compatible_with(variable.shape[1:]):
        raise ValueError(
            f"The gradient of variable {variable.name!r} has rows of shape {values.shape[1:]}; "
            f"expected those of the variable's shape, {variable.shape}."
        )
    indices = cast_to(convert_to_tensor(gradient.indices), dtypes.int64)
    size = shape_vector(variable.stored_value(), 0, 1)
    behind = ox.Less(indices, int64_constant(0))
    return Rows(values, ox.Where(behind, ox.Add(indices, size), indices), size)


def takes_rows(rule: Any) -> Any:
    """Mark an update rule that can be given ``Rows`` for its gradient."""
    rule.takes_rows = True
    return rule


def fades_all_rows(rule: Any) -> Any:
    """Mark an update rule whose averages change in each step in every row, used or not."""
    rule.fades_all_rows = True
    return rule
