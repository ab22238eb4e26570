"""Columns whose ids are the places of words in a vocabulary."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes, gfile
from tfx.core.dtypes import DType, DTypeLike
from tfx.data.records import records_of_file
from tfx.feature_column.categories import CategoricalFeature
from tfx.feature_column.columns import (
    FeatureTransformationCache,
    StateManager,
    checked_key,
    strings_or_integers,
)
from tfx.lookup_ops.static_tables import StaticHashTable, StaticVocabularyTable
from tfx.lookup_ops.table_initializers import (
    KeyValueTensorInitializer,
    TableInitializerBase,
    TextFileIndex,
    TextFileInitializer,
)
from tfx.ops.math.cast import cast
from tfx.sparse_ops.sparse_tensor import SparseTensor


class VocabularyColumn(CategoricalFeature):
    """A column that looks words up in a table.

    Attributes:
        default_value: The id of words that are not in it.
        num_oov_buckets: How many ids there are for such words instead.
    """

    default_value: int
    num_oov_buckets: int

    @abc.abstractmethod
    def initializer(self, key_dtype: DType) -> TableInitializerBase:
        """The content of the table, with keys of string or int64."""

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> SparseTensor:
        """The ids, int64."""
        found = self.given(transformation_cache, state_manager)
        kind = dtypes.string
        if found.dtype.is_integer:
            kind, found = dtypes.int64, found.with_values(cast(found.values, dtypes.int64))
        ids: SparseTensor = self._table(kind, state_manager).lookup(found)
        return ids

    def _table(self, kind: DType, state_manager: StateManager | None) -> Any:
        name = f"{self.key}_lookup"
        if state_manager is not None and state_manager.has_resource(self, name):
            return state_manager.get_resource(self, name)
        content = self.initializer(kind)
        table: Any
        if self.num_oov_buckets:
            table = StaticVocabularyTable(content, self.num_oov_buckets, name=name)
        else:
            table = StaticHashTable(content, self.default_value, name=name)
        if state_manager is not None:
            state_manager.add_resource(self, name, table)
        return table


@dataclasses.dataclass(frozen=True)
class VocabularyFileCategoricalColumn(VocabularyColumn):
    """See ``tf.feature_column.categorical_column_with_vocabulary_file``."""

    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: DType
    default_value: int
    file_format: str | None

    @property
    def num_buckets(self) -> int:
        """The number of words, and of ids for other words."""
        return self.vocabulary_size + self.num_oov_buckets

    def initializer(self, key_dtype: DType) -> TableInitializerBase:
        """The first ``vocabulary_size`` lines, or records, of the file."""
        if self.file_format is None:
            return TextFileInitializer(
                self.vocabulary_file,
                key_dtype,
                TextFileIndex.WHOLE_LINE,
                dtypes.int64,
                TextFileIndex.LINE_NUMBER,
                vocab_size=self.vocabulary_size,
            )
        words = _words(self.vocabulary_file, self.file_format)[: self.vocabulary_size]
        return _numbered([int(w) for w in words] if key_dtype.is_integer else words, key_dtype)


@dataclasses.dataclass(frozen=True)
class VocabularyListCategoricalColumn(VocabularyColumn):
    """See ``tf.feature_column.categorical_column_with_vocabulary_list``."""

    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: DType
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        """The number of words, and of ids for other words."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def initializer(self, key_dtype: DType) -> TableInitializerBase:
        """The words of the list."""
        return _numbered(self.vocabulary_list, key_dtype)


def _numbered(words: Sequence[Any], kind: DType) -> TableInitializerBase:
    numbers = np.arange(len(words), dtype=np.int64)
    return KeyValueTensorInitializer(list(words), numbers, kind, dtypes.int64)


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    dtype: DTypeLike = dtypes.string,
    default_value: int | None = None,
    num_oov_buckets: int = 0,
    file_format: str | None = None,
) -> VocabularyFileCategoricalColumn:
    r"""A column whose ids are the numbers of lines of a file.

    Args:
        key: The feature. In a tensor, ``""`` and -1 stand where there is nothing.
        vocabulary_file: The file, one word in each line.
        vocabulary_size: How many of them count, from the first; None: all.
        dtype: string, or an integer type.
        default_value: The id of other words; None: -1, which leaves no trace.
        num_oov_buckets: How many ids there are, behind those of the words, for hashes of other
            words.
        file_format: None for text, ``"tfrecord_gzip"`` for records in a compressed file, which is
            assumed of files that end in ``tfrecord.gz``.

    Returns:
        A categorical column, for ``indicator_column`` or ``embedding_column``.

    Raises:
        ValueError: there is no such file, another dtype or format, or both a default and buckets.

    Example:
        >>> import pathlib, tempfile
        >>> import tfx as tf
        >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
        >>> _ = path.write_text("north\nsouth\n")
        >>> column = tf.feature_column.categorical_column_with_vocabulary_file(
        ...     "where", str(path), num_oov_buckets=1
        ... )
        >>> column.num_buckets
        3
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    path = str(vocabulary_file)
    if file_format is None and path.endswith("tfrecord.gz"):
        file_format = "tfrecord_gzip"
    if file_format not in (None, "tfrecord_gzip"):
        raise ValueError(f"file_format must be None or 'tfrecord_gzip'; got {file_format!r}.")
    if vocabulary_size is None:
        if not gfile.exists(path):
            raise ValueError(f"vocabulary_file in {key} does not exist: {path}")
        vocabulary_size = len(_words(path, file_format))
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size {vocabulary_size} in {key}.")
    _check_buckets(key, num_oov_buckets, default_value is not None)
    return VocabularyFileCategoricalColumn(
        checked_key(key),
        path,
        vocabulary_size,
        num_oov_buckets or 0,
        strings_or_integers(dtype, f"column_name: {key}"),
        -1 if default_value is None else default_value,
        file_format,
    )


def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyListCategoricalColumn:
    """A column whose ids are the places of words in a list.

    Args:
        key: The feature. In a tensor, ``""`` and -1 stand where there is nothing.
        vocabulary_list: The words, or integers, each once.
        dtype: Element type; None: that of the list.
        default_value: The id of other words; -1 leaves no trace.
        num_oov_buckets: How many ids there are, behind those of the words, for hashes of other
            words.

    Returns:
        A categorical column, for ``indicator_column`` or ``embedding_column``.

    Raises:
        ValueError: no words, a word twice, another dtype, or both a default and buckets.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> words = tf.feature_column.categorical_column_with_vocabulary_list("w", ["a", "b"])
        >>> column = tf.feature_column.indicator_column(words)
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     x = tf.feature_column.input_layer({"w": [["b", "a"], ["c", "b"]]}, [column])
        ...     session.run(x)
        array([[1., 1.],
               [0., 1.]], dtype=float32)
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    words = tuple(vocabulary_list)
    if len(set(words)) != len(words):
        raise ValueError(f"Duplicate keys in vocabulary_list {words}, column_name: {key}")
    listed = dtypes.as_dtype(np.array(vocabulary_list).dtype)
    _check_buckets(key, num_oov_buckets, default_value != -1)
    strings_or_integers(listed, f"column_name: {key} vocabulary")
    kind = strings_or_integers(listed if dtype is None else dtype, f"column_name: {key}")
    if kind.is_integer is not listed.is_integer:
        raise ValueError(
            f"dtype {kind!r} and vocabulary dtype {listed!r} do not match, column_name: {key}"
        )
    return VocabularyListCategoricalColumn(
        checked_key(key), words, kind, default_value, num_oov_buckets
    )


def _words(path: str, file_format: str | None) -> list[bytes]:
    """The lines of a file, or the records of a compressed one."""
    if file_format is not None:
        return list(records_of_file(path, "GZIP"))
    with gfile.GFile(path, "rb") as file:
        return list(file)


def _check_buckets(key: str, buckets: int, has_default: bool) -> None:
    if buckets and has_default:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if buckets and buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {buckets} in {key}.")
