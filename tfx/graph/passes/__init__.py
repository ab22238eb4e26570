"""Passes: graph in, new graph out. One pass a file; ``prepare`` is the usual sequence."""

from __future__ import annotations

from collections.abc import Mapping

from tfx.graph.ir import Graph, Value
from tfx.graph.passes.conditions import decide_conditions
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.passes.dead_state import remove_dead_state
from tfx.graph.passes.identities import forward_identities
from tfx.graph.passes.legalize import legalize
from tfx.graph.verify import verify_if_enabled
from tfx.runtime.values import RawValue


def prepare(
    graph: Graph,
    *,
    device: str = "CPU:0",
    keep_marked: bool = False,
    known: Mapping[Value, RawValue] | None = None,
) -> Graph:
    """What is compiled and what is saved: no copies, no dead nodes, only kernels that exist.

    Args:
        graph: The graph.
        device: Where it will run.
        keep_marked: Keep the ``Identity`` nodes that stop gradients, for a graph that is saved.
        known: Contents of inputs that will be initializers.
    """
    graph = remove_dead_nodes(forward_identities(graph, keep_marked=keep_marked))
    graph = remove_dead_nodes(remove_dead_state(graph))
    graph = decide_conditions(legalize(graph, device), known or {})
    verify_if_enabled(graph)
    return graph
