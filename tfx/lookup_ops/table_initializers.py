"""Sources of a table's contents: tensors, or a text file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.framework.asset import Asset
from tfx.framework.context import init_scope
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor

_INTEGERS = (dtypes.int32, dtypes.int64)


class TextFileIndex:
    """The part of a line that a ``TextFileInitializer`` takes.

    Attributes:
        WHOLE_LINE: The line itself.
        LINE_NUMBER: Its number, from 0.
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TableInitializerBase:
    """The common base of all initializers: the dtypes, and the content.

    Args:
        key_dtype: Of the keys.
        value_dtype: Of the values.
    """

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    def initialize(self, table: Any) -> None:
        """Fill a table; called once, when the table is made.

        Subclasses that override it call it with the table at some point.

        Args:
            table: The table.
        """
        table.fill(*self.content())

    def content(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The keys and the values, as arrays of one length."""
        raise TypeError(
            f"{type(self).__name__} has no content of its own; use KeyValueTensorInitializer or "
            "TextFileInitializer."
        )


class KeyValueTensorInitializer(TableInitializerBase):
    """Keys and values from tensors.

    Args:
        keys: The keys, of rank 1.
        values: A value for each.
        key_dtype: Dtype of the keys, for those that are given as Python values.
        value_dtype: Dtype of the values.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: there are not as many values as keys, or the keys are not of rank 1.

    Example:
        >>> import tfx as tf
        >>> init = tf.lookup.KeyValueTensorInitializer(["emerson", "lake", "palmer"], [0, 1, 2])
        >>> init.key_dtype, init.value_dtype
        (tf.string, tf.int32)
    """

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        with init_scope():  # a table belongs to no trace
            self._keys = _fixed(convert_to_tensor(keys, key_dtype), "keys")
            self._values = _fixed(convert_to_tensor(values, value_dtype), "values")
        super().__init__(self._keys.dtype, self._values.dtype)
        if self._keys.shape.rank != 1 or self._values.shape.as_list() != self._keys.shape.as_list():
            raise InvalidArgumentError(
                f"A table's keys have the shape {self._keys.shape} and its values "
                f"{self._values.shape}; expected rank 1, and as many values as keys."
            )

    def content(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The keys and the values."""
        return np.asarray(self._keys.numpy()), np.asarray(self._values.numpy())


def _fixed(tensor: Any, what: str) -> EagerTensor:
    if not isinstance(tensor, EagerTensor):
        raise InvalidArgumentError(
            f"A table's {what} are {tensor!r:.100}, a tensor of a function that is being traced; "
            "make the table outside of the function."
        )
    return tensor


class TextFileInitializer(TableInitializerBase):
    r"""Keys and values from the lines of a text file.

    Args:
        filename: The file: a path, a string tensor or an ``Asset``. It is read when the table is
            made; the content is saved with the table.
        key_dtype: Dtype of the keys.
        key_index: The column that the keys are in, or a ``TextFileIndex``.
        value_dtype: Dtype of the values.
        value_index: The column that the values are in, or a ``TextFileIndex``.
        vocab_size: How many lines to read; None: all.
        delimiter: What is between columns.
        name: Accepted for compatibility.
        value_index_offset: Added to line numbers that are values.

    Raises:
        ValueError: a whole line is not text, or a line number is no integer.

    Example:
        >>> import pathlib, tempfile
        >>> import tfx as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "words.txt")
        ...     _ = path.write_text("emerson\nlake\npalmer\n")
        ...     init = tf.lookup.TextFileInitializer(
        ...         path,
        ...         tf.string,
        ...         tf.lookup.TextFileIndex.WHOLE_LINE,
        ...         tf.int64,
        ...         tf.lookup.TextFileIndex.LINE_NUMBER,
        ...     )
        ...     table = tf.lookup.StaticHashTable(init, -1)
        >>> table.lookup(tf.constant(["palmer", "wakeman"])).numpy()
        array([ 2, -1])
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        self._path = _path(filename)
        self._key_index, self._value_index = key_index, value_index
        self._count = vocab_size
        self._delimiter = delimiter.encode()
        self._offset = value_index_offset
        for what, index, kind in (
            ("key", key_index, self.key_dtype),
            ("value", value_index, self.value_dtype),
        ):
            _check_column(what, index, kind)

    def content(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The keys and the values, read from the file now."""
        try:
            with open(self._path, "rb") as file:
                lines = file.read().split(b"\n")
        except OSError as e:
            raise NotFoundError(f"{self._path}; {e.strerror}: a table's file cannot be read") from e
        if lines and not lines[-1]:
            lines.pop()
        lines = [line.removesuffix(b"\r") for line in lines]
        if self._count is not None:
            if len(lines) < self._count:
                raise InvalidArgumentError(
                    f"Invalid vocab_size in {self._path}: expected {self._count} but got "
                    f"{len(lines)} lines"
                )
            lines = lines[: self._count]
        keys = [self._part(i, line, self._key_index, 0) for i, line in enumerate(lines)]
        values = [
            self._part(i, line, self._value_index, self._offset) for i, line in enumerate(lines)
        ]
        return self._array(keys, self.key_dtype), self._array(values, self.value_dtype)

    def _part(self, number: int, line: bytes, index: int, offset: int) -> Any:
        if index == TextFileIndex.LINE_NUMBER:
            return number + offset
        if index == TextFileIndex.WHOLE_LINE:
            return line
        columns = line.split(self._delimiter)
        if index >= len(columns):
            raise InvalidArgumentError(
                f"Invalid number of columns in {self._path} line {number} ({line!r:.80}): expected "
                f"more than {index}, got {len(columns)}"
            )
        return columns[index]

    def _array(self, parts: list[Any], kind: DType) -> npt.NDArray[Any]:
        if kind is dtypes.string:
            array = np.empty(len(parts), object)
            array[:] = [p if isinstance(p, bytes) else str(p).encode() for p in parts]
            return array
        convert = float if kind.is_floating else int
        try:
            numbers = [p if isinstance(p, int) else convert(p.decode()) for p in parts]
        except ValueError as e:
            raise InvalidArgumentError(
                f"{self._path}: {e}; expected {kind.name} in every line"
            ) from e
        return np.array(numbers, kind.as_numpy_dtype).reshape(len(parts))


def _path(filename: Any) -> str:
    if isinstance(filename, Asset):
        return str(filename.path)
    if isinstance(filename, str | os.PathLike):
        return os.fspath(filename)
    return os.fsdecode(_fixed(convert_to_tensor(filename, dtypes.string), "file").numpy())


def _check_column(what: str, index: int, kind: DType) -> None:
    if index < TextFileIndex.WHOLE_LINE:
        raise ValueError(f"Invalid {what} index {index}: expected -2, -1 or a column from 0.")
    if index == TextFileIndex.LINE_NUMBER and kind not in _INTEGERS:
        raise ValueError(
            f"Signature mismatch. {what.capitalize()}s must be dtype tf.int64, got {kind.name}: "
            "they are line numbers."
        )
    if index == TextFileIndex.WHOLE_LINE and kind not in (dtypes.string, *_INTEGERS):
        raise ValueError(
            f"Signature mismatch. {what.capitalize()}s must be dtype tf.string, got {kind.name}: "
            "they are whole lines."
        )
