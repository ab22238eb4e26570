"""The check that a graph may run as a CUDA graph: fixed shapes, and the same work in each replay.

A CUDA graph is the kernels of one run with their parameters. What a kernel takes from the host (a
seed, the length of a loop) is the same in each replay.
"""

from __future__ import annotations

from tfx.core.dims import is_static
from tfx.graph.control import Loop
from tfx.graph.ir import CALL, Graph, Node, Value
from tfx.graph.traits import traits


def can_capture(graph: Graph, device: str, *, unrolled: bool = False) -> bool:
    """True if a graph on a GPU may be captured.

    Args:
        graph: What is compiled.
        device: Canonical device name.
        unrolled: Loops that run a known number of times will be unrolled.
    """
    if device.startswith("CPU"):
        return False
    values = [*graph.inputs, *graph.outputs]
    # Every input and output is copied: that is to cost less than what is saved.
    return (
        _size(graph) > len(values)
        and all(_is_fixed(v) for v in values)
        and _has_no_refused(graph, unrolled)
    )


def _size(graph: Graph) -> int:
    """Number of nodes, those of called functions included."""
    return sum(_size(n.attrs["graph"]) if n.op == CALL else 1 for n in graph.nodes)


def _is_fixed(value: Value) -> bool:
    return is_static(value.shape)


def _has_no_refused(graph: Graph, unrolled: bool) -> bool:
    for node in graph.nodes:
        facts = traits(node.op)
        if facts.random or facts.size_unknown:
            return False
        # Control flow is decided on the host.
        decided = facts.bodies and node.op != CALL
        if decided and not (unrolled and _is_counted(node)):
            return False
        if any(not _has_no_refused(body, unrolled) for body in node.bodies()):
            return False
    return True


def _is_counted(node: Node) -> bool:
    if node.op != "Loop":
        return False
    count = Loop(node).trip_count()
    return isinstance(count, int)
