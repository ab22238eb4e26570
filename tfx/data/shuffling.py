"""``shuffle``: a buffer from which one element at random goes out for each that comes in."""

from __future__ import annotations

from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.data.indexed import Indexed, Shuffled
from tfx.data.leaves import Leaves, number
from tfx.data.nodes import UNKNOWN, Node, Run, Stage, Unary, known, open_stage
from tfx.data.random_draws import Draws, Seeds


class Shuffle(Unary):
    """The elements in random order.

    Args:
        source: The elements.
        size: Of the buffer; -2: all elements.
        seed: The user's seed.
        renewed: Whether each iteration has another order.
    """

    def __init__(self, source: Node, size: Any, seed: Any, renewed: bool) -> None:
        super().__init__(source)
        self.size = size
        self.seed = seed
        self.seeds = Seeds(seed, renewed)
        if known(self, "size"):
            self._size()

    def resolved(self) -> Node:
        """See ``Node``."""
        if not known(self, "seed"):
            return self
        self.seeds = Seeds(self.seed, self.seeds.renewed) if self.seed is not None else self.seeds
        return self

    def _size(self) -> int:
        size = number(self.size)
        if size == UNKNOWN:
            return 2**62
        if size < 1:
            raise InvalidArgumentError(
                f"buffer_size must be greater than zero or UNKNOWN_CARDINALITY; got {size}.",
                op="ShuffleDataset",
            )
        return size

    def indexed(self, run: Run, functions: bool) -> Indexed | None:
        """See ``Node``."""
        found = self.source.indexed(run, functions)
        if found is None:
            return None
        return found.through(Shuffled(found.stream, self._size(), self.seeds.next()))

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        source = open_stage(self.source, run)
        return _ShuffleStage(source, self._size(), self.seeds.next())


class _ShuffleStage(Stage):
    __slots__ = ("_buffer", "_draws", "_filled", "_size")
    _position = ("_draws", "_filled", "_size")
    _elements = ("_buffer",)

    def __init__(self, source: Stage, size: int, draws: Draws) -> None:
        super().__init__(source)
        self._size = size
        self._draws = draws
        self._buffer: list[Leaves] = []
        self._filled = False

    def next(self) -> Leaves:
        """See ``Stage``."""
        buffer = self._buffer
        if not self._filled:
            self._fill()
        if not buffer:
            raise StopIteration
        place = self._draws.one_below(len(buffer))
        found = buffer[place]
        if self._size:
            try:
                buffer[place] = self.inputs[0].next()
            except StopIteration:
                self._size = 0  # the source has ended
            else:
                return found
        buffer[place] = buffer[-1]
        buffer.pop()
        return found

    def _fill(self) -> None:
        take = self.inputs[0].next
        while len(self._buffer) < self._size:
            try:
                self._buffer.append(take())
            except StopIteration:
                self._size = 0
        self._filled = True
