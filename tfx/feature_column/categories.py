"""Columns of ids: numbers as they are, hashes of words, and both with weights."""

from __future__ import annotations

import dataclasses
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.feature_column.columns import (
    AnyNumberOfValues,
    CategoricalColumn,
    FeatureTransformationCache,
    IdWeightPair,
    OneFeature,
    SameIds,
    StateManager,
    as_ids,
    checked_key,
    numbers_dtype,
    strings_or_integers,
)
from tfx.framework.composite.sparse import is_sparse
from tfx.framework.convert import convert_to_tensor
from tfx.lookup_ops.hash_buckets import to_hash_bucket_fast
from tfx.ops.array.where import where
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import greater_equal, less, logical_or
from tfx.ops.strings.python_strings import as_string
from tfx.parsing.features import VarLenFeature
from tfx.sparse_ops.sparse_tensor import SparseTensor


class CategoricalFeature(AnyNumberOfValues, CategoricalColumn):
    """A categorical column of one feature, any number of values for each Example."""

    def given(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> SparseTensor:
        """The feature; places of a tensor that hold ``""`` or -1 are left out.

        Raises:
            ValueError: it has texts where the column has integers, or the other way round.
        """
        found = as_ids(transformation_cache.get(self.key, state_manager))
        kind = strings_or_integers(found.dtype, f"column_name: {self.key} input_tensor")
        if kind.is_integer is not self.dtype.is_integer:
            raise ValueError(
                "Column dtype and SparseTensors dtype must be compatible. key: "
                f"{self.key}, column dtype: {self.dtype!r}, tensor dtype: {kind!r}"
            )
        return found


@dataclasses.dataclass(frozen=True)
class HashedCategoricalColumn(CategoricalFeature):
    """Hashes; see ``tf.feature_column.categorical_column_with_hash_bucket``."""

    key: str
    hash_bucket_size: int
    dtype: DType

    @property
    def num_buckets(self) -> int:
        """The number of buckets."""
        return self.hash_bucket_size

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> SparseTensor:
        """The hashes."""
        found = self.given(transformation_cache, state_manager)
        words = found.values if self.dtype is dtypes.string else as_string(found.values)
        return found.with_values(to_hash_bucket_fast(words, self.hash_bucket_size))


@dataclasses.dataclass(frozen=True)
class IdentityCategoricalColumn(OneFeature, CategoricalColumn):
    """Ids as they are; see ``tf.feature_column.categorical_column_with_identity``."""

    key: str
    number_buckets: int
    default_value: int | None

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """One ``VarLenFeature`` of int64."""
        return {self.key: VarLenFeature(dtypes.int64)}

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.number_buckets

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> SparseTensor:
        """The ids, int64.

        Raises:
            ValueError: the feature has no integers.
        """
        found = as_ids(transformation_cache.get(self.key, state_manager))
        if not found.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {found.dtype!r}")
        ids = cast(found.values, dtypes.int64)
        if self.default_value is not None:
            beyond = logical_or(less(ids, 0), greater_equal(ids, self.number_buckets))
            ids = where(beyond, convert_to_tensor(self.default_value, dtypes.int64), ids)
        return found.with_values(ids)


@dataclasses.dataclass(frozen=True)
class WeightedCategoricalColumn(SameIds):
    """Ids with weights; see ``tf.feature_column.weighted_categorical_column``."""

    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: DType

    @property
    def name(self) -> str:
        """``"words_weighted_by_counts"``."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids, and a ``VarLenFeature`` of the weights.

        Raises:
            ValueError: both have the same key.
        """
        found = dict(self.categorical_column.parse_example_spec)
        key = self.weight_feature_key
        if key in found:
            raise ValueError(f"Parse config {found[key]} already exists for {key}.")
        return {**found, key: VarLenFeature(self.dtype)}

    @property
    def parents(self) -> list[Any]:
        """The column of the ids, and the key of the weights."""
        return [self.categorical_column, self.weight_feature_key]

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> tuple[SparseTensor, SparseTensor]:
        """The ids and their weights.

        Raises:
            ValueError: the weights have another dtype.
        """
        given = transformation_cache.get(self.weight_feature_key, state_manager)
        if given.dtype is not self.dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype!r}, but got {given.dtype!r}.")
        weights = given if is_sparse(given) else as_ids(given, ignored=0)
        if not weights.dtype.is_floating:
            weights = weights.with_values(cast(weights.values, dtypes.float32))
        ids = as_ids(transformation_cache.get(self.categorical_column, state_manager))
        return ids, weights

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> IdWeightPair:
        """The ids and their weights."""
        return IdWeightPair(*transformation_cache.get(self, state_manager))


def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: DTypeLike = dtypes.string
) -> HashedCategoricalColumn:
    """A column whose ids are hashes of words or integers.

    Args:
        key: The feature. In a tensor, ``""`` and -1 stand where there is nothing.
        hash_bucket_size: How many ids there are.
        dtype: string, or an integer type.

    Returns:
        A categorical column, for ``indicator_column`` or ``embedding_column``.

    Raises:
        ValueError: no positive number of ids, or another dtype.

    Example:
        >>> import tfx as tf
        >>> column = tf.feature_column.categorical_column_with_hash_bucket("city", 100)
        >>> column.name, column.num_buckets
        ('city', 100)
    """
    if hash_bucket_size is None or hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    kind = strings_or_integers(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(checked_key(key), hash_bucket_size, kind)


def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """A column whose ids are the feature itself.

    Args:
        key: The feature, of integers. In a tensor, -1 stands where there is nothing.
        num_buckets: How many ids there are, from 0.
        default_value: What stands for all others; None: they are an error, or leave no trace.

    Returns:
        A categorical column, for ``indicator_column`` or ``embedding_column``.

    Raises:
        ValueError: no positive number of ids, or a default that is none of them.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> video = tf.feature_column.categorical_column_with_identity("video", 3, 0)
        >>> column = tf.feature_column.indicator_column(video)
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     session.run(tf.feature_column.input_layer({"video": [[2], [7]]}, [column]))
        array([[0., 0., 1.],
               [1., 0., 0.]], dtype=float32)
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    return IdentityCategoricalColumn(checked_key(key), num_buckets, default_value)


def weighted_categorical_column(
    categorical_column: CategoricalColumn,
    weight_feature_key: str,
    dtype: DTypeLike = dtypes.float32,
) -> WeightedCategoricalColumn:
    """A column of ids that each count as much as another feature says.

    Args:
        categorical_column: The ids.
        weight_feature_key: The feature with as many weights at the same places. In a tensor, 0
            stands where there is nothing.
        dtype: Element type of the weights.

    Returns:
        A categorical column.

    Raises:
        ValueError: the dtype is no number.

    Example:
        >>> import tfx as tf
        >>> words = tf.feature_column.categorical_column_with_identity("words", 5)
        >>> tf.feature_column.weighted_categorical_column(words, "counts").name
        'words_weighted_by_counts'
    """
    kind = numbers_dtype(dtype, weight_feature_key)
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, kind)
