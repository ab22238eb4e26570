"""Inputs and outputs of a model changed: names, dtypes, axes. Nodes between stay as they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import onnx

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.graph import schema
from tfx.graph.ir import RawShape
from tfx.graph.serialization import protos
from tfx.graph.serialization.models import parse_model


def rename_ports(model: onnx.ModelProto, names: Mapping[str, str]) -> None:
    """Give inputs and outputs other names; what has the name inside gets another one.

    Args:
        model: The model; it is changed.
        names: New names by old ones.
    """
    graph = model.graph
    names = {old: new for old, new in names.items() if old != new}
    taken = {o for node in graph.node for o in node.output} | {t.name for t in graph.initializer}
    taken |= {i.name for i in (*graph.input, *graph.output)}
    inner = dict(names)
    for new in names.values():
        if new in taken and new not in names:
            inner[new] = _unique(f"{new}_inner", taken)
            taken.add(inner[new])
    _rename(graph, inner)
    for port in (*graph.input, *graph.output):
        port.name = names.get(port.name, port.name)


def _rename(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    for tensor in graph.initializer:
        tensor.name = names.get(tensor.name, tensor.name)
    for info in graph.value_info:
        info.name = names.get(info.name, info.name)
    waiting = list(graph.node)
    while waiting:
        node = waiting.pop()
        for values in (node.input, node.output):
            for i, name in enumerate(values):
                values[i] = names.get(name, name)
        for attribute in node.attribute:
            for body in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                waiting.extend(body.node)
                for port in body.output:
                    port.name = names.get(port.name, port.name)


def replace_input(
    model: onnx.ModelProto, name: str, columns: Mapping[str, tuple[DType, RawShape]]
) -> None:
    """Put inputs side by side in the place of one.

    Args:
        model: The model; it is changed.
        name: An input.
        columns: Dtype and shape of the inputs in its place. They are cast to its dtype, and joined
            along the last axis where they are several.
    """
    graph = model.graph
    place = next(i for i, port in enumerate(graph.input) if port.name == name)
    old = graph.input[place]
    dtype = old.type.tensor_type.elem_type
    taken = {o for node in graph.node for o in node.output} | {i.name for i in graph.input}
    taken |= {t.name for t in graph.initializer} | set(columns)
    inner = _unique(f"{name}_joined", taken)
    _rename(graph, {name: inner})
    parts, nodes = [], []
    for key, (kind, _) in columns.items():
        part = key
        if kind.onnx != dtype:
            part = _unique(f"{key}_cast", taken)
            taken.add(part)
            nodes.append(onnx.helper.make_node("Cast", [key], [part], name=part, to=dtype))
        parts.append(part)
    if len(parts) > 1:
        nodes.append(onnx.helper.make_node("Concat", parts, [inner], name=inner, axis=-1))
    elif nodes:
        nodes[-1].output[0] = inner
    else:
        nodes.append(onnx.helper.make_node("Identity", parts, [inner], name=inner))
    ports = list(graph.input)
    del graph.input[:]
    for i, port in enumerate(ports):
        if i != place:
            graph.input.append(port)
            continue
        for key, (kind, shape) in columns.items():
            graph.input.append(
                onnx.ValueInfoProto(name=key, type=protos.type_proto(kind.onnx, shape))
            )
    for position, node in enumerate(nodes):
        graph.node.insert(position, node)


def flatten_output(model: onnx.ModelProto, name: str, *, column: int | None = None) -> None:
    """Make a vector of an output that is a matrix.

    Args:
        model: The model; it is changed.
        name: The output.
        column: The column that becomes the vector, -1 the last one; None: all elements in order.
    """
    graph = model.graph
    taken = {o for node in graph.node for o in node.output} | {t.name for t in graph.initializer}
    inner, chosen = _unique(f"{name}_matrix", taken), _unique(f"{name}_chosen", taken)
    output = next(o for o in graph.output if o.name == name)
    dtype, shape = protos.type_of(output.type)
    _rename(graph, {name: inner})
    output.type.CopyFrom(protos.type_proto(dtype, shape[:1] if shape else (None,)))
    number = np.array([-1] if column is None else column, np.int64)
    graph.initializer.append(protos.tensor_proto(number, dtypes.int64.onnx, chosen))
    given, title = [inner, chosen], f"{name}_vector"
    if column is None:
        node = onnx.helper.make_node("Reshape", given, [name], name=title)
    else:
        node = onnx.helper.make_node("Gather", given, [name], name=title, axis=1)
    graph.node.append(node)


def cast_output(model: onnx.ModelProto, name: str) -> None:
    """Let an output be of the dtype that the model says, whatever its node gives."""
    graph = model.graph
    taken = {o for node in graph.node for o in node.output} | {t.name for t in graph.initializer}
    inner = _unique(f"{name}_uncast", taken)
    output = next(o for o in graph.output if o.name == name)
    _rename(graph, {name: inner})
    kind = output.type.tensor_type.elem_type
    graph.node.append(onnx.helper.make_node("Cast", [inner], [name], name=f"{name}_cast", to=kind))


def set_attribute(model: onnx.ModelProto, op: str, name: str, value: str) -> None:
    """Set an attribute of all nodes of a standard operator in the main graph."""
    for node in model.graph.node:
        if node.op_type == op and node.domain in ("", "ai.onnx"):
            kept = [a for a in node.attribute if a.name != name]
            del node.attribute[:]
            node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])


def initializers_to_inputs(data: bytes, names: Collection[str], source: str) -> onnx.ModelProto:
    """A model that takes some of its initializers as inputs, whose contents are not looked at.

    Args:
        data: The model.
        names: The initializers.
        source: What to call it in messages.
    """
    model = parse_model(data, source)
    graph = model.graph
    kept = [t for t in graph.initializer if t.name not in names]
    for tensor in graph.initializer:
        if tensor.name in names:
            kind = protos.type_proto(tensor.data_type, tuple(tensor.dims))
            graph.input.append(onnx.ValueInfoProto(name=tensor.name, type=kind))
    del graph.initializer[:]
    graph.initializer.extend(kept)
    return model


def unknown_operators(model: onnx.ModelProto) -> list[tuple[str, str]]:
    """Operators that are called standard ones and are none, each with the name of its node."""
    known = {*schema.operator_names(), "Constant"}
    own = {f.name for f in model.functions}
    found = []
    for node in model.graph.node:
        if node.domain in ("", "ai.onnx") and node.op_type not in known | own:
            try:
                onnx.defs.get_schema(node.op_type, "")  # one of an old opset
            except onnx.defs.SchemaError:
                found.append((node.op_type, node.name))
    return found


def _unique(name: str, taken: set[str]) -> str:
    found, number = name, 1
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found
