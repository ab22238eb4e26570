"""Columns that count ids: what makes a dense tensor of categories without weights to train."""

from __future__ import annotations

import dataclasses
from typing import Any

from tfx.core import dtypes
from tfx.core.shapes import TensorShape
from tfx.feature_column.columns import (
    CategoricalColumn,
    DenseColumn,
    FeatureTransformationCache,
    OfCategories,
    SequenceDenseColumn,
    StateManager,
    TensorSequenceLengthPair,
)
from tfx.feature_column.sequences import SequenceCategoricalColumn, sequence_lengths
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.creation import ones
from tfx.ops.array.reshape import reshape
from tfx.ops.array.scatter import scatter_nd
from tfx.ops.array.shape import shape as shape_of
from tfx.ops.array.where import boolean_mask
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import greater_equal, less, logical_and


@dataclasses.dataclass(frozen=True)
class IndicatorColumn(OfCategories, DenseColumn, SequenceDenseColumn):
    """How often each id is there; see ``tf.feature_column.indicator_column``."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        """``"words_indicator"``."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> TensorShape:
        """``[1, number of ids]``."""
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """How often each id is there, or the sum of its weights; what is no id is left out."""
        ids, weights = self.categorical_column.get_sparse_tensors(
            transformation_cache, state_manager
        )
        numbers, size = cast(ids.values, dtypes.int64), self.categorical_column.num_buckets
        known = logical_and(greater_equal(numbers, 0), less(numbers, size))
        places = concat([ids.indices[:, :-1], reshape(numbers, [-1, 1])], 1)
        counts = ones(shape_of(numbers)) if weights is None else weights.values
        found = scatter_nd(
            boolean_mask(places, known),
            boolean_mask(counts, known),
            concat([ids.dense_shape[:-1], [size]], 0),
        )
        rank = ids.shape.rank
        return found if rank is None else _with_last(found, rank, size)

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """How often each id is there, ``[batch, number of ids]``.

        Raises:
            ValueError: the ids are those of a sequence.
        """
        require_no_sequence(self)
        found: Tensor = transformation_cache.get(self, state_manager)
        return found

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> TensorSequenceLengthPair:
        """How often each id is there in each step.

        Raises:
            ValueError: the ids are not those of a sequence.
        """
        require_sequence(self)
        ids = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return TensorSequenceLengthPair(
            transformation_cache.get(self, state_manager), sequence_lengths(ids.id_tensor)
        )


def _with_last(x: Tensor, rank: int, size: int) -> Tensor:
    """The same tensor, whose last size is known."""
    x.set_shape([None] * (rank - 1) + [size])
    return x


def require_no_sequence(column: Any) -> None:
    """Refuse a column whose ids are those of a sequence.

    Raises:
        ValueError: they are.
    """
    if isinstance(column.categorical_column, SequenceCategoricalColumn):
        raise ValueError(
            f"In {column.name}, categorical_column must not be of type SequenceCategoricalColumn: "
            "use a column without sequence_ in its name, or get_sequence_dense_tensor."
        )


def require_sequence(column: Any) -> None:
    """Refuse a column whose ids are not those of a sequence.

    Raises:
        ValueError: they are not.
    """
    if not isinstance(column.categorical_column, SequenceCategoricalColumn):
        raise ValueError(
            f"In {column.name}, categorical_column must be of type SequenceCategoricalColumn: make "
            "it with one of sequence_categorical_column_with_*."
        )


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """A column that says how often each id is there.

    Args:
        categorical_column: The ids.

    Returns:
        A dense column.

    Raises:
        ValueError: another kind of column.

    Example:
        >>> import tfx as tf
        >>> words = tf.feature_column.categorical_column_with_vocabulary_list("w", ["a", "b"])
        >>> tf.feature_column.indicator_column(words).variable_shape
        TensorShape([1, 2])
    """
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(
            "Unsupported input type. Input must be a CategoricalColumn. Given: "
            f"{categorical_column!r}"
        )
    return IndicatorColumn(categorical_column)
