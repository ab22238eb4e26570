"""Datasets of CSV files: ``CsvDataset``, ``make_csv_dataset``; and of Examples in files.

Records are read as text, go through shuffling and batching as text, and are cut into fields behind
that: a batch at once.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tfx.core import dtypes, gfile
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.data.dataset import Dataset, TFRecordDataset, strings
from tfx.data.elementwise import IgnoreErrors
from tfx.data.leaves import Leaves, array_of
from tfx.data.nodes import Node, Run, Stage, Unary, open_stage, wrapped
from tfx.data.parallel import AUTOTUNE
from tfx.data.records import Records, lines
from tfx.data.structure import Structure, flatten, map_leaves
from tfx.parsing import csv_lines
from tfx.parsing.csv_lines import Column
from tfx.parsing.decode_csv import columns_of, one_character, selected_columns
from tfx.parsing.parse_example import parse_example

_QUOTE = b'"'


def records(path: str, compression: str, size: int, header: int, quotes: int) -> Iterator[bytes]:
    """The records of a CSV file: lines, but where a quoted field goes on in the next one.

    Args:
        path: The file.
        compression: As ``TextLineDataset`` takes it.
        size: How many bytes are read at a time.
        header: Whether the first record is left out.
        quotes: Whether there are quoted fields.
    """
    left_out = bool(header)
    held: list[bytes] = []
    for line in lines(path, compression, size):
        if not held and not line:
            continue  # TensorFlow has no records of empty lines either
        if quotes and (held or _QUOTE in line):
            held.append(line)
            if sum(part.count(_QUOTE) for part in held) % 2:
                continue
            line, held = b"\n".join(held), []
        if left_out:
            left_out = False
            continue
        yield line
    if held:
        yield b"\n".join(held)  # whoever cuts it into fields says what is wrong


class Fields(Unary):
    """The fields of records: of one, or of a batch of them."""

    def __init__(self, source: Node, spec: Any, read: Callable[[Sequence[str]], list[Any]]) -> None:
        super().__init__(source, Structure(spec))
        self.read = read

    def cardinality(self) -> int:
        """See ``Node``."""
        return self.source.cardinality()

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _FieldsStage(open_stage(self.source, run), self.read)


class _FieldsStage(Stage):
    __slots__ = ("_read",)

    def __init__(self, source: Stage, read: Callable[[Sequence[str]], list[Any]]) -> None:
        super().__init__(source)
        self._read = read

    def next(self) -> Leaves:
        """See ``Stage``."""
        given = array_of(self.inputs[0].next()[0])
        found = self._read([bytes(x).decode("utf-8", "surrogateescape") for x in given.reshape(-1)])
        return tuple([array.reshape(given.shape) for array in found])


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
        InvalidArgumentError: both ``select_cols`` and ``exclude_cols``; while it is iterated over, a
            record that is not as wanted.

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
    files = _files(file_pattern)
    delim, quotes = one_character(field_delim), bool(use_quote_delim)
    compression = compression_type or ""
    form = _Form(files, compression, delim, quotes, na_value, bool(header), encoding)
    names = form.names() if column_names is None else [str(n) for n in column_names]
    if len(set(names)) != len(names):
        raise ValueError(f"Cannot have duplicate column names; got {names}.")
    chosen = _chosen(select_columns, names)
    if column_defaults is None:
        columns = form.inferred(len(names), chosen, num_rows_for_inference)
    else:
        columns = columns_of(column_defaults)
        if len(columns) != len(chosen):
            raise ValueError(
                f"column_defaults has {len(columns)} entries, but there are {len(chosen)} columns: "
                f"{[names[i] for i in chosen]}."
            )
    keys = [names[i] for i in chosen]
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
    template: Any = OrderedDict([(key, i) for i, key in enumerate(keys)])
    if label_name is not None:
        label = template.pop(label_name)
        template = (template, label)
    size_ahead = AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size
    return wrapped(Arranged(data._node, template)).prefetch(size_ahead)


class Arranged(Unary):
    """Elements whose components stand in another structure.

    Args:
        source: The elements, tuples.
        template: The structure, of the numbers of components.
    """

    def __init__(self, source: Node, template: Any) -> None:
        specs = source.structure.specs
        super().__init__(source, Structure(map_leaves(lambda i: specs[i], template)))
        self.order = flatten(template)

    def cardinality(self) -> int:
        """See ``Node``."""
        return self.source.cardinality()

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _ArrangedStage(open_stage(self.source, run), self.order)


class _ArrangedStage(Stage):
    __slots__ = ("_order",)

    def __init__(self, source: Stage, order: Sequence[int]) -> None:
        super().__init__(source)
        self._order = order

    def next(self) -> Leaves:
        """See ``Stage``."""
        leaves = self.inputs[0].next()
        return tuple([leaves[i] for i in self._order])


class _Form:
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
                    f"All input CSV files should have the same column names in the header row. File "
                    f"{path} has different column names: {found}, expected {first}."
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


def _files(pattern: Any) -> list[str]:
    given = pattern if isinstance(pattern, list | tuple) else [pattern]
    found = gfile.glob([os.fspath(p) for p in given])
    if not found:
        raise ValueError(f"No files match `file_pattern` {pattern}.")
    return found


def _chosen(select: Sequence[Any] | None, names: Sequence[str]) -> list[int]:
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


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Callable[..., Any] | None = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of the features of Examples in files.

    Args:
        file_pattern: A file or pattern, or a list of them.
        batch_size: How many Examples a batch has.
        features: As for ``tf.io.parse_example``.
        reader: Makes a dataset of strings of the files' names; None: ``TFRecordDataset``.
        label_key: A feature that stands beside the dictionary, as the label.
        reader_args: More arguments for ``reader``.
        num_epochs: How often the Examples are gone through; None: for ever.
        shuffle: Whether Examples are shuffled.
        shuffle_buffer_size: Size of the buffer.
        shuffle_seed: Makes the order reproducible.
        prefetch_buffer_size: How many batches are fetched ahead; None: one at least.
        reader_num_threads: Accepted for compatibility.
        parser_num_threads: Accepted for compatibility.
        sloppy_ordering: Accepted for compatibility.
        drop_final_batch: Leave out a last batch that is smaller.

    Returns:
        A dataset of dictionaries; with ``label_key`` of pairs of a dictionary and the label.

    Raises:
        ValueError: no files, or an unknown label.
    """
    files = _files(file_pattern)
    if label_key is not None and label_key not in features:
        raise ValueError(
            f"The `label_key` provided ({label_key}) must be one of the features keys."
        )
    data = (reader or TFRecordDataset)(files, *(reader_args or ()))
    if shuffle:
        data = data.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        data = data.repeat(num_epochs)
    data = data.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)

    def parse(texts: Any) -> Any:
        found = parse_example(texts, features)
        return found if label_key is None else (found, found.pop(label_key))

    ahead = AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size
    return data.map(parse).prefetch(ahead)
