"""``PartitionedVariable``: a large variable in pieces, which a partitioner cut it into.

A piece is a variable of its own; what is saved is the whole. The pieces stay in one memory: there
is one process, and programs are written so for several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfx.compat.v1.variables.partitioners import known_sizes
from tfx.core.dtypes import DType
from tfx.core.shapes import TensorShape
from tfx.framework.context import using
from tfx.framework.convert import convert_to_tensor, register_tensor_conversion_function
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.math.cast import cast


class SaveSliceInfo(NamedTuple):
    """The place of a piece in the whole.

    Attributes:
        full_name: Name of the whole.
        full_shape: Its shape.
        var_offset: Where the piece begins along each axis.
        var_shape: The shape of the piece.
    """

    full_name: str
    full_shape: list[int]
    var_offset: list[int]
    var_shape: list[int]

    @property
    def place(self) -> tuple[slice, ...]:
        """The piece as an index of the whole."""
        ends = zip(self.var_offset, self.var_shape, strict=True)
        return tuple(slice(begin, begin + size) for begin, size in ends)


class PartitionInfo(NamedTuple):
    """What an initializer is told of the piece whose values it makes.

    Attributes:
        full_shape: The shape of the whole.
        var_offset: Where the piece begins along each axis.
    """

    full_shape: list[int]
    var_offset: list[int]


class PartitionedVariable:
    """A variable in pieces, which ``get_variable(partitioner=)`` makes.

    ``tf.convert_to_tensor`` and operations get the whole; iterating gives the pieces.

    Args:
        name: Name of the whole.
        shape: Its shape.
        dtype: Element type.
        variable_list: The pieces in order.
        partitions: How many there are along each axis.
    """

    def __init__(
        self,
        name: str,
        shape: Any,
        dtype: DType,
        variable_list: Sequence[Any],
        partitions: Sequence[int],
    ) -> None:
        self._name, self._shape, self._dtype = name, TensorShape(shape), dtype
        self._pieces, self._partitions = list(variable_list), list(partitions)

    @property
    def name(self) -> str:
        """The name of the whole."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Same as ``shape``."""
        return self._shape

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)

    def _get_variable_list(self) -> list[Any]:
        return self._pieces

    def _get_partitions(self) -> list[int]:
        return self._partitions

    @property
    def _axis(self) -> int:
        return next((i for i, n in enumerate(self._partitions) if n > 1), 0)

    def as_tensor(self) -> Tensor:
        """The whole, as a tensor."""
        with using(scope=""):
            return concat([convert_to_tensor(v) for v in self._pieces], self._axis, self._name)

    def _each(self, method: str, value: Any, options: Mapping[str, Any]) -> list[Any]:
        found, begin = [], 0
        given = convert_to_tensor(value, self._dtype)
        for piece in self._pieces:
            size = piece.shape[self._axis]
            place = (slice(None),) * self._axis + (slice(begin, begin + size),)
            found.append(getattr(piece, method)(given[place], **options))
            begin += size
        return found

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Replace the value; what the assignments of the pieces return.

        Args:
            value: The whole.
            use_locking: Accepted for compatibility.
            name: Name of the operations.
            read_value: See ``Variable.assign``.
        """
        return self._each("assign", value, {"name": name, "read_value": read_value})

    def assign_add(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Add a value; see ``assign``."""
        return self._each("assign_add", value, {"name": name, "read_value": read_value})

    def assign_sub(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Subtract a value; see ``assign``."""
        return self._each("assign_sub", value, {"name": name, "read_value": read_value})


def _as_tensor(
    value: PartitionedVariable, dtype: Any = None, name: Any = None, as_ref: bool = False
) -> Tensor:
    whole = value.as_tensor()
    return whole if dtype is None else cast(whole, dtype)


register_tensor_conversion_function(PartitionedVariable, _as_tensor)


def partitions_of(
    partitioner: Any, name: str, shape: TensorShape, dtype: DType
) -> list[SaveSliceInfo]:
    """The places of the pieces of a variable.

    Args:
        partitioner: What says how many there are.
        name: Full name of the variable.
        shape: Its shape, known.
        dtype: Element type.

    Raises:
        ValueError: it cannot be called, or says no number for each axis, or more than one axis.
    """
    if not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner!r}")
    counts = partitioner(shape=shape, dtype=dtype)
    if not isinstance(counts, Sequence):
        raise ValueError(f"Partitioner must return a sequence, but saw: {counts!r}")
    sizes = known_sizes(shape)
    if len(counts) != len(sizes):
        raise ValueError(
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{list(counts)} vs. {shape}"
        )
    if any(n < 1 for n in counts):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {list(counts)}")
    cut = [axis for axis, n in enumerate(counts) if n > 1]
    if len(cut) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: "
            f"{list(counts)}"
        )
    axis = cut[0] if cut else 0
    lengths = [len(part) for part in np.array_split(np.arange(sizes[axis]), counts[axis])]
    found, begin = [], 0
    for length in lengths:
        offset, piece = [0] * len(sizes), list(sizes)
        offset[axis], piece[axis] = begin, length
        found.append(SaveSliceInfo(name, sizes, offset, piece))
        begin += length
    return found


def initializer_of_piece(initializer: Any, info: SaveSliceInfo, call: Callable[..., Any]) -> Any:
    """The initializer of a piece: what makes its values, or its part of the values."""
    if not callable(initializer) or isinstance(initializer, Tensor):
        return convert_to_tensor(initializer)[info.place]

    def initial(shape: Any, dtype: DType) -> Any:
        return call(initializer, shape, dtype, PartitionInfo(info.full_shape, info.var_offset))

    return initial
