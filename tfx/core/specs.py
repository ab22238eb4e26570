"""Type specs: what is known of a value before it exists.

Owns `TypeSpec`, the interface, and `TensorSpec`, dtype and shape of a tensor with an
optional name. It must not know tensors: it reads `dtype` and `shape` of whatever it is given.

The design decision: a spec is a value. It never changes, equal specs are interchangeable,
and its hash is taken once, since specs are parts of the keys under which traces are found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from tfx.core.dtypes import DType, DTypeLike, as_dtype, float32
from tfx.core.shapes import ShapeLike, TensorShape, as_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class TypeSpec(ABC):
    """The type of a value in a signature: the base of TensorSpec and of specs of composites."""

    __slots__ = ()

    @abstractmethod
    def is_subtype_of(self, other: object) -> bool:
        """True if every value of this spec is also one of `other`."""

    @abstractmethod
    def most_specific_common_supertype(self, others: Sequence[Any]) -> TypeSpec | None:
        """Returns the most specific spec of which this one and `others` are subtypes.

        Args:
            others: The other specs.

        Returns:
            The spec, or None if there is none.
        """

    @abstractmethod
    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True if a value, or the values of a spec, can be of this spec."""

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """Returns the most specific spec that covers this one and `other`.

        Args:
            other: A spec of the same kind.

        Returns:
            The spec.

        Raises:
            ValueError: If there is none.
        """
        result = self.most_specific_common_supertype([other])
        if result is None:
            raise ValueError(
                f"no spec covers both {self!r} and {other!r}: expected the same kind and dtype"
            )
        return result


class TensorSpec(TypeSpec):
    """The dtype and the shape of a tensor, with an optional name.

    Args:
        shape: A TensorShape or what makes one; None for an unknown rank.
        dtype: A dtype or what `as_dtype` takes.
        name: The name of the argument or result in a signature.

    Raises:
        TypeError: If the shape or the dtype is not one, or the name is not a string.

    Example:
        >>> TensorSpec([None, 8], "int32", name="ids")
        TensorSpec(shape=(None, 8), dtype=tf.int32, name='ids')
    """

    __slots__ = ("__dict__", "__weakref__", "_dtype", "_hash", "_name", "_shape")

    _shape: TensorShape
    _dtype: DType
    _name: str | None
    _hash: int | None

    def __init__(
        self, shape: ShapeLike, dtype: DTypeLike = float32, name: str | None = None
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(
                f"TensorSpec got name {name!r} of type {type(name).__name__}: expected a str"
            )
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name
        self._hash = None

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Returns a TensorSpec with the shape and dtype of `spec`.

        Args:
            spec: A TensorSpec, or anything with `shape` and `dtype`.
            name: The new name; by default that of `spec`, if it has one.

        Returns:
            The spec.
        """
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Returns the TensorSpec of a tensor, array or variable.

        Args:
            tensor: Anything with `shape` and `dtype`.
            name: The name; none by default.

        Returns:
            The spec.
        """
        return cls(tensor.shape, tensor.dtype, name)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """True if a tensor, or the tensors of a spec, can be of this spec.

        Args:
            spec_or_tensor: Anything with `shape` and `dtype`, such as a tensor, an array or
                another TensorSpec.

        Returns:
            True if the dtype is equal and the shapes are compatible; False for a value which
            has no dtype and shape.
        """
        dtype = getattr(spec_or_tensor, "dtype", None)
        if dtype is None or not hasattr(spec_or_tensor, "shape"):
            return False
        return self._dtype == dtype and self._shape.is_compatible_with(spec_or_tensor.shape)

    def is_subtype_of(self, other: object) -> bool:
        """True if every tensor of this spec is also one of `other`.

        As in TensorFlow, a spec with a name is a subtype only of specs with the same name.

        Args:
            other: The more general spec.

        Returns:
            True if `other` covers this spec.
        """
        return (
            isinstance(other, TensorSpec)
            and self._dtype is other._dtype
            and (self._name is None or self._name == other._name)
            and self._shape.is_subtype_of(other._shape)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorSpec | None:
        """Returns the most specific spec of which this one and `others` are subtypes.

        Args:
            others: The other specs.

        Returns:
            The spec, its name kept if all have the same; None if a dtype differs or one of
            `others` is not a TensorSpec.
        """
        if not all(isinstance(o, TensorSpec) and o._dtype is self._dtype for o in others):
            return None
        shape = self._shape.most_specific_common_supertype([other._shape for other in others])
        name = self._name if all(other._name == self._name for other in others) else None
        return None if shape is None else TensorSpec(shape, self._dtype, name)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (
            self._dtype is other._dtype
            and self._name == other._name
            and self._shape == other._shape
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self._shape, self._dtype, self._name))
        return self._hash

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __reduce__(
        self,
    ) -> tuple[Callable[..., TensorSpec], tuple[TensorShape, DType, str | None]]:
        return TensorSpec, (self._shape, self._dtype, self._name)
