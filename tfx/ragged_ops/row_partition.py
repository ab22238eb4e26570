"""``RowPartition``: how a sequence of values is cut into rows, without the values."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.composite.extension_type import ExtensionType
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.common.arguments import as_int64, cast_to, static_int
from tfx.ragged_ops import factories, partition
from tfx.ragged_ops.ragged_tensor import RaggedTensor

_MADE = object()


class RowPartition(ExtensionType):
    """How a sequence of values is cut into rows. Made by its factories.

    Functions take and return it.

    Args:
        rows: For the library itself: use the factories.
        made: For the library itself.

    Raises:
        ValueError: called by a program.

    Example:
        >>> import tfx as tf
        >>> rows = tf.experimental.RowPartition.from_row_lengths([3, 0, 2])
        >>> rows
        tf.RowPartition(row_splits=[0 3 3 5])
        >>> rows.value_rowids().numpy(), rows.offsets_in_rows().numpy()
        (array([0, 0, 0, 2, 2]), array([0, 1, 2, 0, 1]))
    """

    # A row holds the numbers of its values.
    _rows: RaggedTensor

    def __init__(self, rows: Any, made: object = None) -> None:
        if made is not _MADE:
            raise ValueError(
                "RowPartition constructor is private; please use one of the factory methods "
                "instead (e.g., RowPartition.from_row_lengths())"
            )
        self._rows = rows

    @classmethod
    def from_row_splits(
        cls,
        row_splits: Any,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Rows from where they begin and end: row ``i`` has the values ``splits[i]:splits[i + 1]``.

        Args:
            row_splits: Increasing integers that begin with 0.
            validate: Refuse splits that are not so.
            dtype: int32 or int64: what everything is counted in; None: that of the splits.
            dtype_hint: The dtype of Python numbers; None: int64.

        Raises:
            InvalidArgumentError: they are not.
            ValueError: there are none.
        """
        splits = _numbers(row_splits, dtype, dtype_hint)
        if splits.shape.rank == 1 and splits.shape[0] == 0:
            raise InvalidArgumentError("row_splits tensor may not be empty.")
        last = ox.Gather(splits, int64_constant(-1), axis=0)
        return cls._made(factories.from_row_splits(_counted(last), splits, validate))

    @classmethod
    def from_row_lengths(
        cls,
        row_lengths: Any,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Rows from their lengths; see ``from_row_splits``."""
        lengths = _numbers(row_lengths, dtype, dtype_hint)
        total = ox.ReduceSum(partition.wide(lengths), keepdims=0)
        return cls._made(factories.from_row_lengths(_counted(total), lengths, validate))

    @classmethod
    def from_row_starts(
        cls,
        row_starts: Any,
        nvals: Any,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Rows from where each begins, and the number of values; see ``from_row_splits``."""
        starts = _numbers(row_starts, dtype, dtype_hint)
        return cls._made(factories.from_row_starts(_counted(nvals), starts, validate))

    @classmethod
    def from_row_limits(
        cls,
        row_limits: Any,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Rows from where each ends; see ``from_row_splits``."""
        limits = _numbers(row_limits, dtype, dtype_hint)
        ends = ox.Concat(int64_constant([0]), partition.wide(limits), axis=0)
        last = ox.Gather(ends, int64_constant(-1), axis=0)
        return cls._made(factories.from_row_limits(_counted(last), limits, validate))

    @classmethod
    def from_value_rowids(
        cls,
        value_rowids: Any,
        nrows: Any = None,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Rows from the one that each value is in; see ``from_row_splits``.

        Args:
            value_rowids: Increasing integers.
            nrows: The number of rows; None: that of the last value, and one.
            validate: See there.
            dtype: See there.
            dtype_hint: See there.
        """
        ids = _numbers(value_rowids, dtype, dtype_hint)
        count = partition.size_of(ids)
        return cls._made(factories.from_value_rowids(_counted(count), ids, nrows, validate))

    @classmethod
    def from_uniform_row_length(
        cls,
        uniform_row_length: Any,
        nvals: Any = None,
        nrows: Any = None,
        validate: bool = True,
        dtype: DTypeLike | None = None,
        dtype_hint: DTypeLike | None = None,
    ) -> RowPartition:
        """Rows of one length; see ``from_row_splits``.

        Args:
            uniform_row_length: The length.
            nvals: The number of values; None: that of ``nrows`` rows.
            nrows: The number of rows; None: that of ``nvals`` values.
            validate: Refuse numbers that do not fit.
            dtype: See there.
            dtype_hint: See there.

        Raises:
            ValueError: neither number is given, or they do not fit.
        """
        length = _numbers(uniform_row_length, dtype, dtype_hint)
        if nvals is None:
            if nrows is None:
                raise InvalidArgumentError("At least one of nvals and nrows must be specified.")
            nvals = ox.Mul(partition.wide(length), as_int64(nrows))
        made = factories.from_uniform_row_length(_counted(nvals), length, nrows, validate)
        return cls._made(made)

    @classmethod
    def _made(cls, rows: RaggedTensor) -> RowPartition:
        return cls(rows, _MADE)

    @property
    def dtype(self) -> DType:
        """What everything is counted in: int32 or int64."""
        kind: DType = self._rows.row_splits.dtype
        return kind

    def row_splits(self) -> Tensor:
        """Where rows begin and end, ``[nrows + 1]``."""
        splits: Tensor = self._rows.row_splits
        return splits

    def value_rowids(self) -> Tensor:
        """The row that each value is in, ``[nvals]``."""
        return self._rows.value_rowids()

    def nrows(self) -> Tensor:
        """The number of rows."""
        return self._rows.nrows()

    def nvals(self) -> Tensor:
        """The number of values."""
        return self._rows.nvals()

    def row_starts(self) -> Tensor:
        """Where each row begins, ``[nrows]``."""
        return self._rows.row_starts()

    def row_limits(self) -> Tensor:
        """Where each row ends, ``[nrows]``."""
        return self._rows.row_limits()

    def row_lengths(self) -> Tensor:
        """How many values each row has, ``[nrows]``."""
        lengths: Tensor = self._rows.row_lengths()
        return lengths

    def offsets_in_rows(self) -> Tensor:
        """The place of each value in its row, ``[nvals]``."""
        return cast_to(partition.positions(self.row_splits()), self.dtype)

    def is_uniform(self) -> bool:
        """True if all rows are known to have one length."""
        return self._rows.uniform_row_length is not None

    def uniform_row_length(self) -> Tensor | None:
        """The length of all rows; None if it is not known that they have one."""
        return self._rows.uniform_row_length

    @property
    def static_nrows(self) -> int | None:
        """The number of rows where it is known while a function is traced."""
        count = self.row_splits().shape[0]
        return None if count is None else count - 1

    @property
    def static_nvals(self) -> int | None:
        """The number of values where it is known while a function is traced."""
        shape = self._rows.flat_values.shape
        return None if shape.rank is None else shape[0]

    @property
    def static_uniform_row_length(self) -> int | None:
        """The length of all rows where it is known while a function is traced."""
        length = self._rows.uniform_row_length
        return None if length is None else static_int(length)

    def with_dtype(self, dtype: DTypeLike) -> RowPartition:
        """The same rows, counted in another dtype.

        Args:
            dtype: int32 or int64.

        Raises:
            ValueError: another.
        """
        return self._made(self._rows.with_row_splits_dtype(dtype))

    # The base class compares fields.
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        if self.is_uniform():
            return (
                f"tf.RowPartition(nrows={self.static_nrows}, "
                f"uniform_row_length={self.static_uniform_row_length})"
            )
        splits = self.row_splits()
        shown = splits.numpy() if isinstance(splits, EagerTensor) else splits
        return f"tf.RowPartition(row_splits={shown})"


def _numbers(value: Any, dtype: DTypeLike | None, hint: DTypeLike | None) -> Tensor:
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    return convert_to_tensor(value, wanted, dtype_hint=dtypes.int64 if hint is None else hint)


def _counted(count: Any) -> Tensor:
    return partition.counted(ox.Max(as_int64(count), int64_constant(0)))
