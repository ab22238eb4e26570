"""``IndexedSlicesSpec``: the type of ``IndexedSlices``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike, as_dtype
from tfx.core.shapes import ShapeLike, TensorShape, as_shape
from tfx.core.specs import TensorSpec, TypeSpec
from tfx.framework.composite.indexed_slices import IndexedSlices


class IndexedSlicesSpec(TypeSpec):
    """The type of ``IndexedSlices``, also in an ``input_signature``.

    Args:
        shape: Of the dense tensor; None for an unknown rank.
        dtype: Of the values.
        indices_dtype: Of the indices.
        dense_shape_dtype: Of ``dense_shape``; None for slices without one.
        indices_shape: Shape of the indices, of one axis.

    Raises:
        TypeError: shapes or dtypes that are none.
        ValueError: indices that are no vector.

    Example:
        >>> import tfx as tf
        >>> spec = tf.IndexedSlicesSpec([None, 2], indices_dtype=tf.int32)
        >>> @tf.function(input_signature=[spec])
        ... def total(slices):
        ...     return tf.reduce_sum(slices.values)
        >>> total(tf.IndexedSlices(tf.ones([3, 2]), tf.constant([0, 5, 1]))).numpy()
        np.float32(6.0)
    """

    __slots__ = ("_dense_shape_dtype", "_dtype", "_indices_dtype", "_indices_shape", "_shape")

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = dtypes.float32,
        indices_dtype: DTypeLike = dtypes.int64,
        dense_shape_dtype: DTypeLike | None = None,
        indices_shape: ShapeLike = None,
    ) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype: DType | None = None
        if dense_shape_dtype is not None:
            self._dense_shape_dtype = as_dtype(dense_shape_dtype)
        given = as_shape(indices_shape)
        if given.rank not in (None, 1):
            raise ValueError(f"indices_shape must have one axis; got {given}.")
        self._indices_shape = TensorShape([None]) if given.rank is None else given

    @property
    def value_type(self) -> type:
        """``IndexedSlices``."""
        return IndexedSlices

    def parts(self) -> tuple[TensorSpec, TensorSpec, TensorSpec | None]:
        """The specs of values, indices and dense shape, None if slices have none."""
        rank = self._shape.rank
        rows = TensorShape(None)
        if rank is not None:
            rows = self._indices_shape.concatenate(self._shape[1:])
        form = None
        if self._dense_shape_dtype is not None:
            form = TensorSpec([rank], self._dense_shape_dtype)
        indices = TensorSpec(self._indices_shape, self._indices_dtype)
        return TensorSpec(rows, self._dtype), indices, form

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True if slices, or those of a spec, can be of this spec."""
        other = spec_or_value
        if isinstance(other, IndexedSlices):
            other = spec_of(other)
        return (
            isinstance(other, IndexedSlicesSpec)
            and self._kinds() == other._kinds()
            and self._shape.is_compatible_with(other._shape)
            and self._indices_shape.is_compatible_with(other._indices_shape)
        )

    def is_subtype_of(self, other: object) -> bool:
        """True if every value of this spec is also one of `other`."""
        return (
            isinstance(other, IndexedSlicesSpec)
            and self._kinds() == other._kinds()
            and self._shape.is_subtype_of(other._shape)
            and self._indices_shape.is_subtype_of(other._indices_shape)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> IndexedSlicesSpec | None:
        """The most specific spec of which this one and `others` are subtypes, or None."""
        if not all(
            isinstance(o, IndexedSlicesSpec) and o._kinds() == self._kinds() for o in others
        ):
            return None
        shape = self._shape.most_specific_common_supertype([o._shape for o in others])
        rows = self._indices_shape.most_specific_common_supertype(
            [o._indices_shape for o in others]
        )
        return IndexedSlicesSpec(shape, *self._kinds(), rows)

    def _kinds(self) -> tuple[DType, DType, DType | None]:
        return self._dtype, self._indices_dtype, self._dense_shape_dtype

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IndexedSlicesSpec):
            return NotImplemented
        return (
            self._kinds() == other._kinds()
            and self._shape == other._shape
            and self._indices_shape == other._indices_shape
        )

    def __hash__(self) -> int:
        return hash((self._kinds(), self._shape, self._indices_shape))

    def __reduce__(self) -> tuple[Any, ...]:
        return IndexedSlicesSpec, (self._shape, *self._kinds(), self._indices_shape)

    def __repr__(self) -> str:
        form = self._dense_shape_dtype
        return (
            f"IndexedSlicesSpec({self._shape!r}, {self._dtype!r}, {self._indices_dtype!r}, "
            f"{form!r}, {self._indices_shape!r})"
        )


def spec_of(slices: IndexedSlices) -> IndexedSlicesSpec:
    """The spec of slices; without ``dense_shape`` only the number of rows is unknown."""
    form = slices.dense_shape
    shape = slices.shape
    if shape.rank is None and slices.values.shape.rank is not None:
        shape = TensorShape([None, *slices.values.shape[1:]])
    kind = None if form is None else getattr(form, "dtype", dtypes.int32)
    return IndexedSlicesSpec(shape, slices.dtype, slices.indices.dtype, kind, slices.indices.shape)
