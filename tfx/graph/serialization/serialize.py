"""Graphs to ONNX models; ``deserialize`` is the way back.

Constants become initializers of the main graph (of bodies below it too: they see the outer scope)
and ``Constant`` nodes in local functions, which have no initializers. A called graph becomes an
ONNX local function of the domain ``tfx.function``. A gradient that a part of the graph has of its
own becomes one of the domain ``tfx.gradient``, which no node calls: the marker's metadata names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from tfx.core.dims import sizes_alone
from tfx.core.errors import InvalidArgumentError
from tfx.graph import ir, schema
from tfx.graph.custom_gradients import CustomGradient, all_graphs
from tfx.graph.ir import Graph, Node, Value, bodies_below
from tfx.graph.serialization import protos
from tfx.graph.serialization.limit_body_depth import limit_body_depth
from tfx.graph.tags import Mark
from tfx.kernels.library import DOMAIN as KERNELS_DOMAIN

FUNCTION_DOMAIN = "tfx.function"
GRADIENT_DOMAIN = "tfx.gradient"
PRODUCER = "tfx"
# Keys of a node's metadata: its tag, if that is text, and the line of the program that made it.
TAG_KEY = "tfx.tag"
SOURCE_KEY = "tfx.source"
# Of a node whose results have a gradient of their own: the name of the function that computes it,
# and a digit for each input after the results that is differentiated by: 1 if it has a gradient.
GRADIENT_KEY = "tfx.gradient"
PRESENT_KEY = "tfx.gradient.inputs"


@dataclass(frozen=True, slots=True)
class ExternalData:
    """The location of an initializer's bytes in a file beside the model.

    Offset and length are in bytes.
    """

    location: str
    offset: int
    length: int
    shape: tuple[int, ...]


# Contents of an input that is stored as an initializer instead.
Initializer = np.ndarray | ExternalData


def to_model(
    graph: Graph,
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    initializers: Mapping[Value, Initializer] | None = None,
    metadata: Mapping[str, str] | None = None,
    sources: bool = False,
) -> onnx.ModelProto:
    """Serialize a graph.

    Args:
        graph: What to write. It is not changed.
        input_names: Names of ``graph.inputs`` in the model; None keeps the values' own.
        output_names: Names of the outputs; None makes some from the values' own.
        initializers: Inputs or constants whose contents come from elsewhere. Such an input is
            an initializer of the model and not one of its inputs.
        metadata: ``metadata_props`` of the model.
        sources: Keep the line of the user's program with each node.
    """
    graph = limit_body_depth(graph)
    return _ModelWriter(graph, initializers or {}, sources).write(
        input_names, output_names, metadata or {}
    )


def opset_of(graph: Graph) -> int:
    """The lowest opset >= ``BASE_OPSET`` that has every operator of the graph."""
    opset = schema.BASE_OPSET
    for g in all_graphs(graph):
        for node in g.nodes:
            if node.op != ir.CALL and node.op not in ir.KERNEL_OPERATORS:
                opset = max(opset, schema.operator(node.op).opset)
    return opset


def domains_of(graph: Graph) -> dict[str, int]:
    """The domains beside ONNX's own that the operators of a graph are of, with their versions."""
    found: dict[str, int] = {}
    for g in all_graphs(graph):
        for node in g.nodes:
            if schema.is_other(node.op):
                domain, version = schema.split_key(node.op)[0], schema.operator(node.op).version
                found[domain] = max(version, found.get(domain, 0))
    return found


def ir_version_of(opset: int) -> int:
    """The lowest IR version whose models may import the opset."""
    version: int = onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)])
    return max(version, schema.IR_VERSION)


class _Names:
    """Names of values in one scope (the main graph with its bodies, or one function)."""

    def __init__(self) -> None:
        self._of: dict[int, str] = {}
        self._used: set[str] = set()

    def set(self, value: Value, name: str) -> str:
        self._of[id(value)] = self.reserve(name)
        return self._of[id(value)]

    def reserve(self, name: str) -> str:
        unique, i = name, 1
        while unique in self._used:
            unique, i = f"{name}_{i}", i + 1
        self._used.add(unique)
        return unique

    def get(self, value: Value | None) -> str:
        if value is None:
            return ""
        name = self._of.get(id(value))
        return name if name is not None else self.set(value, value.name)


class _ModelWriter:
    def __init__(
        self, graph: Graph, initializers: Mapping[Value, Initializer], sources: bool
    ) -> None:
        self.graph = graph
        self.sources = sources
        self.initializers = {id(v): data for v, data in initializers.items()}
        self.functions: dict[int, onnx.FunctionProto] = {}
        self._in_function = 0  # how deep in functions that call others
        self.function_names: set[str] = set()
        self.opset = opset_of(graph)
        self.others = [onnx.helper.make_opsetid(d, v) for d, v in sorted(domains_of(graph).items())]
        self.has_fused = False

    def write(
        self,
        input_names: Sequence[str] | None,
        output_names: Sequence[str] | None,
        metadata: Mapping[str, str],
    ) -> onnx.ModelProto:
        graph = self.graph
        proto = onnx.GraphProto(name=graph.name)
        names = _Names()
        inputs = [v for v in graph.inputs if id(v) not in self.initializers]
        wanted = list(input_names) if input_names is not None else [v.name for v in graph.inputs]
        for value, name in zip(graph.inputs, wanted, strict=True):
            names.set(value, name)
        for value in inputs:
            proto.input.append(self._value_info(names.get(value), value))
        tail = self._name_outputs(proto, names, output_names)
        self._write_nodes(proto, graph, names)
        proto.node.extend(tail)
        self._write_initializers(proto, names)
        opset_imports = [onnx.helper.make_opsetid("", self.opset)]
        if self.functions:
            domains = {function.domain for function in self.functions.values()}
            opset_imports += [onnx.helper.make_opsetid(d, 1) for d in sorted(domains)]
        opset_imports += self.others
        if self.has_fused:
            opset_imports.append(onnx.helper.make_opsetid(KERNELS_DOMAIN, 1))
        model = onnx.ModelProto(
            ir_version=ir_version_of(self.opset),
            producer_name=PRODUCER,
            graph=proto,
            opset_import=opset_imports,
            functions=list(self.functions.values()),
        )
        for key, text in sorted(metadata.items()):
            model.metadata_props.add(key=key, value=text)
        return model

    def _value_info(self, name: str, value: Value) -> onnx.ValueInfoProto:
        # ONNX Runtime puts functions in the place of calls, with what they call their sizes.
        shape = sizes_alone(value.shape) if self._in_function else value.shape
        return onnx.ValueInfoProto(name=name, type=protos.type_proto(value.dtype, shape))

    def _name_outputs(
        self, proto: onnx.GraphProto, names: _Names, wanted: Sequence[str] | None
    ) -> list[onnx.NodeProto]:
        """Declare the outputs; those that are no node's own result get an Identity at the end."""
        graph = self.graph
        made = {id(v) for node in graph.nodes for v in node.outputs}
        tail = []
        for i, value in enumerate(graph.outputs):
            name = wanted[i] if wanted is not None else f"{value.name}"
            if id(value) in made:
                made.discard(id(value))  # a second use of the value needs a name of its own
                name = names.set(value, name)
            else:
                name = names.reserve(name)
                tail.append((value, name))
            proto.output.append(self._value_info(name, value))
        return [
            onnx.NodeProto(
                op_type="Identity",
                input=[names.get(value)],
                output=[name],
                name=names.reserve(f"output_{name}"),
            )
            for value, name in tail
        ]

    def _write_initializers(self, proto: onnx.GraphProto, names: _Names) -> None:
        bodies = bodies_below(self.graph)
        constants = [v for g in (self.graph, *bodies) for v in g.constants]
        stored = [v for v in self.graph.inputs if id(v) in self.initializers]
        for value in [*stored, *constants]:
            proto.initializer.append(self._initializer(value, names.get(value)))

    def _initializer(self, value: Value, name: str) -> onnx.TensorProto:
        data = self.initializers.get(id(value), value.const)
        if isinstance(data, ExternalData):
            tensor = onnx.TensorProto(
                name=name,
                data_type=value.dtype,
                dims=data.shape,
                data_location=onnx.TensorProto.EXTERNAL,
            )
            for key, text in (
                ("location", data.location),
                ("offset", str(data.offset)),
                ("length", str(data.length)),
            ):
                tensor.external_data.add(key=key, value=text)
            return tensor
        assert data is not None
        return protos.tensor_proto(data, value.dtype, name)

    def _write_nodes(self, proto: Any, graph: Graph, names: _Names) -> None:
        declared = {id(v) for v in graph.outputs}
        for node in graph.nodes:
            proto.node.append(self._node(node, names))
            if node.op in ir.KERNEL_OPERATORS:  # the runtime does not infer their types
                self.has_fused = True
                proto.value_info.extend(
                    self._value_info(names.get(v), v) for v in node.outputs if id(v) not in declared
                )

    def _node(self, node: Node, names: _Names) -> onnx.NodeProto:
        proto = onnx.NodeProto(
            op_type=node.op,
            name=node.name,
            input=[names.get(v) for v in node.inputs],
            output=[names.get(v) for v in node.outputs],
        )
        required = 2 if node.op == "Loop" else 0  # which may both be left out, but not absent
        while len(proto.input) > required and not proto.input[-1]:
            del proto.input[-1]
        if isinstance(node.tag, Mark):
            proto.metadata_props.add(key=TAG_KEY, value=node.tag.value)
        if self.sources and node.source is not None:
            proto.metadata_props.add(key=SOURCE_KEY, value=node.source.text())
        if node.op == ir.CALL:
            function = self._function(node.attrs["graph"])
            proto.op_type, proto.domain = function.name, FUNCTION_DOMAIN
            if isinstance(node.tag, CustomGradient):
                self._write_gradient(proto, node.tag)
            return proto
        if node.op in ir.KERNEL_OPERATORS:
            proto.domain = KERNELS_DOMAIN
            attributes = node.attrs.items()
            proto.attribute.extend(onnx.helper.make_attribute(*pair) for pair in attributes)
            return proto
        proto.domain, proto.op_type = schema.split_key(node.op)
        kinds = schema.operator(node.op).attributes
        for name, value in node.attrs.items():
            if isinstance(value, Graph):
                body = onnx.AttributeProto(name=name, type=onnx.AttributeProto.GRAPH)
                body.g.CopyFrom(self._body(value, names, passes=node.op == "Loop"))
                proto.attribute.append(body)
            else:
                proto.attribute.append(protos.attribute_proto(name, value, kinds[name][0]))
        return proto

    def _write_gradient(self, proto: onnx.NodeProto, tag: CustomGradient) -> None:
        gradient = self._function(tag.graph, GRADIENT_DOMAIN)
        present = "".join(str(int(p)) for p in tag.present)
        proto.metadata_props.add(key=GRADIENT_KEY, value=gradient.name)
        proto.metadata_props.add(key=PRESENT_KEY, value=present)

    def _body(self, graph: Graph, names: _Names, *, passes: bool) -> onnx.GraphProto:
        """A branch or loop body; its constants are written by the scope around it.

        Args:
            graph: The body.
            names: Of the scope around it.
            passes: Whether it is that of a ``Loop``, which may pass its condition on.
        """
        proto = onnx.GraphProto(name=graph.name)
        for value in graph.inputs:
            proto.input.append(self._value_info(names.get(value), value))
        self._write_nodes(proto, graph, names)
        made = {id(v) for node in graph.nodes for v in node.outputs}
        if passes and graph.outputs[0] is graph.inputs[1]:
            made.add(id(graph.inputs[1]))
        for value in graph.outputs:
            name = names.get(value)
            if id(value) in made:
                made.discard(id(value))
            else:  # a body must make each of its outputs itself
                inner, name = name, names.reserve(f"{name}_out")
                proto.node.append(
                    onnx.NodeProto(op_type="Identity", input=[inner], output=[name], name=name)
                )
            proto.output.append(self._value_info(name, value))
        return proto

    def _function(self, graph: Graph, domain: str = FUNCTION_DOMAIN) -> onnx.FunctionProto:
        known = self.functions.get(id(graph))
        if known is not None:
            return known
        name, i = graph.name, 1
        while name in self.function_names:
            name, i = f"{graph.name}_{i}", i + 1
        self.function_names.add(name)
        names = _Names()
        proto = onnx.FunctionProto(
            name=name,
            domain=domain,
            input=[names.set(v, v.name) for v in graph.inputs],
            opset_import=[
                onnx.helper.make_opsetid("", self.opset),
                onnx.helper.make_opsetid(FUNCTION_DOMAIN, 1),
                *self.others,
            ],
        )
        for value in [v for g in (graph, *bodies_below(graph)) for v in g.constants]:
            proto.node.append(self._constant_node(value, names))
        self._in_function += 1
        self._write_nodes(proto, graph, names)
        self._in_function -= 1
        if self.has_fused:
            proto.opset_import.append(onnx.helper.make_opsetid(KERNELS_DOMAIN, 1))
        made = {id(v) for node in graph.nodes for v in node.outputs}
        for value in graph.outputs:
            output = names.get(value)
            if id(value) in made:
                made.discard(id(value))
            else:
                inner, output = output, names.reserve(f"{output}_out")
                proto.node.append(
                    onnx.NodeProto(op_type="Identity", input=[inner], output=[output], name=output)
                )
            proto.output.append(output)
        self.functions[id(graph)] = proto  # after its callees: callees first in the model
        return proto

    def _constant_node(self, value: Value, names: _Names) -> onnx.NodeProto:
        data = self.initializers.get(id(value), value.const)
        if not isinstance(data, np.ndarray):
            raise InvalidArgumentError(
                f"Constant {value.name!r} of a local function cannot be stored outside the model."
            )
        name = names.get(value)
        proto = onnx.NodeProto(op_type="Constant", output=[name], name=f"{name}_constant")
        attribute = proto.attribute.add(name="value", type=onnx.AttributeProto.TENSOR)
        attribute.t.CopyFrom(protos.tensor_proto(data, value.dtype))
        return proto
