"""A bundle's signatures as method graphs again, over the variables that it has.

A model that another process exported comes back as a bundle; what is made of it here is the same as
of every other source: graphs, variables by name, and what calls change.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from tfx.bundle.records import ConcreteFunctionEntry, GraphEntry
from tfx.graph.serialization.model_ports import initializers_to_inputs
from tfx.importing.method_graphs import MethodGraph, Port, SourceVariable
from tfx.loaders.open_files import Sources


def bundle_methods(
    path: str | os.PathLike[str], prefix: str = ""
) -> tuple[dict[str, MethodGraph], dict[str, SourceVariable]]:
    """The methods and variables of a bundle.

    Args:
        path: The bundle; it is not needed afterwards.
        prefix: What variables' names begin with that is left out.

    Returns:
        Methods by signature, and all variables by name.
    """
    sources = Sources(path, verify=False)
    try:
        manifest = sources.manifest
        # A slash within a key is written so that it is none of the path's.
        names = [unquote(item.name.removeprefix(prefix)) for item in manifest.variables]
        values = sources.take_values()
        variables = {
            name: SourceVariable(np.array(value.array), item.trainable)
            for name, item, value in zip(names, manifest.variables, values, strict=True)
        }
        methods = {
            item.name: _method(
                Path(path), manifest.concrete_functions[item.concrete_function], names
            )
            for item in manifest.signatures
        }
    finally:
        sources.close()
    return methods, variables


def _method(root: Path, entry: ConcreteFunctionEntry, names: list[str]) -> MethodGraph:
    graph: GraphEntry = entry.live_graph or entry.graph
    weights = {item.name: names[item.index] for item in graph.inputs if item.source == "variable"}
    weights |= {item.name: names[item.variable] for item in graph.frozen_variables}
    arguments = {item.name: Port(item.name) for item in graph.inputs if item.source == "argument"}
    updates = {item.name: names[item.index] for item in graph.outputs if item.target == "variable"}
    results: Any = {item.name: Port(item.name) for item in graph.outputs if item.target == "result"}
    if len(results) == 1:
        (results,) = results.values()
    file = root / graph.file
    proto = initializers_to_inputs(
        file.read_bytes(), {item.name for item in graph.frozen_variables}, graph.file
    )
    return MethodGraph(
        proto, arguments=arguments, results=results, weights=weights, updates=updates
    )
