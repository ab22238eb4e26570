"""ONNX models to graphs: the way back from ``serialize``.

Types of values are inferred node by node as if the graph had just been traced, so a loaded graph
can be called, differentiated and saved like one of ours. Local functions become called graphs, one
for each combination of input types. The one decision: a model is not trusted. Whatever is wrong
with it comes out as a ``BundleError`` that names the model, never as an error of the machinery.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tfx.core import dtypes
from tfx.core.dims import common_shape
from tfx.core.errors import BundleError, OpError
from tfx.core.source import SourceLocation
from tfx.graph import ir, schema
from tfx.graph.custom_gradients import CustomGradient
from tfx.graph.infer import infer
from tfx.graph.ir import Graph, Node, RawShape, Value
from tfx.graph.other_domains import is_kept
from tfx.graph.serialization import protos
from tfx.graph.serialization.serialize import (
    GRADIENT_DOMAIN,
    GRADIENT_KEY,
    PRESENT_KEY,
    SOURCE_KEY,
    TAG_KEY,
)
from tfx.graph.serialization.upgrade import standard_model
from tfx.graph.symbolic_shapes import propagate
from tfx.graph.tags import mark_from_text

External = Callable[[onnx.TensorProto], "np.ndarray[Any, Any]"]
_STANDARD = ("", "ai.onnx")
_SOURCE = re.compile(r"(.*):([0-9]{1,9}) in (.*)", re.DOTALL)
# What a model that nobody meant to be valid can make of honest code.
_MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)


class Imported:
    """A graph made from a model.

    Attributes:
        graph: The graph; initializers listed in ``as_inputs`` are inputs after the model's own.
        inputs: The graph's inputs by their names in the model, ``as_inputs`` included.
        outputs: Its outputs by their names in the model.
        declared: Dtype and shape that the model gives for each output. onnx may infer others.
    """

    __slots__ = ("declared", "graph", "inputs", "outputs")

    def __init__(
        self,
        graph: Graph,
        inputs: dict[str, Value],
        outputs: dict[str, Value],
        declared: dict[str, tuple[int, RawShape]],
    ) -> None:
        self.graph = graph
        self.inputs = inputs
        self.outputs = outputs
        self.declared = declared


def from_model(
    model: onnx.ModelProto,
    name: str = "the model",
    *,
    as_inputs: Mapping[str, RawShape] | None = None,
    external: External | None = None,
) -> Imported:
    """Make a graph from a model.

    Args:
        model: A model of the standard domain and local functions, of any opset.
        name: What to call it in messages (its path).
        as_inputs: Initializers that become inputs of the graph instead of constants (variables),
            with the shapes that they may take; their contents are not read.
        external: Gives the contents of other initializers whose data is outside of the model.

    Raises:
        BundleError: the model is malformed or uses what cannot be represented; the message says.
    """
    try:
        ready = standard_model(model, as_inputs or {})
        return _imported(_Reader(ready, external), as_inputs or {})
    except BundleError as e:
        raise BundleError(f"{name}: {e.message}") from e
    except OpError as e:
        raise BundleError(f"{name}: its graph cannot be used: {e.message}") from e
    except _MALFORMED as e:
        raise BundleError(
            f"{name}: its graph cannot be used: {type(e).__name__}: {e}; the file is damaged or "
            "was made by another program"
        ) from e


def _imported(reader: _Reader, as_inputs: Mapping[str, RawShape]) -> Imported:
    proto = reader.model.graph
    graph = Graph(text_of(proto.name) or "graph")
    scope: dict[str, Value] = {}
    inputs: dict[str, Value] = {}
    stored = {t.name: t for t in proto.initializer}
    for item in proto.input:
        if item.name not in stored:
            inputs[item.name] = graph.add_input(text_of(item.name), *reader.type_of(item))
    for name, tensor in stored.items():
        if name in as_inputs:
            inputs[name] = graph.add_input(name, tensor.data_type, as_inputs[name])
        else:
            array = reader.contents(tensor)
            scope[name] = graph.add_constant(array, tensor.data_type, text_of(name))
    scope.update(inputs)
    reader.nodes(graph, proto.node, scope)
    graph.outputs = [reader.lookup(scope, o.name, graph.name) for o in proto.output]
    outputs = {o.name: v for o, v in zip(proto.output, graph.outputs, strict=True)}
    declared = {o.name: reader.type_of(o) for o in proto.output}
    return Imported(graph, inputs, outputs, declared)


class _Reader:
    def __init__(self, model: onnx.ModelProto, external: External | None) -> None:
        self.model = model
        self._external = external
        self._functions: Mapping[tuple[str, str], onnx.FunctionProto] = {
            (f.domain, f.name): f for f in model.functions
        }
        self._callees: dict[Any, Graph] = {}
        self._open: set[tuple[str, str]] = set()

    def lookup(self, scope: Mapping[str, Value], name: str, where: str) -> Value:
        value = scope.get(name)
        if value is None:
            raise BundleError(f"graph {where!r} uses {name!r} before it is made.")
        return value

    def type_of(
        self, item: onnx.ValueInfoProto, *, sequences: bool = False
    ) -> tuple[int, RawShape]:
        try:
            return protos.type_of(item.type, sequences=sequences)
        except OpError as e:
            raise BundleError(f"input {item.name!r}: {e.message}") from e

    def contents(self, tensor: onnx.TensorProto) -> np.ndarray[Any, Any]:
        if any(dim < 0 for dim in tensor.dims):
            raise BundleError(f"tensor {tensor.name!r} has the shape {tuple(tensor.dims)}.")
        if tensor.data_location != onnx.TensorProto.EXTERNAL and not tensor.external_data:
            return protos.tensor_array(tensor)
        if self._external is None:
            raise BundleError(f"tensor {tensor.name!r} has its data in another file.")
        return self._external(tensor)

    def nodes(
        self, graph: Graph, protos_: Sequence[onnx.NodeProto], scope: dict[str, Value]
    ) -> None:
        for proto in protos_:
            inputs = [self.lookup(scope, n, graph.name) if n else None for n in proto.input]
            function = self._functions.get((proto.domain, proto.op_type))
            if function is not None:
                node = self._call(graph, proto, function, inputs)
            elif proto.domain not in _STANDARD and not is_kept(proto.domain, proto.op_type):
                raise BundleError(
                    f"it uses the operator {proto.domain}::{proto.op_type}, which is neither of "
                    "the ONNX standard nor a function of the model: it can be run by "
                    "tfx.loaders.Bundle and by ONNX Runtime, but not be traced or differentiated."
                )
            elif proto.op_type == "Constant":
                self._constant(graph, proto, scope)
                continue
            else:
                node = self._node(graph, proto, inputs, scope)
            scope.update((n, v) for n, v in zip(proto.output, node.outputs, strict=False) if n)

    def _constant(self, graph: Graph, proto: onnx.NodeProto, scope: dict[str, Value]) -> None:
        attribute = proto.attribute[0]
        tensor = attribute.t if attribute.name == "value" else _python_constant(attribute)
        array = self.contents(tensor)
        name = text_of(proto.output[0])
        scope[name] = graph.add_constant(array, tensor.data_type, name)

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
            callee = self._callees[key] = self._callee(function, inputs)
        results = [(v.dtype, v.shape) for v in callee.outputs]
        name = text_of(proto.name) or callee.name
        node = graph.add_node(
            ir.CALL, inputs, {"graph": callee}, results, name=name, source=_source(proto)
        )
        _restore_tag(node, proto)
        if _metadata(proto, GRADIENT_KEY) is not None:
            self._restore_gradient(node, proto)
        return node

    def _restore_gradient(self, node: Node, proto: onnx.NodeProto) -> None:
        """Make a node a marker: it hands its first inputs on, and they have another gradient."""
        name, present = _metadata(proto, GRADIENT_KEY), _metadata(proto, PRESENT_KEY)
        where = f"node {node.name!r} with the gradient {name!r:.100}"
        function = self._functions.get((GRADIENT_DOMAIN, name or ""))
        if function is None or present is None or present.strip("01"):
            raise BundleError(f"{where}: no such gradient, or {present!r:.100} are not its inputs.")
        inputs = [v for v in node.inputs if v is not None]
        marker = _without_copies(node.attrs["graph"])
        tag = CustomGradient(Graph(""), tuple(p == "1" for p in present), len(node.outputs))
        results, sources, others = tag.parts(inputs)
        same = [id(v) for v in marker.outputs] == [id(v) for v in marker.inputs[: tag.results]]
        if marker.nodes or not same or len(sources) != len(present):
            raise BundleError(f"{where}: it does more than to hand its first inputs on.")
        given = [*results, *others]
        if len(given) != len(function.input):
            raise BundleError(f"{where}: {len(given)} inputs, expected {len(function.input)}.")
        key = (function.domain, function.name, tuple((v.dtype, v.shape) for v in given))
        gradient = self._callees.get(key)
        if gradient is None:
            gradient = self._callees[key] = self._callee(function, given)
        wanted = [v.dtype for v, p in zip(sources, tag.present, strict=True) if p]
        if [v.dtype for v in gradient.outputs] != wanted:
            raise BundleError(f"{where}: its results are not gradients of the inputs.")
        tag.graph = gradient
        node.attrs["graph"], node.tag = marker, tag

    def _callee(self, function: onnx.FunctionProto, inputs: Sequence[Value | None]) -> Graph:
        identity = (function.domain, function.name)
        if identity in self._open:
            raise BundleError(f"the local function {function.name!r} calls itself.")
        self._open.add(identity)
        callee = Graph(text_of(function.name))
        scope: dict[str, Value] = {}
        for name, value in zip(function.input, inputs, strict=True):
            if value is None:
                raise BundleError(f"function {function.name!r} is called without {name!r}.")
            scope[name] = callee.add_input(text_of(name), value.dtype, value.shape)
        self.nodes(callee, function.node, scope)
        callee.outputs = [self.lookup(scope, o, function.name) for o in function.output]
        self._open.discard(identity)
        return callee

    def _node(
        self,
        graph: Graph,
        proto: onnx.NodeProto,
        inputs: Sequence[Value | None],
        scope: dict[str, Value],
    ) -> Node:
        op = schema.key_of("" if proto.domain in _STANDARD else proto.domain, proto.op_type)
        attrs: dict[str, Any] = {a.name: self._attribute(graph, a, scope) for a in proto.attribute}
        bodies = [a for a in attrs.values() if isinstance(a, Graph)]
        count = max((i + 1 for i, n in enumerate(proto.output) if n), default=1)
        if bodies:
            schema.check_attributes(schema.operator(op), attrs)
            types = _body_types(op, bodies, attrs)
        else:
            count = max(count, schema.operator(op).min_outputs)
            types = infer(op, inputs, attrs, count)
        name = text_of(proto.name) or proto.op_type
        source = _source(proto)
        node = graph.add_node(op, inputs, attrs, types, name=name, source=source)
        propagate(node)
        _restore_tag(node, proto)
        return node

    def _attribute(
        self, graph: Graph, attribute: onnx.AttributeProto, scope: dict[str, Value]
    ) -> Any:
        if attribute.type == onnx.AttributeProto.GRAPH:
            return self._body(graph, attribute.g, scope)
        if attribute.type == onnx.AttributeProto.TENSOR:
            return self.contents(attribute.t)
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, list | tuple):
            return [v.decode() if isinstance(v, bytes) else v for v in value]
        return value

    def _body(self, graph: Graph, proto: onnx.GraphProto, scope: dict[str, Value]) -> Graph:
        body = Graph(text_of(proto.name), graph)
        inner = dict(scope)
        for item in proto.input:
            kind = self.type_of(item, sequences=True)
            inner[item.name] = body.add_input(text_of(item.name), *kind)
        for tensor in proto.initializer:
            array = self.contents(tensor)
            inner[tensor.name] = body.add_constant(array, tensor.data_type, text_of(tensor.name))
        self.nodes(body, proto.node, inner)
        body.outputs = [self.lookup(inner, o.name, body.name) for o in proto.output]
        return body


def _restore_tag(node: Node, proto: onnx.NodeProto) -> None:
    for item in proto.metadata_props:
        if item.key == TAG_KEY:
            node.tag = mark_from_text(item.value)


def _metadata(proto: onnx.NodeProto, key: str) -> str | None:
    return next((item.value for item in proto.metadata_props if item.key == key), None)


def _without_copies(graph: Graph) -> Graph:
    """A called graph without its ``Identity`` nodes."""
    copies: dict[int, Value] = {}
    result = graph.copy()
    result.nodes = []
    for node in graph.nodes:
        if node.op != "Identity" or node.inputs[0] is None:
            result.nodes.append(node)
            continue
        copies[id(node.outputs[0])] = copies.get(id(node.inputs[0]), node.inputs[0])
    result.outputs = [copies.get(id(v), v) for v in graph.outputs]
    return result


def _source(proto: onnx.NodeProto) -> SourceLocation | None:
    """The line of the program that made the node, where the model has it."""
    for item in proto.metadata_props:
        match = _SOURCE.fullmatch(item.value) if item.key == SOURCE_KEY else None
        if match is not None:
            return SourceLocation(match[1], int(match[2]), match[3])
    return None


def text_of(name: str | bytes) -> str:
    """A name; protobuf gives bytes for one that is not UTF-8."""
    if not isinstance(name, str):
        raise BundleError(f"it has the name {name!r:.100}, which is not UTF-8 text.")
    return name


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
        floats = list(attribute.floats)
        return helper.make_tensor("c", tensor.FLOAT, [len(floats)], floats)
    if name == "value_string":
        return tensor(data_type=tensor.STRING, string_data=[attribute.s])
    if name == "value_strings":
        strings = list(attribute.strings)
        return tensor(data_type=tensor.STRING, dims=[len(strings)], string_data=strings)
    raise BundleError(f"a Constant with the attribute {name!r} is not supported.")


def _body_types(op: str, bodies: list[Graph], attrs: dict[str, Any]) -> list[tuple[int, RawShape]]:
    """Output types of If, Loop and Scan from their bodies' outputs."""
    if op == "If":
        pairs = list(zip(bodies[0].outputs, bodies[1].outputs, strict=True))
        if any(a.dtype != b.dtype for a, b in pairs):
            raise BundleError("the branches of an If give tensors of different dtypes.")
        return [(a.dtype, common_shape(a.shape, b.shape)) for a, b in pairs]
    body = bodies[0]
    if op == "SequenceMap":
        return [(dtypes.SEQUENCE + v.dtype, None) for v in body.outputs]
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
