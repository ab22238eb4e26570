"""``SparseTensorSpec``: the type of a sparse tensor, and how both are taken apart.

The decision: a trace is made for a rank, and knows more of the shape only where a signature says
so. Sparse tensors of other sizes and other numbers of entries use the same trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from tfx.core import dtypes, first_use
from tfx.core.dtypes import DType, DTypeLike, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.core.nest_kinds import Kind
from tfx.core.shapes import ShapeLike, TensorShape, as_shape
from tfx.core.specs import TensorSpec, TypeSpec
from tfx.framework.context import using
from tfx.framework.tensor import SymbolicTensor, graph_of
from tfx.sparse_ops.sparse_tensor import SparseTensor, made, stated


class SparseTensorSpec(TypeSpec):
    """The type of a sparse tensor, also in an ``input_signature``.

    Args:
        shape: The shape of the whole, None where it is not known.
        dtype: Of the values.

    Example:
        >>> import tfx as tf
        >>> @tf.function(input_signature=[tf.SparseTensorSpec([None, 3], tf.float32)])
        ... def totals(x):
        ...     return tf.sparse.reduce_sum(x, axis=1)
        >>> totals(tf.sparse.from_dense([[1.0, 0.0, 2.0], [0.0, 0.0, 4.0]])).numpy()
        array([3., 4.], dtype=float32)
    """

    __slots__ = ("_dtype", "_parts", "_shape")
    _tfx_expanded_kind: Kind

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32) -> None:
        first_use.first("SparseTensor")
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._parts: tuple[TensorSpec, ...] | None = None

    @classmethod
    def from_value(cls, value: SparseTensor) -> SparseTensorSpec:
        """The spec of a sparse tensor."""
        return cls(value.shape, value.dtype)

    @classmethod
    def from_parts(cls, parts: Sequence[TensorSpec], shape: TensorShape) -> SparseTensorSpec:
        """The spec of sparse tensors with components of these specs."""
        found = cls(shape, parts[1].dtype)
        found._parts = tuple(parts)
        return found

    @property
    def value_type(self) -> type:
        """``SparseTensor``."""
        return SparseTensor

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    def parts(self) -> tuple[TensorSpec, ...]:
        """The specs of the components: indices, values, dense shape."""
        if self._parts is not None:
            return self._parts
        rank = self._shape.rank
        return (
            TensorSpec([None, rank], dtypes.int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], dtypes.int64),
        )

    def batched(self, size: int | None) -> SparseTensorSpec:
        """The spec of so many of these put together."""
        return SparseTensorSpec(TensorShape([size]).concatenate(self._shape), self._dtype)

    def row_spec(self) -> SparseTensorSpec:
        """The spec of a slice along the first axis.

        Raises:
            ValueError: there is no such axis.
        """
        if self._shape.rank == 0:
            raise InvalidArgumentError(f"Unbatching is only supported for rank >= 1; got {self!r}.")
        shape = TensorShape(None) if self._shape.rank is None else self._shape[1:]
        return SparseTensorSpec(shape, self._dtype)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True if a sparse tensor, or those of a spec, can be of this spec."""
        other = spec_or_value
        if isinstance(other, SparseTensor):
            other = SparseTensorSpec.from_value(other)
        if not isinstance(other, SparseTensorSpec) or other._dtype is not self._dtype:
            return False
        return self._shape.is_compatible_with(other._shape)

    def is_subtype_of(self, other: object) -> bool:
        """True if every value of this spec is also one of `other`."""
        return (
            isinstance(other, SparseTensorSpec)
            and other._dtype is self._dtype
            and self._shape.is_subtype_of(other._shape)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> SparseTensorSpec | None:
        """The most specific spec of which this one and `others` are subtypes, or None."""
        if not all(isinstance(o, SparseTensorSpec) and o._dtype is self._dtype for o in others):
            return None
        shape = self._shape.most_specific_common_supertype([o._shape for o in others])
        return SparseTensorSpec(shape, self._dtype)

    def _tfx_fitted(self, value: Any) -> Any:
        """A sparse tensor with what this spec says of its shape; others as they are."""
        if not isinstance(value, SparseTensor) or not self.is_compatible_with(value):
            return value
        found = made(value.indices, value.values, value.dense_shape)
        found._static = self._shape
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseTensorSpec):
            return NotImplemented
        return self._dtype is other._dtype and self._shape == other._shape

    def __hash__(self) -> int:
        return hash((SparseTensorSpec, self._dtype, self._shape))

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseTensorSpec, (self._shape, self._dtype)

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape!r}, {self._dtype!r})"


# Structures


class _ShapeKey(str):
    """The name of the component ``dense_shape``, which differs where a signature says more of it.

    So traces are told apart by what they were told, and inputs of signatures have plain names.
    """

    __slots__ = ("said",)
    said: tuple[int | None, ...]

    def __new__(cls, said: tuple[int | None, ...]) -> Self:
        made = super().__new__(cls, "dense_shape")
        made.said = said
        return made

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True and getattr(other, "said", None) == self.said

    def __ne__(self, other: object) -> bool:
        return getattr(other, "said", None) != self.said or str.__ne__(self, other) is True

    def __hash__(self) -> int:
        return hash((str(self), self.said))

    def __reduce__(self) -> tuple[Any, ...]:
        return _ShapeKey, (self.said,)


def _keys(x: Any) -> list[str]:
    """The names of the components; what a signature says of the shape is a part of them."""
    shape = x._shape if isinstance(x, SparseTensorSpec) else x._static
    if shape is None or shape.rank is None or all(n is None for n in shape):
        return ["indices", "values", "dense_shape"]
    return ["indices", "values", _ShapeKey(tuple(shape))]


def _spec_of(x: SparseTensor) -> SparseTensorSpec:
    return SparseTensorSpec.from_value(x)


def _parts_of_spec(spec: SparseTensorSpec) -> list[Any]:
    return list(spec.parts())


def _build(like: Any, parts: list[Any]) -> Any:
    indices, values, shape = parts
    if isinstance(values, TensorSpec):
        return SparseTensorSpec.from_parts((indices, values, shape), like.shape)
    said = like._shape if isinstance(like, SparseTensorSpec) else like._static
    if said is not None and isinstance(shape, SymbolicTensor):
        with using(graph=graph_of(shape)):  # arguments are put together before the trace begins
            shape = stated(shape, said)
    return made(indices, values, shape)


SparseTensorSpec._tfx_expanded_kind = Kind(_keys, _parts_of_spec, _build)
SparseTensor._tfx_expanded_kind = Kind(
    _keys, lambda x: [x.indices, x.values, x.dense_shape], _build
)
SparseTensor._tfx_spec = _spec_of
