"""``tf.data.experimental.SqlDataset``: the rows that a query finds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from tfx.core.dtypes import as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.data.dataset import Dataset


class SqlDataset(Dataset):
    """The rows that a query finds in a SQLite database.

    Args:
        driver_name: ``"sqlite"``.
        data_source_name: The file.
        query: The query.
        output_types: A dtype for each column.

    Raises:
        InvalidArgumentError: another driver; while iterating, a query that fails or has another
            number of columns.

    Example:
        >>> import os, sqlite3, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "a.db")
        >>> with sqlite3.connect(path) as database:
        ...     _ = database.execute("create table people (name text, age integer)")
        ...     _ = database.execute("insert into people values ('Ann', 31)")
        >>> rows = tf.data.experimental.SqlDataset(
        ...     "sqlite", path, "select * from people", (tf.string, tf.int32)
        ... )
        >>> [(name.numpy(), int(age)) for name, age in rows]
        [(b'Ann', 31)]
    """

    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any
    ) -> None:
        driver, path, text = map(_text, (driver_name, data_source_name, query))
        if driver != "sqlite":
            raise InvalidArgumentError(
                f"The database type {driver!r} is not supported: expected 'sqlite'."
            )
        kinds = [as_dtype(kind) for kind in output_types]

        def rows() -> Iterator[Any]:
            database = sqlite3.connect(path)
            try:
                for row in database.execute(text):
                    if len(row) != len(kinds):
                        raise InvalidArgumentError(
                            f"The query {text!r} gives {len(row)} columns; output_types has "
                            f"{len(kinds)}."
                        )
                    yield tuple(_value(x, kind) for x, kind in zip(row, kinds, strict=True))
            except sqlite3.Error as e:
                raise InvalidArgumentError(f"The query {text!r} of {path} fails: {e}.") from e
            finally:
                database.close()

        signature = tuple(TensorSpec([], kind) for kind in kinds)
        super().__init__(Dataset.from_generator(rows, output_signature=signature)._node)


def _text(value: Any) -> str:
    found = value.numpy() if hasattr(value, "numpy") else value
    return found.decode() if isinstance(found, bytes) else str(found)


def _value(value: Any, kind: Any) -> Any:
    if kind.name == "string":
        return "" if value is None else value if isinstance(value, bytes | str) else str(value)
    if value is None:
        return kind.as_numpy_dtype(0)
    return bool(value) if kind.is_bool else kind.as_numpy_dtype(value)
