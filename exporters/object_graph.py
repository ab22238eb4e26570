"""The saved object and everything below it as records of the manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfx.bundle.records import Child, ObjectNode
from tfx.core.nest_kinds import namedtuple_fields
from tfx.exporters.values import is_plain, to_value
from tfx.framework.asset import Asset
from tfx.framework.tensor import EagerTensor
from tfx.framework.trackable import children
from tfx.framework.variable import Variable
from tfx.function.concrete import ConcreteFunction
from tfx.function.polymorphic import Function


_LEAVES = (Variable, Function, ConcreteFunction, EagerTensor, Asset)


class ObjectGraph:
    """Objects reachable from a root, breadth first, each once.

    Attributes:
        objects: The objects; number 0 is the root.
        paths: A readable path of each (``"layers/0/kernel"``), the shortest one.
        edges: For each object its ``(name, number)`` pairs.
        variables: The variables among them with their paths.
        functions: The traced functions and concrete functions among them with their paths.
        assets: The assets among them.
    """

    def __init__(self, root: Any) -> None:
        self.objects: list[Any] = [root]
        self.paths: list[str] = [""]
        self.edges: list[list[tuple[Any, int]]] = []
        self._numbers: dict[int, int] = {id(root): 0}
        self._kept: list[Any] = [root]
        done = 0
        while done < len(self.objects):
            self.edges.append(self._expand(self.objects[done], self.paths[done]))
            done += 1
        self.variables: dict[int, tuple[Variable, str]] = {}
        self.functions: list[tuple[Function | ConcreteFunction, str]] = []
        self.assets: list[Asset] = []
        for item, path in zip(self.objects, self.paths, strict=True):
            if isinstance(item, Variable):
                self.variables[id(item)] = (item, path or "variable")
            elif isinstance(item, Function | ConcreteFunction):
                self.functions.append((item, path or "function"))
            elif isinstance(item, Asset):
                self.assets.append(item)

    def _expand(self, item: Any, path: str) -> list[tuple[Any, int]]:
        edges: list[tuple[Any, int]] = []
        if _is_leaf(item):
            return edges
        for name, child in _members(item):
            if is_plain(child):  # plain values have no identity worth sharing
                number = self._add(child, "")
            elif id(child) in self._numbers:
                number = self._numbers[id(child)]
            else:
                number = self._add(child, f"{path}/{name}" if path else str(name))
                self._numbers[id(child)] = number
            edges.append((name, number))
        return edges

    def _add(self, item: Any, path: str) -> int:
        self.objects.append(item)
        self.paths.append(path)
        self._kept.append(item)
        return len(self.objects) - 1

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
        nodes = []
        for item, path, edges in zip(self.objects, self.paths, self.edges, strict=True):
            name = type(item).__qualname__
            if isinstance(item, Variable):
                nodes.append(ObjectNode("variable", target=variables[id(item)], class_name=name))
            elif isinstance(item, Function | ConcreteFunction):
                nodes.append(ObjectNode("function", target=functions[id(item)], class_name=name))
            elif isinstance(item, EagerTensor):
                nodes.append(
                    ObjectNode("constant", target=constant(item, path), class_name=name)
                )
            elif isinstance(item, Asset):
                nodes.append(
                    ObjectNode("asset", target=self.assets.index(item), class_name=name)
                )
            elif _is_container(item) or hasattr(item, "__dict__"):
                nodes.append(self._container(item, edges))
            else:
                nodes.append(ObjectNode("value", value=to_value(item), class_name=name))
        return nodes

    def _container(self, item: Any, edges: list[tuple[Any, int]]) -> ObjectNode:
        name = type(item).__qualname__
        fields = namedtuple_fields(type(item)) or ()
        kind = _container_kind(item)
        if kind in ("list", "tuple"):
            edges = [(str(i), number) for i, (_, number) in enumerate(edges)]
        found = tuple(
            Child(str(key), number, None if isinstance(key, str) else key)
            for key, number in edges
        )
        return ObjectNode(kind, children=found, field_names=tuple(fields), class_name=name)  # type: ignore[arg-type]


def _is_leaf(item: Any) -> bool:
    return isinstance(item, _LEAVES) or is_plain(item)


def _is_container(item: Any) -> bool:
    return isinstance(item, list | tuple | Mapping)


def _container_kind(item: Any) -> str:
    if isinstance(item, Mapping):
        return "dict"
    if isinstance(item, tuple):
        return "tuple"
    return "list" if isinstance(item, list) else "object"


def _members(item: Any) -> list[tuple[Any, Any]]:
    """What is saved of an object: state, functions and plain attributes, by name."""
    if isinstance(item, Mapping):
        return [(k, v) for k, v in item.items() if is_plain(k) and _is_storable(v)]
    if isinstance(item, list | tuple):
        return list(enumerate(item))
    members: dict[Any, Any] = dict(children(item))
    for name, value in vars(item).items() if hasattr(item, "__dict__") else ():
        if name not in members and _is_storable(value):
            members[name] = value
    for name in _function_attributes(item):
        members.setdefault(name, getattr(item, name))
    return list(members.items())


def _is_storable(value: Any) -> bool:
    if is_plain(value) or isinstance(value, _LEAVES):
        return True
    if isinstance(value, Mapping):
        return all(is_plain(k) and _is_storable(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(_is_storable(v) for v in value)
    return False


def _function_attributes(item: Any) -> list[str]:
    """Names of the traced methods of an object's class, base classes included."""
    return sorted(
        {
            name
            for cls in type(item).__mro__
            for name, value in vars(cls).items()
            if isinstance(value, Function)
        }
    )
