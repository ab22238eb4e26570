"""The saved object and everything below it as records of the manifest.

Owns the rules of what of an object is saved:

* what checkpoints track (``framework.trackable``), traced functions, tensors and assets, in
  attributes and at any depth in lists, tuples and dicts, and in objects on the way to them;
* attributes that are plain data: None, numbers, text, bytes, specs, dtypes, shapes, and lists,
  tuples and dicts of them;
* nothing else: no arrays, open files or objects without state. Where such a thing stands in a list
  or dict that is saved for something else in it, a note of what it was takes its place.

Must not know how functions and contents are written. The one decision: plain data is one record
however nested it is, everything else is a node, so that shared objects and cycles stay what they
are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn, cast

import numpy as np

from tfx.bundle import limits
from tfx.bundle.records import Child, ObjectNode
from tfx.core.dtypes import DType
from tfx.core.nest_kinds import namedtuple_fields
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.exporters.manifest_values import KEYS, is_scalar, to_value
from tfx.exporters.names import unique_name
from tfx.framework.asset import Asset
from tfx.framework.deferred_restores import UNTRACKED_PREFIX, AutoTrackable
from tfx.framework.tensor import EagerTensor
from tfx.framework.trackable import is_container, is_trackable, members, path_text, walk
from tfx.framework.variable import Variable
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.tracing.function import Function
from tfx.lookup_ops.mutable_tables import MutableHashTable
from tfx.lookup_ops.static_tables import StaticTable

Callee = Function | ConcreteFunction
_LEAVES = (Variable, Function, ConcreteFunction, EagerTensor, Asset, StaticTable)
_DATA = (TensorSpec, DType, TensorShape, np.bool_, np.integer, np.floating)
# The one name with a meaning to Python that a loaded object gives back.
_CALL = "__call__"


def _refuse(root: Any) -> NoReturn:
    raise ValueError(
        f"Expected an object with attributes to save, such as a tf.Module, or a tf.function; got "
        f"{root!r:.100} of type {type(root).__name__}. Make it an attribute of a tf.Module."
    )


class ObjectGraph:
    """Objects reachable from a root, breadth first, each once.

    Args:
        root: A module, another object with attributes, or a traced function.

    Attributes:
        items: The objects; number 0 is the root.
        paths: A readable path of each (``"layers/0/kernel"``), the shortest one.
        variables: The variables of the object and their paths as checkpoints name them, in order.
        functions: The traced functions and concrete functions among the objects with their paths.
        assets: The assets among them.
        tables: The lookup tables among them with their paths.

    Raises:
        ValueError: the root is something else, or state is under a key that cannot be saved.
    """

    def __init__(self, root: Any) -> None:
        if (
            is_container(root)
            or not (is_trackable(root) or isinstance(root, Callee))
            or isinstance(root, Variable)
        ):
            _refuse(root)
        self.variables: dict[int, tuple[Variable, str]] = {}
        self.functions: list[tuple[Callee, str]] = []
        self.assets: list[Asset] = []
        self.tables: list[tuple[StaticTable, str]] = []
        self._slots: dict[int, dict[str, Any]] = {}
        if not isinstance(root, Callee):
            self._walk_state(root)
        self.items: list[Any] = [root]
        self.paths: list[str] = [""]
        self._edges: list[list[tuple[Any, int]]] = []
        self._numbers: dict[Any, int] = {id(root): 0}
        for number, item in enumerate(self.items):  # grows meanwhile
            parts = _parts(item, self._slots.get(id(item), {}))
            self._edges.append([(n, self._number(c, number, n)) for n, c in parts])
        for item, path in zip(self.items, self.paths, strict=True):
            if isinstance(item, Variable):
                self.variables.setdefault(id(item), (item, path))
            elif isinstance(item, Callee):
                self.functions.append((item, path or "function"))
            elif isinstance(item, Asset):
                self.assets.append(item)
            elif isinstance(item, StaticTable):
                self.tables.append((item, path))
        found = self.variables or self.functions or self.assets or self.tables
        if not found and not isinstance(root, AutoTrackable):
            _refuse(root)  # not a model, by its class or by what it has

    def _walk_state(self, root: Any) -> None:
        """Find the variables; slots become dicts in the object that has them.

        What a loaded object's dict holds then has the path in checkpoints that the slot had.
        """
        nodes = walk(root)
        for node in nodes:
            if isinstance(node.item, Variable):
                self.variables[id(node.item)] = (node.item, path_text(node.path))
            for slot in node.slots:
                table = self._slots.setdefault(id(node.item), {})
                *folders, name = (slot.name, *nodes[slot.of].path)
                for folder in folders:
                    table = table.setdefault(folder, {})
                table[name] = nodes[slot.number].item

    def _number(self, item: Any, parent: int, name: Any) -> int:
        """The node of an object, made if it is new; equal scalars share one."""
        # The repr tells 0.0 from -0.0, and one nan is like another.
        key: Any = (type(item), repr(item)) if is_scalar(item) else id(item)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.items)
            self.items.append(item)
            prefix = f"{self.paths[parent]}/" if self.paths[parent] else ""
            self.paths.append(prefix + path_text([str(name)]))
        return number

    def nodes(
        self,
        variables: Mapping[int, int],
        functions: Mapping[int, int],
        constant: Callable[[EagerTensor, str], int],
    ) -> list[ObjectNode]:
        """The records of the objects.

        Args:
            variables: Id in the manifest of each variable, by ``id``.
            functions: Id in the manifest of each function, by ``id``.
            constant: Stores a tensor (with its path) and returns its id.
        """
        assets = {id(a): i for i, a in enumerate(self.assets)}
        tables = {id(t): i for i, (t, _) in enumerate(self.tables)}
        nodes = []
        for item, path, edges in zip(self.items, self.paths, self._edges, strict=True):
            if isinstance(item, Variable):
                # What a loader cannot tell from the path.
                name = item.name.removesuffix(":0")
                end = self.variables[id(item)][1].rpartition("/")[2]
                told = {} if name == end else {"name": name}
                target = variables[id(item)]
                nodes.append(ObjectNode("variable", target=target, metadata=told))
            elif isinstance(item, Callee):
                nodes.append(ObjectNode("function", target=functions[id(item)]))
            elif isinstance(item, EagerTensor):
                nodes.append(ObjectNode("constant", target=constant(item, path)))
            elif isinstance(item, Asset):
                nodes.append(ObjectNode("asset", target=assets[id(item)]))
            elif isinstance(item, StaticTable):
                nodes.append(ObjectNode("table", target=tables[id(item)]))
            elif _has_nodes(item):
                nodes.append(_container(item, edges, path))
            else:
                nodes.append(ObjectNode("value", value=to_value(item)))
        return nodes


def _has_nodes(item: Any) -> bool:
    """True if an object that is saved is a node with children, and not one value."""
    if is_scalar(item) or isinstance(item, _LEAVES + _DATA):
        return False
    if is_container(item):
        return not _is_record(item)
    return is_trackable(item)


def _container(item: Any, edges: list[tuple[Any, int]], path: str) -> ObjectNode:
    name = type(item).__qualname__
    if isinstance(item, Mapping):
        return ObjectNode("dict", tuple(_dict_children(edges, path)), class_name=name)
    if not is_container(item):
        children = [Child(key, number) for key, number in edges]
        metadata = {"table": "mutable"} if isinstance(item, MutableHashTable) else {}
        return ObjectNode("object", tuple(children), class_name=name, metadata=metadata)
    children = [Child(str(i), number) for i, (_, number) in enumerate(edges)]
    if isinstance(item, tuple):
        fields = namedtuple_fields(type(item)) or ()
        return ObjectNode("tuple", tuple(children), field_names=fields, class_name=name)
    return ObjectNode("list", tuple(children), class_name=name)


def _dict_children(edges: list[tuple[Any, int]], path: str) -> Iterator[Child]:
    taken = {key for key, _ in edges if isinstance(key, str)}
    for key, number in edges:
        if isinstance(key, str):
            yield Child(key, number)
            continue
        if isinstance(key, np.integer):
            key = int(key)
        if type(key) not in (bool, int, float, bytes):
            raise ValueError(
                f"The dict at {path or 'the root'!r} has the key {key!r} of type "
                f"{type(key).__name__}; expected str, int, float, bool or bytes where a dict holds "
                "variables, functions or tensors. Use another key."
            )
        name = unique_name(repr(key), taken)
        taken.add(name)
        yield Child(name, number, key)


def _parts(item: Any, slots: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """Return the saved parts of an object, by attribute name, position or key."""
    if not _has_nodes(item):
        return []
    if isinstance(item, Mapping):
        return list(item.items())
    if is_container(item):
        return list(enumerate(item))
    return sorted({**slots, **_attributes(item)}.items())


def _attributes(item: Any) -> dict[str, Any]:
    """Attributes of an object that are saved: state, plain data and traced functions."""
    found = {name: child for name, child in members(item) if _is_kept(child)}
    own = hasattr(type(item), "_trackable_children")
    for name, value in getattr(item, "__dict__", {}).items():
        # An object that names its parts itself is taken at its word; data goes with it.
        if name not in found and (_is_data(value) if own else _is_kept(value)):
            found[name] = value
    for name, value in _methods(item):
        found.setdefault(name, value)
    return {name: value for name, value in found.items() if _is_public(name)}


def _is_public(name: str) -> bool:
    dunder = name.startswith("__") and name.endswith("__") and name != _CALL
    return bool(name) and not dunder and not name.startswith(UNTRACKED_PREFIX)


def _methods(item: Any) -> Iterator[tuple[str, Function]]:
    """The traced methods of an object's class, base classes included.

    An object whose methods are not attributes of its class returns them from
    ``_traced_methods()``, by name.
    """
    named = getattr(type(item), "_traced_methods", None)
    if named is not None:
        yield from sorted(named(item).items())
    names = {
        n for cls in type(item).__mro__ for n, v in vars(cls).items() if isinstance(v, Function)
    }
    for name in sorted(names):
        method = getattr(item, name, None)
        if isinstance(method, Function):  # and not overridden by another kind of method
            yield name, method


def _is_data(value: Any) -> bool:
    """True if a value is plain data, or a container of nothing else."""
    stack, seen = [value], set()
    while stack:
        item = stack.pop()
        if is_container(item):
            if id(item) not in seen:
                seen.add(id(item))
                if isinstance(item, Mapping) and not all(type(key) in KEYS for key in item):
                    return False
                stack.extend(item.values() if isinstance(item, Mapping) else item)
        elif not is_scalar(item) and not isinstance(item, _DATA):
            return False
    return True


def _is_kept(value: Any) -> bool:
    """True if an attribute's value is saved."""
    if _is_data(value) or isinstance(value, _LEAVES):
        return True
    return is_trackable(value) and _leads_to_state(value)


def _leads_to_state(value: Any) -> bool:
    """True if there is something anywhere inside that only a node can hold."""
    stack, seen = [value], {id(value)}
    while stack:
        item = stack.pop()
        if isinstance(item, (*_LEAVES, AutoTrackable)):
            return True
        for part in _inside(item):
            if id(part) not in seen and (is_trackable(part) or isinstance(part, _LEAVES)):
                seen.add(id(part))
                stack.append(part)
    return False


def _inside(item: Any) -> Iterable[Any]:
    if isinstance(item, Mapping):
        return item.values()
    if is_container(item):
        return cast("Iterable[Any]", item)
    return [*(part for _, part in members(item)), *getattr(item, "__dict__", {}).values()]


def _is_record(value: Any, depth: int = 0, above: tuple[int, ...] = ()) -> bool:
    """True if a container is a tree of plain data that one record can hold."""
    if depth >= limits.MAX_STRUCTURE_DEPTH - 1 or id(value) in above:
        return False
    if isinstance(value, Mapping):
        if not all(type(key) in KEYS for key in value):
            return False
        parts: Iterable[Any] = value.values()
    else:
        parts = value
    above = (*above, id(value))
    return all(
        _is_record(part, depth + 1, above)
        if is_container(part)
        else is_scalar(part) or isinstance(part, _DATA)
        for part in parts
    )
