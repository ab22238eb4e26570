"""Columns of combinations of features."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from tfx.core import dtypes
from tfx.feature_column.categories import HashedCategoricalColumn
from tfx.feature_column.columns import (
    CategoricalColumn,
    FeatureTransformationCache,
    StateManager,
)
from tfx.parsing.features import VarLenFeature
from tfx.sparse_ops.cross import cross_hashed
from tfx.sparse_ops.sparse_tensor import SparseTensor


@dataclasses.dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """Hashes of combinations; see ``tf.feature_column.crossed_column``."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    @property
    def name(self) -> str:
        """``"age_X_city"``, in alphabetical order."""
        return "_X_".join(sorted(k if isinstance(k, str) else k.name for k in self._leaves()))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Those of the columns, and of features that are given by key."""
        found: dict[str, Any] = {}
        for key in self.keys:
            given = {key: VarLenFeature(dtypes.string)} if isinstance(key, str) else None
            found.update(given or key.parse_example_spec)
        return found

    @property
    def parents(self) -> list[Any]:
        """The keys and columns."""
        return list(self.keys)

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.hash_bucket_size

    def _leaves(self) -> Iterator[Any]:
        for key in self.keys:
            if isinstance(key, CrossedColumn):
                yield from key._leaves()
            else:
                yield key

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> SparseTensor:
        """The hashes of what stands in the same Example.

        Raises:
            ValueError: a column among them has weights.
        """
        parts = []
        for key in self._leaves():
            if isinstance(key, str):
                parts.append(transformation_cache.get(key, state_manager))
                continue
            ids, weights = key.get_sparse_tensors(transformation_cache, state_manager)
            if weights is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column "
                    f"populates weight_tensor. Given column: {key.name}"
                )
            parts.append(ids)
        return cross_hashed(parts, self.hash_bucket_size, self.hash_key)


def crossed_column(keys: Any, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """A column whose ids are hashes of combinations of features.

    Args:
        keys: Two or more: keys of features of strings, and categorical columns that do not hash.
        hash_bucket_size: How many ids there are.
        hash_key: What hashes begin with; None: TensorFlow's.

    Returns:
        A categorical column.

    Raises:
        ValueError: fewer than two keys, something else among them, or no positive number of ids.

    Example:
        >>> import tfx as tf
        >>> age = tf.feature_column.bucketized_column(
        ...     tf.feature_column.numeric_column("age"), [18, 65]
        ... )
        >>> tf.feature_column.crossed_column([age, "city"], 1000).name
        'age_bucketized_X_city'
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys!r}")
    for key in keys:
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing, which hashes "
                f"itself. Give the key of the feature instead. Given: {key}"
            )
        if not isinstance(key, str | CategoricalColumn):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column "
                f"except HashedCategoricalColumn. Given: {key!r}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
