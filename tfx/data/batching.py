"""Steps that put consecutive elements together, and take them apart: batch, unbatch, rebatch.

A batch is made of NumPy arrays, by one gather where the elements are rows of arrays. Functions of
single elements before it that are the same on a whole batch run once for each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core.dtypes import DType
from tfx.core.errors import DataLossError, InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.data.elementwise import Map
from tfx.data.functions import DataFunction
from tfx.data.indexed import Indexed
from tfx.data.leaves import Array, Leaves, array_of, number, tensor_of
from tfx.data.nodes import (
    INFINITE,
    UNKNOWN,
    Node,
    Opaque,
    Run,
    Stage,
    Unary,
    known,
    known_number,
    open_stage,
)
from tfx.data.sources import sliced
from tfx.data.structure import DatasetSpec, NoneTensorSpec, Structure, with_shapes
from tfx.framework.composite.extension_parts import without_first
from tfx.ragged_ops import arrays
from tfx.ragged_ops.ragged_tensor_spec import RaggedTensorSpec
from tfx.sparse_ops import arrays as sparse_arrays
from tfx.sparse_ops.sparse_tensor_spec import SparseTensorSpec


def batched_spec(spec: Any, size: int | None) -> Any:
    """The spec of a batch of components.

    Raises:
        TypeError: such components cannot be batched.
    """
    if isinstance(spec, TensorSpec):
        return TensorSpec(TensorShape([size]).concatenate(spec.shape), spec.dtype)
    if isinstance(spec, NoneTensorSpec):
        return spec
    if isinstance(spec, RaggedTensorSpec | SparseTensorSpec):
        return spec.batched(size)
    if isinstance(spec, DatasetSpec):
        return DatasetSpec(spec.element_spec)
    raise TypeError(f"Unable to create a batch of components of the spec {spec!r}.")


def stacked(rows: Sequence[Leaves]) -> Leaves:
    """The components of a batch.

    Raises:
        InvalidArgumentError: elements of different shapes.
    """
    return tuple([_stacked(column, i) for i, column in enumerate(zip(*rows, strict=True))])


def _stacked(column: Sequence[Any], number: int) -> Any:
    first = column[0]
    if first is None:
        return None
    if isinstance(first, Node):
        raise InvalidArgumentError("Cannot batch components that are datasets.")
    arrays = [array_of(leaf) for leaf in column]
    head = arrays[0]
    batch: Array = np.empty((len(arrays), *head.shape), head.dtype)
    shape = head.shape
    for i, array in enumerate(arrays):
        if array.shape != shape:
            raise InvalidArgumentError(
                f"Cannot batch tensors with different shapes in component {number}. First element "
                f"had shape {list(shape)} and element {i} had shape {list(array.shape)}.",
                op="IteratorGetNext",
            )
        batch[i, ...] = array  # so that an array of one text gives the text
    return batch


def batch_maker(structure: Structure) -> Callable[[Sequence[Leaves]], Leaves]:
    """What makes a batch of elements of a structure."""
    if not structure.has_ragged:
        return stacked

    def put(rows: Sequence[Leaves]) -> Leaves:
        found: list[Any] = []
        columns = zip(*[structure.groups(row) for row in rows], strict=True)
        for i, column in enumerate(columns):
            spec, parts = column[0][0], [leaves for _, leaves in column]
            if isinstance(spec, RaggedTensorSpec):
                found += _ragged(spec, parts)
            elif isinstance(spec, SparseTensorSpec):
                found += sparse_arrays.stacked([[array_of(x) for x in leaves] for leaves in parts])
            else:
                found.append(_stacked([leaves[0] for leaves in parts], i))
        return tuple(found)

    return put


def _ragged(spec: RaggedTensorSpec, rows: Sequence[Sequence[Any]]) -> list[Array]:
    arrays_of = [[array_of(leaf) for leaf in row] for row in rows]
    return arrays.stacked(arrays_of, spec.row_splits_dtype.as_numpy_dtype)


def ragged_spec(spec: Any, kind: DType) -> Any:
    """The spec of components that are to be put together to ragged tensors.

    Args:
        spec: That of the components: tensors with unknown sizes become ragged, others stay.
        kind: The dtype of the row splits.
    """
    if not isinstance(spec, TensorSpec) or spec.shape.rank is None:
        return spec
    if spec.shape.is_fully_defined():
        return spec
    last = max([axis for axis, size in enumerate(spec.shape) if size is None])
    return RaggedTensorSpec(spec.shape, spec.dtype, last, kind)


class RaggedElements(Unary):
    """Elements whose tensors of unknown sizes are ragged tensors.

    Args:
        source: The elements.
        kind: The dtype of the row splits.
    """

    def __init__(self, source: Node, kind: DType) -> None:
        self.kind = kind
        super().__init__(source, source.structure.map_whole(lambda s: ragged_spec(s, kind)))

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        specs = [spec for spec, _ in self.structure.groups(())]
        return _RaggedElementsStage(open_stage(self.source, run), self.source.structure, specs)


class _RaggedElementsStage(Stage):
    __slots__ = ("_before", "_specs")

    def __init__(self, source: Stage, before: Structure, specs: Sequence[Any]) -> None:
        super().__init__(source)
        self._before = before
        self._specs = specs

    def next(self) -> Leaves:
        """See ``Stage``."""
        found: list[Any] = []
        groups = self._before.groups(self.inputs[0].next())
        for (before, leaves), spec in zip(groups, self._specs, strict=True):
            if before is spec or not isinstance(spec, RaggedTensorSpec):
                found += leaves
                continue
            parts = arrays.from_dense(array_of(leaves[0]), spec.ragged_rank)
            kind = spec.row_splits_dtype.as_numpy_dtype
            found += [parts[0], *[p.astype(kind) for p in parts[1:]]]
        return tuple(found)


class Batch(Unary):
    """Batches of consecutive elements."""

    def __init__(self, source: Node, size: Any, drop_remainder: Any) -> None:
        self.size = size
        self.drop_remainder = drop_remainder
        if known(self, "size"):
            check_size(size)
        static = known_number(size) if _is_true(drop_remainder) else None
        leading = TensorShape([static])
        structure = source.structure.map_whole(
            lambda s: batched_spec(s, static), leading.concatenate
        )
        super().__init__(source, structure)

    def cardinality(self) -> int:
        """See ``Node``."""
        count, size = self.source.cardinality(), known_number(self.size)
        if count < 0 or size is None or not known(self, "drop_remainder"):
            return count if count < 0 else UNKNOWN
        return count // size if _is_true(self.drop_remainder) else -(-count // size)

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        size, drop = check_size(self.size), bool(number(self.drop_remainder))
        put = batch_maker(self.source.structure)
        if put is not stacked:
            return BatchStage(open_stage(self.source, run), size, drop, put=put)
        indexed = self.source.indexed(run, True)
        if indexed is not None:
            return _GatherStage(indexed, size, drop)
        source, functions = self.source, []
        while isinstance(source, Map) and source.is_deferrable(run):
            functions.append(source.function)
            source = source.source
        return BatchStage(open_stage(source, run), size, drop, functions[::-1])


def check_size(size: Any) -> int:
    """The number of elements of a batch.

    Raises:
        InvalidArgumentError: it is not positive.
    """
    found = number(size)
    if found < 1:
        raise InvalidArgumentError(
            f"Batch size must be greater than zero; got {found}.", op="BatchDatasetV2"
        )
    return found


def _is_true(value: Any) -> bool:
    return bool(known_number(value))


def computed(functions: Sequence[DataFunction], leaves: Leaves) -> Leaves:
    """What functions make of a batch, one after the other."""
    for function in functions:
        whole = function.batched()
        assert whole is not None
        leaves = tuple(whole.call_flat([tensor_of(leaf) for leaf in leaves]))
    return leaves


class _GatherStage(Stage):
    """Batches of rows of arrays."""

    __slots__ = ("_drop", "_indexed", "_size", "_stream")
    _position = ("_stream",)

    def __init__(self, indexed: Indexed, size: int, drop: bool) -> None:
        super().__init__()
        self._indexed = indexed
        self._stream = indexed.stream
        for function in indexed.functions:
            function.begin()
        self._size = size
        self._drop = drop

    def next(self) -> Leaves:
        """See ``Stage``."""
        leaves, count = self._indexed.rows(self._size)
        if not count or (self._drop and count < self._size):
            raise StopIteration
        return computed(self._indexed.functions, leaves)


class BatchStage(Stage):
    """Batches of any elements.

    Args:
        source: The elements.
        size: How many make a batch.
        drop: Whether fewer at the end are left out.
        functions: What is to be computed of a batch.
        put: Makes a batch of elements.
    """

    __slots__ = ("_drop", "_functions", "_put", "_size")

    def __init__(
        self,
        source: Stage,
        size: int,
        drop: bool,
        functions: Sequence[DataFunction] = (),
        put: Callable[[Sequence[Leaves]], Leaves] = stacked,
    ) -> None:
        super().__init__(source)
        self._size = size
        self._drop = drop
        self._functions = functions
        self._put = put
        for function in functions:
            function.begin()

    def next(self) -> Leaves:
        """See ``Stage``."""
        take = self.inputs[0].next
        rows: list[Leaves] = []
        try:
            for _ in range(self._size):
                rows.append(take())  # noqa: PERF401
        except StopIteration:
            if not rows or self._drop:
                raise
        return computed(self._functions, self._put(rows))


class PaddedBatch(Unary):
    """Batches of elements that are padded to one shape.

    Args:
        source: The elements.
        size: How many make a batch.
        shapes: The shape of each component; None or -1: as large as the largest of a batch.
        padding: What is filled in, for each component.
        drop_remainder: Whether fewer at the end are left out.
    """

    def __init__(
        self, source: Node, size: Any, shapes: Sequence[Any], padding: Sequence[Any], drop: Any
    ) -> None:
        self.size = size
        self.drop_remainder = drop
        self.shapes = Opaque(shapes)
        self.padding = tuple(padding)
        static = check_size(size) if known(self, "size") else None
        lead = static if _is_true(drop) else None
        specs = [
            spec
            if isinstance(spec, NoneTensorSpec)
            else TensorSpec(TensorShape([lead]).concatenate(shape), spec.dtype)
            for spec, shape in zip(source.structure.specs, shapes, strict=True)
        ]
        super().__init__(source, source.structure.with_specs(specs))

    def cardinality(self) -> int:
        """See ``Node``."""
        return Batch.cardinality(self)  # type: ignore[arg-type]

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        padding = [None if x is None else array_of(x) for x in self.padding]
        shapes = self.shapes.value

        def put(rows: Sequence[Leaves]) -> Leaves:
            columns = zip(*rows, strict=True)
            parts = zip(columns, shapes, padding, strict=True)
            return tuple([padded(c, s, p, i) for i, (c, s, p) in enumerate(parts)])

        drop = bool(number(self.drop_remainder))
        return BatchStage(open_stage(self.source, run), check_size(self.size), drop, put=put)


def padded(column: Sequence[Any], shape: TensorShape, value: Array | None, number: int) -> Any:
    """The batch of a component.

    Raises:
        DataLossError: an element is larger than the shape.
        InvalidArgumentError: it is of another rank.
    """
    if column[0] is None:
        return None
    arrays = [array_of(leaf) for leaf in column]
    rank = shape.rank if shape.rank is not None else arrays[0].ndim
    wanted: list[int | None] = list(shape.as_list()) if shape.rank is not None else [None] * rank
    for i, array in enumerate(arrays):
        if array.ndim != rank:
            raise InvalidArgumentError(
                f"All elements in a batch must have the same rank as the padded shape for component"
                f"{number}: expected rank {rank} but got element {i} with rank {array.ndim}.",
                op="IteratorGetNext",
            )
    sizes = [
        max(a.shape[d] for a in arrays) if want is None else want for d, want in enumerate(wanted)
    ]
    batch: Array = np.empty((len(arrays), *sizes), arrays[0].dtype)
    batch[...] = value
    for i, array in enumerate(arrays):
        if any(have > want for have, want in zip(array.shape, sizes, strict=True)):
            raise DataLossError(
                "Attempted to pad to a smaller size than the input element: element "
                f"{i} of the batch has shape {list(array.shape)}, the padded shape is {sizes}.",
                op="IteratorGetNext",
            )
        part = batch[i, ...]
        whole: tuple[Any, ...] = (*map(slice, array.shape), ...)
        part[whole] = array
    return batch


class Unbatch(Unary):
    """The slices of elements along their first axis."""

    def __init__(self, source: Node) -> None:
        structure = source.structure.map_whole(
            lambda s: s if isinstance(s, NoneTensorSpec) else sliced(s), without_first
        )
        super().__init__(source, structure)
        wholes = [spec for spec, _ in source.structure.groups(())]
        leads = {s.shape[0] for s in wholes if getattr(s.shape, "rank", 0)}
        self._lead = next((n for n in leads if n is not None), None)

    def cardinality(self) -> int:
        """See ``Node``."""
        count = self.source.cardinality()
        if count == 0:
            return 0
        if self._lead is None or count == UNKNOWN:
            return UNKNOWN
        return INFINITE if count == INFINITE else count * self._lead

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        if self.source.structure.has_ragged:
            return _RaggedUnbatchStage(open_stage(self.source, run), self.source.structure)
        return _UnbatchStage(open_stage(self.source, run))


class _RaggedUnbatchStage(Stage):
    __slots__ = ("_next", "_rows", "_structure")
    _position = ("_next", "_rows")

    def __init__(self, source: Stage, structure: Structure) -> None:
        super().__init__(source)
        self._structure = structure
        self._rows: list[Leaves] = []
        self._next = 0

    def next(self) -> Leaves:
        """See ``Stage``."""
        while self._next >= len(self._rows):
            self._rows = self._sliced(self.inputs[0].next())
            self._next = 0
        self._next += 1
        return self._rows[self._next - 1]

    def _sliced(self, element: Leaves) -> list[Leaves]:
        columns: list[list[list[Any]]] = []
        for spec, leaves in self._structure.groups(element):
            if leaves[0] is None:
                continue
            parts = [array_of(leaf) for leaf in leaves]
            if isinstance(spec, SparseTensorSpec):
                columns.append(sparse_arrays.rows_of(parts))
                continue
            ragged = isinstance(spec, RaggedTensorSpec) and len(parts) > 1
            columns.append(arrays.rows_of(parts) if ragged else [[row] for row in _each(parts[0])])
        sizes = {len(column) for column in columns}
        if len(sizes) > 1:
            raise InvalidArgumentError(
                "Input element must have the same batch size in each component; the components "
                f"have {sorted(sizes)}.",
                op="IteratorGetNext",
            )
        rows = zip(*columns, strict=True)
        return [tuple([leaf for parts in row for leaf in parts]) for row in rows]


def _each(array: Array) -> list[Array]:
    return [array[i, ...] for i in range(len(array))]


class _UnbatchStage(Stage):
    __slots__ = ("_arrays", "_next", "_size")

    def __init__(self, source: Stage) -> None:
        super().__init__(source)
        self._arrays: list[Any] = []
        self._next = self._size = 0

    def next(self) -> Leaves:
        """See ``Stage``."""
        while self._next >= self._size:
            self._begin(self.inputs[0].next())
            self._next = 0
        i = self._next
        self._next = i + 1
        return tuple([None if a is None else a[i, ...] for a in self._arrays])

    def _begin(self, element: Leaves) -> None:
        self._arrays = [None if leaf is None else array_of(leaf) for leaf in element]
        sizes = {len(a) for a in self._arrays if a is not None}
        if len(sizes) > 1:
            self._size = 0
            raise InvalidArgumentError(
                "Input element must have the same batch size in each component; the components "
                f"have {sorted(sizes)}.",
                op="IteratorGetNext",
            )
        self._size = sizes.pop() if sizes else 0

    def save(self) -> Any:
        """See ``Stage``."""
        rest = tuple(None if a is None else a[self._next :] for a in self._arrays)
        return {**super().save(), "rest": rest}

    def restore(self, state: Any) -> None:
        """See ``Stage``."""
        super().restore(state)
        self._arrays, self._next, self._size = [], 0, 0
        if state["rest"]:
            self._begin(tuple(state["rest"]))


class Rebatch(Unary):
    """Batches of other sizes, which take turns.

    Args:
        source: Batches.
        sizes: The sizes, one after the other and from the beginning.
        drop_remainder: Whether a smaller one at the end is left out.
    """

    def __init__(self, source: Node, sizes: Sequence[int], drop_remainder: bool) -> None:
        self.sizes = Opaque(list(sizes))
        self.drop_remainder = drop_remainder
        equal = len(set(sizes)) == 1 and drop_remainder
        specs = [
            s
            if isinstance(s, NoneTensorSpec)
            else batched_spec(sliced(s), sizes[0] if equal else None)
            for s in source.structure.specs
        ]
        lead = TensorShape([sizes[0] if equal else None])
        spec = source.structure.with_specs(specs).spec
        super().__init__(
            source, Structure(with_shapes(lambda s: lead.concatenate(without_first(s)), spec))
        )
        self._rows = Unbatch(source)

    def cardinality(self) -> int:
        """See ``Node``."""
        count = self._rows.cardinality()
        sizes: list[int] = self.sizes.value
        if count < 0:
            return count
        whole, rest = divmod(count, sum(sizes))
        found = whole * len(sizes)
        for size in sizes:
            if rest >= size or (rest > 0 and not self.drop_remainder):
                found += 1
            rest -= size
        return found

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _RebatchStage(self._rows.stage(run), self.sizes.value, self.drop_remainder)


class _RebatchStage(Stage):
    __slots__ = ("_drop", "_sizes", "_turn")
    _position = ("_turn",)

    def __init__(self, source: Stage, sizes: Sequence[int], drop: bool) -> None:
        super().__init__(source)
        self._sizes = sizes
        self._drop = drop
        self._turn = 0

    def next(self) -> Leaves:
        """See ``Stage``."""
        size = self._sizes[self._turn]
        found = BatchStage(self.inputs[0], size, self._drop).next()
        self._turn = (self._turn + 1) % len(self._sizes)
        return found
