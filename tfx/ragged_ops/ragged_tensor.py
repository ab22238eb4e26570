"""``RaggedTensor``: a tensor whose rows differ in length.

Owns what a ragged tensor is: values behind one another, and the splits that cut them into rows,
once for each ragged axis. Operations on it are the business of other modules; its methods call
them. The one decision: it holds the innermost values and all splits side by side, and takes part in
traces, branches, loops and tapes as these tensors. What is known of uniform rows is no tensor: it
is a part of the structure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from tfx.core import first_use
from tfx.core.dtypes import DType, DTypeLike, as_dtype
from tfx.core.errors import ConversionError
from tfx.core.lazy_namespaces import fetch
from tfx.core.nest_kinds import Kind
from tfx.core.shapes import TensorShape
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, register_tensor_conversion_function
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ragged_ops import partition
from tfx.ragged_ops.factory_methods import FactoryMethods

Uniform = tuple[int | None, ...]
# Modules that know this one.
_ARRANGEMENT, _CONVERSION = "tfx.ragged_ops.arrangement", "tfx.ragged_ops.conversion"
_INDEXING, _MEASURES = "tfx.ragged_ops.indexing", "tfx.ragged_ops.measures"
_SPARSE = "tfx.ragged_ops.sparse"


class RaggedTensor(FactoryMethods):
    """A tensor with axes along which its slices differ in length.

    Made by ``tf.ragged.constant`` and by the factories, ``from_row_splits`` and its relatives. The
    operations of ``tf.math``, reductions, ``tf.concat``, ``tf.stack``, ``tf.gather``, slicing and
    others take it. Functions take and return it; so do ``tf.cond``, ``tf.while_loop`` and tapes,
    whose gradients reach ``flat_values``.

    Args:
        values: See ``from_row_splits``.
        internal: For the library itself: use the factories.
        uniform: For the library itself.

    Raises:
        ValueError: called by a program.

    Example:
        >>> import tfx as tf
        >>> rows = tf.RaggedTensor.from_row_splits([1, 2, 3, 4], [0, 3, 3, 4])
        >>> rows
        <tf.RaggedTensor [[1, 2, 3], [], [4]]>
        >>> rows + 10
        <tf.RaggedTensor [[11, 12, 13], [], [14]]>
        >>> tf.reduce_sum(rows, axis=1).numpy()
        array([6, 0, 4], dtype=int32)
    """

    __slots__ = ("__weakref__", "_flat_values", "_splits", "_uniform")

    _flat_values: Any
    _splits: tuple[Any, ...]
    _uniform: Uniform
    _tfx_expanded_kind: Kind  # set where the spec is
    _tfx_spec: Any
    _as_text: Callable[[RaggedTensor, int], Tensor]
    _is_tfx_ragged = True

    def __init__(self, values: Any, internal: Any = False, uniform: Uniform = ()) -> None:
        if not isinstance(internal, tuple):
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods "
                "instead (e.g., RaggedTensor.from_row_lengths())"
            )
        first_use.first("RaggedTensor")
        self._flat_values = values
        self._splits = internal
        self._uniform = uniform or (None,) * len(internal)

    # What it is made of

    @property
    def dtype(self) -> DType:
        """Element type."""
        found: DType = self._flat_values.dtype
        return found

    @property
    def shape(self) -> TensorShape:
        """The static shape: None for ragged axes and what is not known."""
        inner: TensorShape = self._flat_values.shape
        rows = self._splits[0].shape
        count = rows[0] - 1 if rows.rank == 1 and rows[0] is not None else None
        outer = TensorShape([count, *self._uniform])
        return TensorShape(None) if inner.rank is None else outer.concatenate(inner[1:])

    def get_shape(self) -> TensorShape:
        """Same as ``shape``."""
        return self.shape

    @property
    def ragged_rank(self) -> int:
        """How many axes are partitioned by row splits."""
        return len(self._splits)

    @property
    def values(self) -> Any:
        """The rows behind one another: a tensor, or a ragged tensor with one ragged axis less."""
        if len(self._splits) == 1:
            return self._flat_values
        return RaggedTensor(self._flat_values, self._splits[1:], self._uniform[1:])

    @property
    def flat_values(self) -> Any:
        """The innermost values, a tensor."""
        return self._flat_values

    @property
    def row_splits(self) -> Any:
        """Where the rows begin and end: row ``i`` is ``values[splits[i]:splits[i + 1]]``."""
        return self._splits[0]

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of all ragged axes, the outer ones first."""
        return self._splits

    @property
    def uniform_row_length(self) -> Tensor | None:
        """The length of the rows where all are known to have one."""
        length = self._uniform[0]
        if length is None:
            return None
        return cast_to(ox.ints(length), self.row_splits.dtype)

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The row that each value is in."""
        return cast_to(partition.row_ids(self.row_splits), self.row_splits.dtype)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """``value_rowids`` of all ragged axes, the outer ones first."""
        return tuple([cast_to(partition.row_ids(s), s.dtype) for s in self._splits])

    def nrows(self, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
        """The number of rows, a scalar."""
        kind = self.row_splits.dtype if out_type is None else as_dtype(out_type)
        return cast_to(partition.row_count(self.row_splits), kind)

    def nvals(self, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
        """The number of values (rows of ``values``), a scalar."""
        kind = self.row_splits.dtype if out_type is None else as_dtype(out_type)
        inner = self.values
        if isinstance(inner, RaggedTensor):
            return inner.nrows(kind)
        return cast_to(partition.size_of(inner), kind)

    def row_starts(self, name: str | None = None) -> Tensor:
        """Where each row begins."""
        return partition.starts_of(self.row_splits)

    def row_limits(self, name: str | None = None) -> Tensor:
        """Where each row ends."""
        return partition.limits_of(self.row_splits)

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The lengths of the rows.

        Args:
            axis: The axis that is measured; a ragged tensor of lengths where it is above 1.
            name: Accepted for compatibility.

        Raises:
            ValueError: no such axis.

        Example:
            >>> import tfx as tf
            >>> tf.ragged.constant([[1, 2, 3], [], [4]]).row_lengths().numpy()
            array([3, 0, 1])
        """
        return fetch(_MEASURES, "row_lengths")(self, axis)

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row lengths of all ragged axes, the outer ones first."""
        return tuple([partition.lengths_of(s) for s in self._splits])

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: DTypeLike | None = None
    ) -> Tensor:
        """The shape of the smallest dense tensor that has room for all rows.

        Args:
            axis: The axes that are wanted; None: all.
            name: Accepted for compatibility.
            out_type: int32 or int64; None: that of the row splits.

        Example:
            >>> import tfx as tf
            >>> tf.ragged.constant([[1, 2, 3], [], [4]]).bounding_shape().numpy()
            array([3, 3])
        """
        found: Tensor = fetch(_MEASURES, "bounding_shape")(self, axis, out_type)
        return found

    # Others like it

    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values.

        Args:
            new_values: As many as there are: a tensor or a ragged tensor.
        """
        inner = as_ragged_or_tensor(new_values)
        if isinstance(inner, RaggedTensor):
            splits = (self._splits[0], *inner._splits)
            return RaggedTensor(inner._flat_values, splits, (self._uniform[0], *inner._uniform))
        return RaggedTensor(inner, self._splits[:1], self._uniform[:1])

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other innermost values.

        Args:
            new_values: As many as there are.
        """
        inner = as_ragged_or_tensor(new_values)
        if isinstance(inner, RaggedTensor):
            splits = (*self._splits, *inner._splits)
            return RaggedTensor(inner._flat_values, splits, (*self._uniform, *inner._uniform))
        return RaggedTensor(inner, self._splits, self._uniform)

    def with_row_splits_dtype(self, dtype: DTypeLike) -> RaggedTensor:
        """The same tensor with splits of another dtype.

        Args:
            dtype: int32 or int64.

        Raises:
            ValueError: another one.
        """
        kind = as_dtype(dtype)
        if kind.name not in ("int32", "int64"):
            raise ValueError(f"Argument `row_splits` dtype must be int32 or int64; got {kind!r}.")
        splits = tuple([cast_to(s, kind) for s in self._splits])
        return RaggedTensor(self._flat_values, splits, self._uniform)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """The same values with the axes from one to another made a single one.

        Args:
            outer_axis: The first of them.
            inner_axis: The last of them.

        Returns:
            A ragged tensor, or a tensor where no ragged axis is left.

        Raises:
            ValueError: no such axes.

        Example:
            >>> import tfx as tf
            >>> tf.ragged.constant([[[1, 2], [3]], [[4]]]).merge_dims(1, 2)
            <tf.RaggedTensor [[1, 2, 3], [4]]>
        """
        return fetch(_ARRANGEMENT, "merge_dims")(self, outer_axis, inner_axis)

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Tensor:
        """A dense tensor, rows filled up at their ends.

        Args:
            default_value: What they are filled up with; None: 0, ``""`` or False.
            name: Accepted for compatibility.
            shape: What to make it: rows are cut or filled up to these sizes; None in it: as many
                as the longest row has.

        Example:
            >>> import tfx as tf
            >>> tf.ragged.constant([[1, 2, 3], [], [4]]).to_tensor(default_value=-1).numpy()
            array([[ 1,  2,  3],
                   [-1, -1, -1],
                   [ 4, -1, -1]], dtype=int32)
        """
        found: Tensor = fetch(_CONVERSION, "to_tensor")(self, default_value, shape)
        return found

    def to_sparse(self, name: str | None = None) -> Any:
        """A ``SparseTensor`` with an entry for each value.

        Example:
            >>> import tfx as tf
            >>> x = tf.ragged.constant([[1, 2], [3]]).to_sparse()
            >>> x.indices.numpy().tolist(), x.shape
            ([[0, 0], [0, 1], [1, 0]], TensorShape([2, 2]))
        """
        return fetch(_SPARSE, "to_sparse")(self)

    def to_list(self) -> list[Any]:
        """The contents as nested lists.

        Raises:
            ValueError: inside of a function.
        """
        inner = self.values
        _require_eager(self, "to_list")
        items = inner.to_list() if isinstance(inner, RaggedTensor) else inner.numpy().tolist()
        ends = self.row_splits.numpy().tolist()
        return [items[a:b] for a, b in pairwise(ends)]

    def numpy(self) -> Any:
        """The contents as an array: of rows as objects, if they differ in length.

        Raises:
            ValueError: inside of a function.
        """
        _require_eager(self, "numpy")
        inner = self.values.numpy()
        rows = np.split(inner, self.row_splits.numpy()[1:-1])
        if self.row_splits.shape[0] == 1:
            return np.array([], dtype=inner.dtype)
        if all(len(row) == len(rows[0]) for row in rows):
            return np.array(rows)
        found = np.empty([len(rows)], object)
        found[:] = rows
        return found

    # Python

    def __getitem__(self, key: Any) -> Any:
        return fetch(_INDEXING, "part_of")(self, key)

    def __iter__(self) -> Iterator[Any]:
        if not isinstance(self.row_splits, EagerTensor):
            raise TypeError(
                "Iterating over a symbolic `tf.RaggedTensor` is not allowed: use tf.map_fn, or "
                "loop over tf.range(rows.nrows())."
            )
        return (self[i] for i in range(self.row_splits.shape[0] - 1))

    def __len__(self) -> NoReturn:
        raise TypeError("object of type 'RaggedTensor' has no len()")

    def __bool__(self) -> NoReturn:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __hash__(self) -> int:
        raise TypeError("RaggedTensor is unhashable.")

    def __repr__(self) -> str:
        parts = (self._flat_values, *self._splits)
        if all(isinstance(x, EagerTensor) for x in parts):
            with np.printoptions(formatter={"all": _written}):
                return f"<tf.RaggedTensor {_written(self.numpy())}>"
        return f"tf.RaggedTensor(values={self.values!r}, row_splits={self.row_splits!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return RaggedTensor, (self._flat_values, self._splits, self._uniform)


def _written(x: Any) -> str:
    if not isinstance(x, np.ndarray):
        return str(x)
    return np.array2string(x, separator=", ") if x.size else str(x.tolist())


def _require_eager(x: RaggedTensor, method: str) -> None:
    if not all(isinstance(t, EagerTensor) for t in (x._flat_values, *x._splits)):
        raise ValueError(
            f"RaggedTensor.{method}() is only supported in eager mode: inside a tfx.function it "
            "stands for values that exist only when the function runs."
        )


def as_ragged_or_tensor(value: Any, dtype: Any = None) -> Any:
    """A ragged tensor as it is; anything else as a tensor."""
    if isinstance(value, RaggedTensor):
        return value
    return convert_to_tensor(value, dtype)


def _refuse_conversion(value: RaggedTensor, **_: Any) -> NoReturn:
    raise ConversionError(
        f"A RaggedTensor cannot be converted to a Tensor: {value!r}. The operation does not take "
        "ragged tensors: pad it with x.to_tensor(), or give it x.flat_values or x.values."
    )


register_tensor_conversion_function(RaggedTensor, _refuse_conversion)
