"""Lookup tables whose content is that of a dataset."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.specs import TensorSpec
from tfx.lookup_ops.static_tables import StaticHashTable, StaticVocabularyTable
from tfx.lookup_ops.table_initializers import TableInitializerBase


class DatasetInitializer(TableInitializerBase):
    """The content of a table: a dataset of pairs of key and value.

    Args:
        dataset: Its elements are pairs of scalars.

    Raises:
        ValueError: other elements.

    Example:
        >>> import tfx as tf
        >>> pairs = tf.data.Dataset.from_tensor_slices((["a", "b"], [1, 2]))
        >>> init = tf.data.experimental.DatasetInitializer(pairs)
        >>> tf.lookup.StaticHashTable(init, -1).lookup(tf.constant(["b", "c"])).numpy()
        array([ 2, -1], dtype=int32)
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        spec = dataset.element_spec
        if type(spec) is not tuple or len(spec) != 2:
            raise ValueError(
                f"element_spec of the dataset must be a pair of key and value; got {spec!r}."
            )
        for part in spec:
            if not isinstance(part, TensorSpec) or part.shape.rank != 0:
                raise ValueError(
                    f"A table has scalars as keys and values; got elements of {spec!r}."
                )
        super().__init__(spec[0].dtype, spec[1].dtype)

    def content(self) -> tuple[Any, Any]:
        """The keys and the values."""
        pairs = list(self.dataset.as_numpy_iterator())
        kinds = (self.key_dtype, self.value_dtype)
        columns = []
        for i, kind in enumerate(kinds):
            column = np.empty(len(pairs), kind.as_numpy_dtype)
            column[:] = [pair[i] for pair in pairs]
            columns.append(column)
        return columns[0], columns[1]


def table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = None,
    hasher_spec: Any = None,
    key_dtype: DTypeLike = dtypes.string,
    name: str | None = None,
) -> Any:
    """A lookup table of a dataset of pairs of key and value.

    Args:
        dataset: Its elements are pairs of scalars.
        num_oov_buckets: How many further ids there are for other keys, by a hash.
        vocab_size: Take only so many elements.
        default_value: What other keys have; None: -1, or ``""``.
        hasher_spec: Must be None.
        key_dtype: Dtype of the keys that are looked up.
        name: Of the table.

    Raises:
        ValueError: other elements, or both a default and buckets.

    Example:
        >>> import tfx as tf
        >>> pairs = tf.data.Dataset.from_tensor_slices((["a", "b"], [4, 5]))
        >>> table = tf.data.experimental.table_from_dataset(pairs)
        >>> table.lookup(tf.constant(["b", "x"])).numpy()
        array([ 5, -1], dtype=int32)
    """
    if dataset is None:
        raise ValueError("dataset must be specified")
    if hasher_spec is not None:
        raise ValueError(f"hasher_spec must be None: the hash is the fast one; got {hasher_spec}.")
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.")
    content = DatasetInitializer(dataset if vocab_size is None else dataset.take(vocab_size))
    if num_oov_buckets:
        return StaticVocabularyTable(
            content, num_oov_buckets, lookup_key_dtype=dtypes.as_dtype(key_dtype), name=name
        )
    if default_value is None:
        default_value = "" if content.value_dtype is dtypes.string else -1
    return StaticHashTable(content, default_value, name)


def index_table_from_dataset(
    dataset: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: Any = -1,
    hasher_spec: Any = None,
    key_dtype: DTypeLike = dtypes.string,
    name: str | None = None,
) -> Any:
    """A lookup table from the elements of a dataset to their numbers, from 0 on.

    Args:
        dataset: Its elements are keys.
        num_oov_buckets: See ``table_from_dataset``, as the other arguments.
        vocab_size: The same.
        default_value: The same.
        hasher_spec: The same.
        key_dtype: The same.
        name: The same.

    Example:
        >>> import tfx as tf
        >>> words = tf.data.Dataset.from_tensor_slices(["a", "b"])
        >>> table = tf.data.experimental.index_table_from_dataset(words)
        >>> table.lookup(tf.constant(["b", "x"])).numpy()
        array([ 1, -1])
    """
    if dataset is None:
        raise ValueError("dataset must be specified")
    pairs = dataset.enumerate().map(_turned)
    return table_from_dataset(
        pairs, num_oov_buckets, vocab_size, default_value, hasher_spec, key_dtype, name
    )


def _turned(number: Any, key: Any) -> Any:
    return key, number
