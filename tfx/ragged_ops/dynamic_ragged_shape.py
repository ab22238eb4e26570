"""``DynamicRaggedShape``: what ``tf.shape`` gives of a ragged tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core.dtypes import DType, DTypeLike, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.shape import shape as shape_of
from tfx.ops.common.arguments import cast_to
from tfx.ops.common.shapes import shape_vector
from tfx.ragged_ops import partition
from tfx.ragged_ops.measures import rank_of
from tfx.ragged_ops.ragged_tensor import RaggedTensor


class DynamicRaggedShape:
    """The shape of a ragged tensor: a size for each uniform axis, row lengths for the others.

    Made by ``tf.shape``. An axis that is uniform can be asked for: ``tf.shape(rows)[0]`` is the
    number of rows. ``tf.zeros``, ``ones``, ``fill``, ``reshape`` and ``broadcast_to`` take it.

    Args:
        tensor: The ragged tensor.
        dtype: Of the sizes.

    Example:
        >>> import tfx as tf
        >>> tf.shape(tf.ragged.constant([[1, 2, 3], [], [4]]))
        <DynamicRaggedShape lengths=[3, (3, 0, 1)] num_row_partitions=1>
        >>> tf.zeros(tf.shape(tf.ragged.constant([[1, 2, 3], [], [4]])))
        <tf.RaggedTensor [[0.0, 0.0, 0.0], [], [0.0]]>
    """

    def __init__(self, tensor: RaggedTensor, dtype: DType) -> None:
        self._tensor = tensor
        self._dtype = dtype

    @classmethod
    def from_tensor(cls, tensor: RaggedTensor, dtype: DTypeLike) -> DynamicRaggedShape:
        """The shape of a ragged tensor."""
        return cls(tensor, as_dtype(dtype))

    @property
    def dtype(self) -> DType:
        """The dtype of the sizes."""
        return self._dtype

    @property
    def rank(self) -> int | None:
        """The number of axes."""
        found: int | None = self._tensor.shape.rank
        return found

    @property
    def num_row_partitions(self) -> int:
        """How many axes have row splits."""
        return self._tensor.ragged_rank

    @property
    def inner_shape(self) -> Tensor:
        """The sizes of the innermost values, which are a dense tensor."""
        return shape_of(self._tensor.flat_values, self._dtype)

    def as_rows(self) -> RaggedTensor:
        """A tensor of this shape."""
        return self._tensor

    def with_values(self, make: Callable[[Tensor], Any]) -> RaggedTensor:
        """A tensor of this shape.

        Args:
            make: Makes the innermost values, of their sizes.
        """
        return self._tensor.with_flat_values(make(self.inner_shape))

    def static_lengths(self, ragged_lengths: bool = True) -> list[Any]:
        """The size of each uniform axis, None if unknown, and the row lengths of the others.

        Args:
            ragged_lengths: False: None in the place of row lengths.
        """
        x, found = self._tensor, list[Any]()
        for axis in range(x.ragged_rank + 1):
            if self.is_uniform(axis):
                found.append(x.shape[axis])
                continue
            lengths: Any = partition.lengths_of(x.nested_row_splits[axis - 1])
            known = ragged_lengths and isinstance(lengths, EagerTensor)
            found.append(tuple(lengths.view().tolist()) if known else None)
        return [*found, *x.flat_values.shape[1:]]

    def is_uniform(self, axis: int) -> bool:
        """Whether the slices along an axis are known to have one size."""
        inside = 1 <= axis <= self._tensor.ragged_rank
        return not inside or self._tensor._uniform[axis - 1] is not None

    def __getitem__(self, axis: Any) -> Tensor:
        if not isinstance(axis, int):
            raise TypeError(f"A DynamicRaggedShape takes an integer as index; got {axis!r}.")
        x = self._tensor
        index = axis + rank_of(x, "tf.shape") if axis < 0 else axis
        if not 0 <= index < rank_of(x, "tf.shape"):
            raise IndexError(f"Index {axis} out of range of a shape of rank {self.rank}.")
        if index == 0:
            return x.nrows(self._dtype)
        if not self.is_uniform(index):
            raise InvalidArgumentError(
                f"Index {axis} is not uniform: use x.row_lengths(axis={axis})."
            )
        if index <= x.ragged_rank:
            return cast_to(int64_constant(x._uniform[index - 1] or 0), self._dtype)
        place = index - x.ragged_rank
        size = shape_vector(x.flat_values, place, place + 1)
        return cast_to(ox.Squeeze(size, int64_constant([0])), self._dtype)

    def __repr__(self) -> str:
        x = self._tensor
        parts: list[str] = []
        for axis in range(self.rank or x.ragged_rank + 1):
            if self.is_uniform(axis):
                size: Any = self[axis]
                parts.append(str(int(size)) if isinstance(size, EagerTensor) else "None")
                continue
            lengths: Any = partition.lengths_of(x.nested_row_splits[axis - 1])
            known = isinstance(lengths, EagerTensor)
            items = [*map(str, lengths.view().tolist())] if known else ["..."]
            parts.append(f"({', '.join(items)}{',' if len(items) == 1 else ''})")
        return (
            f"<DynamicRaggedShape lengths=[{', '.join(parts)}] "
            f"num_row_partitions={self.num_row_partitions}>"
        )
