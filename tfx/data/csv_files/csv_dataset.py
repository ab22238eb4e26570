"""``CsvDataset``: the records of CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.data.csv_files.nodes import Fields, records
from tfx.data.dataset import Dataset, strings
from tfx.data.records import Records
from tfx.parsing import csv_lines
from tfx.parsing.decode_csv import columns_of, one_character, selected_columns


class CsvDataset(Dataset):
    r"""The records of CSV files, each a tuple of scalars.

    Args:
        filenames: Names of files: a tensor, what converts to one, or a dataset of names.
        record_defaults: For each column a dtype, if a field is required, or a value for empty
            fields: of float32, float64, int32, int64 or string.
        compression_type: ``"GZIP"``, ``"ZLIB"``, or nothing.
        buffer_size: How many bytes are read at a time.
        header: Whether the first record of each file is left out.
        field_delim: What is between fields.
        use_quote_delim: Whether fields may stand in double quotes.
        na_value: Another text that stands for an empty field.
        select_cols: The numbers of the columns that are wanted, increasing; None: all.
        exclude_cols: The numbers of the columns that are not wanted, instead.

    Raises:
        InvalidArgumentError: both ``select_cols`` and ``exclude_cols``; while it is iterated over,
            a record that is not as wanted.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "a.csv")
        >>> tf.io.write_file(path, "age,name\n31,Ann\n,Bob\n")
        >>> data = tf.data.experimental.CsvDataset(path, [0, tf.string], header=True)
        >>> list(data.as_numpy_iterator())
        [(np.int32(31), b'Ann'), (np.int32(0), b'Bob')]
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
    ) -> None:
        columns = columns_of(record_defaults)
        if select_cols and exclude_cols:
            raise InvalidArgumentError(
                "Either select_cols or exclude_cols should be empty", op="CSVDataset"
            )
        if exclude_cols:
            left_out = {int(i) for i in exclude_cols}
            count = len(columns) + len(left_out)
            select_cols = [i for i in range(count) if i not in left_out]
        wanted = selected_columns(select_cols or None, len(columns))
        delim, quotes = one_character(field_delim), bool(use_quote_delim)
        numbers = (int(bool(header)), int(quotes))
        node = Records(records, strings(filenames), compression_type, buffer_size or 0, numbers)
        spec = tuple([TensorSpec([], column.kind) for column in columns])
        super().__init__(
            Fields(
                node,
                spec,
                lambda found: csv_lines.read(found, columns, delim, quotes, na_value, wanted),
            )
        )
