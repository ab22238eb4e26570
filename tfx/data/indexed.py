"""Pipelines over arrays as positions: what only reorders or selects never touches the elements.

``from_tensor_slices(x).shuffle(n).repeat().take(k)`` yields rows of ``x`` in some order. Here such
a part of a pipeline is a stream of positions, in blocks; a batch then is one gather for each array.
A function that is the same on a whole batch (see ``DataFunction.batched``) can be put off until
there is one, since neither order nor selection look at the elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfx.data.functions import DataFunction
from tfx.data.leaves import Array, Leaves
from tfx.data.nodes import Stage
from tfx.data.position import HasPosition
from tfx.data.random_draws import Draws

Positions: TypeAlias = npt.NDArray[np.int64]
# Plain data and arrays.
State: TypeAlias = "dict[str, Any]"

_NONE: Positions = np.empty(0, np.int64)
# How many elements are gathered at once where they are asked for one by one.
_AHEAD = 64
# ... unless they are large: bytes.
_AHEAD_BYTES = 1 << 20


class Stream(HasPosition):
    """Positions in blocks."""

    def take(self, most: int) -> Positions:
        """The next positions: at least one and at most ``most``; none at the end."""
        raise NotImplementedError

    def fill(self, count: int) -> Positions:
        """The next ``count`` positions; fewer only at the end."""
        found = self.take(count)
        if len(found) == count or not len(found):
            return found
        parts, missing = [found], count - len(found)
        while missing:
            found = self.take(missing)
            if not len(found):
                break
            parts.append(found)
            missing -= len(found)
        return np.concatenate(parts)


class Counting(Stream):
    """0, 1, 2, ... up to a number."""

    _position = ("_next",)

    def __init__(self, size: int) -> None:
        self._size = size
        self._next = 0

    def take(self, most: int) -> Positions:
        """See ``Stream``."""
        start = self._next
        self._next = min(start + most, self._size)
        return np.arange(start, self._next)


class Shuffled(Stream):
    """Positions through a buffer from which one at random goes out for each that comes in.

    Args:
        source: The positions.
        size: Of the buffer.
        draws: Random numbers.
    """

    _position = ("_source", "_draws", "_buffer", "_rest")

    def __init__(self, source: Stream, size: int, draws: Draws) -> None:
        self._source = source
        self._size = size
        self._draws = draws
        self._buffer: list[int] | None = None  # None: not filled yet
        # What is left when the source has ended, in the order in which it goes out.
        self._rest: Positions | None = None

    def take(self, most: int) -> Positions:
        """See ``Stream``."""
        if self._rest is None and self._buffer is None:
            first = self._source.fill(self._size)
            self._buffer = first.tolist()
            if len(first) < self._size:
                self._finish(first)
        if self._rest is None:
            found = self._exchanged(self._source.take(most))
            if len(found):
                return found
        rest = self._rest
        assert rest is not None
        self._rest = rest[most:]
        return rest[:most]

    def _exchanged(self, incoming: Positions) -> Positions:
        buffer = self._buffer
        assert buffer is not None
        if not len(incoming):
            self._finish(np.array(buffer, np.int64))
            return _NONE
        found = []
        places = self._draws.below(len(buffer), len(incoming))
        for place, new in zip(places.tolist(), incoming.tolist(), strict=True):
            found.append(buffer[place])
            buffer[place] = new
        return np.array(found, np.int64)

    def _finish(self, left: Positions) -> None:
        self._rest = left[self._draws.permutation(len(left))]
        self._buffer = []


class Repeated(Stream):
    """The positions of several epochs.

    Args:
        epoch: Makes the positions of one.
        count: How many; None: no end.
    """

    def __init__(self, epoch: Callable[[], Stream], count: int | None) -> None:
        self._epoch = epoch
        self._count = count
        self._done = 0
        self._now: Stream | None = None
        self._empty = True  # so far, the present epoch

    def take(self, most: int) -> Positions:
        """See ``Stream``."""
        while self._count is None or self._done < self._count:
            if self._now is None:
                self._now, self._empty = self._epoch(), True
            found = self._now.take(most)
            if len(found):
                self._empty = False
                return found
            self._now = None
            self._done += 1
            if self._empty:  # all further ones are, too
                self._count = self._done
        return _NONE

    def save(self) -> State:
        """See ``Stream``."""
        now = None if self._now is None else self._now.save()
        return {"done": self._done, "empty": self._empty, "now": now}

    def restore(self, state: State) -> None:
        """See ``Stream``."""
        self._done = int(state["done"])
        self._empty = bool(state["empty"])
        self._now = None
        if state["now"] is not None:
            self._now = self._epoch()
            self._now.restore(state["now"])


class Limited(Stream):
    """The first so many positions behind those that are skipped.

    Args:
        source: The positions.
        skip: How many are left out; None: all.
        take: How many follow at most; None: any number.
    """

    _position = ("_source", "_skip", "_left")

    def __init__(self, source: Stream, skip: int | None, take: int | None) -> None:
        self._source = source
        self._skip = skip
        self._left = take

    def take(self, most: int) -> Positions:
        """See ``Stream``."""
        if self._skip is None or (self._left is not None and self._left <= 0):
            return _NONE
        while self._skip:
            skipped = self._source.take(self._skip)
            if not len(skipped):
                return _NONE
            self._skip -= len(skipped)
        found = self._source.take(most if self._left is None else min(most, self._left))
        if self._left is not None:
            self._left -= len(found)
        return found


class Sharded(Stream):
    """Every so-many-th position."""

    _position = ("_source", "_seen")

    def __init__(self, source: Stream, shards: int, number: int) -> None:
        self._source = source
        self._shards = shards
        self._number = number
        self._seen = 0

    def take(self, most: int) -> Positions:
        """See ``Stream``."""
        while True:
            block = self._source.take(most * self._shards - self._seen % self._shards)
            if not len(block):
                return _NONE
            found = block[(self._number - self._seen) % self._shards :: self._shards]
            self._seen += len(block)
            if len(found):
                return found


@dataclass(frozen=True, slots=True)
class Indexed:
    """A part of a pipeline as positions.

    Attributes:
        gather: The rows at some positions, of each component.
        stream: The positions.
        size: How many positions there are to choose from.
        is_source: Whether the positions are 0, 1, 2, ...
        row_bytes: About how large an element is.
        functions: What is still to be computed, of whole batches, first one first.
    """

    gather: Callable[[Positions], Leaves]
    stream: Stream
    size: int
    is_source: bool
    row_bytes: int
    functions: tuple[DataFunction, ...] = ()

    def through(self, stream: Stream) -> Indexed:
        """The same with other positions."""
        return replace(self, stream=stream, is_source=False)

    def then(self, function: DataFunction) -> Indexed:
        """The same with one more function."""
        return replace(self, functions=(*self.functions, function))

    def rows(self, count: int) -> tuple[Leaves, int]:
        """The next rows, stacked, and how many there are; fewer than asked for at the end."""
        positions = self.stream.fill(count)
        return (self.gather(positions) if len(positions) else ()), len(positions)

    def elements(self) -> Stage:
        """The elements one by one."""
        return _Elements(self)


class _Elements(Stage):
    """Elements one by one, of blocks that are gathered at once."""

    __slots__ = ("_ahead", "_block", "_indexed", "_next", "_positions")

    def __init__(self, indexed: Indexed) -> None:
        super().__init__()
        self._indexed = indexed
        self._ahead = max(1, min(_AHEAD, _AHEAD_BYTES // max(indexed.row_bytes, 1)))
        self._positions = _NONE
        self._block: Leaves = ()
        self._next = 0

    def next(self) -> Leaves:
        """See ``Stage``."""
        i = self._next
        if i == len(self._positions):
            self._positions = self._indexed.stream.take(self._ahead)
            i = self._next = 0
            if not len(self._positions):
                raise StopIteration
            self._block = self._indexed.gather(self._positions)
        self._next = i + 1
        return tuple([column[i, ...] for column in self._block])

    def save(self) -> State:
        """See ``Stage``."""
        return {"stream": self._indexed.stream.save(), "block": self._positions[self._next :]}

    def restore(self, state: State) -> None:
        """See ``Stage``."""
        self._indexed.stream.restore(state["stream"])
        self._positions, self._next = state["block"], 0
        self._block = self._indexed.gather(self._positions)


def gather_rows(columns: tuple[Array, ...]) -> Callable[[Positions], Leaves]:
    """What gathers rows of arrays."""

    def gather(positions: Positions) -> Leaves:
        return tuple([column.take(positions, axis=0) for column in columns])

    return gather
