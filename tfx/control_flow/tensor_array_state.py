"""The elements of a ``TensorArray`` in one of four forms, and conversions between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from tfx.control_flow import sequences
from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError, OutOfRangeError
from tfx.core.shapes import TensorShape
from tfx.framework.builder import ox
from tfx.framework.composite.complex_pairs import joined, parts
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor, embed, int64_constant
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.ops.array.concat import stack, unstack
from tfx.ops.array.creation import zeros
from tfx.ops.common.arguments import as_int64, static_int

# Dense arrays up to this length are taken apart into elements when one of them is written.
_FEW = 64


class ArrayState:
    """The elements of a tensor array.

    Exactly one of four forms is there: a Python list of elements (None: never written); one tensor
    whose slices they are; an ONNX sequence; or, where none was written, their number. Complex
    numbers are kept as pairs of their parts.

    Args:
        dtype: The elements' dtype.
        dynamic_size: Whether the array grows.
        clears: Eagerly, whether an element can be read only once.
        infer_shape: Whether all elements have one shape.
        shape: What is known of it.
    """

    def __init__(
        self, dtype: DType, dynamic_size: bool, clears: bool, infer_shape: bool, shape: TensorShape
    ) -> None:
        # The dtype, and what is known of the shape, of what is kept.
        self._whole = dtype
        self._dtype = dtype.real_dtype
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape
        self._clears = clears
        self._shape = shape.concatenate([2]) if dtype.is_complex else shape
        self._cleared: set[int] = set()
        self._items: list[Tensor | None] | None = None
        self._dense: Tensor | None = None
        self._sequence: Tensor | None = None
        self._blank: Tensor | None = None  # none is written; how many there are
        # How many elements there are, where that is known better than from the sequence.
        self._count: Tensor | None = None

    def _start(self, size: Tensor) -> None:
        known = static_int(size)
        if known is None:
            self._blank = size
        elif known < 0:
            raise ValueError(f"The size of a TensorArray must not be negative; got {known}.")
        else:
            self._items = [None] * known

    # For the loops and branches of this package

    @property
    def dtype(self) -> DType:
        """The elements' dtype."""
        return self._whole

    @property
    def kept_dtype(self) -> DType:
        """The dtype of what is kept: of complex numbers, that of their parts."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """True if writing behind the end makes the array longer."""
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the elements' shape."""
        if self._whole.is_complex and self._shape.rank is not None:
            return self._shape[:-1]
        return self._shape

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, an int32 scalar."""
        if self._items is not None:
            return convert_to_tensor(len(self._items), dtypes.int32)
        if self._count is not None:
            return int32(self._count)
        if self._dense is not None:
            return int32(first_length(self._dense))
        if self._blank is not None:
            return int32(self._blank)
        assert self._sequence is not None
        return int32(sequences.length(self._sequence))

    def parts(self) -> list[Tensor | None] | None:
        """The elements one by one, None for those never written; None: not known by number."""
        return self._items

    @property
    def is_blank(self) -> bool:
        """True if no element was written."""
        if self._items is not None:
            return all(x is None for x in self._items)
        return self._blank is not None

    @property
    def sequence(self) -> Tensor | None:
        """The sequence that holds the elements, if one does."""
        return self._sequence

    @property
    def dense(self) -> Tensor | None:
        """The elements as one tensor, if they are one."""
        return self._dense

    def with_items(self, items: Sequence[Tensor | None]) -> Self:
        """The same kind of array of other elements."""
        result = self._copy()
        result._reset(self._shape)
        result._items = list(items)
        return result

    def with_dense(self, dense: Tensor) -> Self:
        """The same kind of array of the slices of a tensor."""
        result = self._copy()
        result._reset(self._shape)
        result._dense = dense
        return result

    def with_sequence(self, sequence: Tensor, count: Tensor | None = None) -> Self:
        """The same kind of array of the elements of a sequence."""
        result = self._copy()
        result._reset(self._shape)
        result._sequence = sequence
        result._count = count
        return result

    def with_shape(self, shape: TensorShape) -> Self:
        """The same array with more known of its elements' shape."""
        result = self._copy()
        result._shape = shape
        return result

    def merged(self, other: ArrayState) -> Self:
        """The same array with what both know of the elements' shape in common."""
        return self.with_shape(self._shape.most_specific_compatible_shape(other._shape))

    def as_sequence(self, shape: TensorShape | None = None) -> Tensor:
        """The elements as a sequence.

        Args:
            shape: What is known of the elements' shape; those never written get it.
        """
        if self._sequence is not None:
            return self._sequence
        if self._dense is not None:
            return sequences.split(sequences.to_stored(self._dense))
        self._shape = self._shape if shape is None else shape
        if self._items is not None:
            absent = self._placeholder() if None in map(_is_none, self._items) else None
            elements = [sequences.to_stored(_or(x, absent)) for x in self._items]
            return sequences.of(elements, sequences.stored(self._dtype))
        assert self._blank is not None
        size = ox.Reshape(as_int64(self._blank), int64_constant([1]))
        one = int64_constant(self._placeholder_dims())
        target = ox.Concat(size, one, axis=0)
        stored = sequences.stored(self._dtype)
        return sequences.split(sequences.zeros_of_shape(stored, target))

    # Inside

    def _copy(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._cleared = set(self._cleared)
        if self._items is not None:
            other._items = list(self._items)
        return other

    def _changed(self) -> Self:
        """Return the state to modify: the array itself eagerly, a copy in a trace."""
        return self if current().graph is None else self._copy()

    def _copy_elements(self, other: ArrayState) -> None:
        self._items = None if other._items is None else list(other._items)
        self._dense, self._sequence, self._blank = other._dense, other._sequence, other._blank
        self._count = other._count

    def _reset(self, shape: TensorShape) -> None:
        self._items = self._dense = self._sequence = self._blank = self._count = None
        self._shape = shape
        self._cleared = set()

    def _element(self, value: Any) -> Tensor:
        """A value to be kept, as it is kept."""
        tensor = convert_to_tensor(value, dtype_hint=self._whole)
        if tensor.dtype is not self._whole:
            raise InvalidArgumentError(
                f"TensorArray dtype is {self._whole.name} but Op is trying to write dtype "
                f"{tensor.dtype.name}; use tfx.cast on {tensor!r}."
            )
        return parts(tensor) if self._whole.is_complex else tensor

    def _given_back(self, kept: Tensor) -> Tensor:
        """What is kept, as it was given."""
        return joined(kept) if self._whole.is_complex else kept

    def _fitting(self, shape: TensorShape) -> TensorShape:
        """The elements' shape, once there is one of this shape."""
        if not self._shape.is_compatible_with(shape):
            raise ValueError(
                f"Incompatible shape for value ({shape}), expected ({self._shape}) in a "
                "TensorArray; pass infer_shape=False for elements of different shapes."
            )
        return self._shape.merge_with(shape) if self._infer_shape else self._shape

    def _known_size(self) -> int | None:
        if self._items is not None:
            return len(self._items)
        count = self._count if self._count is not None else self._blank
        if count is not None:
            return static_int(count)
        return self._dense.shape[0] if self._dense is not None and self._dense.shape.rank else None

    def _check_written(self, index: int) -> None:
        size = self._known_size()
        if index < 0:
            raise OutOfRangeError(f"Writing to negative indices (index {index}) is not allowed.")
        if size is not None and index >= size and not self._dynamic_size:
            raise OutOfRangeError(
                f"Tried to write to index {index} but array is not resizeable and size is: {size} "
            )

    def _check_read(self, index: int) -> None:
        size = self._known_size()
        if index < 0:
            raise OutOfRangeError(f"Reading from negative indices (index {index}) is not allowed.")
        if size is not None and index >= size:
            raise OutOfRangeError(f"Tried to read from index {index} but array size is: {size} ")
        if index in self._cleared:
            raise InvalidArgumentError(
                f"Could not read index {index} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)"
            )

    def _clear(self, index: int) -> None:
        if self._clears and current().graph is None:
            self._cleared.add(index)
            if self._items is not None:
                self._items[index] = None

    def _clear_all(self) -> None:
        if self._clears and current().graph is None:
            for index in range(self._known_size() or 0):
                self._clear(index)

    def _as_items(self, known: bool) -> list[Tensor | None] | None:
        """The elements by number where they are, or can be, known so."""
        if self._items is not None:
            return self._items
        size = self._known_size()
        eager = current().graph is None
        if self._dense is not None and size is not None and (eager or size <= _FEW):
            return list(unstack(self._dense, num=size))
        return None

    def _with_item(
        self, items: list[Tensor | None], index: int, element: Tensor, shape: TensorShape
    ) -> Self:
        result = self._changed()
        if result._items is not items or result is not self:
            cleared = result._cleared
            result._reset(shape)
            result._cleared = cleared
            result._items = list(items)
        assert result._items is not None
        result._shape = shape
        result._items.extend([None] * (index + 1 - len(result._items)))
        result._items[index] = element
        result._cleared.discard(index)
        return result

    def _as_dense(self) -> Tensor | None:
        """The elements as one tensor, if they have, for certain, one shape."""
        if self._dense is not None:
            return self._dense
        if self._items and all(
            x is not None and x.shape.is_fully_defined() and x.shape == self._items[0].shape  # type: ignore[union-attr]
            for x in self._items
        ):
            return stack(self._items)
        if self._items is not None and current().graph is None:
            return stack(self._filled())
        return None

    def _filled(self, which: Sequence[int] | None = None) -> list[Tensor]:
        """Elements, zeros for those never written."""
        assert self._items is not None
        chosen = self._items if which is None else [self._items[i] for i in which]
        absent = self._absent() if any(x is None for x in chosen) else None
        return [_or(x, absent) for x in chosen]

    def _absent(self) -> Tensor:
        """Return the zeros that an element never written stands for."""
        shape = self._shape
        for item in self._items or ():
            if item is not None and not shape.is_fully_defined():
                if not item.shape.is_fully_defined():
                    return sequences.zeros_of_shape(self._dtype, shape_of(item))
                shape = item.shape
        if not shape.is_fully_defined():
            raise InvalidArgumentError(
                "An element of a TensorArray that was never written is used, and neither another "
                f"element nor element_shape ({self._shape}) tells its shape; pass element_shape."
            )
        return zeros(shape, self._dtype)

    def _placeholder_dims(self) -> list[int]:
        shape = self._shape
        if shape.rank is None:
            return [0]
        return [0 if d is None else d for d in shape]

    def _placeholder(self) -> Tensor:
        """An element never written, in a sequence: of the elements' shape as far as it is known."""
        written = [x for x in self._items or () if x is not None]
        if not self._shape.is_fully_defined() and written:
            return sequences.zeros_of_shape(self._dtype, shape_of(written[0]))
        return zeros(self._placeholder_dims(), self._dtype)

    def _blanks(self) -> Tensor:
        """Return all elements when none was written."""
        assert self._blank is not None
        if not self._shape.is_fully_defined():
            raise InvalidArgumentError(
                "Tried to stack a TensorArray none of whose elements was written, and whose "
                f"element_shape is {self._shape}: it must be fully defined."
            )
        size = ox.Reshape(as_int64(self._blank), int64_constant([1]))
        dims = int64_constant(self._placeholder_dims())
        return sequences.zeros_of_shape(self._dtype, ox.Concat(size, dims, axis=0))

    def _none(self, *, concatenated: bool = False) -> Tensor:
        """Return the tensor of an array without elements."""
        dims = [0 if d is None else d for d in (self._shape if self._shape.rank else ())]
        return zeros([0, *dims[1:]] if concatenated else [0, *dims], self._dtype)

    def _shaped(self, x: Tensor, leading: tuple[None, ...] = ()) -> Tensor:
        """Set the known part of the elements' shape on a tensor in a graph."""
        if isinstance(x, SymbolicTensor) and self._shape.rank is not None:
            count = self._known_size() if leading else None
            x.set_shape(TensorShape([*((count,) * len(leading)), *(self._shape.symbolic or ())]))
        return x


def int32(x: Tensor) -> Tensor:
    """An integer tensor as int32."""
    return x if x.dtype is dtypes.int32 else ox.Cast(x, to=dtypes.int32.onnx)


def shape_of(x: Tensor) -> Tensor:
    """The shape as an int64 vector."""
    if isinstance(x, EagerTensor):
        return embed(np.array(x.shape.as_list(), np.int64))
    return ox.Shape(x)


def first_length(x: Tensor) -> Tensor:
    """The length of the first axis, an int64 scalar."""
    return ox.Gather(ox.Shape(x), int64_constant(0))


def _is_none(x: Any) -> bool | None:
    return None if x is None else True


def _or(x: Tensor | None, other: Tensor | None) -> Tensor:
    result = other if x is None else x
    assert result is not None
    return result
