"""Put the nodes of called graphs in place of the calls."""

from __future__ import annotations

from collections.abc import Callable

from tfx.core.dims import sizes_alone
from tfx.graph.copy_body import copy_body, forget_sizes
from tfx.graph.ir import CALL, Graph, Node, Value
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
    _Expander(result, chosen).emit(graph, {}, "", None, "")
    result.outputs = list(graph.outputs)
    return result


def expand_all_calls(graph: Graph) -> Graph:
    """A copy of the graph without any call, also in bodies."""
    return _ExpandingAll().run(graph)


class _ExpandingAll(Rewriter):
    def run(self, graph: Graph) -> Graph:
        return super().run(expand_calls(graph, lambda call: True))


class _Expander:
    def __init__(self, out: Graph, chosen: Callable[[Node], bool]) -> None:
        self._out = out
        self._chosen = chosen
        self._constants = {id(v) for v in out.constants}

    def emit(
        self,
        graph: Graph,
        values: dict[int, Value],
        prefix: str,
        device: str | None,
        layer: str,
    ) -> None:
        """Append the nodes of a graph; ``values`` maps its inputs, and gets what it makes."""
        for constant in graph.constants:
            self._constant(constant)
        for node in graph.nodes:
            inputs = [None if v is None else values.get(id(v), v) for v in node.inputs]
            if node.op == CALL and self._chosen(node):
                self._expand(node, inputs, values, prefix, device, layer)
            elif not prefix and device is None:
                self._out.nodes.append(node.replaced(inputs))
            else:
                self._copy(node, inputs, values, prefix, device, layer)

    def _expand(
        self,
        call: Node,
        inputs: list[Value | None],
        values: dict[int, Value],
        prefix: str,
        device: str | None,
        layer: str,
    ) -> None:
        callee: Graph = call.attrs["graph"]
        inner = {id(f): a for f, a in zip(callee.inputs, inputs, strict=True) if a is not None}
        layer += call.source.layer if call.source else ""
        self.emit(callee, inner, f"{prefix}{call.name}/", call.device or device, layer)
        for made, formal in zip(call.outputs, callee.outputs, strict=True):
            if prefix:
                values[id(made)] = inner.get(id(formal), formal)
            else:  # the enclosing graph knows this value: it keeps its identity
                self._alias(call, inner.get(id(formal), formal), made)

    def _alias(self, call: Node, value: Value, made: Value) -> None:
        name = self._out.unique_name(f"{call.name}/result")
        node = Node(
            "Identity", (value,), {}, name, call.source, outputs=(made,), device=call.device
        )
        self._out.nodes.append(node)

    def _copy(
        self,
        node: Node,
        inputs: list[Value | None],
        values: dict[int, Value],
        prefix: str,
        device: str | None,
        layer: str,
    ) -> None:
        """The node of a callee, with values of its own for this call."""
        attrs = node.attrs
        if any(True for _ in node.bodies()) and node.op != CALL:
            attrs = {
                k: self._body(v, values) if isinstance(v, Graph) else v for k, v in attrs.items()
            }
        name = self._out.unique_name(f"{prefix}{node.name}")
        source = node.source
        if layer and source is not None:
            source = source._replace(layer=layer + source.layer)
        made = Node(
            node.op,
            tuple(inputs),
            attrs,
            name,
            source,
            device=node.device or device,
            tag=node.tag,
            outputs=tuple(
                # What the callee calls a size may be another one in each call.
                Value(self._out.unique_name(f"{prefix}{v.name}"), v.dtype, sizes_alone(v.shape))
                for v in node.outputs
            ),
        ).make_outputs()
        for old, new in zip(node.outputs, made.outputs, strict=True):
            values[id(old)] = new
        self._out.nodes.append(made)

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
