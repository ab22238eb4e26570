"""The check that a graph may run as a CUDA graph: fixed shapes, and the same work in each replay.

A CUDA graph is the kernels of one run with their parameters. What a kernel takes from the host (a
seed, the length of a loop) is the same in each replay.
"""

from __future__ import annotations

from tfx.core.dims import is_static
from tfx.graph.ir import CALL, Graph, Value
from tfx.graph.traits import traits


def can_capture(graph: Graph, device: str) -> bool:
    """True if a graph on a GPU may be captured.

    Args:
        graph: What is compiled.
        device: Canonical device name.
    """
    if device.startswith("CPU"):
        return False
    values = [*graph.inputs, *graph.outputs]
    # Every input and output is copied: that is to cost less than what is saved.
    return (
        _size(graph) > len(values) and all(_is_fixed(v) for v in values) and _has_no_refused(graph)
    )


def _size(graph: Graph) -> int:
    """Number of nodes, those of called functions included."""
    return sum(_size(n.attrs["graph"]) if n.op == CALL else 1 for n in graph.nodes)


def _is_fixed(value: Value) -> bool:
    return is_static(value.shape)


def _has_no_refused(graph: Graph) -> bool:
    for node in graph.nodes:
        facts = traits(node.op)
        # Control flow is decided on the host.
        decided = facts.bodies and node.op != CALL
        if decided or facts.random or facts.size_unknown:
            return False
        if node.op == CALL and not _has_no_refused(node.attrs["graph"]):
            return False
    return True
