"""Nodes of datasets: records of CSV files, their fields, elements in another structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tfx.data.leaves import Leaves, array_of
from tfx.data.nodes import Node, Run, Stage, Unary, open_stage
from tfx.data.records import lines
from tfx.data.structure import Structure, flatten, map_leaves

_QUOTE = b'"'


def records(path: str, compression: str, size: int, header: int, quotes: int) -> Iterator[bytes]:
    """The records of a CSV file: lines, but where a quoted field goes on in the next one.

    Args:
        path: The file.
        compression: As ``TextLineDataset`` takes it.
        size: How many bytes are read at a time.
        header: Whether the first record is left out.
        quotes: Whether there are quoted fields.
    """
    left_out = bool(header)
    held: list[bytes] = []
    for line in lines(path, compression, size):
        if not held and not line:
            continue  # TensorFlow has no records of empty lines either
        if quotes and (held or _QUOTE in line):
            held.append(line)
            if sum(part.count(_QUOTE) for part in held) % 2:
                continue
            line, held = b"\n".join(held), []
        if left_out:
            left_out = False
            continue
        yield line
    if held:
        yield b"\n".join(held)  # whoever cuts it into fields says what is wrong


class Fields(Unary):
    """The fields of records: of one, or of a batch of them."""

    def __init__(self, source: Node, spec: Any, read: Callable[[Sequence[str]], list[Any]]) -> None:
        super().__init__(source, Structure(spec))
        self.read = read

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _FieldsStage(open_stage(self.source, run), self.read)


class _FieldsStage(Stage):
    __slots__ = ("_read",)

    def __init__(self, source: Stage, read: Callable[[Sequence[str]], list[Any]]) -> None:
        super().__init__(source)
        self._read = read

    def next(self) -> Leaves:
        """See ``Stage``."""
        given = array_of(self.inputs[0].next()[0])
        found = self._read([bytes(x).decode("utf-8", "surrogateescape") for x in given.reshape(-1)])
        return tuple([array.reshape(given.shape) for array in found])


class Arranged(Unary):
    """Elements whose components stand in another structure.

    Args:
        source: The elements, tuples.
        template: The structure, of the numbers of components.
    """

    def __init__(self, source: Node, template: Any) -> None:
        specs = source.structure.specs
        super().__init__(source, Structure(map_leaves(lambda i: specs[i], template)))
        self.order = flatten(template)

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _ArrangedStage(open_stage(self.source, run), self.order)


class _ArrangedStage(Stage):
    __slots__ = ("_order",)

    def __init__(self, source: Stage, order: Sequence[int]) -> None:
        super().__init__(source)
        self._order = order

    def next(self) -> Leaves:
        """See ``Stage``."""
        leaves = self.inputs[0].next()
        return tuple([leaves[i] for i in self._order])
