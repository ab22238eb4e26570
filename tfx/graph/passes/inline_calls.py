"""Put the nodes of called graphs in place of the calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tfx.graph.call_sizes import shape_in_call, sizes_of_call
from tfx.graph.copy_body import copy_body, forget_sizes
from tfx.graph.ir import CALL, Graph, Node, RawDim, Value
from tfx.graph.rewrite import Rewriter


def expand_calls(graph: Graph, chosen: Callable[[Node], bool]) -> Graph:
    """A copy of the graph in which the chosen calls, at any depth of calls, are expanded.

    Nodes of a callee get the call's device where they have none, and names below the call's.

    Args:
        graph: The graph; its bodies stay as they are.
        chosen: Tells of a ``Call`` node whether to expand it.
    """
    result = graph.copy()
    result.nodes = []
    _Expander(result, chosen).emit(graph, _Place())
    result.outputs = list(graph.outputs)
    return result


def expand_all_calls(graph: Graph) -> Graph:
    """A copy of the graph without any call, also in bodies."""
    return _ExpandingAll().run(graph)


class _ExpandingAll(Rewriter):
    def run(self, graph: Graph) -> Graph:
        return super().run(expand_calls(graph, lambda call: True))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where nodes of a callee go.

    Attributes:
        values: What became of the callee's values, its inputs to begin with.
        sizes: What its names of dimensions stand for.
        prefix: In front of the nodes' names; empty: the graph itself.
        device: Of nodes without one.
        layer: In front of the nodes' layers.
    """

    values: dict[int, Value] = field(default_factory=dict)
    sizes: dict[str, RawDim] = field(default_factory=dict)
    prefix: str = ""
    device: str | None = None
    layer: str = ""

    def inputs_of(self, node: Node) -> list[Value | None]:
        """What a node of the callee is applied to."""
        return [None if v is None else self.values.get(id(v), v) for v in node.inputs]


class _Expander:
    def __init__(self, out: Graph, chosen: Callable[[Node], bool]) -> None:
        self._out = out
        self._chosen = chosen
        self._constants = {id(v) for v in out.constants}

    def emit(self, graph: Graph, place: _Place) -> None:
        """Append the nodes of a graph; the place gets the values that they make."""
        for constant in graph.constants:
            self._constant(constant)
        for node in graph.nodes:
            if node.op == CALL and self._chosen(node):
                self._expand(node, place)
            elif not place.prefix and place.device is None:
                self._out.nodes.append(node.replaced(place.inputs_of(node)))
            else:
                self._copy(node, place)

    def _expand(self, call: Node, place: _Place) -> None:
        callee: Graph = call.attrs["graph"]
        inputs = place.inputs_of(call)
        inner = {id(f): a for f, a in zip(callee.inputs, inputs, strict=True) if a is not None}
        below = _Place(
            inner,
            sizes_of_call(callee, inputs),
            f"{place.prefix}{call.name}/",
            call.device or place.device,
            place.layer + (call.source.layer if call.source else ""),
        )
        self.emit(callee, below)
        for made, formal in zip(call.outputs, callee.outputs, strict=True):
            if place.prefix:
                place.values[id(made)] = inner.get(id(formal), formal)
            else:  # the enclosing graph knows this value: it keeps its identity
                self._alias(call, inner.get(id(formal), formal), made)

    def _alias(self, call: Node, value: Value, made: Value) -> None:
        name = self._out.unique_name(f"{call.name}/result")
        node = Node(
            "Identity", (value,), {}, name, call.source, outputs=(made,), device=call.device
        )
        self._out.nodes.append(node)

    def _copy(self, node: Node, place: _Place) -> None:
        """The node of a callee, with values of its own for this call."""
        attrs = node.attrs
        if any(True for _ in node.bodies()) and node.op != CALL:
            attrs = {
                k: self._body(v, place.values) if isinstance(v, Graph) else v
                for k, v in attrs.items()
            }
        source = node.source
        if place.layer and source is not None:
            source = source._replace(layer=place.layer + source.layer)
        made = Node(
            node.op,
            tuple(place.inputs_of(node)),
            attrs,
            self._out.unique_name(f"{place.prefix}{node.name}"),
            source,
            device=node.device or place.device,
            tag=node.tag,
            outputs=tuple(self._value(v, place) for v in node.outputs),
        ).make_outputs()
        for old, new in zip(node.outputs, made.outputs, strict=True):
            place.values[id(old)] = new
        self._out.nodes.append(made)

    def _value(self, value: Value, place: _Place) -> Value:
        name = self._out.unique_name(f"{place.prefix}{value.name}")
        return Value(name, value.dtype, shape_in_call(value.shape, place.sizes))

    def _body(self, body: Graph, values: dict[int, Value]) -> Graph:
        """A branch or loop body of a callee, using the call's values."""
        copied = copy_body(body, self._out, lambda v: values.get(id(v), v), self._constant)
        forget_sizes(copied)
        return copied

    def _constant(self, value: Value) -> Value:
        """A constant of a callee, or of a body in it, which is one of the graph now."""
        if id(value) not in self._constants:
            self._constants.add(id(value))
            self._out.constants.append(value)
        return value
