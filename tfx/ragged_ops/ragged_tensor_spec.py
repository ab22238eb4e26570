"""``RaggedTensorSpec``: the type of a ragged tensor, and how both are taken apart.

The decision: a ragged tensor and its spec are structures of one form, so that one put together of
specs is a spec.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes, first_use
from tfx.core.dtypes import DType, DTypeLike, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.core.nest_kinds import Kind
from tfx.core.shapes import ShapeLike, TensorShape, as_shape
from tfx.core.specs import TensorSpec, TypeSpec
from tfx.ragged_ops.ragged_tensor import RaggedTensor, Uniform


class RaggedTensorSpec(TypeSpec):
    """The type of a ragged tensor, also in an ``input_signature``.

    Args:
        shape: The shape, None for ragged axes; of known rank where ``ragged_rank`` is not given.
        dtype: Of the values.
        ragged_rank: How many axes have row splits; None: all but the first one. 0: the type of a
            tensor, as what ``tf.map_fn`` stacks to a ragged tensor.
        row_splits_dtype: int32 or int64.
        flat_values_spec: Accepted where it is None.

    Raises:
        ValueError: a rank that does not fit.

    Example:
        >>> import tfx as tf
        >>> @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
        ... def totals(rows):
        ...     return tf.reduce_sum(rows, axis=1)
        >>> totals(tf.ragged.constant([[1, 2, 3], [], [4]])).numpy()
        array([6, 0, 4], dtype=int32)
    """

    __slots__ = ("_dtype", "_parts", "_ragged_rank", "_row_splits_dtype", "_shape")
    _tfx_expanded_kind: Kind

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = dtypes.int64,
        flat_values_spec: Any = None,
    ) -> None:
        first_use.first("RaggedTensor")
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._row_splits_dtype = as_dtype(row_splits_dtype)
        if flat_values_spec is not None:
            raise InvalidArgumentError(
                "RaggedTensorSpec takes no flat_values_spec: give shape and dtype."
            )
        if self._row_splits_dtype not in (dtypes.int32, dtypes.int64):
            raise InvalidArgumentError(
                f"row_splits_dtype must be int32 or int64, got {self._row_splits_dtype!r}."
            )
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise InvalidArgumentError(
                    "Must specify ragged_rank or a shape with a known rank for RaggedTensorSpec."
                )
            ragged_rank = rank - 1
        if ragged_rank < 0:
            raise InvalidArgumentError(
                f"Argument `ragged_rank` must not be negative; got {ragged_rank}."
            )
        if rank is not None and ragged_rank >= max(rank, 1):
            raise InvalidArgumentError(
                f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank})."
            )
        self._ragged_rank = ragged_rank
        self._parts: tuple[TensorSpec, ...] | None = None

    @classmethod
    def from_value(cls, value: RaggedTensor) -> RaggedTensorSpec:
        """The spec of a ragged tensor."""
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    @classmethod
    def from_parts(cls, parts: Sequence[TensorSpec], uniform: Uniform) -> Any:
        """The spec of ragged tensors with components of these specs."""
        if len(parts) == 1:
            return cls(parts[0].shape, parts[0].dtype, 0)
        flat, outer = parts[0].shape, parts[1].shape
        count = None if outer.rank is None or outer[0] is None else outer[0] - 1
        shape = TensorShape(None)
        if flat.rank is not None:
            shape = TensorShape([count, *uniform]).concatenate(flat[1:])
        made = cls(shape, parts[0].dtype, len(parts) - 1, parts[1].dtype)
        made._parts = tuple(parts)
        return made

    @property
    def value_type(self) -> type:
        """``RaggedTensor``."""
        return RaggedTensor

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    @property
    def ragged_rank(self) -> int:
        """How many axes have row splits."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> DType:
        """The dtype of the row splits."""
        return self._row_splits_dtype

    @property
    def _uniform(self) -> Uniform:
        if self._shape.rank is None:
            return (None,) * self._ragged_rank
        return tuple(self._shape[1 : self._ragged_rank + 1])

    def parts(self) -> tuple[TensorSpec, ...]:
        """The specs of the components: flat values, then row splits, the outer ones first."""
        if self._parts is not None:
            return self._parts
        if not self._ragged_rank:
            return (TensorSpec(self._shape, self._dtype),)
        inner = TensorShape(None)
        count = None
        if self._shape.rank is not None:
            inner = TensorShape([None]).concatenate(self._shape[self._ragged_rank + 1 :])
            count = self._shape[0]
        outer = [None if count is None else count + 1, *[None] * (self._ragged_rank - 1)]
        kind = self._row_splits_dtype
        return (TensorSpec(inner, self._dtype), *[TensorSpec([n], kind) for n in outer])

    def batched(self, size: int | None) -> RaggedTensorSpec:
        """The spec of so many of these put together."""
        shape = TensorShape([size]).concatenate(self._shape)
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank + 1, self._row_splits_dtype)

    def row_spec(self) -> RaggedTensorSpec:
        """The spec of a row."""
        shape = TensorShape(None) if self._shape.rank is None else self._shape[1:]
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank - 1, self._row_splits_dtype)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True if a ragged tensor, or those of a spec, can be of this spec."""
        other = spec_or_value
        if isinstance(other, RaggedTensor):
            other = RaggedTensorSpec.from_value(other)
        if not isinstance(other, RaggedTensorSpec):
            return self._ragged_rank == 0 and self.parts()[0].is_compatible_with(other)
        return self._kinds() == other._kinds() and self._shape.is_compatible_with(other._shape)

    def is_subtype_of(self, other: object) -> bool:
        """True if every value of this spec is also one of `other`."""
        return (
            isinstance(other, RaggedTensorSpec)
            and self._kinds() == other._kinds()
            and self._shape.is_subtype_of(other._shape)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> RaggedTensorSpec | None:
        """The most specific spec of which this one and `others` are subtypes, or None."""
        if not all(isinstance(o, RaggedTensorSpec) and o._kinds() == self._kinds() for o in others):
            return None
        shape = self._shape.most_specific_common_supertype([o._shape for o in others])
        return RaggedTensorSpec(shape, *self._kinds())

    def _tfx_fitted(self, value: Any) -> Any:
        """A ragged tensor of this spec without what is known beyond it; others as they are."""
        if not isinstance(value, RaggedTensor) or not self.is_compatible_with(value):
            return value
        if any(a not in (None, b) for a, b in zip(self._uniform, value._uniform, strict=True)):
            return value
        return RaggedTensor(value.flat_values, value.nested_row_splits, self._uniform)

    def _kinds(self) -> tuple[DType, int, DType]:
        return self._dtype, self._ragged_rank, self._row_splits_dtype

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RaggedTensorSpec):
            return NotImplemented
        return self._kinds() == other._kinds() and self._shape == other._shape

    def __hash__(self) -> int:
        return hash((self._kinds(), self._shape))

    def __reduce__(self) -> tuple[Any, ...]:
        return RaggedTensorSpec, (self._shape, *self._kinds())

    def __repr__(self) -> str:
        return (
            f"RaggedTensorSpec({self._shape!r}, {self._dtype!r}, {self._ragged_rank}, "
            f"{self._row_splits_dtype!r})"
        )


# Structures


def _keys(x: Any) -> list[str]:
    """The names of the components; what is known of uniform rows is a part of them."""
    rows = [
        f"row_splits_{i}" + ("" if length is None else f"_by_{length}")
        for i, length in enumerate(x._uniform)
    ]
    return ["flat_values", *rows]


def _spec_of(x: RaggedTensor) -> RaggedTensorSpec:
    return RaggedTensorSpec.from_value(x)


def _build(like: Any, parts: list[Any]) -> Any:
    if isinstance(parts[0], TensorSpec):
        return RaggedTensorSpec.from_parts(parts, like._uniform)
    if len(parts) == 1:
        return parts[0]
    return RaggedTensor(parts[0], tuple(parts[1:]), like._uniform)


RaggedTensorSpec._tfx_expanded_kind = Kind(_keys, lambda spec: list(spec.parts()), _build)
RaggedTensor._tfx_expanded_kind = Kind(
    _keys, lambda x: [x.flat_values, *x.nested_row_splits], _build
)
RaggedTensor._tfx_spec = _spec_of
