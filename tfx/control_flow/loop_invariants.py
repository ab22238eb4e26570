"""Products of a loop that do not depend on its state, computed all at once before it.

What a recurrent network does with its inputs, ``x[i] @ w`` in iteration ``i``, is one product
``x @ w``. Its gradient is one product then, too.
"""

from __future__ import annotations

from tfx.control_flow.induction_variables import InductionVariables
from tfx.framework.body_graph import LoopGraph
from tfx.framework.builder import ox
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.copy_body import uses
from tfx.graph.ir import Node, Value

# How much larger than its operand a product may be: all of it is kept.
_GROWTH = 8


def hoist_products(
    graph: FuncGraph, loop: LoopGraph, numbers: InductionVariables, count: int
) -> None:
    """Let a finished body take rows of products that are computed outside.

    Args:
        graph: The enclosing graph.
        loop: The body; its variables have outer values already.
        numbers: What is known of its integers.
        count: How often it runs.
    """
    body = loop.graph
    inside = {id(v) for v in body.inputs} | {id(v) for n in body.nodes for v in n.outputs}
    for node in list(body.nodes):
        row = _row(node, inside, count)
        if row is None or numbers.start_of(row.inputs[1]) != 0:
            continue
        rows, weights = row.inputs[0], node.inputs[1]
        assert rows is not None
        assert weights is not None
        product = ox.MatMul(_known(rows, graph, loop), _known(weights, graph, loop))
        value = graph.value_of(product)
        loop.outer.setdefault(id(value), (value, product))
        taken = node.replaced((value, row.inputs[1]), {}, op="Gather")
        body.replace_node(node, taken)
        if not uses(body, row.outputs[0]):
            body.nodes.remove(row)


def _row(node: Node, inside: set[int], count: int) -> Node | None:
    """The node that takes a row for a product with something from outside."""
    if node.op != "MatMul":
        return None
    x, weights = node.inputs
    row = x.node if x is not None and id(x) in inside else None
    if row is None or row.op != "Gather" or row.attrs.get("axis", 0) != 0:
        return None
    rows, index = row.inputs
    if weights is None or rows is None or index is None or index.shape != ():
        return None
    if id(weights) in inside or id(rows) in inside:
        return None
    return row if _worth_it(rows, weights, count) else None


def _worth_it(rows: Value, weights: Value, count: int) -> bool:
    if rows.shape is None or weights.shape is None or len(weights.shape) != 2:
        return False
    if len(rows.shape) < 2 or rows.shape[0] != count:
        return False
    height, width = weights.shape
    return isinstance(height, int) and isinstance(width, int) and width <= _GROWTH * height


def _known(value: Value, graph: FuncGraph, loop: LoopGraph) -> Tensor:
    """The tensor by which tapes know a value from outside."""
    read = loop.outer_variables.get(id(value))
    if read is not None:
        return read[1].stored_value()
    used = loop.outer.get(id(value))
    return SymbolicTensor(value, graph) if used is None else used[1]
