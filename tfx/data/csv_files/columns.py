"""What the files say of their columns: names, dtypes; and which of them are wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from tfx.core import dtypes, gfile
from tfx.core.dtypes import DType
from tfx.data.csv_files.nodes import records
from tfx.parsing import csv_lines
from tfx.parsing.csv_lines import Column


class Form:
    """What the files say of their columns."""

    def __init__(
        self,
        files: Sequence[str],
        compression: str,
        delim: str,
        quotes: bool,
        na_value: str,
        header: bool,
        encoding: str,
    ) -> None:
        self.files = files
        self.header = header
        self._compression = compression
        self._cut = (delim, quotes)
        self._na_value = na_value
        self._encoding = encoding

    def _records(self, path: str, header: bool) -> Iterator[list[str]]:
        delim, quotes = self._cut
        with gfile.file_errors(path):
            for line in records(path, self._compression, 1 << 18, int(header), int(quotes)):
                yield csv_lines.fields_of(line.decode(self._encoding, "replace"), delim, quotes)

    def names(self) -> list[str]:
        """The names of the columns, which are the same in all files."""
        if not self.header:
            raise ValueError("Cannot infer column names without header line.")
        first: list[str] | None = None
        for path in self.files:
            found = next(self._records(path, False), [])
            if first is not None and found != first:
                raise ValueError(
                    "All input CSV files should have the same column names in the header row. "
                    f"File {path} has different column names: {found}, expected {first}."
                )
            first = found
        return first or []

    def inferred(self, count: int, chosen: Sequence[int], rows: int | None) -> list[Column]:
        """The columns, by what stands in the first records."""
        kinds: list[int | None] = [None] * len(chosen)
        seen = 0
        for path in self.files:
            for number, fields in enumerate(self._records(path, self.header), 1 + int(self.header)):
                if len(fields) != count:
                    raise ValueError(
                        f"Problem inferring types: CSV row {number} has {len(fields)} number of "
                        f"fields. Expected: {count}."
                    )
                kinds = [
                    _kind(fields[i], kind, self._na_value)
                    for i, kind in zip(chosen, kinds, strict=True)
                ]
                seen += 1
                if rows is not None and seen >= rows:
                    break
            if rows is not None and seen >= rows:
                break
        found = [_KINDS[-1 if kind is None else kind] for kind in kinds]
        return [Column(kind, b"" if kind is dtypes.string else 0) for kind in found]


_KINDS: tuple[DType, ...] = (
    dtypes.int32,
    dtypes.int64,
    dtypes.float32,
    dtypes.float64,
    dtypes.string,
)


def _kind(text: str, least: int | None, na_value: str) -> int | None:
    """The first of the kinds, from one on, of which a field can be."""
    if text in ("", na_value):
        return least
    for kind in range(least or 0, len(_KINDS) - 1):
        try:
            number: float = int(text) if _KINDS[kind].is_integer else float(text)
        except ValueError:
            continue
        limits = _KINDS[kind]
        if number != number or limits.min <= number <= limits.max or abs(number) == float("inf"):
            return kind
    return len(_KINDS) - 1


def matching(pattern: Any) -> list[str]:
    """The files that fit a pattern, or one of several."""
    given = pattern if isinstance(pattern, list | tuple) else [pattern]
    found = gfile.glob([os.fspath(p) for p in given])
    if not found:
        raise ValueError(f"No files match `file_pattern` {pattern}.")
    return found


def chosen_columns(select: Sequence[Any] | None, names: Sequence[str]) -> list[int]:
    """The numbers of the columns that are wanted."""
    if select is None:
        return list(range(len(names)))
    found = []
    for item in select:
        if isinstance(item, str):
            if item not in names:
                raise ValueError(
                    f"Value '{item}' of select_columns is not a column: {list(names)}."
                )
            found.append(names.index(item))
        elif 0 <= int(item) < len(names):
            found.append(int(item))
        else:
            raise ValueError(f"Number {item} of select_columns is not in [0, {len(names)}).")
    if len(set(found)) != len(found):
        raise ValueError(f"`select_columns` has duplicate columns: {list(select)}.")
    return sorted(found)
