"""``tfx.io.decode_csv``: records of CSV as tensors, one for each column."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.framework.context import init_scope
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import is_tensor_like
from tfx.ops.common.python_ops import by_python
from tfx.ops.common.shapes import raw_shape
from tfx.parsing import csv_lines
from tfx.parsing.csv_lines import Column
from tfx.parsing.features import array_of

_KINDS = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Tensors of the columns of CSV records.

    Args:
        records: Strings, each a record.
        record_defaults: For each column a value that an empty field stands for, which gives the
            dtype: float32, float64, int32, int64 or string; an empty vector: it is required.
        field_delim: What is between fields.
        use_quote_delim: Whether fields may stand in double quotes.
        na_value: Another text that stands for an empty field.
        select_cols: The numbers of the columns that are wanted, increasing; None: all.
        name: Accepted for compatibility.

    Returns:
        A tensor of the shape of ``records`` for each column.

    Raises:
        ValueError: ``select_cols`` that do not fit.
        InvalidArgumentError: another number of fields, a missing one, or one that is no number.

    Example:
        >>> import tfx as tf
        >>> ages, names = tf.io.decode_csv(["31,Ann", ",Bob"], [0, ""])
        >>> ages.numpy(), names.numpy()
        (array([31,  0], dtype=int32), array([b'Ann', b'Bob'], dtype=object))
    """
    columns = columns_of(record_defaults)
    selected = selected_columns(select_cols, len(columns))
    delim = one_character(field_delim)
    x = convert_to_tensor(records, dtypes.string)
    shape = raw_shape(x)

    def compute(data: Any) -> list[Any]:
        lines = [bytes(each).decode("utf-8", "surrogateescape") for each in data.reshape(-1)]
        found = csv_lines.read(lines, columns, delim, bool(use_quote_delim), na_value, selected)
        return [array.reshape(data.shape) for array in found]

    outputs = [(column.kind, shape) for column in columns]
    return list(by_python("io.decode_csv", compute, [x], outputs))


def columns_of(record_defaults: Sequence[Any]) -> list[Column]:
    """Columns by the values that empty fields stand for.

    Raises:
        InvalidArgumentError: another dtype, or more than one value.
    """
    found = []
    for i, default in enumerate(record_defaults):
        if isinstance(default, dtypes.DType):
            found.append(Column(_allowed(default), None))
            continue
        with init_scope():  # a default in a function is not a node of it
            value = default if is_tensor_like(default) else convert_to_tensor(default)
        array = array_of(value).reshape(-1)
        if array.size > 1:
            raise InvalidArgumentError(
                f"There should only be 1 default per field but field {i} has {array.size}",
                op="DecodeCSV",
            )
        found.append(Column(_allowed(value.dtype), array[0] if array.size else None))
    return found


def _allowed(kind: Any) -> Any:
    if kind not in _KINDS:
        raise DTypeMismatchError(
            f"Value for attr 'OUT_TYPE' of {kind.name} is not in the list of allowed values: "
            "float, double, int32, int64, string",
            op="DecodeCSV",
        )
    return kind


def one_character(delim: Any) -> str:
    """What is between fields.

    Raises:
        ValueError: not one character.
    """
    text = delim.decode() if isinstance(delim, bytes) else delim
    if not isinstance(text, str) or len(text) != 1 or text in '"\n\r':
        raise InvalidArgumentError(
            f"field_delim should be only 1 char (no quote or line end); got {delim!r}."
        )
    return text


def selected_columns(select_cols: Any, count: int) -> list[int] | None:
    """The numbers of the columns that are wanted; None: all.

    Raises:
        ValueError: not increasing, negative, or another number of them.
    """
    if select_cols is None:
        return None
    found = [int(i) for i in np.asarray(select_cols).reshape(-1)]
    if any(a >= b for a, b in pairwise(found)):
        raise InvalidArgumentError("select_cols is not strictly increasing.")
    if found and found[0] < 0:
        raise InvalidArgumentError("select_cols contains negative values.")
    if len(found) != count:
        raise InvalidArgumentError("Length of select_cols and record_defaults do not match.")
    return found
