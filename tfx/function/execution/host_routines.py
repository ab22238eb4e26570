"""Calls of graphs that a library of Python's computes as well: plans of the CPU have it do so.

A decomposition of a matrix is a long loop of small operators in ONNX, and one call of LAPACK. The
call becomes a step of the plan; within branches and loops it stays what it is, as a step there
would have Python drive them. Matrices that are known to be small stay, too: a step costs more.
"""

from __future__ import annotations

from tfx.graph.ir import CALL, HOST, Graph, HostCall, Node
from tfx.graph.passes.inline_calls import expand_calls

# Rows and columns up to which a loop in the graph takes less time than another step of the plan.
_SMALL = 3


def with_host_routines(graph: Graph, device: str) -> Graph:
    """A graph in which steps of Python stand for the calls that have a routine.

    Args:
        graph: What is about to be compiled; it stays as it is.
        device: Canonical name of the device of nodes that name none.
    """
    known: dict[int, bool] = {}
    if not any(_wanted(node, device) or _holds(node, device, known) for node in graph.nodes):
        return graph
    flat = expand_calls(graph, lambda call: _holds(call, device, known))
    flat.nodes = [_step(node) if _wanted(node, device) else node for node in flat.nodes]
    return flat


def _wanted(node: Node, device: str) -> bool:
    if node.op != CALL or node.attrs["graph"].routine is None:
        return False
    matrix = node.inputs[0]
    shape = None if matrix is None else matrix.shape
    small = shape is not None and all(isinstance(d, int) and d <= _SMALL for d in shape[1:])
    return not small and (node.device or device).startswith("CPU")


def _holds(node: Node, device: str, known: dict[int, bool]) -> bool:
    """True if a call's own graph, or one that it calls, has such a call."""
    if node.op != CALL or node.attrs["graph"].routine is not None:
        return False
    callee: Graph = node.attrs["graph"]
    found = known.get(id(callee))
    if found is None:
        where = node.device or device
        found = any(_wanted(n, where) or _holds(n, where, known) for n in callee.nodes)
        known[id(callee)] = found
    return found


def _step(node: Node) -> Node:
    callee: Graph = node.attrs["graph"]
    assert callee.routine is not None
    call = HostCall(callee.name, callee.routine, "by LAPACK", effect=False)
    return node.replaced(attrs={"call": call}, op=HOST, device=None)
