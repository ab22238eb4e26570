"""Any ONNX model as a graph: what ``import_onnx`` is built on.

Operators of old opsets are rewritten where they stand (``opset_upgrades``), local functions are
written out, optional values are decided while reading, and weights become inputs. The one decision:
onnx's own converters are not used. They are compiled code that a bad model can make crash, and they
know neither ranks nor bodies; here a node is only ever added to a graph with types.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import onnx

from tfx.core import dtypes
from tfx.core.errors import BundleError, OpError, UnimplementedError
from tfx.graph import schema
from tfx.graph.ir import CALL, Graph, RawShape, Value
from tfx.graph.onnx_import import contrib_ops as contrib_ops
from tfx.graph.onnx_import import dropped_ops as dropped_ops
from tfx.graph.onnx_import import ml_ops as ml_ops
from tfx.graph.onnx_import import opset_upgrades as opset_upgrades
from tfx.graph.onnx_import import pool_axes as pool_axes
from tfx.graph.onnx_import.attributes import constant_tensor, dense, kind_of, resolved, simple_value
from tfx.graph.onnx_import.import_builder import ImportBuilder, Old, check_left_out, rule_for
from tfx.graph.onnx_import.newer_ops import newer_function
from tfx.graph.onnx_import.optionals import ABSENT, Items, Known, decide, plain
from tfx.graph.onnx_import.scan import scan_as_loop
from tfx.graph.onnx_import.sequence_map import map_as_loop
from tfx.graph.onnx_import.topological_order import check_depth, check_size, in_order, label
from tfx.graph.onnx_import.types import Type, body_types, formal_types, tensor_type
from tfx.graph.quantized_operators import rounds
from tfx.graph.serialization import protos
from tfx.graph.serialization.deserialize import text_of
from tfx.graph.tags import Mark

External = Callable[[onnx.TensorProto], "np.ndarray[Any, Any]"]
STANDARD = ("", "ai.onnx")
MAX_NODES = 500_000
"""Nodes with local functions written out: honest models have some ten thousands."""

MAX_NESTED = 130

_AP = onnx.AttributeProto
# What a model that nobody meant to be valid can make of honest code.
_MALFORMED = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError,
    RuntimeError, TypeError, ValueError,
)  # fmt: skip


Scope: TypeAlias = "dict[str, Known]"


class ForeignGraph:
    """A model as a graph.

    Attributes:
        graph: Its inputs are the model's, then the weights.
        inputs: The model's inputs by name; of a sequence, each element that it has.
        weights: What became an input, by name.
        outputs: The model's outputs by name; a list where a sequence's elements are known.
        values: Everything that has a name in the main graph.
    """

    __slots__ = ("graph", "inputs", "outputs", "values", "weights")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.inputs: dict[str, Value | list[Value]] = {}
        self.weights: dict[str, Value] = {}
        self.outputs: dict[str, Value | list[Value]] = {}
        self.values: dict[str, Value] = {}


def read_model(
    model: onnx.ModelProto,
    name: str,
    *,
    weights: Collection[str] = (),
    absent: Collection[str] = (),
    lengths: Mapping[str, int] | None = None,
    shapes: Mapping[str, RawShape] | None = None,
    arrays: Mapping[str, np.ndarray[Any, Any]] | None = None,
    external: External | None = None,
    straight_through: bool = True,
) -> ForeignGraph:
    """Make a graph from a model.

    Args:
        model: Any model; it is not changed.
        name: What to call it in messages.
        weights: Constants that become inputs of the graph.
        absent: Inputs of an optional type that are not given.
        lengths: Numbers of elements of inputs that are sequences, each of which becomes an input.
        shapes: Shapes of inputs, in place of those that the model says.
        arrays: Contents of initializers of the main graph, where they are known already.
        external: Gives the contents of tensors whose data is outside of the model.
        straight_through: Whether gradients pass what rounds to quantized numbers.

    Raises:
        BundleError: the model is malformed.
        UnimplementedError: it uses what cannot be represented.
    """
    with guarded(name):
        check_depth(model)
        check_size(model, MAX_NODES)
        reader = _Reader(model, weights, absent, arrays or {}, external)
        reader.straight_through = straight_through
        return reader.read(shapes or {}, lengths or {})


@contextmanager
def guarded(name: str) -> Iterator[None]:
    """Let whatever is wrong with a model come out as an error that names the model."""
    try:
        yield
    except OpError as e:
        if e.message.startswith(name):
            raise
        kind = type(e) if isinstance(e, UnimplementedError) else BundleError
        said = e.message if isinstance(e, BundleError | kind) else f"it cannot be used: {e.message}"
        raise kind(f"{name}: {said}") from e
    except _MALFORMED as e:
        raise BundleError(
            f"{name}: it cannot be used: {type(e).__name__}: {e}; the file is damaged"
        ) from e


@contextmanager
def no_surprises(name: str) -> Iterator[None]:
    """Let an accident with a model's graph come out as an error; those of ours stay."""
    try:
        yield
    except OpError:
        raise
    except _MALFORMED as e:
        raise BundleError(
            f"{name}: it cannot be used: {type(e).__name__}: {e}; its shapes make no sense"
        ) from e


class _Reader:
    def __init__(
        self,
        model: onnx.ModelProto,
        weights: Collection[str],
        absent: Collection[str],
        arrays: Mapping[str, np.ndarray[Any, Any]],
        external: External | None,
    ) -> None:
        self.model = model
        self._wanted = frozenset(weights)
        self._absent = absent
        self._arrays = arrays
        self._external = external
        self.straight_through = True
        self._functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        self._open: list[tuple[str, str, str]] = []
        self._depth = 0
        # Opsets of the graph or function that is being read, and the attributes of its call.
        self._opsets = _opsets(model.opset_import)
        self._given: Mapping[str, onnx.AttributeProto] = {}
        self._result = ForeignGraph(Graph(text_of(model.graph.name) or "graph"))

    def read(self, shapes: Mapping[str, RawShape], lengths: Mapping[str, int]) -> ForeignGraph:
        """The graph, with inputs of these shapes and lengths."""
        result, proto = self._result, self.model.graph
        newest = schema.newest_opset()
        if not 1 <= self._opset() <= newest:
            raise UnimplementedError(
                f"it is of opset {self._opset()} of ONNX, expected 1 to {newest}; if it is newer, "
                "upgrade onnx and tfx-onnx"
            )
        graph = result.graph
        scope: Scope = {}
        stored = {t.name for t in proto.initializer}
        stored |= {t.values.name for t in proto.sparse_initializer}
        for item in proto.input:
            if item.name in scope:
                raise BundleError(f"it has two inputs called {item.name!r}.")
            if item.name in self._absent:
                scope[item.name] = ABSENT
            elif item.name not in stored:
                dtype, shape = tensor_type(item)
                shape = shapes.get(item.name, shape)
                if item.name in lengths:
                    dtype -= dtypes.SEQUENCE
                    names = [f"{text_of(item.name)}_{i}" for i in range(lengths[item.name])]
                    parts = [graph.add_input(n, dtype, shape) for n in names]
                    result.inputs[item.name] = parts
                    scope[item.name] = Items(dtype, tuple(parts))
                    continue
                value = graph.add_input(text_of(item.name), dtype, shape)
                scope[item.name] = result.inputs[item.name] = value
        self._initializers(graph, proto, scope)
        self._nodes(graph, proto.node, scope)
        for output in proto.output:
            found = self._found(scope, output.name, "the graph's output")
            if output.name in result.outputs:
                raise BundleError(f"it has two outputs called {output.name!r}.")
            if isinstance(found, Items):
                result.outputs[output.name] = list(found.values)
            elif isinstance(found, Value):
                result.outputs[output.name] = found
            else:
                raise UnimplementedError(f"its output {output.name!r} is an optional value")
        result.values = {n: v for n, v in scope.items() if isinstance(v, Value)}
        graph.outputs = flat(result.outputs)
        graph.inputs = [*flat(result.inputs), *result.weights.values()]
        return result

    def _initializers(self, graph: Graph, proto: onnx.GraphProto, scope: Scope) -> None:
        main = proto is self.model.graph or graph.parent is None
        for tensor in proto.initializer:
            known = self._arrays.get(tensor.name) if main else None
            scope[tensor.name] = self._constant(graph, tensor, tensor.name, known)
        for sparse in proto.sparse_initializer:
            tensor = dense(sparse)
            scope[tensor.name] = self._constant(graph, tensor, tensor.name)

    def _constant(
        self,
        graph: Graph,
        tensor: onnx.TensorProto,
        name: str,
        known: np.ndarray[Any, Any] | None = None,
    ) -> Value:
        if name in self._wanted:
            value = self._result.weights.get(name)
            if value is None:
                value = self._result.graph.add_input(
                    text_of(name), tensor.data_type, tuple(tensor.dims)
                )
                self._result.weights[name] = value
            return value
        array = self.contents(tensor) if known is None else known
        return graph.add_constant(array, tensor.data_type, text_of(name) or "const")

    def contents(self, tensor: onnx.TensorProto) -> np.ndarray[Any, Any]:
        """The contents of a tensor."""
        where = f"tensor {tensor.name!r}"
        if any(dim < 0 for dim in tensor.dims):
            raise BundleError(f"{where} has the shape {tuple(tensor.dims)}.")
        try:
            dtypes.from_onnx(tensor.data_type)
        except (TypeError, ValueError) as e:
            raise UnimplementedError(f"{where} has a dtype that tfx lacks: {e}") from e
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
            if self._external is None:
                raise BundleError(f"{where} has its data in another file.")
            return self._external(tensor)
        try:
            return protos.tensor_array(tensor)
        except (TypeError, ValueError, MemoryError) as e:
            raise BundleError(f"{where} cannot be read: {e}; the file is damaged") from e

    def _found(self, scope: Scope, name: str, user: str) -> Known:
        if name not in scope:
            raise BundleError(f"{user} {name!r} is no input, no initializer and no node's output.")
        return scope[name]

    def _nodes(self, graph: Graph, nodes: Sequence[onnx.NodeProto], scope: Scope) -> None:
        before = frozenset(scope)
        for proto in in_order(nodes, before, f"graph {graph.name!r}"):
            try:
                results = self._node(graph, proto, scope)
            except OpError as e:
                if not e.message.startswith(("node ", "a node ", "function ")):
                    e.message = f"{label(proto)}: {e.message}"
                raise
            if len(results) < max((i + 1 for i, n in enumerate(proto.output) if n), default=0):
                raise BundleError(f"{label(proto)} has more outputs than the operator.")
            for name, value in zip(proto.output, results, strict=False):
                if name and value is not None:
                    scope[name] = value

    def _node(self, graph: Graph, proto: onnx.NodeProto, scope: Scope) -> Sequence[Known]:
        given = [self._found(scope, n, label(proto) + " uses") if n else None for n in proto.input]
        domain = "" if proto.domain in STANDARD else proto.domain
        function = self._functions.get((proto.domain, proto.op_type, proto.overload))
        attributes = resolved(proto.attribute, self._given)
        if function is not None:
            return self._call(graph, function, given, attributes, scope)
        if domain == "" and proto.op_type == "Constant":
            if len(attributes) != 1:
                raise BundleError(f"a Constant has one attribute, this one has {len(attributes)}.")
            tensor = constant_tensor(attributes[0])
            return [self._constant(graph, tensor, text_of(proto.output[0]))]
        if domain == "" and rule_for("", proto.op_type, self._opset()) is None:
            function = newer_function(proto.op_type, self._opset(), given, attributes)
            if function is not None:
                return self._call(graph, function, given, attributes, scope)
        if domain == "":
            if not proto.op_type.startswith("Optional"):
                self._check_known(proto)
        elif not contrib_ops.is_known(domain, proto.op_type):
            raise UnimplementedError(contrib_ops.refusal(domain, proto.op_type))
        return self._operator(graph, proto, domain, given, attributes, scope)

    def _check_known(self, proto: onnx.NodeProto) -> None:
        opset = self._opset()
        if rule_for("", proto.op_type, opset) is None:
            if opset > schema.MAX_OPSET and schema.changed_after(proto.op_type, opset):
                raise UnimplementedError(
                    f"it is the operator of opset {opset} of ONNX, expected one that opset "
                    f"{schema.MAX_OPSET} has too; export the model with that one"
                )
            schema.operator(proto.op_type)

    def _opset(self) -> int:
        return self._opsets.get("", 1)

    def _operator(
        self,
        graph: Graph,
        proto: onnx.NodeProto,
        domain: str,
        given: Sequence[Known],
        attributes: list[onnx.AttributeProto],
        scope: Scope,
    ) -> Sequence[Known]:
        attrs: dict[str, Any] = {}
        scans = next((int(a.i) for a in attributes if a.name == "num_scan_inputs"), 0)
        formals = formal_types(proto.op_type, given, scans)
        for a in attributes:
            if kind_of(a) != _AP.TYPE_PROTO:  # of an optional value, which is decided here
                attrs[a.name] = self._attribute(graph, a, scope, formals)
        attrs.pop("consumed_inputs", None)  # a hint of the first opsets
        count = max((i + 1 for i, n in enumerate(proto.output) if n), default=1)
        emitter = ImportBuilder(graph, text_of(proto.name) or proto.op_type, None)
        if domain == "":
            decided = decide(emitter, proto.op_type, given, attrs)
            if decided is not None:
                return decided
        inputs = [plain(emitter, v, n) for v, n in zip(given, proto.input, strict=True)]
        opset = self._opsets.get(domain, 1)
        rule = rule_for(domain, proto.op_type, opset)
        op = schema.key_of(domain, proto.op_type)
        if rule is not None and not contrib_ops.runs_as_it_is(op, inputs):
            results = rule(emitter, Old(proto.op_type, inputs, attrs, count, opset))
            return [results] if isinstance(results, Value) else results
        bodies = [a for a in attrs.values() if isinstance(a, Graph)]
        if bodies:
            check_left_out(proto.op_type, inputs)
            operator = schema.operator(proto.op_type)
            schema.check_attributes(operator, attrs)
            if proto.op_type == "Scan":
                return scan_as_loop(emitter, inputs, attrs)
            if proto.op_type == "SequenceMap":
                return map_as_loop(emitter, inputs, attrs)
            types = body_types(proto.op_type, bodies, attrs, inputs)
            node = graph.add_node(proto.op_type, inputs, attrs, types, name=emitter.name)
            return node.outputs
        if not self.straight_through and rounds(op) and inputs[0] is not None:
            inputs[0] = emitter.Identity(inputs[0])
            graph.nodes[-1].tag = Mark.STOP_GRADIENT
        count = max(count, schema.operator(op).min_outputs)
        return emitter.apply_n(op, inputs, {**attrs}, count)

    def _attribute(
        self,
        graph: Graph,
        attribute: onnx.AttributeProto,
        scope: Scope,
        formals: Sequence[Type | None],
    ) -> Any:
        kind = kind_of(attribute)
        if kind == _AP.GRAPH:
            return self._body(graph, attribute.g, scope, formals)
        if kind == _AP.TENSOR:
            return self.contents(attribute.t)
        return simple_value(attribute)

    def _body(
        self,
        graph: Graph,
        proto: onnx.GraphProto,
        scope: Scope,
        formals: Sequence[Type | None],
    ) -> Graph:
        body = Graph(text_of(proto.name) or "body", graph)
        inner = dict(scope)
        with self._deeper():
            stored = {t.name for t in proto.initializer}
            for i, item in enumerate(proto.input):
                known = formals[i] if i < len(formals) else None
                if item.type.WhichOneof("value") is not None or known is None:
                    known = tensor_type(item)
                if item.name not in stored:
                    inner[item.name] = body.add_input(text_of(item.name), *known)
            self._initializers(body, proto, inner)
            self._nodes(body, proto.node, inner)
        for output in proto.output:
            value = self._found(inner, output.name, f"the output of graph {body.name!r}")
            made = plain(ImportBuilder(body, "output", None), value, output.name)
            assert made is not None
            body.outputs.append(made)
        return body

    @contextmanager
    def _deeper(self) -> Any:
        self._depth += 1
        if self._depth > MAX_NESTED:
            raise BundleError(f"it has graphs and functions nested {MAX_NESTED} deep.")
        yield
        self._depth -= 1

    def _call(
        self,
        graph: Graph,
        function: onnx.FunctionProto,
        given: Sequence[Known],
        attributes: Sequence[onnx.AttributeProto],
        scope: Scope,
    ) -> Sequence[Known]:
        """The nodes of a local function in place of its call."""
        identity = (function.domain, function.name, function.overload)
        if identity in self._open:
            raise BundleError(f"function {function.name!r} of the model calls itself.")
        if len(given) > len(function.input):
            raise BundleError(
                f"function {function.name!r} takes {len(function.input)} inputs; got {len(given)}."
            )
        known: dict[str, onnx.AttributeProto] = {a.name: a for a in function.attribute_proto}
        known |= {a.name: a for a in attributes}
        padded = [*given, *[None] * (len(function.input) - len(given))]
        inner: Scope = dict(zip(function.input, padded, strict=True))
        saved = self._opsets, self._given
        self._opsets = {**self._opsets, **_opsets(function.opset_import)}
        self._given = known
        self._open.append(identity)
        try:
            with self._deeper():
                self._nodes(graph, function.node, inner)
        finally:
            self._opsets, self._given = saved
            self._open.pop()
        return [
            self._found(inner, o, f"the output of function {function.name!r}")
            for o in function.output
        ]


def flat(named: Mapping[str, Value | list[Value]]) -> list[Value]:
    """Values with those in lists one by one."""
    return [v for x in named.values() for v in (x if isinstance(x, list) else [x])]


def used_values(graph: Graph) -> set[int]:
    """``id`` of all values that a graph or a body of it uses."""
    used = {id(v) for v in graph.outputs}
    for node in graph.nodes:
        used.update(id(v) for v in node.inputs if v is not None)
        if node.op != CALL:
            for body in node.bodies():
                used |= used_values(body)
    return used


def _opsets(imports: Any) -> dict[str, int]:
    return {"" if i.domain in STANDARD else i.domain: int(i.version) for i in imports}
