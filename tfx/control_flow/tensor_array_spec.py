"""``TensorArraySpec``: the type of a ``TensorArray``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.control_flow.tensor_array_state import ArrayState
from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.shapes import ShapeLike, TensorShape, as_shape
from tfx.core.specs import TypeSpec


class TensorArraySpec(TypeSpec):
    """The type of a ``TensorArray``.

    Args:
        element_shape: Shape of the elements, of which sizes may be None; None: nothing is known.
        dtype: Their dtype.
        dynamic_size: Whether the array may grow.
        infer_shape: Whether elements must have one shape.

    Raises:
        TypeError: a shape or dtype that is none.

    Example:
        >>> import tfx as tf
        >>> array = tf.TensorArray(tf.float32, size=3, element_shape=[2])
        >>> tf.type_spec_from_value(array)
        TensorArraySpec(TensorShape([2]), tf.float32, False, True)
        >>> tf.TensorArraySpec([None], tf.float32).is_compatible_with(array)
        True
    """

    # The class of such arrays, which sets it; it knows its spec.
    _tfx_arrays: type[ArrayState]
    __slots__ = ("_dtype", "_dynamic_size", "_element_shape", "_infer_shape")

    def __init__(
        self,
        element_shape: ShapeLike = None,
        dtype: DTypeLike = dtypes.float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        self._element_shape = as_shape(element_shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = bool(infer_shape)

    @staticmethod
    def from_value(value: Any) -> TensorArraySpec:
        """The spec of an array.

        Raises:
            TypeError: it is no ``TensorArray``.
        """
        if not isinstance(value, ArrayState):
            raise TypeError(
                f"Expected a TensorArray; got {value!r} of type {type(value).__name__}."
            )
        return spec_of(value)

    @property
    def value_type(self) -> type[ArrayState]:
        """``TensorArray``."""
        return self._tfx_arrays

    @property
    def element_shape(self) -> TensorShape:
        """The shape of the elements."""
        return self._element_shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    def is_subtype_of(self, other: object) -> bool:
        """True if every such array is also one of ``other``."""
        return (
            isinstance(other, TensorArraySpec)
            and self._kind() == other._kind()
            and self._element_shape.is_subtype_of(other._element_shape)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorArraySpec | None:
        """The spec that covers this one and others; None: there is none."""
        if not all(isinstance(o, TensorArraySpec) and o._kind() == self._kind() for o in others):
            return None
        shapes = [o._element_shape for o in others]
        shape = self._element_shape.most_specific_common_supertype(shapes)
        return None if shape is None else TensorArraySpec(shape, *self._kind())

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True if an array, or those of a spec, can be of this spec."""
        other = spec_or_value
        if isinstance(other, ArrayState):
            other = spec_of(other)
        return (
            isinstance(other, TensorArraySpec)
            and self._dtype is other._dtype
            and self._dynamic_size is other._dynamic_size
            and self._element_shape.is_compatible_with(other._element_shape)
        )

    def _kind(self) -> tuple[DType, bool, bool]:
        return self._dtype, self._dynamic_size, self._infer_shape

    def _all(self) -> tuple[TensorShape, DType, bool, bool]:
        return (self._element_shape, *self._kind())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorArraySpec) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorArraySpec, self._all()

    def __repr__(self) -> str:
        shape, *others = self._all()
        return f"TensorArraySpec({shape!r}, {', '.join(map(repr, others))})"


def spec_of(array: ArrayState) -> TensorArraySpec:
    """The spec of an array."""
    return TensorArraySpec(
        array.element_shape, array.dtype, array._dynamic_size, array._infer_shape
    )
