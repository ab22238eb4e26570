"""Where elements come from: arrays, numbers, Python generators, random numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError, OpError
from tfx.core.specs import TensorSpec
from tfx.data.indexed import Counting, Indexed, Positions, gather_rows
from tfx.data.leaves import Leaves, array_of, is_known, number, scalar, tensor_of
from tfx.data.nodes import INFINITE, UNKNOWN, Node, Opaque, Run, Stage, known
from tfx.data.random_draws import Draws, Seeds
from tfx.data.structure import Structure, components_of, converted, flatten
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.function.execution.python_errors import error_of
from tfx.ragged_ops.ragged_tensor_spec import RaggedTensorSpec
from tfx.sparse_ops.sparse_tensor_spec import SparseTensorSpec


class TensorSlices(Node):
    """The slices of arrays along their first axis.

    Args:
        tensors: The components, with the slices along their first axis.
        structure: That of a slice.
    """

    def __init__(self, tensors: Sequence[Any], structure: Structure) -> None:
        self.tensors = tuple([array_of(t) if isinstance(t, EagerTensor) else t for t in tensors])
        self.structure = structure

    def resolved(self) -> Node:
        """See ``Node``."""
        return TensorSlices(self.tensors, self.structure)

    def cardinality(self) -> int:
        """See ``Node``."""
        sizes = [t.shape[0] for t in self.tensors]
        return next((n for n in sizes if n is not None), UNKNOWN)

    def indexed(self, run: Run, functions: bool) -> Indexed:
        """See ``Node``."""
        columns = self.tensors
        sizes = {len(column) for column in columns}
        if len(sizes) > 1:
            raise InvalidArgumentError(
                "Dataset.from_tensor_slices takes tensors of one length; their shapes are "
                f"{[column.shape for column in columns]}."
            )
        size = sizes.pop()
        row = sum(column.nbytes for column in columns) // max(size, 1)
        return Indexed(gather_rows(columns), Counting(size), size, True, row)


class Tensors(Node):
    """A single element."""

    def __init__(self, leaves: Sequence[Any], structure: Structure) -> None:
        self.leaves = tuple(leaves)
        self.structure = structure

    def cardinality(self) -> int:
        """See ``Node``."""
        return 1

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return ListStage([self.leaves])


class Elements(Node):
    """Elements that are there already, such as those of a window."""

    def __init__(self, elements: Sequence[Leaves], structure: Structure) -> None:
        self.elements = Opaque(elements)
        self.structure = structure

    def cardinality(self) -> int:
        """See ``Node``."""
        return len(self.elements.value)

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return ListStage(self.elements.value)


class ListStage(Stage):
    """Elements of a list."""

    __slots__ = ("_items", "_next")
    _position = ("_next",)

    def __init__(self, items: Sequence[Leaves]) -> None:
        super().__init__()
        self._items = items
        self._next = 0

    def next(self) -> Leaves:
        """See ``Stage``."""
        i = self._next
        if i >= len(self._items):
            raise StopIteration
        self._next = i + 1
        return self._items[i]

    def finish(self) -> None:
        """Go to the end."""
        self._next = len(self._items)


class Range(Node):
    """Numbers with equal steps between them."""

    def __init__(self, start: Any, stop: Any, step: Any, dtype: DType) -> None:
        self.start = start
        self.stop = stop
        self.step = step
        self.dtype = dtype
        self.structure = Structure(TensorSpec([], dtype))

    def cardinality(self) -> int:
        """See ``Node``."""
        return self._size() if known(self, "start", "stop", "step") else UNKNOWN

    def _size(self) -> int:
        return len(range(number(self.start), number(self.stop), number(self.step)))

    def indexed(self, run: Run, functions: bool) -> Indexed:
        """See ``Node``."""
        start, step, size = number(self.start), number(self.step), self._size()
        kind = self.dtype.as_numpy_dtype

        def gather(positions: Positions) -> Leaves:
            return ((positions * step + start).astype(kind),)

        return Indexed(gather, Counting(size), size, True, 8)


class Generated(Node):
    """What a Python generator yields.

    Args:
        generator: Called, with ``arguments``, for each iteration.
        arguments: Tensors that it gets as arrays.
        structure: What it is to yield.
    """

    def __init__(
        self, generator: Callable[..., Any], arguments: Sequence[Tensor], structure: Structure
    ) -> None:
        self.generator = generator
        self.arguments: tuple[Any, ...] = tuple(arguments)
        self.structure = structure

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        given = [x.numpy() for x in self.arguments]
        return _GeneratorStage(lambda: iter(self.generator(*given)), self.structure)


class _GeneratorStage(Stage):
    __slots__ = ("_begin", "_count", "_fast", "_iterator", "_structure")

    def __init__(self, begin: Callable[[], Iterator[Any]], structure: Structure) -> None:
        super().__init__()
        self._begin = begin
        self._iterator: Iterator[Any] | None = None
        self._structure = structure
        self._count = 0

    def next(self) -> Leaves:
        """See ``Stage``."""
        try:
            if self._iterator is None:
                self._iterator = self._begin()
            value = next(self._iterator)
        except (StopIteration, OpError):
            raise
        except Exception as e:
            raise error_of(e, "the generator of Dataset.from_generator") from e
        self._count += 1
        return checked(value, self._structure, self._count - 1)

    def save(self) -> Any:
        """See ``Stage``."""
        return self._count

    def restore(self, state: Any) -> None:
        """Run the generator again up to the position: it is the user's, not our state."""
        self.close()
        self._iterator, self._count = self._begin(), 0
        for _ in range(state):
            next(self._iterator)
            self._count += 1

    def close(self) -> None:
        """See ``Stage``."""
        ending = getattr(self._iterator, "close", None)
        self._iterator = None
        if ending is not None:
            # It may be running, in a thread that nobody waits for any longer.
            with contextlib.suppress(ValueError):
                ending()


def checked(value: Any, structure: Structure, position: int) -> Leaves:
    """The components of what a generator yielded.

    Raises:
        InvalidArgumentError: it is not what was announced.
    """
    spec = structure.spec
    # One that yields lists where tuples are expected means tuples.
    if isinstance(value, list) and type(spec) is tuple:
        value = tuple(value)
    leaves = components_of(spec, value)
    if leaves is None:
        raise InvalidArgumentError(
            f"`generator` yielded an element that did not match the expected structure. The "
            f"expected structure was {_shown(spec)}, but the yielded element number {position} "
            f"was {value!r}."
        )
    found = []
    for leaf, expected in zip(leaves, structure.specs, strict=True):
        if not isinstance(expected, TensorSpec):
            found.append(leaf)
            continue
        try:
            made = _converted(leaf, expected.dtype)
        except (TypeError, ValueError) as e:
            raise InvalidArgumentError(
                f"`generator` yielded an element that could not be converted to the expected type. "
                f"The expected type was {expected.dtype.name}, but the yielded element number "
                f"{position} was {leaf!r}: {e}"
            ) from e
        if not expected.shape.is_compatible_with(made.shape):
            raise InvalidArgumentError(
                f"`generator` yielded an element of shape {tuple(made.shape)} where an element of "
                f"shape {expected.shape} was expected: element number {position}, {leaf!r}."
            )
        found.append(made)
    return tuple(found)


def _shown(spec: Any) -> Any:
    return Structure(spec).pack(tuple(getattr(s, "dtype", s) for s in flatten(spec)))


def _converted(leaf: Any, dtype: DType) -> Any:
    kind = dtype.as_numpy_dtype
    if isinstance(leaf, np.ndarray | np.generic | int | float) and dtype.name != "string":
        array = np.asarray(leaf)
        if array.dtype == kind and not isinstance(leaf, np.ndarray):
            return array
        if array.dtype.kind in "biuf" and np.dtype(kind).kind in "iufV":
            # As NumPy casts, also from 1.5 to 1, which TensorFlow does here.
            return array.astype(kind)  # a copy: the generator may go on using its array
    if isinstance(leaf, EagerTensor) and leaf.dtype is dtype:
        return leaf
    if isinstance(leaf, EagerTensor):
        leaf = leaf.numpy()
    return array_of(convert_to_tensor(leaf, dtype))


class RandomNumbers(Node):
    """Random int64 without end."""

    def __init__(self, seed: Any, renewed: bool) -> None:
        self.seeds = Seeds(seed, renewed)
        self.structure = Structure(TensorSpec([], "int64"))

    def cardinality(self) -> int:
        """See ``Node``."""
        return INFINITE

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _RandomStage(self.seeds.next())


class _RandomStage(Stage):
    __slots__ = ("_draws",)
    _position = ("_draws",)

    def __init__(self, draws: Draws) -> None:
        super().__init__()
        self._draws = draws

    def next(self) -> Leaves:
        """See ``Stage``."""
        return (scalar(self._draws.one_below(2**32)),)


def components(value: Any, spec: Any = None) -> list[Any]:
    """What the user gave as components with contents, or symbolic ones."""
    return [_component(x) for x in flatten(converted(value, spec))]


def _component(x: Any) -> Any:
    if hasattr(x, "_node"):
        return x._node
    return tensor_of(x) if is_known(x) else x


def sliced(spec: Any) -> Any:
    """The spec of a slice along the first axis.

    Raises:
        ValueError: there is no such axis, or it is None.
    """
    if isinstance(spec, SparseTensorSpec) or (
        isinstance(spec, RaggedTensorSpec) and spec.ragged_rank
    ):
        return spec.row_spec()
    if isinstance(spec, RaggedTensorSpec):  # of tensors
        return sliced(TensorSpec(spec.shape, spec.dtype))
    if not isinstance(spec, TensorSpec):
        raise ValueError(f"Only tensors have slices; got a component with the spec {spec!r}.")
    if spec.shape.rank == 0:
        raise ValueError(
            f"Unbatching a tensor is only supported for rank >= 1; got a scalar, {spec!r}. "
            "Dataset.from_tensors makes an element of it as a whole."
        )
    return TensorSpec(spec.shape[1:] if spec.shape.rank is not None else None, spec.dtype)
