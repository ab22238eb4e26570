"""Traces as ONNX models with their weights inside, and models as files."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from tfx.framework.variable import Variable
from tfx.graph.ir import Value
from tfx.graph.onnx_import.read_model import ForeignGraph, flat, used_values
from tfx.graph.passes.pipeline import prepare
from tfx.graph.serialization.files import save_model
from tfx.graph.serialization.serialize import Initializer, to_model


def stored_model(
    foreign: ForeignGraph,
    variables: Mapping[str, Variable],
    source: Any,
) -> Any:
    """A model again: its graph with the present values of its weights.

    Args:
        foreign: The graph.
        variables: The weights by name.
        source: The model that it comes from, whose description is kept.
    """
    graph = prepare(foreign.graph, portable=True)
    used = used_values(graph)
    given = {n: v for n, v in foreign.weights.items() if id(v) in used}
    graph.inputs = [*flat(foreign.inputs), *given.values()]
    names = [*port_names(foreign.inputs), *given]
    outputs = port_names(foreign.outputs)
    initializers: dict[Value, Initializer] = {v: variables[n].numpy() for n, v in given.items()}
    proto = to_model(graph, input_names=names, output_names=outputs, initializers=initializers)
    describe_as(proto, source)
    return proto


def describe_as(proto: Any, source: Any) -> None:
    """Give a model the description that another one has, and types where it knows more."""
    proto.doc_string = source.doc_string
    proto.domain, proto.model_version = source.domain, source.model_version
    known = {item.key for item in proto.metadata_props}
    proto.metadata_props.extend(i for i in source.metadata_props if i.key not in known)
    proto.graph.name = source.graph.name or proto.graph.name
    proto.graph.doc_string = source.graph.doc_string
    declared = {p.name: p.type for p in (*source.graph.input, *source.graph.output)}
    for port in (*proto.graph.input, *proto.graph.output):
        if port.name in declared and not _has_shape(port.type):
            port.type.CopyFrom(declared[port.name])


def _has_shape(kind: Any) -> bool:
    if kind.HasField("sequence_type"):
        kind = kind.sequence_type.elem_type
    return bool(kind.tensor_type.HasField("shape"))


def port_names(ports: Mapping[str, Value | list[Value]]) -> list[str]:
    """Names of inputs or outputs, those of a known sequence one by one."""
    return [
        n
        for name, x in ports.items()
        for n in ([f"{name}_{i}" for i in range(len(x))] if isinstance(x, list) else [name])
    ]


def unique(name: str, taken: Collection[str]) -> str:
    """A name that is not taken yet."""
    found, i = name, 1
    while found in taken:
        found, i = f"{name}_{i}", i + 1
    return found


def write_model(proto: Any, path: str | os.PathLike[str]) -> None:
    """Write a model; its weights go into ``<path>.data`` where they are more than 1 GiB."""
    save_model(proto, os.fspath(path))
