"""``Dataset.snapshot``: elements that the first iteration writes and later ones read."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tfx.data.caching import FileStage, WritingStage
from tfx.data.leaves import array_of
from tfx.data.nodes import Node, Run, Stage, Unary, open_stage, wrapped
from tfx.data.structure import Structure

_ALL = 1 << 62  # more elements than there are


class Snapshot(Unary):
    """The elements of a folder, which the first iteration that sees all of them writes.

    Args:
        source: Where they come from at first.
        path: The folder, a string tensor.
        reader: Makes a dataset of a dataset of datasets, one for each file; None: in order.
    """

    def __init__(self, source: Node, path: Any, reader: Callable[[Any], Any] | None) -> None:
        super().__init__(source)
        self.path = path
        self.reader = reader

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        path = os.path.join(os.fsdecode(bytes(array_of(self.path)[()])), "elements")
        if not os.path.exists(path):
            return WritingStage(open_stage(self.source, run), path)
        if self.reader is None:
            return FileStage(path)
        files = wrapped(_Written(path, self.source.structure)).window(_ALL)
        return open_stage(self.reader(files)._node, run)


class _Written(Node):
    """The elements of a file."""

    def __init__(self, path: str, structure: Structure) -> None:
        self.path = path
        self.structure = structure

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return FileStage(self.path)
