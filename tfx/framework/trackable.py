"""The parts of an object: the walk that checkpoints and bundles are made from.

Owns the rules of what counts as a part of an object:

* attributes, private ones too, unless their name begins with ``_self_``;
* items of lists and tuples, fields of named tuples, values of mappings;
* what a ``_trackable_children()`` method returns (a dict), in place of the attributes;

as far as a ``Variable`` or an ``AutoTrackable`` (a ``Module``) is found behind them. Objects of
plain classes count, those of the standard library, of NumPy and of this package's machinery do not.
Must not know of files or of traced functions. The one decision: nothing is wrapped or recorded when
an attribute is set; the objects are looked at as they are when they are saved.

An object whose variables belong to variables of others (an optimizer's slots) says so by a method
``_trackable_slots()`` that returns ``(slot name, variable, slot variable)`` triples. They are then
named after the variable, ``optimizer/momentum/layers/0/kernel``, wherever the object keeps them.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from tfx.core.nest_kinds import namedtuple_fields
from tfx.framework.deferred_restores import UNTRACKED_PREFIX, AutoTrackable
from tfx.framework.variable import Variable

# Machinery: what hangs off it (traces, sessions, threads, arrays) is no part of a user's object.
_OPAQUE_PACKAGES = frozenset((*sys.stdlib_module_names, "numpy", "onnx", "onnxruntime", "tfx"))
_OPAQUE_TYPES = (type, types.ModuleType, str, bytes, np.ndarray, np.generic)
_open_types: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


class Slot(NamedTuple):
    """The variable ``number`` is slot ``name`` of the variable ``of`` (numbers of nodes)."""

    name: str
    of: int
    number: int


@dataclass(slots=True)
class Node:
    """An object of a walk: how it is reached, and the numbers of its children by name."""

    item: Any
    parent: Node | None
    names: tuple[str, ...]
    children: dict[str, int] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)

    @property
    def path(self) -> tuple[str, ...]:
        """The shortest path from the root; made when asked for, as chains may be long."""
        parts: list[tuple[str, ...]] = []
        node: Node | None = self
        while node is not None:
            parts.append(node.names)
            node = node.parent
        return tuple(name for names in reversed(parts) for name in names)

    @property
    def is_variable(self) -> bool:
        """True if the object is a variable."""
        return isinstance(self.item, Variable)


def is_trackable(value: Any) -> bool:
    """True if a value can be, or have, a part of an object graph; numbers and text cannot."""
    return isinstance(value, Variable) or is_container(value) or _is_open(type(value))


def is_container(value: Any) -> bool:
    """True if a value is a list, a tuple or a mapping."""
    return isinstance(value, list | tuple | Mapping)


def members(item: Any) -> list[tuple[str, Any]]:
    """The direct parts of an object that could be tracked, whether or not state is behind them.

    Attributes come sorted by name, so that the order in which a program sets them has no influence;
    items in their order.

    Raises:
        TypeError: a mapping has such a part under a key that has no name (a tuple, an object).
        ValueError: two keys of a mapping have one name, such as ``3`` and ``"3"``.
    """
    if isinstance(item, Variable):
        return []
    hook = getattr(type(item), "_trackable_children", None)
    if hook is not None:
        return [(name, child) for name, child in hook(item).items() if is_trackable(child)]
    if isinstance(item, Mapping):
        return _mapping_members(item)
    if isinstance(item, list | tuple):
        names: Iterable[Any] = namedtuple_fields(type(item)) or range(len(item))
        return [
            (str(n), child) for n, child in zip(names, item, strict=False) if is_trackable(child)
        ]
    if not _is_open(type(item)):
        return []
    return [
        (name, child)
        for name, child in sorted(attributes(item).items())
        if not name.startswith(UNTRACKED_PREFIX) and is_trackable(child)
    ]


def children(item: Any) -> list[tuple[str, Any]]:
    """The direct parts of an object behind which there is state, by name.

    Args:
        item: Any object; a variable has no parts.

    Returns:
        Names and values. A value is a ``Variable``, an ``AutoTrackable``, or a container or plain
        object in which, at any depth, there is one of these.

    Example:
        >>> import tfx as tf
        >>> model = tf.Module()
        >>> model.units, model.layers = 3, [tf.Variable(1.0), tf.Variable(2.0)]
        >>> children(model)
        [('layers', [<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>, \
<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=2.0>])]
    """
    return [
        (name, child)
        for name, child in members(item)
        if _leads_to(child, (Variable, AutoTrackable))
    ]


def walk(root: Any, *, also_root: Any = None) -> list[Node]:
    """The variables that can be reached from an object, and the objects on the way to them.

    Args:
        root: Where to begin: node 0.
        also_root: Another object that is to count as node 0 when it is met.

    Returns:
        Nodes breadth first, parents before children, each object once, under the shortest path.

    Raises:
        TypeError: state is under a key of a mapping that has no name.

    Example:
        >>> import tfx as tf
        >>> model = tf.Module()
        >>> model.layers = [tf.Variable(1.0), {"bias": tf.Variable(2.0)}]
        >>> [path_text(node.path) for node in walk(model)]
        ['', 'layers', 'layers/0', 'layers/1', 'layers/1/bias']
    """
    nodes = [Node(root, None, ())]
    numbers = {id(root): 0}
    if also_root is not None:
        numbers[id(also_root)] = 0
    for node in nodes:  # grows meanwhile
        for name, child in _named(node):
            number = numbers.setdefault(id(child), len(nodes))
            if number == len(nodes):
                nodes.append(Node(child, node, (name,)))
            node.children[name] = number
    for node in tuple(nodes):
        _add_slots(node, nodes, numbers)
    return _with_state(nodes)


def slots_of(item: Any) -> list[tuple[str, Variable, Variable]]:
    """The slots of an object, ``(slot name, variable, slot variable)``; usually there are none."""
    hook = getattr(type(item), "_trackable_slots", None)
    return [] if hook is None else list(hook(item))


def attributes(item: Any) -> dict[str, Any]:
    """The attributes that an object has itself, those in slots among them."""
    found: dict[str, Any] = dict(getattr(item, "__dict__", ()))
    for name in _slot_names(type(item)):
        value = getattr(item, name, None)  # a slot may be empty
        if value is not None:
            found.setdefault(name, value)
    return found


def path_text(path: Sequence[str]) -> str:
    """A path as one readable text, ``layers/0/kernel``; see ``path_parts``.

    Parts keep their characters, except that those with a meaning of their own (``/``, ``%``, and
    parts that are empty or a single dot) are percent-encoded.
    """
    return "/".join(_encoded_part(part) for part in path)


def path_parts(text: str) -> tuple[str, ...]:
    """The parts of a path written by ``path_text``; the empty text is the root's."""
    return tuple(_decoded_part(part) for part in text.split("/")) if text else ()


def _encoded_part(part: str) -> str:
    if part in ("", "."):
        return "%" if not part else "%2E"
    return part.replace("%", "%25").replace("/", "%2F")


def _decoded_part(part: str) -> str:
    return "" if part == "%" else unquote(part)


def _is_open(kind: type) -> bool:
    """True if the attributes of objects of a class are visited."""
    known = _open_types.get(kind)
    if known is None:
        known = _open_types[kind] = _classify(kind)
    return known


def _classify(kind: type) -> bool:
    if issubclass(kind, AutoTrackable) or hasattr(kind, "_trackable_children"):
        return True
    if issubclass(kind, _OPAQUE_TYPES) or kind.__module__.partition(".")[0] in _OPAQUE_PACKAGES:
        return False
    return kind.__dictoffset__ != 0 or any(True for _ in _slot_names(kind))


def _slot_names(kind: type) -> Iterator[str]:
    for cls in kind.__mro__:
        names = cls.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__"):
                private = name.startswith("__") and not name.endswith("__")
                yield f"_{cls.__name__.lstrip('_')}{name}" if private else name


def _mapping_members(item: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    found: dict[str, Any] = {}
    for key, child in item.items():
        if not is_trackable(child):
            continue
        name = _key_name(key)
        if name is None:
            if _leads_to(child, (Variable,)):
                raise TypeError(
                    f"A mapping with the key {key!r} of type {type(key).__name__} holds state; "
                    "expected keys that are str, int, float, bool, bytes or None: what is saved "
                    "needs a name. Use another key, or keep the mapping in an attribute whose name "
                    f"begins with {UNTRACKED_PREFIX!r}, which is not saved."
                )
            continue
        if name in found:
            raise ValueError(
                f"A mapping has two keys that are both named {name!r}; expected one, because what "
                "is saved is found by its name. Rename one of them."
            )
        found[name] = child
    return list(found.items())


def _key_name(key: Any) -> str | None:
    if isinstance(key, str):
        return key
    if isinstance(key, np.integer):
        return str(int(key))
    plain = key is None or type(key) in (bool, int, float, bytes)
    return repr(key) if plain else None


def _leads_to(value: Any, kinds: tuple[type, ...]) -> bool:
    """True if a value is, or has anywhere inside, an object of these classes."""
    stack, seen = [value], {id(value)}
    while stack:
        item = stack.pop()
        if isinstance(item, kinds):
            return True
        # Not members(): whether a key has a name does not matter here.
        inside = item.values() if isinstance(item, Mapping) else [part for _, part in members(item)]
        for part in inside:
            if id(part) not in seen and is_trackable(part):
                seen.add(id(part))
                stack.append(part)
    return False


def _named(node: Node) -> list[tuple[str, Any]]:
    try:
        return members(node.item)
    except (TypeError, ValueError) as e:
        raise type(e)(f"{path_text(node.path) or 'the root'}: {e}") from None


def _add_slots(node: Node, nodes: list[Node], numbers: dict[int, int]) -> None:
    """Tie slots to variables, and name them after these; they may or may not be attributes too."""
    ties = slots_of(node.item)
    taken = {other.path for other in nodes} if ties else ()
    for name, variable, slot in ties:
        of = numbers.get(id(variable))
        if of is None:  # the variable itself is not part of what is saved
            continue
        below = (name, *nodes[of].path)
        number = numbers.setdefault(id(slot), len(nodes))
        if number == len(nodes):
            nodes.append(Node(slot, node, below))
        elif (*node.path, *below) not in taken:
            nodes[number].parent, nodes[number].names = node, below
        node.slots.append(Slot(name, of, number))


def _with_state(nodes: list[Node]) -> list[Node]:
    """Drop the nodes, other than the root, from which no variable can be reached."""
    parents: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        for child in (*node.children.values(), *(slot.number for slot in node.slots)):
            parents[child].append(number)
    stack = [number for number, node in enumerate(nodes) if node.is_variable]
    keep = set(stack)
    while stack:
        new = set(parents[stack.pop()]) - keep
        keep |= new
        stack.extend(new)
    keep.add(0)
    renumbered = {old: new for new, old in enumerate(sorted(keep))}
    kept = [nodes[old] for old in sorted(keep)]
    for node in kept:
        node.children = {n: renumbered[c] for n, c in node.children.items() if c in keep}
        node.slots = [Slot(s.name, renumbered[s.of], renumbered[s.number]) for s in node.slots]
    return kept
