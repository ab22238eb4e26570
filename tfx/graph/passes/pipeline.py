"""Passes: graph in, new graph out. One pass a file; ``prepare`` is the usual sequence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tfx.graph.ir import Graph, Value
from tfx.graph.kernels.legalize import legalize
from tfx.graph.passes.common_subexpressions import eliminate_common
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.passes.dead_state import remove_dead_state
from tfx.graph.passes.fold_branches import fold_branches
from tfx.graph.passes.fold_constants import fold_constants
from tfx.graph.passes.limit_call_depth import limit_call_depth
from tfx.graph.passes.remove_copies import remove_copies
from tfx.graph.passes.sink_expands import sink_expands
from tfx.graph.summary import PassEffect, count_nodes
from tfx.graph.verify import verify_if_enabled
from tfx.runtime.values import RawValue


def prepare(
    graph: Graph,
    *,
    device: str = "CPU:0",
    keep_marked: bool = False,
    keep_gradients: bool = False,
    portable: bool = False,
    known: Mapping[Value, RawValue] | None = None,
    effects: list[PassEffect] | None = None,
) -> Graph:
    """Prepare a graph to be compiled or saved: no copies, no dead nodes, only existing kernels.

    What is constant is computed, what is the same is computed once. Each pass is checked by
    ``verify`` where that is enabled.

    Args:
        graph: The graph.
        device: Where it will run.
        keep_marked: Keep the ``Identity`` nodes that stop gradients, for a graph that is saved.
        keep_gradients: Keep the markers of custom gradients.
        portable: Use what other builds of the runtime have, for a graph that is written to a file.
        known: Contents of inputs that will be initializers.
        effects: Gets what each pass did.
    """
    passes: list[tuple[str, Callable[[Graph], Graph]]] = [
        ("calls", limit_call_depth),
        (
            "copies",
            lambda g: remove_copies(g, keep_marked=keep_marked, keep_gradients=keep_gradients),
        ),
        ("dead nodes", remove_dead_nodes),
        ("dead state", remove_dead_state),
        ("expansions", sink_expands),
        ("dead nodes", remove_dead_nodes),
        ("kernels", lambda g: legalize(g, device, portable=portable)),
        ("conditions", lambda g: fold_branches(g, known or {})),
        ("constants", fold_constants),
        ("common", eliminate_common),
        ("dead nodes", remove_dead_nodes),
    ]
    for name, change in passes:
        changed = change(graph)
        if changed is not graph:
            verify_if_enabled(changed)
        if effects is not None:
            effects.append(PassEffect(name, count_nodes(graph), count_nodes(changed)))
        graph = changed
    return graph
