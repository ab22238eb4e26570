"""Columns of sequences: several values for each Example, one behind the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.shapes import TensorShape
from tfx.feature_column.categories import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
)
from tfx.feature_column.columns import (
    AnyNumberOfValues,
    CategoricalColumn,
    FeatureTransformationCache,
    IdWeightPair,
    SameIds,
    SequenceDenseColumn,
    StateManager,
    TensorSequenceLengthPair,
    numbers_dtype,
)
from tfx.feature_column.numbers import checked_normalizer, checked_shape
from tfx.feature_column.vocabularies import (
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.reshape import reshape
from tfx.ops.array.shape import shape as shape_of
from tfx.ops.math.arithmetic import floordiv, maximum
from tfx.ops.math.cast import cast
from tfx.ops.math.reduction import reduce_prod
from tfx.ops.math.segments import unsorted_segment_max
from tfx.sparse_ops.arrangement import reshape as reshape_sparse
from tfx.sparse_ops.conversion import to_dense
from tfx.sparse_ops.sparse_tensor import SparseTensor


@dataclasses.dataclass(frozen=True)
class SequenceCategoricalColumn(SameIds):
    """Ids for each step of a sequence."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """That of the column of the ids."""
        return self.categorical_column.name

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Any:
        """The ids."""
        return self.categorical_column.transform_feature(transformation_cache, state_manager)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> IdWeightPair:
        """The ids, ``[batch, steps, any]``, with their weights."""
        ids, weights = self.categorical_column.get_sparse_tensors(
            transformation_cache, state_manager
        )
        return IdWeightPair(_by_step(ids), None if weights is None else _by_step(weights))


def _by_step(x: SparseTensor) -> SparseTensor:
    sizes = x.dense_shape
    return reshape_sparse(x, concat([sizes[:2], reshape(reduce_prod(sizes[2:]), [1])], 0))


@dataclasses.dataclass(frozen=True)
class SequenceNumericColumn(AnyNumberOfValues, SequenceDenseColumn):
    """Numbers for each step; see ``tf.feature_column.sequence_numeric_column``."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of a step."""
        return TensorShape(self.shape)

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Any:
        """The numbers, normalized."""
        found = transformation_cache.get(self.key, state_manager)
        return found if self.normalizer_fn is None else self.normalizer_fn(found)

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> TensorSequenceLengthPair:
        """The numbers, filled up with the default, and the lengths of the sequences."""
        found = transformation_cache.get(self, state_manager)
        dense = to_dense(found, self.default_value)
        sizes = concat([shape_of(dense)[:1], [-1], list(self.shape)], 0)
        elements = TensorShape(self.shape).num_elements() if found.shape.rank == 2 else 1
        return TensorSequenceLengthPair(
            reshape(dense, sizes), sequence_lengths(found, elements or 1)
        )


def sequence_lengths(x: SparseTensor, elements: int = 1) -> Tensor:
    """How many steps each row has, int64: up to the last that has a value.

    Args:
        x: ``[batch, steps, ...]``.
        elements: How many places of ``x`` make a step.
    """
    last = unsorted_segment_max(x.indices[:, 1] + 1, x.indices[:, 0], x.dense_shape[0])
    return cast(floordiv(maximum(last, 0) + (elements - 1), elements), dtypes.int64)


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: DTypeLike = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """A column of numbers for each step of a sequence.

    Args:
        key: The feature, a sparse tensor ``[batch, steps * numbers of a step]``.
        shape: The shape of a step.
        default_value: What shorter sequences are filled up with.
        dtype: Element type.
        normalizer_fn: Called with the sparse tensor, returns another one.

    Returns:
        A column with ``get_sequence_dense_tensor``.

    Raises:
        TypeError: a size is no integer, or ``normalizer_fn`` cannot be called.
        ValueError: a size is not positive, or the dtype is no number.

    Example:
        >>> import tfx as tf
        >>> tf.feature_column.sequence_numeric_column("heat").parse_example_spec
        {'heat': VarLenFeature(dtype=tf.float32)}
    """
    sizes, kind = checked_shape(shape, key), numbers_dtype(dtype, key)
    checked_normalizer(normalizer_fn)
    return SequenceNumericColumn(key, sizes, default_value, kind, normalizer_fn)


def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """``categorical_column_with_identity`` for each step of a sequence.

    Args:
        key: The feature.
        num_buckets: How many ids there are.
        default_value: What stands for all others.

    Returns:
        A categorical column, for ``indicator_column`` or ``embedding_column``.

    Raises:
        ValueError: as ``categorical_column_with_identity``.

    Example:
        >>> import tfx as tf
        >>> tf.feature_column.sequence_categorical_column_with_identity("video", 7).num_buckets
        7
    """
    return SequenceCategoricalColumn(
        categorical_column_with_identity(key, num_buckets, default_value)
    )


def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = dtypes.string
) -> SequenceCategoricalColumn:
    """``categorical_column_with_hash_bucket`` for each step of a sequence.

    Args:
        key: The feature.
        hash_bucket_size: How many ids there are.
        dtype: string, or an integer type.

    Returns:
        A categorical column, for ``indicator_column`` or ``embedding_column``.

    Raises:
        ValueError: as ``categorical_column_with_hash_bucket``.

    Example:
        >>> import tfx as tf
        >>> tf.feature_column.sequence_categorical_column_with_hash_bucket("words", 9).name
        'words'
    """
    return SequenceCategoricalColumn(
        categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = dtypes.string,
) -> SequenceCategoricalColumn:
    r"""``categorical_column_with_vocabulary_file`` for each step of a sequence.

    Args:
        key: The feature.
        vocabulary_file: The file, one word in each line.
        vocabulary_size: How many of them count.
        num_oov_buckets: How many ids there are for other words.
        default_value: The id of other words.
        dtype: string, or an integer type.

    Returns:
        A categorical column, for ``indicator_column`` or ``embedding_column``.

    Raises:
        ValueError: as ``categorical_column_with_vocabulary_file``.

    Example:
        >>> import pathlib, tempfile
        >>> import tfx as tf
        >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
        >>> _ = path.write_text("north\nsouth\n")
        >>> make = tf.feature_column.sequence_categorical_column_with_vocabulary_file
        >>> make("where", str(path)).num_buckets
        2
    """
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets
        )
    )


def sequence_categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """``categorical_column_with_vocabulary_list`` for each step of a sequence.

    Args:
        key: The feature.
        vocabulary_list: The words, or integers, each once.
        dtype: Element type; None: that of the list.
        default_value: The id of other words.
        num_oov_buckets: How many ids there are for other words.

    Returns:
        A categorical column, for ``indicator_column`` or ``embedding_column``.

    Raises:
        ValueError: as ``categorical_column_with_vocabulary_list``.

    Example:
        >>> import tfx as tf
        >>> make = tf.feature_column.sequence_categorical_column_with_vocabulary_list
        >>> make("moves", ["left", "right"]).num_buckets
        2
    """
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )
