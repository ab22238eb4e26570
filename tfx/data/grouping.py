"""Consecutive elements in windows, and ``group_by_window``: elements by key, reduced by windows."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.data.batching import Batch, PaddedBatch, padded, stacked
from tfx.data.functions import DataFunction, argument_structures
from tfx.data.leaves import Leaves, array_of, number, scalar
from tfx.data.nodes import UNKNOWN, Node, Run, Stage, Unary, known, open_stage
from tfx.data.sources import Elements
from tfx.data.structure import DatasetSpec, Structure


class GroupByWindow(Unary):
    """Elements by key; a window of them becomes a dataset whose elements come out.

    Args:
        source: The elements.
        key_func: Gives the key of an element, an integer scalar.
        reduce_func: Makes a dataset of a key and a window, which is a dataset.
        size_func: Gives the size of the windows of a key.
    """

    def __init__(self, source: Node, key_func: Any, reduce_func: Any, size_func: Any) -> None:
        key = Structure(TensorSpec([], "int64"))
        self.key = DataFunction(key_func, argument_structures(source.structure), "group_by_window")
        spec = self.key.output.spec
        if not isinstance(spec, TensorSpec) or not spec.dtype.is_integer or spec.shape.rank:
            raise ValueError(
                "The key_func of Dataset.group_by_window must return an integer scalar; it "
                f"returns {spec!r}."
            )
        self.size = DataFunction(size_func, [key], "group_by_window")
        window = Structure(DatasetSpec(source.structure.spec))
        self.reduce = DataFunction(reduce_func, [key, window], "group_by_window")
        result = self.reduce.output.spec
        if not isinstance(result, DatasetSpec):
            raise TypeError(
                "The reduce_func of Dataset.group_by_window must return a dataset; it returns "
                f"{result!r}."
            )
        super().__init__(source, Structure(result.element_spec))

    def cardinality(self) -> int:
        """See ``Node``."""
        return UNKNOWN

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _GroupStage(open_stage(self.source, run), self, run)


class _GroupStage(Stage):
    """Takes elements until a window is full, and gives out what becomes of it."""

    __slots__ = ("_ended", "_groups", "_node", "_run", "_window")
    _position = ("_ended",)

    def __init__(self, source: Stage, node: GroupByWindow, run: Run) -> None:
        super().__init__(source)
        self._node = node
        self._run = run
        self._groups: dict[int, list[Leaves]] = {}
        # Key and elements of the window that is being given out; its stage is the second input.
        self._window: tuple[int, list[Leaves]] | None = None
        self._ended = False

    def next(self) -> Leaves:
        """See ``Stage``."""
        while True:
            if self._window is not None:
                try:
                    return self.inputs[1].next()
                except StopIteration:
                    self.inputs.pop().close()
                    self._window = None
            self._begin(*self._full())

    def _full(self) -> tuple[int, list[Leaves]]:
        """The next window."""
        node = self._node
        while not self._ended:
            try:
                element = self.inputs[0].next()
            except StopIteration:
                self._ended = True
                break
            key = int(array_of(node.key(element)[0]))
            group = self._groups.setdefault(key, [])
            group.append(element)
            size = int(array_of(node.size((scalar(key),))[0]))
            if size < 1:
                raise InvalidArgumentError(
                    f"Window size must be greater than zero; got {size} for the key {key}.",
                    op="GroupByWindowDataset",
                )
            if len(group) >= size:
                return key, self._groups.pop(key)
        for key in sorted(self._groups):
            return key, self._groups.pop(key)
        raise StopIteration

    def _begin(self, key: int, elements: list[Leaves]) -> None:
        held = Elements(elements, self._node.source.structure)
        (found,) = self._node.reduce((scalar(key),), (held,))
        self.inputs.append(open_stage(found, self._run))
        self._window = (key, elements)

    def save(self) -> Any:
        """See ``Stage``."""
        return {
            **super().save(),
            "groups": [[key, rows] for key, rows in self._groups.items()],
            "window": self._window,
        }

    def restore(self, state: Any) -> None:
        """See ``Stage``."""
        del self.inputs[1:]
        self._groups = {key: [tuple(x) for x in rows] for key, rows in state["groups"]}
        self._window = None
        if state["window"] is not None:
            key, rows = state["window"]
            self._begin(key, [tuple(x) for x in rows])
        super().restore(state)


@dataclass(frozen=True, slots=True)
class BucketRule:
    """How elements are divided by their length.

    Attributes:
        boundaries: Upper ends of the lengths of each bucket but the last.
        sizes: How many elements make a batch in each.
        to_boundary: Whether to pad to the end of the bucket less one, not to the longest element.
        drop_remainder: Whether smaller batches at the end are left out.
    """

    boundaries: tuple[int, ...]
    sizes: tuple[int, ...]
    to_boundary: bool
    drop_remainder: bool


class Buckets(Unary):
    """Batches of elements of about the same length.

    Args:
        source: The elements.
        length_func: Gives the length of one.
        rule: How they are divided.
        shapes: The shape of each component, as ``PaddedBatch`` has it; None: nothing is padded.
        padding: What is filled in.
    """

    def __init__(
        self, source: Node, length_func: Any, rule: BucketRule, shapes: Any, padding: Any
    ) -> None:
        arguments = argument_structures(source.structure)
        self.length = DataFunction(length_func, arguments, "bucket_by_sequence_length")
        if len(self.length.output.specs) != 1 or not self.length.output.is_tensors:
            raise ValueError(
                "The element_length_func of Dataset.bucket_by_sequence_length must return an "
                f"integer scalar; it returns {self.length.output!r}."
            )
        self.rule = rule
        self.padding = padding
        self.shapes: Any = None
        if shapes is None:
            structure = Batch(source, 1, False).structure
        else:
            batches = PaddedBatch(source, 1, shapes, padding, False)
            structure, self.shapes = batches.structure, batches.shapes
        super().__init__(source, structure)

    def cardinality(self) -> int:
        """See ``Node``."""
        return UNKNOWN

    def batch(self, bucket: int, rows: list[Leaves]) -> Leaves:
        """A batch of elements of a bucket."""
        if self.shapes is None:
            return stacked(rows)
        shapes = self.shapes.value
        if self.rule.to_boundary:
            if bucket == len(self.rule.boundaries):
                raise InvalidArgumentError(
                    "When pad_to_bucket_boundary=True, elements must have length < max("
                    f"bucket_boundaries), which is {self.rule.boundaries[-1]}."
                )
            end = self.rule.boundaries[bucket] - 1
            shapes = [[end if n is None else n for n in shape] for shape in shapes]
            shapes = [TensorShape(shape) for shape in shapes]
        columns = zip(zip(*rows, strict=True), shapes, self.padding, strict=True)
        return tuple(
            [
                padded(column, shape, None if value is None else array_of(value), i)
                for i, (column, shape, value) in enumerate(columns)
            ]
        )

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _BucketStage(open_stage(self.source, run), self)


class _BucketStage(Stage):
    __slots__ = ("_buckets", "_ended", "_node")
    _position = ("_ended",)

    def __init__(self, source: Stage, node: Buckets) -> None:
        super().__init__(source)
        self._node = node
        self._buckets: dict[int, list[Leaves]] = {}
        self._ended = False

    def next(self) -> Leaves:
        """See ``Stage``."""
        node = self._node
        while not self._ended:
            try:
                element = self.inputs[0].next()
            except StopIteration:
                self._ended = True
                break
            length = int(array_of(node.length(element)[0]))
            number = bisect.bisect_right(node.rule.boundaries, length)
            rows = self._buckets.setdefault(number, [])
            rows.append(element)
            if len(rows) == node.rule.sizes[number]:
                return node.batch(number, self._buckets.pop(number))
        if not self._buckets or node.rule.drop_remainder:
            raise StopIteration
        number = min(self._buckets)
        return node.batch(number, self._buckets.pop(number))

    def save(self) -> Any:
        """See ``Stage``."""
        rows = [[number, rows] for number, rows in self._buckets.items()]
        return {**super().save(), "buckets": rows}

    def restore(self, state: Any) -> None:
        """See ``Stage``."""
        super().restore(state)
        self._buckets = {number: [tuple(x) for x in rows] for number, rows in state["buckets"]}


class Window(Unary):
    """Consecutive elements as datasets."""

    def __init__(self, source: Node, size: Any, shift: Any, stride: Any, drop: Any) -> None:
        # Each component is a dataset of its own, a ragged or sparse one as a whole.
        inner = source.structure.map_whole(DatasetSpec)
        super().__init__(source, inner)
        self.size = size
        self.shift = shift
        self.stride = stride
        self.drop_remainder = drop
        for name in ("size", "shift", "stride"):
            if known(self, name) and number(getattr(self, name)) < 1:
                raise InvalidArgumentError(
                    f"Window {name} must be greater than zero; got {number(getattr(self, name))}.",
                    op="WindowDataset",
                )

    def cardinality(self) -> int:
        """See ``Node``."""
        count = self.source.cardinality()
        if count < 0 or not known(self, "size", "shift", "stride", "drop_remainder"):
            return count if count < 0 else UNKNOWN
        size, shift, stride = number(self.size), number(self.shift), number(self.stride)
        if not number(self.drop_remainder):
            return -(-count // shift)
        reach = (size - 1) * stride + 1
        return 0 if count < reach else (count - reach) // shift + 1

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        numbers = [number(x) for x in (self.size, self.shift, self.stride)]
        drop = bool(number(self.drop_remainder))
        return _WindowStage(open_stage(self.source, run), self.source.structure, numbers, drop)


class _WindowStage(Stage):
    __slots__ = ("_buffer", "_drop", "_ended", "_shift", "_size", "_skip", "_stride", "_structure")
    _position = ("_ended", "_skip")
    _elements = ("_buffer",)

    def __init__(
        self, source: Stage, structure: Structure, numbers: Sequence[int], drop: bool
    ) -> None:
        super().__init__(source)
        self._structure = structure
        self._size, self._shift, self._stride = numbers
        self._drop = drop
        self._buffer: list[Leaves] = []
        self._skip = 0
        self._ended = False

    def next(self) -> Leaves:
        """See ``Stage``."""
        reach = (self._size - 1) * self._stride + 1
        while not self._ended and (self._skip or len(self._buffer) < reach):
            try:
                found = self.inputs[0].next()
            except StopIteration:
                self._ended = True
                break
            if self._skip:
                self._skip -= 1
            else:
                self._buffer.append(found)
        if not self._buffer or (self._drop and len(self._buffer) < reach):
            raise StopIteration
        rows = self._buffer[: reach : self._stride]
        self._skip += max(self._shift - len(self._buffer), 0)
        del self._buffer[: self._shift]
        columns = zip(*[self._structure.groups(row) for row in rows], strict=True)
        return tuple(
            [
                Elements([tuple(leaves) for _, leaves in column], Structure(column[0][0]))
                for column in columns
            ]
        )
