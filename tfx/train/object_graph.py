"""The object graph of a checkpoint: made from objects, stored as JSON, read back strictly.

Owns the records and their form in the file: a list of nodes, node 0 being the root, each with
``children`` (numbers by name), ``key`` (the tensor, if the node is a variable) and ``slots``
(``[slot name, number of the variable, number of the slot]``). Must not know of files or of live
objects. The one decision: restoring follows the edges of this graph and never the keys, so that a
shared object is restored under any of its names. A file of another program has no graph; its keys
are taken for paths, and it restores just the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfx.core.errors import BundleError, NotFoundError
from tfx.core.nest_kinds import namedtuple_fields
from tfx.framework.trackable import Node, Slot, members, path_parts, path_text
from tfx.train.name_hints import nearest

_RESERVED = "__metadata__"


@dataclass(slots=True)
class SavedNode:
    """An object of a checkpoint."""

    children: dict[str, int] = field(default_factory=dict)
    key: str | None = None
    slots: list[Slot] = field(default_factory=list)


def edges_of(item: Any) -> dict[str, Any]:
    """The parts of an object by name; those of a named tuple by number too, as a tuple's."""
    parts = dict(members(item))
    for number, name in enumerate(_fields(item)):
        if name in parts:
            parts.setdefault(str(number), parts[name])
    return parts


def from_nodes(nodes: Sequence[Node]) -> list[SavedNode]:
    """The records of walked objects; each variable gets a key, its path, which is unique."""
    taken: set[str] = set()
    saved = []
    for node in nodes:
        key = None
        if node.is_variable:
            key = base = _key(node.path)
            count = 0
            while key in taken:  # a slot's path may be the path of something else
                count += 1
                key = f"{base}_{count}"
            taken.add(key)
        children = dict(node.children)
        for number, name in enumerate(_fields(node.item)):
            if name in children:
                children.setdefault(str(number), children[name])
        saved.append(SavedNode(children, key, node.slots))
    return saved


def from_keys(keys: Iterable[str], where: str) -> list[SavedNode]:
    """The graph of a file that has none: keys are paths, divided by ``/`` or else by ``.``.

    Raises:
        BundleError: two keys are the same path.
    """
    names = list(keys)
    slashed = any("/" in name for name in names)
    nodes = [SavedNode()]
    for name in names:
        node = _node_at(nodes, path_parts(name) if slashed else tuple(name.split(".")))
        if node.key is not None:
            raise BundleError(f"{where}: its keys {node.key!r} and {name!r} are the same path")
        node.key = name
    return nodes


def to_json(nodes: Sequence[SavedNode]) -> str:
    """The stored form of a graph."""
    table = []
    for node in nodes:
        row: dict[str, Any] = {}
        if node.children:
            row["children"] = node.children
        if node.key is not None:
            row["key"] = node.key
        if node.slots:
            row["slots"] = [list(slot) for slot in node.slots]
        table.append(row)
    return json.dumps({"nodes": table}, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str, keys: Iterable[str], where: str) -> list[SavedNode]:
    """Read the stored form.

    Args:
        text: The JSON.
        keys: Keys of the tensors of the checkpoint.
        where: The file, for messages.

    Raises:
        BundleError: it is not such a graph, or does not fit the tensors.
    """
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise BundleError(
            f"{where}: its object graph is not JSON ({e}); the file is damaged"
        ) from e
    rows = table.get("nodes") if isinstance(table, dict) else None
    if not isinstance(rows, list) or not rows:
        raise BundleError(f"{where}: its object graph has no nodes; the file is damaged")
    nodes = [_read_node(row, len(rows), f"{where}: object {i}") for i, row in enumerate(rows)]
    used = [node.key for node in nodes if node.key is not None]
    known = set(keys)
    if len(used) != len(set(used)) or set(used) != known:
        odd = sorted(set(used) ^ known) or sorted({k for k in used if used.count(k) > 1})
        raise BundleError(
            f"{where}: its object graph and its tensors do not fit together: {odd[:5]!r} must be "
            "in both, once; the file is damaged"
        )
    return nodes


def without_slots(nodes: Sequence[SavedNode]) -> list[SavedNode]:
    """A graph whose objects have no slots; their values have no place in it any more."""
    gone = {slot.number for node in nodes for slot in node.slots}
    return [
        SavedNode(
            {name: child for name, child in node.children.items() if child not in gone},
            None if number in gone else node.key,
        )
        for number, node in enumerate(nodes)
    ]


def renamed(nodes: Sequence[SavedNode], rename: Mapping[str, str], where: str) -> list[SavedNode]:
    """A graph in which objects have other places.

    Args:
        nodes: The graph.
        rename: Path in the checkpoint -> path in the program; each moves the object that is there
            with all that is below it. The empty path is the root's.
        where: The file, for messages.

    Raises:
        NotFoundError: the checkpoint has no object of that path.
        ValueError: the new place is taken by something else.
    """
    result = [SavedNode(dict(node.children), node.key, node.slots) for node in nodes]
    moves = []
    for old, new in rename.items():
        parts = path_parts(old)
        number = _find(nodes, parts)
        if number is None:
            close = nearest(old, (path_text(p) for p in _paths(nodes)))
            raise NotFoundError(
                f"{where}: rename has {old!r}, but nothing in the checkpoint has that path"
                f"{close}. Keys of rename are paths in the checkpoint, values paths in the program."
            )
        moves.append((parts, number, path_parts(new)))
    # All leave their places before the first arrives, so that two objects can change places.
    for parts, number, _ in moves:
        if parts:
            parent = _find(nodes, parts[:-1])
            assert parent is not None
            if result[parent].children.get(parts[-1]) == number:
                del result[parent].children[parts[-1]]
    for parts, number, new_parts in moves:
        if not parts:
            number = len(result)
            result.append(result[0])
            for node in result:
                node.children = {n: c or number for n, c in node.children.items()}
            result[0] = SavedNode()
        _attach(result, new_parts, number, where)
    return result


def _fields(item: Any) -> Iterable[str]:
    return namedtuple_fields(type(item)) or ()


def _key(path: tuple[str, ...]) -> str:
    text = path_text(path)
    return text.replace("_", "%5F", 1) if text == _RESERVED else text


def _node_at(nodes: list[SavedNode], parts: Sequence[str]) -> SavedNode:
    node = nodes[0]
    for part in parts:
        number = node.children.setdefault(part, len(nodes))
        if number == len(nodes):
            nodes.append(SavedNode())
        node = nodes[number]
    return node


def _find(nodes: Sequence[SavedNode], parts: Sequence[str]) -> int | None:
    number = 0
    for part in parts:
        found = nodes[number].children.get(part)
        if found is None:
            return None
        number = found
    return number


def _paths(nodes: Sequence[SavedNode]) -> list[tuple[str, ...]]:
    """The shortest path to each object."""
    paths: dict[int, tuple[str, ...]] = {0: ()}
    queue = [0]
    for number in queue:  # grows meanwhile
        for name, child in nodes[number].children.items():
            if child not in paths:
                paths[child] = (*paths[number], name)
                queue.append(child)
    return list(paths.values())


def _attach(nodes: list[SavedNode], parts: tuple[str, ...], number: int, where: str) -> None:
    moved = nodes[number]
    if parts:
        parent = _node_at(nodes, parts[:-1])
        if parent.children.setdefault(parts[-1], number) != number:
            raise ValueError(
                f"{where}: rename moves something to {path_text(parts)!r}, where the checkpoint "
                "has something else; rename that too"
            )
        return
    root = nodes[0]
    clash = sorted(moved.children.keys() & root.children.keys())
    if clash or (moved.key is not None and root.key is not None):
        raise ValueError(
            f"{where}: rename moves something to the root, which has {clash[:5]!r} already; rename "
            "these too"
        )
    root.children.update(moved.children)
    root.key, moved.key = moved.key or root.key, None
    # Whatever else refers to the moved object means the root from now on.
    for node in nodes:
        for name, child in node.children.items():
            if child == number:
                node.children[name] = 0


def _read_node(row: Any, count: int, where: str) -> SavedNode:
    if not isinstance(row, dict):
        raise BundleError(f"{where} is {row!r:.80}, expected an object")
    children, key, slots = row.get("children", {}), row.get("key"), row.get("slots", [])
    if not isinstance(children, dict) or not all(_is_number(n, count) for n in children.values()):
        raise BundleError(
            f"{where}: children {children!r:.80}, expected numbers below {count} by name"
        )
    if key is not None and not isinstance(key, str):
        raise BundleError(f"{where}: key {key!r:.80}, expected text")
    if not isinstance(slots, list):
        raise BundleError(f"{where}: slots {slots!r:.80}, expected a list")
    return SavedNode(children, key, [_read_slot(item, count, where) for item in slots])


def _read_slot(item: Any, count: int, where: str) -> Slot:
    match item:
        case [str(name), of, number] if _is_number(of, count) and _is_number(number, count):
            return Slot(name, of, number)
    raise BundleError(f"{where}: slot {item!r:.80}, expected a name and two numbers below {count}")


def _is_number(item: Any, count: int) -> bool:
    return type(item) is int and 0 <= item < count
