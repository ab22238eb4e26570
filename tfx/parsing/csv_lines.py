"""Lines of CSV cut into fields, by TensorFlow's rules (those of RFC 4180, no more).

Python's ``csv`` module is not it: it takes quotes inside of fields, and never says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError

_QUOTE = '"'


def refuse(message: str) -> InvalidArgumentError:
    """The error for a line that is not as wanted."""
    return InvalidArgumentError(message, op="DecodeCSV")


def fields_of(line: str, delim: str, quotes: bool) -> list[str]:
    """The fields of a record.

    Args:
        line: The record.
        delim: One character.
        quotes: Whether fields may stand in double quotes.

    Raises:
        InvalidArgumentError: quotes that are not as they must be.
    """
    if not line:
        return []
    if not quotes or _QUOTE not in line:
        found = line.split(delim)
        if quotes and ("\n" in line or "\r" in line):
            raise refuse("Unquoted fields cannot have quotes/CRLFs inside")
        return found
    found, start = [], 0
    while True:
        if line.startswith(_QUOTE, start):
            field, start = _quoted(line, start + 1, delim)
        else:
            end = line.find(delim, start)
            field = line[start:] if end < 0 else line[start:end]
            start += len(field)
            if any(c in field for c in '"\n\r'):
                raise refuse("Unquoted fields cannot have quotes/CRLFs inside")
        found.append(field)
        if start >= len(line):
            return found
        start += 1  # behind the delimiter; one at the end has an empty field behind it
        if start == len(line):
            return [*found, ""]


def _quoted(line: str, start: int, delim: str) -> tuple[str, int]:
    """A field in quotes, and where it ends."""
    parts = []
    while True:
        end = line.find(_QUOTE, start)
        if end < 0:
            raise refuse("Quoted field has to end with quote followed by delim or end")
        parts.append(line[start:end])
        after = line[end + 1 : end + 2]
        if after == _QUOTE:
            parts.append(_QUOTE)
            start = end + 2
        elif after in ("", delim):
            return "".join(parts), end + 1
        else:
            raise refuse("Quote inside a string has to be escaped by another quote")


class Column:
    """What is read in one column.

    Args:
        kind: float32, float64, int32, int64 or string.
        default: What an empty field stands for; None: the field is required.
    """

    __slots__ = ("default", "kind")

    def __init__(self, kind: DType, default: Any) -> None:
        self.kind = kind
        self.default = default

    def value(self, text: str, place: int, record: int, na_value: str) -> Any:
        """The value of a field.

        Raises:
            InvalidArgumentError: it is missing, or no number.
        """
        if text in ("", na_value):
            if self.default is None:
                raise refuse(f"Field {place} is required but missing in record {record}!")
            return self.default
        if self.kind is dtypes.string:
            return text.encode("utf-8", "surrogateescape")
        number = text.strip()
        try:
            if "_" in number:
                raise InvalidArgumentError(number)
            if self.kind.is_floating:
                return float(number)
            found = int(number)
            if not self.kind.min <= found <= self.kind.max:
                raise InvalidArgumentError(number)
        except ValueError:
            name = {"float32": "float", "float64": "double"}.get(self.kind.name, self.kind.name)
            raise refuse(
                f"Field {place} in record {record} is not a valid {name}: {_shown(text)}"
            ) from None
        return found

    def array(self, values: Sequence[Any]) -> Any:
        """Values of the column as a vector."""
        if self.kind is dtypes.string:
            found = np.empty(len(values), object)
            found[:] = values
            return found
        with np.errstate(over="ignore"):
            return np.array(values, self.kind.as_numpy_dtype)


def _shown(text: str) -> str:
    """A field for a message: its beginning, in letters that can be printed."""
    letters = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return letters if len(letters) <= 80 else f"{letters[:80]}... ({len(letters)} letters)"


def read(
    lines: Sequence[str],
    columns: Sequence[Column],
    delim: str,
    quotes: bool,
    na_value: str,
    selected: Sequence[int] | None,
) -> list[Any]:
    """The columns of records as vectors.

    Raises:
        InvalidArgumentError: another number of fields, or fields that are not as wanted.
    """
    found: list[list[Any]] = [[] for _ in columns]
    wanted = range(len(columns)) if selected is None else selected
    for record, line in enumerate(lines):
        fields = fields_of(line, delim, quotes)
        if selected is None and len(fields) != len(columns):
            raise refuse(f"Expect {len(columns)} fields but have {len(fields)} in record {record}")
        if selected is not None and len(fields) <= max(selected, default=-1):
            raise refuse(
                f"Expect {len(columns)} fields but have "
                f"{sum(i < len(fields) for i in selected)} in record {record}"
            )
        for values, column, place in zip(found, columns, wanted, strict=True):
            values.append(column.value(fields[place], place, record, na_value))
    return [column.array(values) for column, values in zip(columns, found, strict=True)]
