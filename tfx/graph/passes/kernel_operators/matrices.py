"""Routines on square matrices by our kernels: for CPU plans alone.

What is saved has a loop of operators for a decomposition or a system of equations. Where it is
called, a node for each of its results takes its place, which becomes a part of a program: in the
body of a loop, that of the whole body.
"""

from __future__ import annotations

from tfx.graph.ir import CALL, MATRIX_ROUTINE, Graph, Node
from tfx.graph.passes.dead_code import used_values
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.kernels.programs import MAX_RANK, MatrixOperation

_FLOATS = (1, 11)


def use_matrix_kernels(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, with ``MatrixRoutine`` nodes.

    Args:
        graph: As it was traced.
    """
    wanted = any(
        node.op == CALL and matrix_operation(node) is not None for node in graph.all_nodes()
    )
    return _Matrices().run(graph) if wanted else graph


class _Matrices(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._used: set[int] = set()

    def enter(self, graph: Graph, out: Graph) -> None:
        self._used.update(id(v) for node in graph.nodes for v in used_values(node))
        self._used.update(map(id, graph.outputs))

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        first = matrix_operation(node)
        if first is None:
            super().rewrite(node, inputs, out)
            return
        made = [v if id(v) in self._used else None for v in node.outputs]
        if first is MatrixOperation.SOLVE and made[1] is not None:  # whether there is a solution
            super().rewrite(node, inputs, out)
            return
        for number, value in enumerate(made, first):
            if value is None:
                continue
            attrs, name = {"operation": int(number)}, out.unique_name(node.name)
            routine = Node(MATRIX_ROUTINE, inputs, attrs, name, node.source, (value,), node.device)
            out.nodes.append(routine.make_outputs())


def matrix_operation(node: Node) -> MatrixOperation | None:
    """What our kernels do for a node that calls a routine's graph; None for others."""
    callee = node.attrs["graph"] if node.op == CALL else None
    if callee is None or callee.kernel is None:
        return None
    operation = MatrixOperation(callee.kernel)
    for value in node.inputs:
        if value is None or value.dtype not in _FLOATS or value.shape is None:
            return None
        if not 2 <= len(value.shape) <= MAX_RANK:
            return None
    return operation if len(node.inputs) == 1 + operation.has_right_sides else None
