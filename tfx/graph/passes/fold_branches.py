"""Take a branch for its ``If`` where the condition is known before the graph runs.

ONNX Runtime does that too, while it folds constants, but release 1.31 ends the process on some
graphs with branches inside of branches. After this pass it finds no such condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfx.core.errors import OpError
from tfx.graph.control import If
from tfx.graph.ir import CALL, HOST, Graph, Node, Value
from tfx.graph.serialization.serialize import to_model
from tfx.graph.tags import Mark
from tfx.graph.traits import traits
from tfx.runtime.session import Session
from tfx.runtime.values import RawValue, from_numpy, to_numpy


def has_branches(graph: Graph) -> bool:
    """True if a graph, or one below it, has an ``If`` but those of sums, which have none inside."""
    return any(n.op == "If" and n.tag is not Mark.PART_OF_SUM for n in graph.all_nodes())


def fold_branches(graph: Graph, known: Mapping[Value, RawValue]) -> Graph:
    """A copy of the graph, bodies and callees included, without ``If`` on what is constant.

    Args:
        graph: The graph.
        known: Contents of inputs that will be initializers.
    """
    if not has_branches(graph):
        return graph
    return _Decider(known).run(graph, {})


class _Decider:
    def __init__(self, known: Mapping[Value, RawValue]) -> None:
        self._known = known
        self._callees: dict[int, Graph] = {}
        # By id, constant values, and the nodes that make them (None: their contents are known).
        self._constant: dict[int, Node | None] = {id(v): None for v in known}
        # By id, sizes of values of static shape.
        self._sizes: dict[int, np.ndarray[Any, Any]] = {}

    def run(self, graph: Graph, same: dict[int, Value]) -> Graph:
        """Rewrite a graph; ``same`` has, by id, what takes the place of a value, and gets more."""
        result = graph.copy()
        result.nodes = []
        self._constant.update((id(v), None) for v in graph.constants)
        self._emit(graph, result, same)
        result.outputs = [same.get(id(v), v) for v in graph.outputs]
        return result

    def _emit(self, graph: Graph, out: Graph, same: dict[int, Value]) -> None:
        for node in graph.nodes:
            inputs = [None if v is None else same.get(id(v), v) for v in node.inputs]
            if node.op == "If" and inputs[0] is not None:
                chosen = self._contents(inputs[0])
                if chosen is not None:
                    view = If(node)
                    self._take(view.then if chosen.all() else view.otherwise, node, out, same)
                    continue
            made = node.replaced(inputs, self._attributes(node, same))
            out.nodes.append(made)
            sizes = _static_sizes(made)
            if sizes is not None:
                self._sizes[id(made.outputs[0])] = sizes
                self._constant[id(made.outputs[0])] = None
            elif self._is_constant(made):
                self._constant.update((id(v), made) for v in made.outputs)

    def _take(self, branch: Graph, node: Node, out: Graph, same: dict[int, Value]) -> None:
        """The nodes of a branch in place of its ``If``."""
        self._constant.update((id(v), None) for v in branch.constants)
        out.constants += branch.constants
        self._emit(branch, out, same)
        for old, value in zip(node.outputs, branch.outputs, strict=True):
            same[id(old)] = same.get(id(value), value)

    def _attributes(self, node: Node, same: dict[int, Value]) -> dict[str, Any]:
        attrs = dict(node.attrs)
        for name, body in node.attrs.items():
            if isinstance(body, Graph):
                attrs[name] = self._callee(body) if node.op == CALL else self.run(body, same)
        return attrs

    def _callee(self, graph: Graph) -> Graph:
        found = self._callees.get(id(graph))
        if found is None:
            found = self._callees[id(graph)] = self.run(graph, {})
        return found

    def _is_constant(self, node: Node) -> bool:
        if node.op in (CALL, HOST) or traits(node.op).random or any(True for _ in node.bodies()):
            return False
        return all(v is None or id(v) in self._constant for v in node.inputs)

    def _contents(self, value: Value) -> np.ndarray[Any, Any] | None:
        """Return the contents of a constant value; None if not constant or not computable."""
        if id(value) not in self._constant:
            return None
        if value.const is not None:
            return np.asarray(value.const)
        part = Graph("condition")
        given: dict[str, RawValue] = {}
        self._collect(value, part, given, set())
        part.outputs = [value]
        try:
            model = to_model(part, output_names=["condition"])
            session = Session(model.SerializeToString(), folds=False)
            return to_numpy(session.run(given)[0])
        except OpError:
            return None

    def _collect(
        self, value: Value, part: Graph, given: dict[str, RawValue], seen: set[int]
    ) -> None:
        """Everything that makes a constant value."""
        if id(value) in seen:
            return
        seen.add(id(value))
        node = self._constant.get(id(value))
        if node is None:
            if value.const is not None:
                part.constants.append(value)
            else:
                part.inputs.append(value)
                sizes = self._sizes.get(id(value))
                given[value.name] = self._known[value] if sizes is None else from_numpy(sizes)
            return
        for x in node.inputs:
            if x is not None:
                self._collect(x, part, given, seen)
        if node not in part.nodes:
            part.nodes.append(node)


def _static_sizes(node: Node) -> np.ndarray[Any, Any] | None:
    """Return the result of a ``Shape`` node if the shape is static, else None."""
    value = node.inputs[0] if node.op == "Shape" else None
    if value is None or value.shape is None:
        return None
    sizes = [d for d in value.shape if isinstance(d, int)]
    if len(sizes) != len(value.shape):
        return None
    return np.array(sizes, np.int64)[node.attrs.get("start", 0) : node.attrs.get("end")]
