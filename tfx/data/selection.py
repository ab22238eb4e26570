"""Steps that choose elements by their position: take, skip, shard, repeat, concatenate, zip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tfx.core.errors import FailedPreconditionError, InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.data.indexed import Indexed, Limited, Positions, Repeated, Sharded, Stream
from tfx.data.leaves import Leaves, number
from tfx.data.nodes import (
    INFINITE,
    UNKNOWN,
    Node,
    Run,
    Stage,
    Unary,
    known,
    known_number,
    open_stage,
)
from tfx.data.options import Options
from tfx.data.structure import Structure, merged_spec


class Limit(Unary):
    """The first elements, or all but the first.

    Args:
        source: The elements.
        skip: How many are left out first; -1: all.
        take: How many are taken then; -1: all.
    """

    def __init__(self, source: Node, skip: Any, take: Any) -> None:
        super().__init__(source)
        self.skip = skip
        self.take = take

    def cardinality(self) -> int:
        """See ``Node``."""
        skip, take = known_number(self.skip), known_number(self.take)
        size = self.source.cardinality()
        if skip is None or take is None:
            return UNKNOWN
        if skip == -1:
            return 0
        if size == INFINITE:
            return INFINITE if take == -1 else take
        if size == UNKNOWN:
            return 0 if take == 0 else UNKNOWN
        left = max(size - skip, 0)
        return left if take == -1 else min(left, take)

    def _numbers(self) -> tuple[int | None, int | None]:
        skip, take = number(self.skip), number(self.take)
        return (None if skip == -1 else skip), (None if take == -1 else take)

    def indexed(self, run: Run, functions: bool) -> Indexed | None:
        """See ``Node``."""
        found = self.source.indexed(run, functions)
        return None if found is None else found.through(Limited(found.stream, *self._numbers()))

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _LimitStage(open_stage(self.source, run), *self._numbers())


class _LimitStage(Stage):
    __slots__ = ("_left", "_skip")
    _position = ("_left", "_skip")

    def __init__(self, source: Stage, skip: int | None, take: int | None) -> None:
        super().__init__(source)
        self._skip = skip
        self._left = take

    def next(self) -> Leaves:
        """See ``Stage``."""
        left, (source,) = self._left, self.inputs
        if self._skip is None or (left is not None and left <= 0):
            raise StopIteration
        while self._skip:
            source.next()
            self._skip -= 1
        found = source.next()
        if left is not None:
            self._left = left - 1
        return found


class Shard(Unary):
    """Every so-many-th element."""

    def __init__(self, source: Node, shards: Any, index: Any) -> None:
        super().__init__(source)
        self.shards = shards
        self.index = index
        if known(self, "shards", "index"):
            self._numbers()

    def _numbers(self) -> tuple[int, int]:
        shards, index = number(self.shards), number(self.index)
        if shards < 1:
            raise InvalidArgumentError(f"num_shards must be >= 1; got {shards}.", op="ShardDataset")
        if not 0 <= index < shards:
            raise InvalidArgumentError(
                f"Index must be between 0 and {shards - 1} (currently index = {index}, num_shards "
                f"= {shards}).",
                op="ShardDataset",
            )
        return shards, index

    def cardinality(self) -> int:
        """See ``Node``."""
        size = self.source.cardinality()
        if size < 0 or not known(self, "shards", "index"):
            return size if size == INFINITE else UNKNOWN
        shards, index = self._numbers()
        return len(range(index, size, shards))

    def indexed(self, run: Run, functions: bool) -> Indexed | None:
        """See ``Node``."""
        found = self.source.indexed(run, functions)
        return None if found is None else found.through(Sharded(found.stream, *self._numbers()))

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _ShardStage(open_stage(self.source, run), *self._numbers())


class _ShardStage(Stage):
    __slots__ = ("_index", "_seen", "_shards")
    _position = ("_seen",)

    def __init__(self, source: Stage, shards: int, index: int) -> None:
        super().__init__(source)
        self._shards = shards
        self._index = index
        self._seen = 0

    def next(self) -> Leaves:
        """See ``Stage``."""
        (source,) = self.inputs
        while True:
            found = source.next()
            mine = self._seen % self._shards == self._index
            self._seen += 1
            if mine:
                return found


class Repeat(Unary):
    """The elements several times, or without end."""

    def __init__(self, source: Node, count: Any) -> None:
        super().__init__(source)
        self.count = count

    def _count(self) -> int | None:
        count = number(self.count)
        return None if count < 0 else count

    def cardinality(self) -> int:
        """See ``Node``."""
        size = self.source.cardinality()
        if not known(self, "count"):
            return UNKNOWN
        count = self._count()
        if size == 0 or count == 0:
            return 0
        if count is None:
            return INFINITE
        return size if size < 0 else size * count

    def indexed(self, run: Run, functions: bool) -> Indexed | None:
        """See ``Node``."""
        found = self.source.indexed(run, functions)
        if found is None:
            return None
        first: list[Stream] = [found.stream]

        def epoch() -> Stream:
            if first:
                return first.pop()
            again = self.source.indexed(run, functions)
            assert again is not None
            return again.stream

        return found.through(Repeated(epoch, self._count()))

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return RepeatStage(lambda: open_stage(self.source, run), self._count())


class RepeatStage(Stage):
    """Runs over elements one after another.

    Args:
        epoch: Begins a run.
        count: How many; None: no end.
    """

    __slots__ = ("_count", "_done", "_empty", "_epoch")
    _position = ("_done", "_empty")

    def __init__(self, epoch: Callable[[], Stage], count: int | None) -> None:
        super().__init__()
        self._epoch = epoch
        self._count = count
        self._done = 0
        self._empty = True

    def next(self) -> Leaves:
        """See ``Stage``."""
        while self._count is None or self._done < self._count:
            if not self.inputs:
                self.inputs.append(self._epoch())
                self._empty = True
            try:
                found = self.inputs[0].next()
            except StopIteration:
                self.inputs.pop().close()
                self._done += 1
                if self._empty and self._count is None:
                    self._count = self._done  # it would be empty for ever
                continue
            self._empty = False
            return found
        raise StopIteration

    def restore(self, state: Any) -> None:
        """See ``HasPosition``."""
        self.close()
        self.inputs = [self._epoch() for _ in state["inputs"]]
        super().restore(state)


class Concatenate(Node):
    """The elements of one dataset, then those of another."""

    def __init__(self, first: Node, second: Node) -> None:
        self.sources = (first, second)
        try:
            self.structure = Structure(merged_spec(first.structure.spec, second.structure.spec))
        except TypeError as e:
            raise TypeError(
                "Incompatible dataset elements: two datasets to concatenate have different types "
                f"{first.structure!r} and {second.structure!r}."
            ) from e

    def cardinality(self) -> int:
        """See ``Node``."""
        sizes = [source.cardinality() for source in self.sources]
        if INFINITE in sizes:
            return INFINITE
        return UNKNOWN if UNKNOWN in sizes else sum(sizes)

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _ConcatenateStage([lambda s=s: open_stage(s, run) for s in self.sources])  # type: ignore[misc]


class _ConcatenateStage(Stage):
    __slots__ = ("_begin", "_number")
    _position = ("_number",)

    def __init__(self, begin: Sequence[Callable[[], Stage]]) -> None:
        super().__init__()
        self._begin = begin
        self._number = 0

    def next(self) -> Leaves:
        """See ``Stage``."""
        while self._number < len(self._begin):
            if not self.inputs:
                self.inputs.append(self._begin[self._number]())
            try:
                return self.inputs[0].next()
            except StopIteration:
                self.inputs.pop().close()
                self._number += 1
        raise StopIteration

    def restore(self, state: Any) -> None:
        """See ``HasPosition``."""
        self.close()
        self.inputs = [self._begin[state["_number"]]() for _ in state["inputs"]]
        super().restore(state)


class Zip(Node):
    """Elements of several datasets side by side, up to the end of the shortest.

    Args:
        sources: The datasets.
        structure: That of an element, made of theirs.
    """

    def __init__(self, sources: Sequence[Node], structure: Structure) -> None:
        self.sources = tuple(sources)
        self.structure = structure

    def cardinality(self) -> int:
        """See ``Node``."""
        sizes = [source.cardinality() for source in self.sources]
        finite = [n for n in sizes if n != INFINITE]
        if UNKNOWN in sizes:
            return 0 if 0 in sizes else UNKNOWN
        return min(finite) if finite else INFINITE

    def indexed(self, run: Run, functions: bool) -> Indexed | None:
        """Sources side by side are a source, too; others go different ways."""
        parts: list[Indexed] = []
        for source in self.sources:
            part = source.indexed(run, False) if _is_plain(source) else None
            if part is None or not part.is_source:
                return None
            parts.append(part)
        if not parts:
            return None
        size = min(part.size for part in parts)

        def gather(positions: Positions) -> Leaves:
            return tuple([column for part in parts for column in part.gather(positions)])

        stream = Limited(parts[0].stream, 0, size)
        row = sum(part.row_bytes for part in parts)
        return replace(parts[0], gather=gather, stream=stream, size=size, row_bytes=row)

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _ZipStage(*[open_stage(source, run) for source in self.sources])


def _is_plain(node: Node) -> bool:
    """True if beginning to iterate over a node has no effect, such as on its seeds."""
    return not node.inputs() or isinstance(node, Zip)


class _ZipStage(Stage):
    __slots__ = ()

    def next(self) -> Leaves:
        """See ``Stage``."""
        if not self.inputs:
            raise StopIteration
        return tuple([leaf for stage in self.inputs for leaf in stage.next()])


class Asserted(Unary):
    """The elements, which are to be so many."""

    def __init__(self, source: Node, expected: Any) -> None:
        super().__init__(source)
        self.expected = expected

    def cardinality(self) -> int:
        """See ``Node``."""
        found = known_number(self.expected)
        return UNKNOWN if found is None else found

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _AssertedStage(open_stage(self.source, run), number(self.expected))


class _AssertedStage(Stage):
    __slots__ = ("_expected", "_seen")
    _position = ("_seen",)

    def __init__(self, source: Stage, expected: int) -> None:
        super().__init__(source)
        self._expected = expected
        self._seen = 0

    def next(self) -> Leaves:
        """See ``Stage``."""
        try:
            found = self.inputs[0].next()
        except StopIteration:
            if self._expected == INFINITE or 0 <= self._seen < self._expected:
                raise self._error(f"contained only {self._seen}") from None
            raise
        self._seen += 1
        if 0 <= self._expected < self._seen:
            raise self._error("contained more")
        return found

    def _error(self, what: str) -> Exception:
        expected = "infinitely many" if self._expected == INFINITE else self._expected
        return FailedPreconditionError(
            f"Input dataset was expected to contain {expected} elements but {what} elements."
        )


class WithOptions(Unary):
    """The elements, with options."""

    def __init__(self, source: Node, options: Options) -> None:
        super().__init__(source)
        self._options = options

    def options(self) -> Options:
        """See ``Node``."""
        found: Options = self.source.options().merge(self._options)
        return found

    def indexed(self, run: Run, functions: bool) -> Indexed | None:
        """See ``Node``."""
        return self.source.indexed(run, functions)

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return open_stage(self.source, run)


class Counted(Zip):
    """Elements with their numbers in front."""

    def __init__(self, counter: Node, source: Node) -> None:
        spec = (TensorSpec([], "int64"), source.structure.spec)
        super().__init__([counter, source], Structure(spec))
