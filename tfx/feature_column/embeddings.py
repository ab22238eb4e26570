"""Columns that look ids up in a table of weights."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.shapes import TensorShape
from tfx.feature_column.categories import WeightedCategoricalColumn
from tfx.feature_column.columns import (
    CategoricalColumn,
    DenseColumn,
    FeatureTransformationCache,
    OfCategories,
    SequenceDenseColumn,
    StateManager,
    TensorSequenceLengthPair,
)
from tfx.feature_column.indicators import require_no_sequence, require_sequence
from tfx.feature_column.sequences import SequenceCategoricalColumn, sequence_lengths
from tfx.framework.context import current
from tfx.framework.tensor import Tensor
from tfx.initializers.random import TruncatedNormal
from tfx.sparse_ops.embedding import embedding_lookup_sparse, safe_embedding_lookup_sparse

WEIGHTS = "embedding_weights"


class LookingUp(OfCategories, DenseColumn, SequenceDenseColumn):
    """A column that looks ids up.

    Attributes:
        combiner: How the rows of several ids become one.
        max_norm: Rows of a larger norm are scaled down to it.
        use_safe_embedding_lookup: Whether rows without ids are zeros, and what is no id is left
            out.
    """

    combiner: str
    max_norm: float | None
    use_safe_embedding_lookup: bool

    def table(self) -> Any:
        """Whom the weights belong to."""
        return self

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Any:
        """The ids."""
        return transformation_cache.get(self.categorical_column, state_manager)

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """The rows, ``[batch, dimension]``.

        Raises:
            ValueError: the ids are those of a sequence.
        """
        require_no_sequence(self)
        return self._rows(transformation_cache, state_manager)

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> TensorSequenceLengthPair:
        """The rows, ``[batch, steps, dimension]``.

        Raises:
            ValueError: the ids are not those of a sequence.
        """
        require_sequence(self)
        ids = self.categorical_column.get_sparse_tensors(transformation_cache, state_manager)
        return TensorSequenceLengthPair(
            self._rows(transformation_cache, state_manager), sequence_lengths(ids.id_tensor)
        )

    def _rows(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        if state_manager is None:
            raise ValueError(f"{self.name} has weights: it needs a state_manager that keeps them.")
        ids, weights = self.categorical_column.get_sparse_tensors(
            transformation_cache, state_manager
        )
        table = state_manager.get_variable(self.table(), WEIGHTS)
        plain = not self.use_safe_embedding_lookup and ids.shape.rank in (1, 2)
        look = embedding_lookup_sparse if plain else safe_embedding_lookup_sparse
        return look(table, ids, weights, combiner=self.combiner, max_norm=self.max_norm)


@dataclasses.dataclass(frozen=True)
class EmbeddingColumn(LookingUp):
    """Rows of a table of its own; see ``tf.feature_column.embedding_column``."""

    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Callable[..., Any]
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool
    use_safe_embedding_lookup: bool = True

    @property
    def name(self) -> str:
        """``"words_embedding"``."""
        return f"{self.categorical_column.name}_embedding"

    @property
    def variable_shape(self) -> TensorShape:
        """``[dimension]``."""
        return TensorShape([self.dimension])

    def create_state(self, state_manager: StateManager) -> None:
        """Make the table."""
        super().create_state(state_manager)
        _create(state_manager, self, self.categorical_column.num_buckets, self)


@dataclasses.dataclass(frozen=True, eq=False)
class SharedTable:
    """The table of several columns.

    Attributes:
        name: Name of the table.
        num_buckets: How many rows it has.
        dimension: How many numbers a row has.
        initializer: Makes the first values.
        ckpt_to_load_from: The checkpoint with the first values, or None.
        tensor_name_in_ckpt: Their name in it.
        trainable: Whether it is trained.
    """

    name: str
    num_buckets: int
    dimension: int
    initializer: Callable[..., Any]
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    trainable: bool


@dataclasses.dataclass(frozen=True)
class SharedEmbeddingColumn(LookingUp):
    """Rows of a table that other columns have, too; see ``tf.feature_column.shared_embeddings``."""

    categorical_column: CategoricalColumn
    shared_table: SharedTable
    combiner: str
    max_norm: float | None
    use_safe_embedding_lookup: bool = True

    @property
    def name(self) -> str:
        """``"words_shared_embedding"``."""
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def variable_shape(self) -> TensorShape:
        """``[dimension]``."""
        return TensorShape([self.shared_table.dimension])

    def table(self) -> Any:
        """The table that is shared."""
        return self.shared_table

    def create_state(self, state_manager: StateManager) -> None:
        """Make the table, if it is not there yet."""
        super().create_state(state_manager)
        _create(state_manager, self.shared_table, self.shared_table.num_buckets, self.shared_table)


def _create(manager: StateManager, owner: Any, rows: int, of: Any) -> None:
    manager.create_variable(
        owner,
        WEIGHTS,
        (rows, of.dimension),
        dtype=dtypes.float32,
        trainable=of.trainable,
        initializer=of.initializer,
    )


def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """A column that looks ids up in a table of weights.

    Args:
        categorical_column: The ids.
        dimension: How many numbers a row has.
        combiner: ``"mean"``, ``"sum"`` or ``"sqrtn"``: how the rows of several ids become one.
        initializer: Makes the first values from shape and dtype; None: truncated normal numbers
            of the standard deviation ``1 / sqrt(dimension)``.
        ckpt_to_load_from: A checkpoint with the first values.
        tensor_name_in_ckpt: Their name in it.
        max_norm: Rows of a larger Euclidean norm are scaled down to it.
        trainable: Whether the table is trained.
        use_safe_embedding_lookup: Whether rows without ids are zeros, and negative ids left out.

    Returns:
        A dense column.

    Raises:
        ValueError: no positive dimension, an initializer that cannot be called, or a checkpoint
            without a name or the other way round.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> ids = tf.feature_column.categorical_column_with_identity("id", 3)
        >>> table = tf.constant_initializer([[1.0], [2.0], [3.0]])
        >>> column = tf.feature_column.embedding_column(ids, 1, initializer=table)
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     x = tf.feature_column.input_layer({"id": [[0, 1], [2, -1]]}, [column])
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(x)
        array([[1.5],
               [3. ]], dtype=float32)
    """
    made = _checked(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    return EmbeddingColumn(
        categorical_column,
        dimension,
        combiner,
        made,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
        use_safe_embedding_lookup,
    )


def _checked(
    dimension: Any, initializer: Any, checkpoint: str | None, name: str | None
) -> Callable[..., Any]:
    """The initializer of a table."""
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}: it must be at least 1.")
    if (checkpoint is None) != (name is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them; got "
            f"{checkpoint!r} and {name!r}."
        )
    if initializer is None:
        return TruncatedNormal(0.0, 1 / math.sqrt(dimension))
    if not callable(initializer):
        raise ValueError(f"initializer must be callable if specified; got {initializer!r}.")
    found: Callable[..., Any] = initializer
    return found


def shared_embeddings(
    categorical_columns: Sequence[CategoricalColumn],
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[SharedEmbeddingColumn]:
    """Columns that look ids up in one table.

    Args:
        categorical_columns: The ids: columns of the same kind, and as many ids.
        dimension: How many numbers a row has.
        combiner: As ``embedding_column``'s, as all others.
        initializer: Makes the first values.
        shared_embedding_collection_name: Name of the table and of the collection that it is in;
            None: the names of the columns.
        ckpt_to_load_from: A checkpoint with the first values.
        tensor_name_in_ckpt: Their name in it.
        max_norm: Rows of a larger norm are scaled down to it.
        trainable: Whether the table is trained.
        use_safe_embedding_lookup: Whether rows without ids are zeros.

    Returns:
        Dense columns in the order of ``categorical_columns``.

    Raises:
        ValueError: columns of different kinds or sizes, or as ``embedding_column``.
        RuntimeError: eager execution; columns that share are for graphs.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> a = tf.feature_column.categorical_column_with_identity("a", 3)
        >>> b = tf.feature_column.categorical_column_with_identity("b", 3)
        >>> with tf.Graph().as_default():
        ...     columns = tf.feature_column.shared_embedding_columns([a, b], 2)
        >>> columns[0].name
        'a_shared_embedding'
    """
    if current().graph is None:
        raise RuntimeError(
            "shared_embedding_columns are not supported when eager execution is enabled: make "
            "them inside tf.Graph().as_default(), or use embedding_column."
        )
    made = _checked(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    ordered = sorted(categorical_columns, key=lambda column: column.name)
    _check_alike(ordered)
    name = shared_embedding_collection_name
    table = SharedTable(
        name or "_".join(c.name for c in ordered) + "_shared_embedding",
        ordered[0].num_buckets,
        dimension,
        made,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        trainable,
    )
    return [
        SharedEmbeddingColumn(column, table, combiner, max_norm, use_safe_embedding_lookup)
        for column in categorical_columns
    ]


def _check_alike(columns: Sequence[CategoricalColumn]) -> None:
    first = columns[0]
    if not isinstance(first, CategoricalColumn):
        raise ValueError(
            "All categorical_columns must be subclasses of CategoricalColumn. Given: "
            f"{first!r}, of type: {type(first).__name__}"
        )
    for column in columns[1:]:
        if type(_inner(column)) is not type(_inner(first)):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, "
                f"but for weights and sequences. Given {first} and {column}"
            )
        if column.num_buckets != first.num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number "
                f"of buckets. Given {first} with {first.num_buckets} and {column} with "
                f"{column.num_buckets}"
            )


def _inner(column: CategoricalColumn) -> CategoricalColumn:
    while isinstance(column, WeightedCategoricalColumn | SequenceCategoricalColumn):
        column = column.categorical_column
    return column
