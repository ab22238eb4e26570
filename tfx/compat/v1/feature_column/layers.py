"""``input_layer`` and ``linear_model``: the layers of TensorFlow 1 that take feature columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building
from tfx.compat.v1.training.init_from_checkpoint import init_from_checkpoint
from tfx.compat.v1.variables.initializer_classes import Zeros
from tfx.compat.v1.variables.scopes import get_variable, get_variable_scope, variable_scope
from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.feature_column import vocabularies
from tfx.feature_column.columns import (
    CategoricalColumn,
    DenseColumn,
    FeatureTransformationCache,
    ordered_columns,
)
from tfx.feature_column.embeddings import SharedEmbeddingColumn, SharedTable
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.reshape import reshape
from tfx.ops.linalg.matmul import matmul
from tfx.ops.math.arithmetic import add_n
from tfx.ops.nn.convolution import bias_add
from tfx.sparse_ops.arrangement import reshape as reshape_sparse
from tfx.sparse_ops.embedding import safe_embedding_lookup_sparse


class _Weights:
    """Variables of columns in the current variable scope."""

    def __init__(self, weight_collections: Any, trainable: bool) -> None:
        wanted = list(weight_collections or [])
        usual = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
        self._collections = wanted + [c for c in usual if c not in wanted]
        self._trainable = trainable
        self._made: dict[Any, Any] = {}
        self._tables: dict[tuple[Any, str], Any] = {}

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: DTypeLike | None = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """Make a variable, or find the one that is shared."""
        shared = isinstance(feature_column, SharedTable)
        known = building().get_collection(feature_column.name) if shared else []
        if known:
            self._made[feature_column, name] = known[0]
            return known[0]
        made = get_variable(
            name,
            shape,
            dtype,
            initializer=initializer,
            trainable=self._trainable and trainable,
            collections=list(self._collections),
        )
        if shared:
            building().add_to_collection(feature_column.name, made)
        checkpoint = getattr(feature_column, "ckpt_to_load_from", None)
        if checkpoint is not None:
            init_from_checkpoint(checkpoint, {feature_column.tensor_name_in_ckpt: made})
        self._made[feature_column, name] = made
        return made

    def get_variable(self, feature_column: Any, name: str) -> Any:
        return self._made[feature_column, name]

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        self._tables[feature_column, name] = resource

    def has_resource(self, feature_column: Any, name: str) -> bool:
        return (feature_column, name) in self._tables

    def get_resource(self, feature_column: Any, name: str) -> Any:
        return self._tables[feature_column, name]


def _scope_name(column: Any) -> str:
    if isinstance(column, SharedEmbeddingColumn):
        return column.shared_table.name
    name: str = column.name
    return name


def _variables_here() -> list[Any]:
    return building().get_collection(GraphKeys.GLOBAL_VARIABLES, get_variable_scope().name)


def input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """The results of dense columns, side by side in the order of their names.

    Args:
        features: Tensors and sparse tensors by key.
        feature_columns: Dense columns.
        weight_collections: Collections that variables are put into, besides the usual ones.
        trainable: Whether variables are trained.
        cols_to_vars: Given the list of variables of each column.
        cols_to_output_tensors: Given the result of each column.

    Returns:
        ``[batch, numbers]``, float32.

    Raises:
        ValueError: no columns, two of one name, or categorical ones without an embedding or
            indicator.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> columns = [tf.feature_column.numeric_column("b"), tf.feature_column.numeric_column("a")]
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     session.run(tf.feature_column.input_layer({"a": [1.0], "b": [2.0]}, columns))
        array([[1., 2.]], dtype=float32)
    """
    columns = ordered_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a DenseColumn: wrap a categorical column with an "
                f"embedding_column or indicator_column. Given: {column}"
            )
    weights = _Weights(weight_collections, trainable)
    cache = FeatureTransformationCache(features)
    with variable_scope(None, default_name="input_layer"):
        results = []
        for column in columns:
            assert isinstance(column, DenseColumn)
            with variable_scope(None, default_name=_scope_name(column)):
                column.create_state(weights)
                found = _rows(column.get_dense_tensor(cache, weights), column)
                if cols_to_vars is not None:
                    cols_to_vars[column] = _variables_here()
            if cols_to_output_tensors is not None:
                cols_to_output_tensors[column] = found
            results.append(found)
        _check_batches(results, columns)
        return concat(results, 1)


def _rows(x: Tensor, column: DenseColumn) -> Tensor:
    return reshape(x, [-1, column.variable_shape.num_elements()])


def _check_batches(tensors: Sequence[Tensor], columns: Sequence[Any]) -> None:
    known = [(x.shape[0], c) for x, c in zip(tensors, columns, strict=True) if x.shape[0]]
    for size, column in known[1:]:
        if size != known[0][0]:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({known[0][1].name}, {column.name}): ({known[0][0]}, {size})"
            )


def linear_model(
    features: Mapping[str, Any],
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """A weighted sum of columns, and a bias.

    Args:
        features: Tensors and sparse tensors by key.
        feature_columns: Dense and categorical columns; a categorical one has a weight for each id.
        units: How many sums there are.
        sparse_combiner: ``"sum"``, ``"mean"`` or ``"sqrtn"``: what becomes of the weights of
            several ids.
        weight_collections: Collections that variables are put into, besides the usual ones.
        trainable: Whether variables are trained.
        cols_to_vars: Given the list of variables of each column, and that of ``"bias"``.

    Returns:
        ``[batch, units]``, float32. All weights begin with zeros.

    Raises:
        ValueError: no columns, two of one name, or a column that is neither dense nor categorical.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> age = tf.feature_column.numeric_column("age")
        >>> with tf.Graph().as_default():
        ...     _ = tf.feature_column.linear_model({"age": [[3.0]]}, [age])
        ...     [v.name for v in tf.global_variables()]
        ['linear_model/age/weights:0', 'linear_model/bias_weights:0']
    """
    columns = ordered_columns(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn | CategoricalColumn):
            raise ValueError(
                "Items of feature_columns must be either a DenseColumn or CategoricalColumn. "
                f"Given: {column}"
            )
    weights = _Weights(weight_collections, trainable)
    cache = FeatureTransformationCache(features)
    # As in TensorFlow, whose checkpoints have them: names of columns count outside of the model.
    places = sorted(((_place(c), c) for c in columns), key=lambda pair: pair[0])
    with variable_scope(None, default_name="linear_model"):
        sums = []
        for place, column in places:
            with variable_scope(place):
                sums.append(_weighted(column, cache, weights, units, sparse_combiner))
                if cols_to_vars is not None:
                    cols_to_vars[column] = _variables_here()
        _check_batches(sums, [column for _, column in places])
        bias = weights.create_variable(
            "bias", "bias_weights", [units], dtypes.float32, initializer=Zeros()
        )
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        return bias_add(add_n(sums, name="weighted_sum_no_bias"), bias, name="weighted_sum")


def _place(column: Any) -> str:
    """The name of the scope of a column that no other scope beside the current one has."""
    with variable_scope(None, default_name=_scope_name(column)) as scope:
        return str(scope.name.rpartition("/")[2])


def _weighted(
    column: Any, cache: FeatureTransformationCache, weights: _Weights, units: int, combiner: str
) -> Tensor:
    categorical = isinstance(column, CategoricalColumn)
    rows = column.num_buckets if categorical else column.variable_shape.num_elements()
    table = weights.create_variable(
        column, "weights", [rows, units], dtypes.float32, initializer=Zeros()
    )
    if categorical:
        ids, counts = column.get_sparse_tensors(cache, weights)
        return safe_embedding_lookup_sparse(
            table,
            _of_rows(ids),
            None if counts is None else _of_rows(counts),
            combiner=combiner,
        )
    column.create_state(weights)
    return matmul(_rows(column.get_dense_tensor(cache, weights), column), table)


def _of_rows(x: Any) -> Any:
    """A sparse tensor of two axes."""
    return reshape_sparse(x, [x.dense_shape[0], -1])


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike = dtypes.string,
) -> Any:
    r"""``tf.feature_column.categorical_column_with_vocabulary_file`` in another order.

    Args:
        key: The feature.
        vocabulary_file: The file, one word in each line.
        vocabulary_size: How many of them count.
        num_oov_buckets: How many ids there are for other words.
        default_value: The id of other words.
        dtype: string, or an integer type.

    Returns:
        A categorical column.

    Raises:
        ValueError: as TensorFlow 2's function.

    Example:
        >>> import pathlib, tempfile
        >>> import tfx.compat.v1 as tf
        >>> path = pathlib.Path(tempfile.mkdtemp(), "words.txt")
        >>> _ = path.write_text("north\nsouth\n")
        >>> tf.feature_column.categorical_column_with_vocabulary_file(
        ...     "where", str(path), 2, 1
        ... ).num_buckets
        3
    """
    return vocabularies.categorical_column_with_vocabulary_file(
        key, vocabulary_file, vocabulary_size, dtype, default_value, num_oov_buckets
    )
