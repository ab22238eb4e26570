"""ONNX models to graphs: the way back from ``serialize``.

Types of values are inferred node by node as if the graph had just been traced, so a loaded graph
can be called, differentiated and saved like one of ours. Local functions become called graphs, one
for each combination of input types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from tfx.core.errors import BundleError
from tfx.graph import ir, protos, schema
from tfx.graph.infer import infer
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.symbolic import propagate


class Imported:
    """A graph made from a model.

    Attributes:
        graph: The graph; initializers listed in ``as_inputs`` are inputs after the model's own.
        values: The graph's inputs and outputs by their names in the model.
    """

    __slots__ = ("graph", "values")

    def __init__(self, graph: Graph, values: dict[str, Value]) -> None:
        self.graph = graph
        self.values = values


def from_model(
    model: onnx.ModelProto, *, as_inputs: Sequence[str] = (), base_dir: str = ""
) -> Imported:
    """Make a graph from a model.

    Args:
        model: A model of the standard domain and local functions.
        as_inputs: Initializers that become inputs of the graph instead of constants (variables);
            their contents are not read.
        base_dir: Where external data of the other initializers is.

    Raises:
        BundleError: the model uses what cannot be represented; the message names it.
    """
    reader = _Reader(model)
    proto = model.graph
    graph = Graph(proto.name or "graph")
    scope: dict[str, Value] = {}
    stored = {t.name: t for t in proto.initializer}
    for item in proto.input:
        if item.name not in stored:
            scope[item.name] = graph.add_input(item.name, *protos.type_of(item.type))
    for name, tensor in stored.items():
        if name in as_inputs:
            scope[name] = graph.add_input(name, tensor.data_type, tuple(tensor.dims))
        else:
            array = protos.tensor_array(tensor, base_dir)
            scope[name] = graph.add_constant(array, tensor.data_type, name)
    reader.nodes(graph, proto.node, scope)
    graph.outputs = [reader.lookup(scope, o.name, graph.name) for o in proto.output]
    named = {v.name: scope[v.name] for v in (*proto.input, *proto.output) if v.name in scope}
    named.update({n: scope[n] for n in as_inputs})
    return Imported(graph, named)


class _Reader:
    def __init__(self, model: onnx.ModelProto) -> None:
        self.functions: Mapping[tuple[str, str], onnx.FunctionProto] = {
            (f.domain, f.name): f for f in model.functions
        }
        self._callees: dict[Any, Graph] = {}

    def lookup(self, scope: Mapping[str, Value], name: str, where: str) -> Value:
        value = scope.get(name)
        if value is None:
            raise BundleError(f"Graph {where!r} uses {name!r} before it is made.")
        return value

    def nodes(self, graph: Graph, protos_: Sequence[onnx.NodeProto], scope: dict[str, Value]) -> None:
        for proto in protos_:
            inputs = [self.lookup(scope, n, graph.name) if n else None for n in proto.input]
            function = self.functions.get((proto.domain, proto.op_type))
            if function is not None:
                node = self._call(graph, proto, function, inputs)
            elif proto.domain not in ("", "ai.onnx"):
                raise BundleError(
                    f"Graph {graph.name!r} uses operator {proto.domain}::{proto.op_type}, which is "
                    "neither of the ONNX standard nor a function of the model."
                )
            elif proto.op_type == "Constant":
                self._constant(graph, proto, scope)
                continue
            else:
                node = self._node(graph, proto, inputs, scope)
            for name, value in zip(proto.output, node.outputs, strict=False):
                if name:
                    scope[name] = value

    def _constant(self, graph: Graph, proto: onnx.NodeProto, scope: dict[str, Value]) -> None:
        attribute = proto.attribute[0]
        if attribute.name == "value":
            array = protos.tensor_array(attribute.t)
            dtype = attribute.t.data_type
        else:
            tensor = _python_constant(attribute)
            array, dtype = protos.tensor_array(tensor), tensor.data_type
        scope[proto.output[0]] = graph.add_constant(array, dtype, proto.output[0])

    def _call(
        self,
        graph: Graph,
        proto: onnx.NodeProto,
        function: onnx.FunctionProto,
        inputs: Sequence[Value | None],
    ) -> Node:
        types = tuple(None if v is None else (v.dtype, v.shape) for v in inputs)
        key = (function.domain, function.name, types)
        callee = self._callees.get(key)
        if callee is None:
            callee = Graph(function.name)
            scope: dict[str, Value] = {}
            for name, value in zip(function.input, inputs, strict=True):
                if value is None:
                    raise BundleError(f"Function {function.name!r} is called without {name!r}.")
                scope[name] = callee.add_input(name, value.dtype, value.shape)
            self.nodes(callee, function.node, scope)
            callee.outputs = [self.lookup(scope, o, function.name) for o in function.output]
            self._callees[key] = callee
        results = [(v.dtype, v.shape) for v in callee.outputs]
        return graph.add_node(ir.CALL, inputs, {"graph": callee}, results,
                              name=proto.name or function.name)

    def _node(
        self,
        graph: Graph,
        proto: onnx.NodeProto,
        inputs: Sequence[Value | None],
        scope: dict[str, Value],
    ) -> Node:
        attrs: dict[str, Any] = {}
        for attribute in proto.attribute:
            attrs[attribute.name] = self._attribute(graph, attribute, scope)
        bodies = [a for a in attrs.values() if isinstance(a, Graph)]
        count = max((i + 1 for i, n in enumerate(proto.output) if n), default=1)
        if bodies:
            types = _body_types(proto.op_type, bodies, attrs)
        else:
            count = max(count, schema.operator(proto.op_type).min_outputs)
            types = infer(proto.op_type, inputs, attrs, count)
        node = graph.add_node(proto.op_type, inputs, attrs, types, name=proto.name or proto.op_type)
        propagate(node)
        return node

    def _attribute(
        self, graph: Graph, attribute: onnx.AttributeProto, scope: dict[str, Value]
    ) -> Any:
        if attribute.type == onnx.AttributeProto.GRAPH:
            body = Graph(attribute.g.name, graph)
            inner = dict(scope)
            for item in attribute.g.input:
                inner[item.name] = body.add_input(item.name, *protos.type_of(item.type))
            for tensor in attribute.g.initializer:
                array = protos.tensor_array(tensor)
                inner[tensor.name] = body.add_constant(array, tensor.data_type, tensor.name)
            self.nodes(body, attribute.g.node, inner)
            body.outputs = [self.lookup(inner, o.name, body.name) for o in attribute.g.output]
            return body
        if attribute.type == onnx.AttributeProto.TENSOR:
            return protos.tensor_array(attribute.t)
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, list | tuple):
            return [v.decode() if isinstance(v, bytes) else v for v in value]
        return value


def _python_constant(attribute: onnx.AttributeProto) -> onnx.TensorProto:
    """The tensor that a Constant node's ``value_int`` and the like stand for."""
    helper, tensor = onnx.helper, onnx.TensorProto
    name = attribute.name
    if name == "value_int":
        return helper.make_tensor("c", tensor.INT64, [], [attribute.i])
    if name == "value_ints":
        return helper.make_tensor("c", tensor.INT64, [len(attribute.ints)], list(attribute.ints))
    if name == "value_float":
        return helper.make_tensor("c", tensor.FLOAT, [], [attribute.f])
    if name == "value_floats":
        return helper.make_tensor("c", tensor.FLOAT, [len(attribute.floats)],
                                  list(attribute.floats))
    if name == "value_string":
        return helper.make_tensor("c", tensor.STRING, [], [attribute.s])
    if name == "value_strings":
        return helper.make_tensor("c", tensor.STRING, [len(attribute.strings)],
                                  list(attribute.strings))
    raise BundleError(f"A Constant with attribute {name!r} is not supported.")


def _body_types(op: str, bodies: list[Graph], attrs: dict[str, Any]) -> list[tuple[int, Any]]:
    """Output types of If, Loop and Scan from their bodies' outputs."""
    if op == "If":
        pairs = zip(bodies[0].outputs, bodies[1].outputs, strict=True)
        return [(a.dtype, _common(a.shape, b.shape)) for a, b in pairs]
    body = bodies[0]
    if op == "Loop":
        carried = len(body.inputs) - 2
        results = body.outputs[1:]
    else:
        carried = len(body.inputs) - int(attrs["num_scan_inputs"])
        results = body.outputs
    return [
        (v.dtype, v.shape if i < carried or v.shape is None else (None, *v.shape))
        for i, v in enumerate(results)
    ]


def _common(a: ir.RawShape, b: ir.RawShape) -> ir.RawShape:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))
