"""Checkpoints changed on disk, without the objects: variables under other names, several made one.

Owns what a path means here: an edge of the object graph, so that an object with two names keeps the
other one. Must not know of live objects. The one decision: a file is never changed; what comes out
is written as a new checkpoint, whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from tfx.core.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError
from tfx.framework.trackable import Slot, path_parts, path_text
from tfx.train.files import find_files, write_files
from tfx.train.name_hints import nearest
from tfx.train.object_graph import SavedNode, to_json
from tfx.train.reader import FORMAT, FORMAT_KEY, GRAPH_KEY, CheckpointReader, load_checkpoint

Preference = Literal["first", "last"]


@dataclass(slots=True)
class Content:
    """A checkpoint in memory: nodes of its object graph and arrays by key."""

    nodes: list[SavedNode]
    arrays: dict[str, npt.NDArray[Any]]


def rename_variables(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    names: Mapping[str, str],
    *,
    overwrite: bool = False,
) -> dict[str, str]:
    """Write a checkpoint again with some of its objects or variables under other names.

    Args:
        source: A checkpoint.
        target: Path of the new one.
        names: New path by old path. A path of an object, such as ``encoder/layers``, stands for
            everything below it.
        overwrite: Whether an existing checkpoint may be replaced.

    Returns:
        The new name of each variable whose name has changed, by the old one.

    Raises:
        NotFoundError: there is no such checkpoint, or no such path in it.
        AlreadyExistsError: a new name is taken, or the target exists.
        BundleError: the checkpoint is damaged.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = tf.train.Checkpoint(w=tf.Variable(1.0)).write(folder + "/a")
        ...     rename_variables(path, folder + "/b", {"w": "kernel"})
        {'w': 'kernel'}
    """
    _check_target(target, overwrite)
    with load_checkpoint(source) as reader:
        content = _content(reader)
        parts = {path_parts(old): path_parts(new) for old, new in names.items()}
        moved = [_cut(content, old, str(reader.path)) for old in parts]
        for (old, new), number in zip(parts.items(), moved, strict=True):
            _hang(content, new, number, f"{path_text(old)!r} cannot become {path_text(new)!r}")
        changed = _rekey(content, parts)
        _write(target, content)
    return changed


def merge_checkpoints(
    sources: Sequence[tuple[str, str | os.PathLike[str]]],
    target: str | os.PathLike[str],
    *,
    prefer: Preference | None = None,
    overwrite: bool = False,
) -> dict[str, int]:
    """Write one checkpoint with the variables of several.

    Args:
        sources: Pairs of a path below which a checkpoint's objects are put (empty: at the root) and
            the checkpoint.
        target: Path of the new checkpoint.
        prefer: Whose variable is taken where two have one of the same name and other values: that
            of the first or of the last checkpoint. None refuses.
        overwrite: Whether an existing checkpoint may be replaced.

    Returns:
        How many variables each checkpoint has given, by its path.

    Raises:
        NotFoundError: there is no such checkpoint.
        AlreadyExistsError: two have a variable of one name and ``prefer`` is None, or a variable
            where the other has an object; or the target exists.
        InvalidArgumentError: there is nothing to merge.
        BundleError: a checkpoint is damaged.
    """
    if not sources:
        raise InvalidArgumentError("no checkpoints were given to merge, expected at least one")
    _check_target(target, overwrite)
    merged = Content([SavedNode()], {})
    given: dict[str, int] = {}
    for below, path in sources:
        with load_checkpoint(path) as reader:
            content = _content(reader)
            root = _node_at(merged, path_parts(below))
            count = _Merge(merged, content, prefer, str(reader.path)).run(root)
        given[os.fspath(path)] = given.get(os.fspath(path), 0) + count
    _write(target, merged)
    return given


def _content(reader: CheckpointReader) -> Content:
    arrays = {key: np.array(reader.array(key)) for key in reader.keys()}  # noqa: SIM118
    nodes = [SavedNode(dict(n.children), n.key, list(n.slots)) for n in reader.nodes]
    return Content(nodes, arrays)


def _check_target(target: str | os.PathLike[str], overwrite: bool) -> None:
    found = find_files(target)
    if found is not None and not overwrite:
        raise AlreadyExistsError(
            f"{os.fspath(target)}: there is a checkpoint of this name already ({found}); give "
            "another name, or say that it is to be replaced"
        )


def _write(target: str | os.PathLike[str], content: Content) -> None:
    metadata = {FORMAT_KEY: str(FORMAT), GRAPH_KEY: to_json(content.nodes)}
    write_files(target, content.arrays, metadata)


def _cut(content: Content, path: tuple[str, ...], where: str) -> int:
    """Take the edge of a path away; the number of the node behind it."""
    number = 0
    for depth, part in enumerate(path[:-1]):
        if part not in content.nodes[number].children:
            _refuse_path(content, path, depth, number, where)
        number = content.nodes[number].children[part]
    children = content.nodes[number].children
    if not path or path[-1] not in children:
        _refuse_path(content, path, len(path) - 1, number, where)
    return children.pop(path[-1])


def _refuse_path(
    content: Content, path: tuple[str, ...], depth: int, number: int, where: str
) -> NoReturn:
    names = content.nodes[number].children
    part = path[depth] if path else ""
    at = path_text(path[:depth]) if depth > 0 else "the root"
    raise NotFoundError(
        f"{where}: there is nothing at {path_text(path)!r}: {at} has no {part!r}"
        f"{nearest(part, names) or '; it has ' + (', '.join(sorted(names)[:8]) or 'nothing')}"
    )


def _node_at(content: Content, path: tuple[str, ...]) -> int:
    """The node of a path; objects on the way are made."""
    number = 0
    for part in path:
        children = content.nodes[number].children
        if part not in children:
            children[part] = len(content.nodes)
            content.nodes.append(SavedNode())
        number = children[part]
    return number


def _hang(content: Content, path: tuple[str, ...], number: int, what: str) -> None:
    if not path:
        raise InvalidArgumentError(f"{what}: the new path is empty, expected a name")
    parent = content.nodes[_node_at(content, path[:-1])]
    if path[-1] in parent.children or parent.key is not None:
        raise AlreadyExistsError(
            f"{what}: there is something at {path_text(path)!r} already; rename that too, or "
            "choose another name"
        )
    parent.children[path[-1]] = number


def _rekey(content: Content, parts: Mapping[tuple[str, ...], tuple[str, ...]]) -> dict[str, str]:
    """Give variables whose paths have changed keys of their new paths; old key -> new key."""
    changed: dict[str, str] = {}
    for node in content.nodes:
        if node.key is None:
            continue
        path = path_parts(node.key)
        for old, new in parts.items():
            if path[: len(old)] == old:
                changed[node.key] = path_text((*new, *path[len(old) :]))
    # Slots are kept under the path of their variable: optimizer/m/dense/kernel.
    for node in content.nodes:
        for slot in node.slots:
            of, own = content.nodes[slot.of].key, content.nodes[slot.number].key
            if of in changed and own is not None and own not in changed and own.endswith(f"/{of}"):
                changed[own] = own[: -len(of)] + changed[of]
    taken = set(content.arrays) - changed.keys()
    for name, key in changed.items():
        if key in taken:
            raise AlreadyExistsError(
                f"{name!r} cannot become {key!r}: there is a variable of this name already; rename "
                "that too, or choose another name"
            )
        taken.add(key)
    for node in content.nodes:
        if node.key is not None:
            node.key = changed.get(node.key, node.key)
    content.arrays = {changed.get(key, key): array for key, array in content.arrays.items()}
    return {old: new for old, new in changed.items() if old != new}


class _Merge:
    """One checkpoint on its way into another one."""

    def __init__(
        self, target: Content, source: Content, prefer: Preference | None, where: str
    ) -> None:
        self.target = target
        self.source = source
        self.prefer = prefer
        self.where = where
        self.numbers: dict[int, int] = {}
        self.count = 0

    def run(self, root: int) -> int:
        """Put everything below the node; the number of variables that were taken."""
        self.numbers[0] = root
        waiting = [0]
        below = self._path_of(root)
        paths = {0: below}
        while waiting:
            number = waiting.pop(0)
            for name, child in self.source.nodes[number].children.items():
                if child not in paths:
                    paths[child] = (*paths[number], name)
                    waiting.append(child)
                self._edge(self.numbers[number], name, child, paths[child])
        for number, node in enumerate(self.source.nodes):
            for slot in node.slots:
                self._slot(number, slot, below)
        return self.count

    def _path_of(self, wanted: int) -> tuple[str, ...]:
        seen: dict[int, tuple[str, ...]] = {0: ()}
        waiting = [0]
        while waiting:
            number = waiting.pop(0)
            for name, child in self.target.nodes[number].children.items():
                if child not in seen:
                    seen[child] = (*seen[number], name)
                    waiting.append(child)
        return seen[wanted]

    def _edge(self, parent: int, name: str, child: int, path: tuple[str, ...]) -> None:
        """Draw an edge of the source in the target."""
        found = self.target.nodes[parent].children.get(name)
        known = self.numbers.get(child)
        if found is None:
            number = self._new(child, path_text(path)) if known is None else known
            self.target.nodes[parent].children[name] = number
            return
        if known is None:
            self.numbers[child] = found
            self._meet(found, child, path)

    def _new(self, child: int, key: str) -> int:
        number = len(self.target.nodes)
        node = self.source.nodes[child]
        made = SavedNode()
        if node.key is not None:
            base, count = key, 0
            while key in self.target.arrays:
                count += 1
                key = f"{base}_{count}"
            made.key = key
            self.target.arrays[key] = self.source.arrays[node.key]
            self.count += 1
        self.target.nodes.append(made)
        self.numbers[child] = number
        return number

    def _meet(self, found: int, child: int, path: tuple[str, ...]) -> None:
        """Handle a path at which both checkpoints have an item."""
        here, there = self.target.nodes[found], self.source.nodes[child]
        name = path_text(path)
        if (here.key is None) != (there.key is None) and (
            here.key is not None or there.key is not None
        ):
            if (here.key is None and not here.children) or there.key is None:
                what = "a variable in one and an object in the other"
            else:
                what = "an object in one and a variable in the other"
            raise AlreadyExistsError(
                f"{self.where}: {name!r} is {what}; put one of them below a name of its own"
            )
        if here.key is None or there.key is None:
            return
        one, two = self.target.arrays[here.key], self.source.arrays[there.key]
        same = one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
        if one.dtype == object:
            same = one.shape == two.shape and bool(np.all(one == two))
        if same:
            return
        if self.prefer is None:
            raise AlreadyExistsError(
                f"{self.where}: the variable {name!r} has another value in a checkpoint before it; "
                "say which is to be taken (prefer='first' or 'last'), or put one of them below a "
                "name of its own"
            )
        if self.prefer == "last":
            self.target.arrays[here.key] = two
            self.count += 1

    def _slot(self, owner: int, slot: Slot, below: tuple[str, ...]) -> None:
        """A variable of an optimizer that belongs to another variable."""
        of, holder = self.numbers.get(slot.of), self.numbers.get(owner)
        if of is None or holder is None:
            return
        number = self.numbers.get(slot.number)
        node = self.target.nodes[holder]
        held = next((s for s in node.slots if (s.name, s.of) == (slot.name, of)), None)
        key = self.source.nodes[slot.number].key or slot.name
        if held is not None:
            if number is None:
                self.numbers[slot.number] = held.number
                self._meet(held.number, slot.number, (*below, *path_parts(key)))
            return
        if number is None:
            number = self._new(slot.number, path_text((*below, *path_parts(key))))
        node.slots.append(Slot(slot.name, of, number))
