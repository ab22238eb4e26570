"""``FactoryMethods``: the class methods that make a ``RaggedTensor``.

What they do stands in ``factories``, ``conversion`` and ``sparse``, which know the class that has
these methods and are fetched by name for that reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfx.core.dtypes import DTypeLike
from tfx.core.lazy_namespaces import fetch
from tfx.framework.tensor import Tensor

if TYPE_CHECKING:
    from tfx.ragged_ops.ragged_tensor import RaggedTensor

_CONVERSION, _FACTORIES = "tfx.ragged_ops.conversion", "tfx.ragged_ops.factories"
_SPARSE = "tfx.ragged_ops.sparse"


class FactoryMethods:
    """How ragged tensors are made; a part of ``RaggedTensor``."""

    __slots__ = ()

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """A ragged tensor from the row that each value is in.

        Args:
            values: Tensor or ragged tensor, the rows behind one another.
            value_rowids: Increasing integers, one for each value.
            nrows: The number of rows; None: that of the last value, and one.
            name: Accepted for compatibility.
            validate: Refuse row numbers that are not increasing or too large.

        Raises:
            InvalidArgumentError: they are.

        Example:
            >>> import tfx as tf
            >>> tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2], nrows=4)
            <tf.RaggedTensor [[1, 2], [], [3], []]>
        """
        return _made("from_value_rowids", values, value_rowids, nrows, validate)

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """A ragged tensor from where rows begin and end: ``values[splits[i]:splits[i + 1]]``.

        Args:
            values: Tensor or ragged tensor, the rows behind one another.
            row_splits: Increasing integers from 0 to the number of values.
            name: Accepted for compatibility.
            validate: Refuse splits that are not so.

        Raises:
            InvalidArgumentError: they are not.

        Example:
            >>> import tfx as tf
            >>> tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 2, 3])
            <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        return _made("from_row_splits", values, row_splits, validate)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """A ragged tensor from the lengths of its rows.

        Args:
            values: Tensor or ragged tensor, the rows behind one another.
            row_lengths: How many values each row has.
            name: Accepted for compatibility.
            validate: Refuse lengths that do not add up to the number of values.

        Raises:
            InvalidArgumentError: they do not.

        Example:
            >>> import tfx as tf
            >>> tf.RaggedTensor.from_row_lengths([1, 2, 3], [2, 0, 1])
            <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        return _made("from_row_lengths", values, row_lengths, validate)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """A ragged tensor from where each row begins.

        Args:
            values: Tensor or ragged tensor, the rows behind one another.
            row_starts: Increasing integers that begin with 0.
            name: Accepted for compatibility.
            validate: Refuse starts that are not so.

        Raises:
            InvalidArgumentError: they are not.
        """
        return _made("from_row_starts", values, row_starts, validate)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """A ragged tensor from where each row ends.

        Args:
            values: Tensor or ragged tensor, the rows behind one another.
            row_limits: Increasing integers, the last of them the number of values.
            name: Accepted for compatibility.
            validate: Refuse limits that are not so.

        Raises:
            InvalidArgumentError: they are not.
        """
        return _made("from_row_limits", values, row_limits, validate)

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> RaggedTensor:
        """A ragged tensor whose rows have one length.

        Args:
            values: Tensor or ragged tensor, the rows behind one another.
            uniform_row_length: The length.
            nrows: The number of rows, which is needed where the length is 0.
            validate: Refuse a length that does not divide the number of values.
            name: Accepted for compatibility.

        Raises:
            InvalidArgumentError: it does not.

        Example:
            >>> import tfx as tf
            >>> tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2).shape
            TensorShape([2, 2])
        """
        return _made("from_uniform_row_length", values, uniform_row_length, nrows, validate)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Sequence[Any],
        nested_nrows: Sequence[Any] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """``from_value_rowids`` for several axes, the outer ones first."""
        counts = nested_nrows or [None] * len(nested_value_rowids)
        result = flat_values
        for ids, count in zip(reversed(nested_value_rowids), reversed(counts), strict=True):
            result = cls.from_value_rowids(result, ids, count, validate=validate)
        return _as_ragged(result)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """``from_row_splits`` for several axes, the outer ones first.

        Example:
            >>> import tfx as tf
            >>> tf.RaggedTensor.from_nested_row_splits([1, 2, 3], [[0, 1, 1, 2], [0, 2, 3]])
            <tf.RaggedTensor [[[1, 2]], [], [[3]]]>
        """
        _require_sequence(nested_row_splits, "nested_row_splits")
        result = flat_values
        for splits in reversed(nested_row_splits):
            result = cls.from_row_splits(result, splits, validate=validate)
        return _as_ragged(result)

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """``from_row_lengths`` for several axes, the outer ones first."""
        _require_sequence(nested_row_lengths, "nested_row_lengths")
        result = flat_values
        for lengths in reversed(nested_row_lengths):
            result = cls.from_row_lengths(result, lengths, validate=validate)
        return _as_ragged(result)

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: DTypeLike = "int64",
    ) -> RaggedTensor:
        """A ragged tensor of a dense one, whose rows may end before its own.

        Args:
            tensor: A tensor of at least ``ragged_rank + 1`` axes.
            lengths: How much of each row is kept; for several axes, a list of such vectors.
            padding: What is left out at the ends of rows.
            ragged_rank: How many axes become ragged.
            name: Accepted for compatibility.
            row_splits_dtype: int32 or int64.

        Raises:
            ValueError: both ``lengths`` and ``padding``, or a ``ragged_rank`` below 1.

        Example:
            >>> import tfx as tf
            >>> tf.RaggedTensor.from_tensor([[1, 0, 0], [2, 3, 0]], padding=0)
            <tf.RaggedTensor [[1], [2, 3]]>
        """
        found: RaggedTensor = fetch(_CONVERSION, "from_tensor")(
            tensor, lengths, padding, ragged_rank, row_splits_dtype
        )
        return found

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: DTypeLike = "int64"
    ) -> RaggedTensor:
        """A ragged tensor of a sparse matrix whose rows are filled from their beginning.

        Args:
            st_input: ``SparseTensor`` of two axes.
            name: Accepted for compatibility.
            row_splits_dtype: int32 or int64.

        Raises:
            ValueError: not two axes.
            InvalidArgumentError: a row with nothing before an entry.

        Example:
            >>> import tfx as tf
            >>> x = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [3, 4])
            >>> tf.RaggedTensor.from_sparse(x)
            <tf.RaggedTensor [[1, 2], [], [3]]>
        """
        found: RaggedTensor = fetch(_SPARSE, "from_sparse")(st_input, row_splits_dtype)
        return found


def _made(factory: str, *args: Any) -> RaggedTensor:
    found: RaggedTensor = fetch(_FACTORIES, factory)(*args)
    return found


def _require_sequence(value: Any, name: str) -> None:
    if isinstance(value, Tensor) or not isinstance(value, list | tuple):
        raise TypeError(f"Argument `{name}` must be a list of Tensors. Received {value!r}.")


def _as_ragged(value: Any) -> RaggedTensor:
    found: RaggedTensor = value
    if not isinstance(value, FactoryMethods):
        raise ValueError("There must be row splits, lengths or row numbers for one axis at least.")
    return found
