"""Static shapes: `TensorShape`, TensorFlow's view of what is known of a shape.

Owns the class that users and the layers above see. It must not know tensors, nor how an
operator changes shapes; the rules for single dimensions and raw tuples are in `dims.py`.

The design decision: `TensorShape` only wraps a raw shape and shows it as TensorFlow programs
expect, with every name read as None; `.symbolic` has the raw tuple. Names that a user gave
count in comparison and repr, names made by the tracer do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, overload

from tfx.core.dimension import Dimension
from tfx.core.dims import Dim as Dim
from tfx.core.dims import RawShape as RawShape
from tfx.core.dims import broadcast_static_shape as broadcast_static_shape
from tfx.core.dims import checked_dim, merge_dims, names_agree, slice_unknown_rank
from tfx.core.dims import format_shape as format_shape
from tfx.core.dims import is_automatic_dim as is_automatic_dim
from tfx.core.dims import visible_shape as visible_shape
from tfx.core.mixins import Immutable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ShapeLike: TypeAlias = "TensorShape | Iterable[Dim | SupportsIndex] | SupportsIndex | None"


class TensorShape(Immutable):
    """The shape of a tensor as far as it is known: rank, sizes, and names of dimensions.

    Indexing, iteration and `as_list` give an int, or None where the size is unknown.

    Args:
        dims: The dimensions, each an int, None or a name; one int for a vector; or None when
            not even the rank is known.

    Raises:
        ValueError: If a size is negative or a name is empty.
        TypeError: If a dimension is none of int, None and str.

    Example:
        >>> TensorShape(["batch", 8]), TensorShape(["batch", 8]).as_list()
        (TensorShape([batch, 8]), [None, 8])
    """

    __slots__ = ("_dims", "_static")

    _dims: RawShape
    # All dimensions are ints: known for free at construction, and it makes the rest quick.
    _static: bool

    def __init__(self, dims: ShapeLike) -> None:
        if type(dims) is tuple:
            for dim in dims:
                if type(dim) is not int or dim < 0:
                    break
            else:
                self._dims = dims
                self._static = True
                return
        self._dims = raw = _checked_dims(dims)
        self._static = raw is not None and all(type(dim) is int for dim in raw)

    @classmethod
    def from_raw(cls, raw: RawShape) -> TensorShape:
        """Wraps a raw tuple which is known to be valid, such as one of the IR, unchecked.

        Args:
            raw: A tuple of non-negative ints, non-empty names and None; or None.

        Returns:
            The shape.
        """
        shape = object.__new__(cls)
        shape._dims = raw
        shape._static = raw is not None
        for dim in raw or ():
            if type(dim) is not int:
                shape._static = False
                break
        return shape

    # What is known.

    @property
    def symbolic(self) -> RawShape:
        """The raw tuple with names, automatic ones included; None for an unknown rank."""
        return self._dims

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        """TensorFlow's older name for `rank`."""
        return self.rank

    @property
    def dims(self) -> list[Dimension] | None:
        """A ``Dimension`` for each size, or None for an unknown rank; ``as_list`` has integers."""
        return None if self._dims is None else [Dimension(dim) for dim in self.as_list()]

    def as_list(self) -> list[int | None]:
        """Returns the sizes, None for each unknown one.

        Raises:
            ValueError: If the rank is unknown.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape: check .rank")
        return [dim if type(dim) is int else None for dim in self._dims]

    def num_elements(self) -> int | None:
        """Returns the product of the sizes, or None unless all are known."""
        if not self._static:
            return None
        product = 1
        for dim in self._known():
            product *= dim
        return product

    def is_fully_defined(self) -> bool:
        """True if the rank and every size are known."""
        return self._static

    def _known(self) -> tuple[int, ...]:
        return self._dims  # type: ignore[return-value]  # only called when _static

    def _visible(self) -> RawShape:
        return self._dims if self._static else visible_shape(self._dims)

    # Python's protocols.

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("cannot take the length of a shape with unknown rank: check .rank")
        return len(self._dims)

    def __bool__(self) -> bool:
        # As in TensorFlow: "is the rank known?", so that a scalar's shape is true.
        return self._dims is not None

    def __iter__(self) -> Iterator[int | None]:
        if self._dims is None:
            raise ValueError("cannot iterate over a shape with unknown rank: check .rank")
        return iter(self._known() if self._static else self.as_list())

    @overload
    def __getitem__(self, key: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        """Returns one size (int or None), or the TensorShape of a slice."""
        dims = self._dims
        if isinstance(key, slice):
            return TensorShape.from_raw(slice_unknown_rank(key) if dims is None else dims[key])
        if dims is None:
            return None
        dim = dims[key]
        return dim if type(dim) is int else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorShape):
            if isinstance(other, (str, bytes)):
                return NotImplemented
            try:
                other = TensorShape(other)  # type: ignore[arg-type]  # the check is the call
            except (TypeError, ValueError):
                return NotImplemented
        if self._dims == other._dims:
            return True
        if self._static or other._static:
            return False
        return self._visible() == other._visible()

    def __hash__(self) -> int:
        return hash(self._visible())

    def __repr__(self) -> str:
        return (
            "TensorShape(None)"
            if self._dims is None
            else f"TensorShape({format_shape(self._dims)})"
        )

    def __str__(self) -> str:
        shown = self._visible()
        if shown is None:
            return "<unknown>"
        return f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(map(str, shown))})"

    def __reduce__(self) -> tuple[Callable[[RawShape], TensorShape], tuple[RawShape]]:
        return TensorShape.from_raw, (self._dims,)

    def __add__(self, other: ShapeLike) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape:
        return as_shape(other).concatenate(self)

    # Combining shapes.

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """Returns the shape with `other`'s dimensions after this one's.

        Args:
            other: A shape, or something that makes one.

        Returns:
            The shape; of unknown rank if either rank is unknown.
        """
        tail = as_shape(other)._dims
        if self._dims is None or tail is None:
            return TensorShape.from_raw(None)
        return TensorShape.from_raw(self._dims + tail)

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """Returns the shape that knows what this one and `other` know together.

        Args:
            other: A shape, or something that makes one.

        Returns:
            The merged shape. A size wins over a name, and a name over None.

        Raises:
            ValueError: If no shape is both.
        """
        that = as_shape(other)
        if self._dims is None or that._dims is None:
            return that if self._dims is None else self
        if not self.is_compatible_with(that):
            raise ValueError(f"Shapes {self} and {that} are not compatible: they cannot be merged")
        return TensorShape.from_raw(
            tuple([merge_dims(a, b) for a, b in zip(self._dims, that._dims, strict=True)])
        )

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """Returns the most specific shape that covers both this one and `other`.

        Args:
            other: A shape, or something that makes one.

        Returns:
            The shape with None where the two differ, of unknown rank if the ranks differ.

        Example:
            >>> TensorShape([2, 1]).most_specific_compatible_shape([5, 1])
            TensorShape([None, 1])
        """
        those = as_shape(other)._dims
        if self._dims is None or those is None or len(self._dims) != len(those):
            return TensorShape.from_raw(None)
        return TensorShape.from_raw(
            tuple([a if a == b else None for a, b in zip(self._dims, those, strict=True)])
        )

    def most_general_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """Returns the shape that covers both; another name of most_specific_compatible_shape.

        It is called so where inputs are generalised before a function is traced once more.
        """
        return self.most_specific_compatible_shape(other)

    def most_specific_common_supertype(self, others: Sequence[object]) -> TensorShape | None:
        """Returns the most specific shape that this one and all `others` are subtypes of.

        Args:
            others: The other shapes.

        Returns:
            The shape, or None if one of `others` is not a TensorShape.
        """
        result = self
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            result = result.most_specific_compatible_shape(other)
        return result

    # Questions and checks.

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """True if some fully known shape is both this one and `other`.

        A name stands for one size within a shape, so ["n", "n"] is not compatible with [3, 4].

        Args:
            other: A shape, or something that makes one.

        Returns:
            True if they can be the same shape.
        """
        that = as_shape(other)
        mine, those = self._dims, that._dims
        if mine is None or those is None or mine == those:
            return True
        if len(mine) != len(those) or (self._static and that._static):
            return False
        pairs = list(zip(mine, those, strict=True))
        if any(type(a) is int and type(b) is int and a != b for a, b in pairs):
            return False
        return names_agree(pairs) and names_agree([(b, a) for a, b in pairs])

    def is_subtype_of(self, other: object) -> bool:
        """True if every tensor of this shape is also one of shape `other`.

        Args:
            other: The more general shape.

        Returns:
            True if `other` covers this shape. A named dimension covers any, but the same name
            twice in `other` covers only equal dimensions.
        """
        if not isinstance(other, TensorShape):
            return False
        mine, those = self._dims, other._dims
        if those is None or mine == those:
            return True
        if mine is None or len(mine) != len(those):
            return False
        seen: dict[str, Dim] = {}
        for a, b in zip(mine, those, strict=True):
            if type(b) is int:
                if a != b:
                    return False
            elif type(b) is str and not is_automatic_dim(b):
                if b in seen and (a is None or seen[b] != a):
                    return False
                seen[b] = a
        return True

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises ValueError unless `is_compatible_with(other)`."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raises ValueError if both ranks are known and differ."""
        that = as_shape(other)
        if self.rank is not None and that.rank is not None and self.rank != that.rank:
            raise ValueError(f"Shapes {self} and {that} must have the same rank")

    def assert_has_rank(self, rank: int | None) -> None:
        """Raises ValueError if the rank is known and is not `rank`."""
        if self.rank is not None and rank is not None and self.rank != rank:
            raise ValueError(f"Shape {self} has rank {self.rank}, but must have rank {rank}")

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless every size is known."""
        if not self._static:
            raise ValueError(f"Shape {self} is not fully defined: every size must be known here")

    def with_rank(self, rank: int) -> TensorShape:
        """Returns this shape, or one of `rank` unknown sizes if its rank is unknown.

        Raises:
            ValueError: If the rank is known and is not `rank`.
        """
        self.assert_has_rank(rank)
        return unknown_shape(rank) if self._dims is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Returns this shape, or raises ValueError if its rank is known and less."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(
                f"Shape {self} has rank {len(self._dims)}, but must have rank at least {rank}"
            )
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Returns this shape, or raises ValueError if its rank is known and larger."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(
                f"Shape {self} has rank {len(self._dims)}, but must have rank at most {rank}"
            )
        return self


def _checked_dims(dims: Any) -> RawShape:
    """The raw tuple of whatever a user may give for a shape."""
    if dims is None:
        return None
    if isinstance(dims, TensorShape):
        return dims._dims
    if isinstance(dims, (str, bytes)):
        raise TypeError(
            f"cannot make a shape of {dims!r}: expected a list of dimensions, such as [{dims!r}, 8]"
        )
    if isinstance(dims, Iterable):
        try:
            items = list(dims)
        except TypeError:  # zero-dimensional arrays and tensors: iterable in name only
            items = [dims]
    else:
        items = [dims]
    return tuple([checked_dim(dim, dims) for dim in items])


def as_shape(shape: ShapeLike) -> TensorShape:
    """Returns `shape` as a TensorShape: itself if it is one."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank: int | None = None) -> TensorShape:
    """Returns the shape with the rank, if known, and unknown dimensions."""
    return TensorShape.from_raw(None if rank is None else (None,) * rank)
