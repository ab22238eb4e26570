"""``ScatterUpdates``: the methods of a variable that change some of its elements.

Rows are given by ``IndexedSlices``, positions by ``indices`` and ``updates``. All of them are one
operator, ``ScatterND``; how a variable takes a function of its value is the variable's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import DTypeMismatchError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.convert import convert_to_tensor
from tfx.framework.indices import from_the_front, integer_indices
from tfx.framework.tensor import Tensor

if TYPE_CHECKING:
    from tfx.framework.variable import Variable


def matching(variable: Any, value: Any) -> Tensor:
    """``value`` as a tensor of the variable's dtype.

    Raises:
        DTypeMismatchError: it has another one; the message names the variable.
    """
    try:
        return convert_to_tensor(value, variable.dtype)
    except DTypeMismatchError as e:
        raise DTypeMismatchError(f"Variable '{variable.name}': {e.message}") from None


class ScatterUpdates:
    """What variables have to change elements in place; a part of ``Variable``."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def dtype(self) -> DType:
            """The dtype of the elements."""

        def _change(self, function: Callable[[Tensor], Tensor]) -> Variable: ...

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Replace the rows ``sparse_delta.indices``; one number as values is that of all."""
        return self._scatter_rows(sparse_delta, "none")

    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Add to the rows ``sparse_delta.indices``; repeated rows add up."""
        return self._scatter_rows(sparse_delta, "add")

    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Subtract from the rows ``sparse_delta.indices``."""
        return self._scatter_rows(sparse_delta, "add", transform="Neg")

    def scatter_mul(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Multiply the rows ``sparse_delta.indices``."""
        return self._scatter_rows(sparse_delta, "mul")

    def scatter_div(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Divide the rows ``sparse_delta.indices``."""
        if self.dtype.is_floating:
            return self._scatter_rows(sparse_delta, "mul", transform="Reciprocal")
        # Whole numbers have no reciprocals: each row is divided by the product of its divisors.
        return self._divided(sparse_delta)

    def scatter_max(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Keep the larger value in the rows ``sparse_delta.indices``."""
        return self._scatter_rows(sparse_delta, "max")

    def scatter_min(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Keep the smaller value in the rows ``sparse_delta.indices``."""
        return self._scatter_rows(sparse_delta, "min")

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Replace the elements or slices at ``indices`` (``[..., depth]``)."""
        return self._scatter_nd(indices, updates, "none")

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Add to the elements or slices at ``indices``."""
        return self._scatter_nd(indices, updates, "add")

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Subtract from the elements or slices at ``indices``."""
        return self._scatter_nd(indices, ox.Neg(matching(self, updates)), "add")

    def scatter_nd_max(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Keep the larger of each element or slice at ``indices`` and its update."""
        return self._scatter_nd(indices, updates, "max")

    def scatter_nd_min(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Keep the smaller of each element or slice at ``indices`` and its update."""
        return self._scatter_nd(indices, updates, "min")

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Replace elements or slices by numbers along the last axis of ``sparse_delta.indices``.

        The axes in front of it are the variable's own: with one, ``v[i, indices[i, j]]`` becomes
        ``values[i, j]``.
        """
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta!r}")
        last = integer_indices(sparse_delta.indices, "batch_scatter_update")
        last = ox.Cast(last, to=dtypes.int64.onnx)
        size, rank = ox.Shape(last), last.shape.rank
        if not rank:
            raise ValueError(f"batch_scatter_update needs indices with an axis; got {last.shape}.")
        parts = []
        for axis in range(rank - 1):
            length = ox.Squeeze(ox.Shape(last, start=axis, end=axis + 1))
            zero, one = (convert_to_tensor(n, dtypes.int64) for n in (0, 1))
            own = ox.Range(zero, length, one)
            wide = [1] * rank
            wide[axis] = -1
            parts.append(ox.Expand(ox.Reshape(own, convert_to_tensor(wide, dtypes.int64)), size))
        behind = convert_to_tensor([-1], dtypes.int64)
        places = ox.Concat(*(ox.Unsqueeze(p, behind) for p in (*parts, last)), axis=-1)
        return self._scatter_nd(places, sparse_delta.values, "none")

    def _divided(self, delta: IndexedSlices) -> Variable:
        column, updates = self._rows(delta)
        positions = from_the_front(ox.Cast(column, to=dtypes.int64.onnx))
        one = convert_to_tensor(1, self.dtype)

        def quotients(value: Tensor) -> Tensor:
            ones = ox.Expand(one, ox.Shape(value))
            rows = _spread(updates, positions, value) if updates.shape.rank == 0 else updates
            return ox.Div(value, ox.ScatterND(ones, positions, rows, reduction="mul"))

        return self._change(quotients)

    def _scatter_rows(
        self, delta: IndexedSlices, reduction: str, transform: str | None = None
    ) -> Variable:
        column, updates = self._rows(delta)
        if transform is not None:
            updates = apply(transform, (updates,))
        return self._scatter_nd(column, updates, reduction, spread=updates.shape.rank == 0)

    def _rows(self, delta: IndexedSlices) -> tuple[Tensor, Tensor]:
        """Where the rows are, each number on an axis of its own, and what is given for them."""
        if not isinstance(delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {delta!r}")
        indices = integer_indices(delta.indices, "ResourceScatter")
        column = ox.Unsqueeze(indices, convert_to_tensor([-1], dtypes.int64))
        return column, matching(self, delta.values)

    def _scatter_nd(
        self, indices: Any, updates: Any, reduction: str, *, spread: bool = False
    ) -> Variable:
        positions = integer_indices(indices, "ResourceScatterNd")
        if positions.dtype is not dtypes.int64:
            positions = ox.Cast(positions, to=dtypes.int64.onnx)
        positions = from_the_front(positions)
        attrs = {"reduction": reduction}
        rows = matching(self, updates)

        def changed(value: Tensor) -> Tensor:
            new = _spread(rows, positions, value) if spread else rows
            return ox.ScatterND(value, positions, new, **attrs)

        return self._change(changed)


def _spread(number: Tensor, positions: Tensor, value: Tensor) -> Tensor:
    """One number as that of all elements of rows of a value."""
    shape = ox.Concat(ox.Shape(positions, end=-1), ox.Shape(value, start=1), axis=0)
    return ox.Expand(number, shape)
