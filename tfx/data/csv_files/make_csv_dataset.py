"""``make_csv_dataset``: batches of the records of CSV files.

Records are read as text, go through shuffling and batching as text, and are cut into fields behind
that: a batch at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from tfx.core.specs import TensorSpec
from tfx.data.csv_files.columns import Form, chosen_columns, matching
from tfx.data.csv_files.nodes import Arranged, Fields, records
from tfx.data.dataset import Dataset, strings
from tfx.data.elementwise import IgnoreErrors
from tfx.data.nodes import wrapped
from tfx.data.parallel import AUTOTUNE
from tfx.data.records import Records
from tfx.parsing import csv_lines
from tfx.parsing.csv_lines import Column
from tfx.parsing.decode_csv import columns_of, one_character


def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    r"""Batches of the records of CSV files, as dictionaries of columns.

    Args:
        file_pattern: A file or pattern such as ``"data/*.csv"``, or a list of them.
        batch_size: How many records a batch has.
        column_names: The names of the columns; None: the first record has them.
        column_defaults: For each column a dtype, if a field is required, or a value for empty
            fields; None: dtypes follow from the contents, and empty fields are 0 or ``""``.
        label_name: A column that stands beside the dictionary, as the label.
        select_columns: Names or numbers of the columns that are wanted; None: all.
        field_delim: What is between fields.
        use_quote_delim: Whether fields may stand in double quotes.
        na_value: Another text that stands for an empty field.
        header: Whether the first record of each file has the names.
        num_epochs: How often the records are gone through; None: for ever. Then all batches are of
            one size.
        shuffle: Whether records are shuffled.
        shuffle_buffer_size: Size of the buffer.
        shuffle_seed: Makes the order reproducible.
        prefetch_buffer_size: How many batches are fetched ahead; None: one at least.
        num_parallel_reads: Accepted for compatibility.
        sloppy: Accepted for compatibility.
        num_rows_for_inference: Of how many records dtypes follow; None: of all.
        compression_type: ``"GZIP"``, ``"ZLIB"``, or nothing.
        ignore_errors: Leave out records with errors.
        encoding: Of the names of columns.

    Returns:
        A dataset of ordered dictionaries of vectors; with ``label_name`` of pairs of such a
        dictionary and the label.

    Raises:
        ValueError: no files, names that are not unique or do not fit, an unknown label.

    Example:
        >>> import os, tempfile
        >>> import tfx as tf
        >>> path = os.path.join(tempfile.mkdtemp(), "a.csv")
        >>> tf.io.write_file(path, "age,name\n31,Ann\n,Bob\n")
        >>> data = tf.data.experimental.make_csv_dataset(
        ...     path, 2, label_name="age", num_epochs=1, shuffle=False
        ... )
        >>> features, labels = next(iter(data))
        >>> features["name"].numpy(), labels.numpy()
        (array([b'Ann', b'Bob'], dtype=object), array([31,  0], dtype=int32))
    """
    files = matching(file_pattern)
    delim, quotes = one_character(field_delim), bool(use_quote_delim)
    compression = compression_type or ""
    form = Form(files, compression, delim, quotes, na_value, bool(header), encoding)
    names = form.names() if column_names is None else [str(n) for n in column_names]
    if len(set(names)) != len(names):
        raise ValueError(f"Cannot have duplicate column names; got {names}.")
    chosen = chosen_columns(select_columns, names)
    keys = [names[i] for i in chosen]
    if column_defaults is None:
        columns = form.inferred(len(names), chosen, num_rows_for_inference)
    else:
        columns = _given_columns(column_defaults, keys)
    if label_name is not None and label_name not in keys:
        raise ValueError(
            f"`label_name` provided must be one of the columns: {keys}. Received: {label_name}."
        )
    wanted = None if len(chosen) == len(names) else chosen

    def read(found: Sequence[str]) -> list[Any]:
        return csv_lines.read(found, columns, delim, quotes, na_value, wanted)

    source = Records(records, strings(files), compression, 0, (int(form.header), int(quotes)))
    scalars = tuple([TensorSpec([], column.kind) for column in columns])
    data = wrapped(source)
    if ignore_errors:  # of single records, which must be cut into fields before they are batched
        data = wrapped(IgnoreErrors(Fields(data._node, scalars, read), False))
    if shuffle:
        data = data.shuffle(shuffle_buffer_size, shuffle_seed)
    data = data.repeat(num_epochs).batch(batch_size, drop_remainder=num_epochs is None)
    if not ignore_errors:
        size = batch_size if num_epochs is None else None
        batches = tuple([TensorSpec([size], column.kind) for column in columns])
        data = wrapped(Fields(data._node, batches, read))
    size_ahead = AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size
    return wrapped(Arranged(data._node, _template(keys, label_name))).prefetch(size_ahead)


def _given_columns(column_defaults: Sequence[Any], keys: Sequence[str]) -> list[Column]:
    """The columns of the names that are wanted, as the defaults say."""
    columns = columns_of(column_defaults)
    if len(columns) != len(keys):
        raise ValueError(
            f"column_defaults has {len(columns)} entries, but there are {len(keys)} columns: "
            f"{keys}."
        )
    return columns


def _template(keys: Sequence[str], label_name: str | None) -> Any:
    """Where each column stands in an element: in a dictionary, the label beside it."""
    places = OrderedDict([(key, i) for i, key in enumerate(keys)])
    if label_name is None:
        return places
    label = places.pop(label_name)
    return places, label
