"""What all feature columns are, and the cache through which they get features and each other."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from tfx.control_flow.cond import cond
from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.shapes import TensorShape
from tfx.framework.composite.sparse import is_sparse
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.gather import gather_nd
from tfx.ops.array.reshape import expand_dims
from tfx.ops.array.shape import rank, shape
from tfx.ops.array.where import where
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import equal, not_equal
from tfx.parsing.features import VarLenFeature
from tfx.sparse_ops.arrangement import reshape as reshape_sparse
from tfx.sparse_ops.sparse_tensor import SparseTensor


class StateManager(Protocol):
    """Keeps the variables and tables of columns."""

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: Any,
        dtype: Any = None,
        trainable: bool = True,
        use_resource: bool = True,
        initializer: Any = None,
    ) -> Any:
        """Make a variable of a column."""

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """A variable of a column, that was made."""

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Keep a table of a column."""

    def has_resource(self, feature_column: Any, name: str) -> bool:
        """Whether there is a table of a column."""

    def get_resource(self, feature_column: Any, name: str) -> Any:
        """A table of a column."""


class FeatureColumn(abc.ABC):
    """A feature, or what is made of features; the same column is made of equal arguments."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name, which its variables have, too."""

    @property
    @abc.abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """What ``tf.io.parse_example`` has to read for it, by key."""

    @property
    @abc.abstractmethod
    def parents(self) -> list[Any]:
        """The keys of features and the columns that it is made of."""

    @abc.abstractmethod
    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Any:
        """What the column makes of its features; columns ask the cache for it."""

    def create_state(self, state_manager: StateManager) -> None:
        """Make the variables that the column needs."""
        for parent in self.parents:
            if isinstance(parent, FeatureColumn):
                parent.create_state(state_manager)


class DenseColumn(FeatureColumn):
    """A column whose result is a dense tensor."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> TensorShape:
        """The shape of the result, without the batch."""

    @abc.abstractmethod
    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """The result, ``[batch] + variable_shape``."""


class IdWeightPair(NamedTuple):
    """Ids, and what each of them counts.

    Attributes:
        id_tensor: ``SparseTensor`` of integers.
        weight_tensor: ``SparseTensor`` of numbers at the same places, or None: each counts once.
    """

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None


class CategoricalColumn(FeatureColumn):
    """A column whose result are ids, any number for each Example."""

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int:
        """How many ids there are."""

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> IdWeightPair:
        """The ids, with their weights."""
        return IdWeightPair(transformation_cache.get(self, state_manager), None)


class TensorSequenceLengthPair(NamedTuple):
    """Rows of different lengths, filled up.

    Attributes:
        dense_tensor: ``[batch, steps] + variable_shape``.
        sequence_length: ``[batch]``, int64: how many steps are not filling.
    """

    dense_tensor: Tensor
    sequence_length: Tensor


class SequenceDenseColumn(FeatureColumn):
    """A column whose result is a dense tensor for each step of a sequence."""

    @abc.abstractmethod
    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> TensorSequenceLengthPair:
        """The result, with the lengths of the sequences."""


class OneFeature(FeatureColumn):
    """A column that is named after the one feature that it is made of.

    Attributes:
        key: The feature.
    """

    key: str

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parents(self) -> list[Any]:
        """The key."""
        return [self.key]


class AnyNumberOfValues(OneFeature):
    """A column of a feature with any number of values in each Example.

    Attributes:
        dtype: The element type of the feature.
    """

    dtype: DType

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """One ``VarLenFeature``."""
        return {self.key: VarLenFeature(self.dtype)}


class OfCategories(FeatureColumn):
    """A column that makes something of the ids of another one.

    Attributes:
        categorical_column: The ids.
    """

    categorical_column: CategoricalColumn

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the ids."""
        return self.categorical_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        """The column of the ids."""
        return [self.categorical_column]


class SameIds(OfCategories, CategoricalColumn):
    """A column with the ids of another one."""

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.categorical_column.num_buckets


class FeatureTransformationCache:
    """Features, and what columns made of them; each column is computed once.

    Args:
        features: Tensors and sparse tensors by key. Those of one axis get a second one.
    """

    def __init__(self, features: Mapping[Any, Any]) -> None:
        self._features = dict(features)
        self._made: dict[Any, Any] = {}

    def get(self, key: Any, state_manager: StateManager | None = None, training: Any = None) -> Any:
        """A feature, or what a column makes.

        Args:
            key: The key of a feature, or a column.
            state_manager: Given to the column.
            training: Accepted for compatibility.

        Raises:
            ValueError: there is no such feature.
            TypeError: ``key`` is something else.
        """
        if key not in self._made:
            self._made[key] = self._find(key, state_manager)
        return self._made[key]

    def _find(self, key: Any, state_manager: StateManager | None) -> Any:
        if key in self._features:
            return _of_two_axes(key, self._features[key])
        if isinstance(key, str):
            known = ", ".join(sorted(map(str, self._features)))
            raise ValueError(f"Feature {key} is not in features dictionary; it has {known}.")
        if not isinstance(key, FeatureColumn):
            raise TypeError(
                f'"key" must be either a "str" or "FeatureColumn". Provided: {key!r} of type '
                f"{type(key).__name__}."
            )
        return key.transform_feature(self, state_manager)


def _of_two_axes(key: Any, feature: Any) -> Any:
    given = feature if is_sparse(feature) else convert_to_tensor(feature)
    axes = given.shape.rank
    if axes == 0:
        raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {given!r}")
    if axes is None and not is_sparse(given):
        return cond(equal(rank(given), 1), lambda: expand_dims(given, -1), lambda: given)
    if axes != 1:
        return given
    if is_sparse(given):
        return reshape_sparse(given, [-1, 1])
    return expand_dims(given, -1)


def as_ids(feature: Any, ignored: Any = None) -> SparseTensor:
    """A feature as a sparse tensor.

    Args:
        feature: A sparse tensor, or a tensor.
        ignored: What stands in a tensor where there is nothing; None: ``""``, -1 or 0.0.
    """
    if is_sparse(feature):
        found: SparseTensor = feature
        return found
    given = convert_to_tensor(feature)
    if ignored is None:
        ignored = "" if given.dtype is dtypes.string else -1 if given.dtype.is_integer else 0.0
    empty = convert_to_tensor(ignored, given.dtype)
    places = where(not_equal(given, empty))
    return SparseTensor(places, gather_nd(given, places), cast(shape(given), dtypes.int64))


def checked_key(key: Any) -> str:
    """The key of a feature.

    Raises:
        ValueError: it is no string.
    """
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key).__name__}. Given key: {key}.")
    return key


def strings_or_integers(dtype: Any, of: str) -> DType:
    """An element type of ids.

    Args:
        dtype: The type.
        of: What has it, for the message.

    Raises:
        ValueError: it is neither string nor an integer type.
    """
    kind = dtypes.as_dtype(dtype)
    if kind is not dtypes.string and not kind.is_integer:
        raise ValueError(f"{of} dtype must be string or integer. dtype: {kind!r}.")
    return kind


def numbers_dtype(dtype: Any, key: str) -> DType:
    """An element type of numbers.

    Raises:
        ValueError: it is neither an integer type nor a float type.
    """
    kind = None if dtype is None else dtypes.as_dtype(dtype)
    if kind is None or not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {kind!r}, key: {key}")
    return kind


def ordered_columns(feature_columns: Any) -> list[FeatureColumn]:
    """Columns in the order of their names.

    Args:
        feature_columns: A column, or an iterable of columns.

    Raises:
        ValueError: none, a dictionary, something else than columns, or two of one name.
    """
    if isinstance(feature_columns, FeatureColumn):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict: give its values.")
    found: dict[str, FeatureColumn] = {}
    for column in _each(feature_columns):
        if column.name in found:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and "
                f"{found[column.name]}. Leave one out, or give the feature a second key."
            )
        found[column.name] = column
    if not found:
        raise ValueError("feature_columns must not be empty.")
    return [found[name] for name in sorted(found)]


def _each(feature_columns: Iterable[Any]) -> Iterator[FeatureColumn]:
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                "Items of feature_columns must be a FeatureColumn. Given (type "
                f"{type(column).__name__}): {column!r}."
            )
        yield column


def make_parse_example_spec(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """What ``tf.io.parse_example`` has to read for columns.

    Args:
        feature_columns: The columns, made by functions of ``tf.feature_column``.

    Returns:
        ``FixedLenFeature`` and ``VarLenFeature`` objects by key.

    Raises:
        ValueError: something is no column, or two columns read a key in different ways.

    Example:
        >>> import tfx as tf
        >>> age = tf.feature_column.numeric_column("age")
        >>> city = tf.feature_column.categorical_column_with_hash_bucket("city", 10)
        >>> tf.feature_column.make_parse_example_spec([age, city])["city"]
        VarLenFeature(dtype=tf.string)
    """
    found: dict[str, Any] = {}
    for column in _each(feature_columns):
        for key, spec in column.parse_example_spec.items():
            if found.setdefault(key, spec) != spec:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {spec} and "
                    f"{found[key]}"
                )
    return found
