"""``cache``: elements that are computed once, in memory or in a file; and ``prefetch``."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tfx.core.errors import AlreadyExistsError, InvalidArgumentError
from tfx.data.indexed import Counting, Indexed, gather_rows
from tfx.data.leaves import Leaves, array_of, is_known, number
from tfx.data.nodes import Node, Run, Stage, Unary, open_stage
from tfx.data.parallel import AUTOTUNE, Prefetching
from tfx.data.sources import ListStage
from tfx.data.state_codec import decode, encode
from tfx.data.structure import Structure

_AUTOMATIC = 4


class Prefetch(Unary):
    """The elements, fetched ahead by a thread."""

    def __init__(self, source: Node, size: Any) -> None:
        super().__init__(source)
        self.size = size
        if is_known(size) and number(size) < -1:
            raise InvalidArgumentError(
                f"buffer_size must be >= 0 or AUTOTUNE (-1); got {number(size)}.",
                op="PrefetchDataset",
            )

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        size = number(self.size)
        source = open_stage(self.source, run)
        if size == 0:
            return source
        return Prefetching(source, _AUTOMATIC if size == AUTOTUNE else size)


class Store:
    """The elements that a memory cache has; complete once an iteration saw the end."""

    def __init__(self) -> None:
        self.elements: list[Leaves] | None = None
        self.columns: tuple[Any, ...] | None = None
        self.lock = threading.Lock()

    def complete(self, elements: list[Leaves], structure: Structure) -> None:
        """All elements are there.

        Args:
            elements: They.
            structure: Of an element; where shapes are static they become rows of arrays.
        """
        with self.lock:
            if self.elements is not None:
                return
            if structure.is_static and structure.specs and elements:
                columns = []
                for column in zip(*elements, strict=True):
                    first = array_of(column[0])
                    whole: Any = np.empty((len(column), *first.shape), first.dtype)
                    for i, leaf in enumerate(column):
                        whole[i, ...] = array_of(leaf)
                    columns.append(whole)
                self.columns = tuple(columns)
                elements = [tuple(c[i, ...] for c in columns) for i in range(len(elements))]
            self.elements = elements


class Cache(Unary):
    """The elements, computed by the first iteration that sees all of them."""

    def __init__(self, source: Node) -> None:
        super().__init__(source)
        self._store = Store()

    def resolved(self) -> Node:
        """Others elements: another store."""
        self._store = Store()
        return self

    def indexed(self, run: Run, functions: bool) -> Indexed | None:
        """See ``Node``."""
        columns = self._store.columns
        if columns is None:
            return None
        size = len(columns[0])
        row = sum(column.nbytes for column in columns) // max(size, 1)
        return Indexed(gather_rows(columns), Counting(size), size, False, row)

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        return _CacheStage(self._store, lambda: open_stage(self.source, run), self.structure)


class _CacheStage(Stage):
    __slots__ = ("_begin", "_found", "_held", "_store", "_structure")

    def __init__(self, store: Store, begin: Callable[[], Stage], structure: Structure) -> None:
        super().__init__()
        self._store = store
        self._begin = begin
        self._structure = structure
        self._found: list[Leaves] = []
        self._held: ListStage | None = None
        if store.elements is not None:
            self._held = ListStage(store.elements)

    def next(self) -> Leaves:
        """See ``Stage``."""
        if self._held is not None:
            return self._held.next()
        if not self.inputs:
            self.inputs.append(self._begin())
        try:
            found = self.inputs[0].next()
        except StopIteration:
            self._store.complete(self._found, self._structure)
            elements = self._store.elements
            assert elements is not None
            self._held = ListStage(elements)
            self._held.finish()
            raise
        self._found.append(found)
        return found

    def save(self) -> Any:
        """See ``Stage``."""
        if self._held is not None:
            return {"held": self._held.save(), "elements": list(self._store.elements or ())}
        return {**super().save(), "held": None, "elements": list(self._found)}

    def restore(self, state: Any) -> None:
        """See ``Stage``."""
        self.close()
        elements = [tuple(leaves) for leaves in state["elements"]]
        if state["held"] is not None:
            self._store.complete(elements, self._structure)
            self._held = ListStage(self._store.elements or [])
            self._held.restore(state["held"])
            return
        self._found, self._held = elements, None
        self.inputs = [self._begin() for _ in state["inputs"]]
        super().restore(state)


class FileCache(Unary):
    """The same in a file, which other processes and later runs of the program read."""

    def __init__(self, source: Node, filename: Any) -> None:
        super().__init__(source)
        self.filename = filename

    def stage(self, run: Run) -> Stage:
        """See ``Node``."""
        path = os.fsdecode(bytes(array_of(self.filename)[()])) + ".tfx-cache"
        if os.path.exists(path):
            return FileStage(path)
        return WritingStage(open_stage(self.source, run), path)


def read_elements(path: str) -> list[Leaves]:
    """The elements in a file."""
    with open(path, "rb") as file:
        return [tuple(leaves) for leaves in decode(file.read(), path)]


def write_elements(path: str, elements: list[Leaves]) -> None:
    """Write elements to a file, which is there as a whole or not at all."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    part = f"{path}.{os.getpid()}.part"
    with open(part, "wb") as file:
        file.write(encode([list(leaves) for leaves in elements]))
    os.replace(part, path)


class FileStage(ListStage):
    """Elements of a file."""

    __slots__ = ()

    def __init__(self, path: str) -> None:
        super().__init__(read_elements(path))


class WritingStage(Stage):
    """Elements that are written to a file at the end.

    Args:
        source: Where they come from.
        path: The file.
    """

    __slots__ = ("_found", "_lock", "_path")
    _elements = ("_found",)

    def __init__(self, source: Stage, path: str) -> None:
        super().__init__(source)
        self._path = path
        self._found: list[Leaves] = []
        self._lock: int | None = None

    def next(self) -> Leaves:
        """See ``Stage``."""
        if self._lock is None:
            self._begin()
        try:
            found = self.inputs[0].next()
        except StopIteration:
            if self._lock is not None and self._lock >= 0:
                write_elements(self._path, self._found)
                self._unlock()
            raise
        self._found.append(found)
        return found

    def _begin(self) -> None:
        try:
            self._lock = os.open(f"{self._path}.lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            self._begin()
        except FileExistsError as e:
            raise AlreadyExistsError(
                f"There appears to be a concurrent caching iterator running: the cache lockfile "
                f"{self._path}.lock exists already. If you are sure no other running program is "
                "using this cache, delete it and start the iterator again."
            ) from e

    def _unlock(self) -> None:
        if self._lock is not None and self._lock >= 0:
            os.close(self._lock)
            os.unlink(f"{self._path}.lock")
        self._lock = -1

    def close(self) -> None:
        """See ``Stage``."""
        self._unlock()
        super().close()
