"""Columns of numbers, and of the intervals that numbers lie in."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes, nest
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.shapes import TensorShape, as_shape
from tfx.feature_column.columns import (
    CategoricalColumn,
    DenseColumn,
    FeatureTransformationCache,
    IdWeightPair,
    OneFeature,
    StateManager,
    checked_key,
    numbers_dtype,
)
from tfx.framework.composite.sparse import is_sparse
from tfx.framework.convert import constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import stack
from tfx.ops.array.one_hot import one_hot
from tfx.ops.array.reshape import reshape
from tfx.ops.array.shape import shape as shape_of
from tfx.ops.array.sort import searchsorted
from tfx.ops.array.where import where
from tfx.ops.math.cast import cast
from tfx.parsing.features import FixedLenFeature
from tfx.sparse_ops.sparse_tensor import SparseTensor


@dataclasses.dataclass(frozen=True)
class NumericColumn(OneFeature, DenseColumn):
    """Numbers as they are; see ``tf.feature_column.numeric_column``."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """One ``FixedLenFeature``."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of the numbers."""
        return as_shape(self.shape)

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """The numbers, normalized, as float32.

        Raises:
            ValueError: the feature is a sparse tensor.
        """
        given = transformation_cache.get(self.key, state_manager)
        if is_sparse(given):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is "
                f"not supported. key: {self.key}"
            )
        return cast(given if self.normalizer_fn is None else self.normalizer_fn(given), "float32")

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """The numbers."""
        found: Tensor = transformation_cache.get(self, state_manager)
        return found


@dataclasses.dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """The intervals of numbers; see ``tf.feature_column.bucketized_column``."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """``"age_bucketized"``."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """That of the numbers."""
        return self.source_column.parse_example_spec

    @property
    def parents(self) -> list[Any]:
        """The column of the numbers."""
        return [self.source_column]

    @property
    def variable_shape(self) -> TensorShape:
        """One of the intervals for each number."""
        return TensorShape((*self.source_column.shape, self._intervals))

    @property
    def num_buckets(self) -> int:
        """Intervals times numbers: each number of an Example has ids of its own."""
        return self._intervals * self.source_column.shape[0]

    @property
    def _intervals(self) -> int:
        return len(self.boundaries) + 1

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """The numbers of the intervals, int32."""
        return interval_numbers(
            transformation_cache.get(self.source_column, state_manager), self.boundaries
        )

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Tensor:
        """Ones at the intervals, zeros elsewhere."""
        return one_hot(transformation_cache.get(self, state_manager), self._intervals)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> IdWeightPair:
        """An id for each number and interval."""
        found = transformation_cache.get(self, state_manager)
        width = self.source_column.shape[0]
        first = constant(np.arange(width, dtype=np.int32) * self._intervals)
        ids = reshape(reshape(found, [-1, width]) + first, [-1])
        size = cast(stack([shape_of(found)[0], width]), dtypes.int64)
        # Every place has an id: where no id is -1 lists them all.
        places = where(reshape(ids, size) >= 0)
        return IdWeightPair(SparseTensor(places, ids, size), None)


def interval_numbers(x: Any, boundaries: Sequence[float]) -> Tensor:
    """How many boundaries each number is not below; NaN is above all.

    Args:
        x: Numbers.
        boundaries: In order, compared in float32 as TensorFlow does.
    """
    flat = reshape(cast(x, dtypes.float32), [-1])
    bounds = constant(np.asarray(boundaries, np.float32))
    found = cast(searchsorted(bounds, flat, side="right"), dtypes.int32)
    return reshape(where(flat == flat, found, len(boundaries)), shape_of(x))


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: DTypeLike = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """A column of numbers, which models get as float32.

    Args:
        key: The feature.
        shape: How many numbers an Example has, or the shape that they have.
        default_value: What Examples without the feature have: a number, or as many as there are;
            None: an Example must have it.
        dtype: Element type of the feature.
        normalizer_fn: Called with the tensor, returns another one.

    Returns:
        A dense column.

    Raises:
        TypeError: a size is no integer, the default does not fit the dtype, or ``normalizer_fn``
            cannot be called.
        ValueError: a size is not positive, the default has another shape, or the dtype is no
            number.

    Example:
        >>> import tfx as tf
        >>> tf.feature_column.numeric_column("pixels", shape=[2, 2]).parse_example_spec
        {'pixels': FixedLenFeature(shape=(2, 2), dtype=tf.float32, default_value=None)}
    """
    sizes = checked_shape(shape, key)
    kind = numbers_dtype(dtype, key)
    default = _default(sizes, default_value, kind, key)
    checked_normalizer(normalizer_fn)
    return NumericColumn(checked_key(key), sizes, default, kind, normalizer_fn)


def checked_normalizer(normalizer_fn: Any) -> None:
    """Refuse what cannot be called.

    Raises:
        TypeError: it is neither None nor callable.
    """
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn!r}")


def checked_shape(shape: Any, key: str) -> tuple[int, ...]:
    """A shape, as a tuple.

    Raises:
        TypeError: a size is no integer.
        ValueError: a size is not positive.
    """
    sizes = tuple(shape) if nest.is_nested(shape) or isinstance(shape, TensorShape) else (shape,)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"shape dimensions must be integer. shape: {sizes}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {sizes}, key: {key}")
    return sizes


def _default(shape: tuple[int, ...], value: Any, dtype: DType, key: str) -> Any:
    if value is None:
        return None
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    leaves = nest.flatten(value)
    fits = all(isinstance(v, int) for v in leaves) or (
        dtype.is_floating and all(isinstance(v, int | float) for v in leaves)
    )
    if not fits:
        raise TypeError(
            f"default_value must be compatible with dtype. default_value: {value}, dtype: "
            f"{dtype!r}, key: {key}"
        )
    if not nest.is_nested(value):
        return _repeated(value, shape)
    if not _has_shape(value, shape):
        raise ValueError(
            "The shape of default_value must be equal to given shape. default_value: "
            f"{value}, shape: {shape}, key: {key}"
        )
    return _as_tuples(value)


def _repeated(value: Any, shape: tuple[int, ...]) -> Any:
    return (_repeated(value, shape[1:]),) * shape[0] if shape else value


def _has_shape(value: Any, shape: tuple[int, ...]) -> bool:
    if not shape or not nest.is_nested(value):
        return not shape and not nest.is_nested(value)
    return len(value) == shape[0] and all(_has_shape(v, shape[1:]) for v in value)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if nest.is_nested(value) else value


def bucketized_column(source_column: NumericColumn, boundaries: Any) -> BucketizedColumn:
    """A column of the intervals that numbers lie in.

    Args:
        source_column: Made by ``numeric_column``, of one axis.
        boundaries: Numbers in increasing order. Each belongs to the interval above it.

    Returns:
        A column that is dense, a one at the interval, and categorical, the interval's number.

    Raises:
        ValueError: another kind of column, or boundaries that are none or not in order.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> age = tf.feature_column.numeric_column("age")
        >>> decade = tf.feature_column.bucketized_column(age, [10, 20])
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     x = tf.feature_column.input_layer({"age": [[10.0], [3.0]]}, [decade])
        ...     session.run(x)
        array([[0., 1., 0.],
               [1., 0., 0.]], dtype=float32)
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            "source_column must be a column generated with numeric_column(). Given: "
            f"{source_column!r}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not isinstance(boundaries, list | tuple) or not boundaries:
        raise ValueError(f"boundaries must be a sorted list and not empty; got {boundaries!r}.")
    if any(low >= high for low, high in itertools.pairwise(boundaries)):
        raise ValueError(f"boundaries must be a sorted list; got {boundaries!r}.")
    return BucketizedColumn(source_column, tuple(boundaries))
