"""Parts of graphs that are ONNX's ``GraphProto``: some operations and what they need.

Knows names alone. The names of a program are those of operations, of placeholders and of constants:
those of nodes, of inputs and of initializers here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tfx.core import dtypes
from tfx.graph import schema
from tfx.graph.serialization.protos import GraphDef, tensor_proto


def part_of(graph: onnx.GraphProto, operations: Sequence[str]) -> onnx.GraphProto:
    """The operations that some need; their results are the outputs.

    Args:
        graph: The whole graph.
        operations: Names of operations, inputs or constants.

    Raises:
        AssertionError: the graph has no such operation.
    """
    made = {name: node for node in graph.node for name in node.output if name}
    results = _results(graph)
    for name in operations:
        if name not in results:
            raise AssertionError(f"{name} is not in graph; it has {sorted(results)}.")
    needed: set[str] = set()
    waiting = [results[name] for name in operations]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            if name in made:
                waiting += [*made[name].output, *_used(made[name])]
    found = GraphDef(name=graph.name)
    found.node.extend(n for n in graph.node if any(name in needed for name in n.output))
    for field in ("input", "initializer", "value_info"):
        getattr(found, field).extend(x for x in getattr(graph, field) if x.name in needed)
    asked = dict.fromkeys(results[name] for name in operations)
    typed = _types(graph, asked)
    found.output.extend(typed.get(name, onnx.ValueInfoProto(name=name)) for name in asked)
    return found


def _types(graph: onnx.GraphProto, names: Collection[str]) -> dict[str, onnx.ValueInfoProto]:
    """What is known of values, by their names."""
    known = _declared(graph)
    if all(name in known for name in names):
        return known
    model = onnx.ModelProto(graph=graph, ir_version=onnx.IR_VERSION)
    operators = [schema.operator(n.op_type).opset for n in graph.node if not n.domain]
    model.opset_import.add(version=max([schema.BASE_OPSET, *operators]))
    return _declared(onnx.shape_inference.infer_shapes(model).graph)


def _declared(graph: onnx.GraphProto) -> dict[str, onnx.ValueInfoProto]:
    found: dict[str, onnx.ValueInfoProto] = {}
    for name in ("value_info", "output", "input"):
        found.update({value.name: value for value in getattr(graph, name)})
    return found


def _results(graph: onnx.GraphProto) -> dict[str, str]:
    """The first result of each operation, by its name."""
    found: dict[str, str] = {}
    for field in ("input", "initializer", "output"):
        found.update({x.name: x.name for x in getattr(graph, field)})
    found.update({n.name: next(iter(n.output)) for n in graph.node if n.output})
    return found


def _used(node: onnx.NodeProto) -> Iterator[str]:
    """What a node takes, and what its bodies take from around them."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for body in [attribute.g, *attribute.graphs]:
            for inner in body.node:
                yield from _used(inner)
            yield from (x.name for x in body.output)


def with_constants(
    graph: onnx.GraphProto, contents: Mapping[str, np.ndarray[Any, Any]]
) -> onnx.GraphProto:
    """The graph with contents in the place of inputs.

    Args:
        graph: The graph.
        contents: By the names of inputs.
    """
    found = GraphDef()
    found.CopyFrom(graph)
    kept = [x for x in graph.input if x.name not in contents]
    del found.input[:]
    found.input.extend(kept)
    for name, array in contents.items():
        kind = dtypes.as_dtype(array.dtype).onnx
        found.initializer.append(tensor_proto(np.asarray(array, order="C"), kind, name))
    return found


def without_copies(graph: onnx.GraphProto, kept: Collection[str] = ()) -> onnx.GraphProto:
    """The graph without operations that only pass something on.

    Args:
        graph: The graph.
        kept: Names of operations that stay.
    """
    outputs = {x.name for x in graph.output}
    source: dict[str, str] = {}
    found = GraphDef()
    found.CopyFrom(graph)
    del found.node[:]
    for node in graph.node:
        if node.op_type == "Identity" and node.name not in kept and node.output[0] not in outputs:
            source[node.output[0]] = source.get(node.input[0], node.input[0])
        else:
            found.node.append(node)
    for node in found.node:
        _rename(node, source)
    return found


def _rename(node: onnx.NodeProto, source: Mapping[str, str]) -> None:
    for i, name in enumerate(node.input):
        node.input[i] = source.get(name, name)
    for attribute in node.attribute:
        for body in [attribute.g, *attribute.graphs]:
            for inner in body.node:
                _rename(inner, source)
            for output in body.output:
                output.name = source.get(output.name, output.name)


def require_graph_def(graph_def: Any) -> onnx.GraphProto:
    """Refuse what is no ``GraphProto``.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(graph_def, GraphDef):
        raise TypeError(
            f"graph_def must be a GraphDef, as Graph.as_graph_def() returns it; got {graph_def!r}."
        )
    return graph_def
