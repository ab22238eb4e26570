"""A part of a gradient as a call of a graph of its own, which plans may compute another way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfx.framework.context import current, using
from tfx.framework.func_graph import FuncGraph
from tfx.framework.node_names import name_node
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph import ir
from tfx.graph.tags import Tag


def called(
    name: str,
    inputs: dict[str, Tensor],
    body: Callable[[dict[str, Tensor]], Sequence[Tensor]],
    shapes: Sequence[ir.RawShape],
    tag: Tag,
) -> tuple[Tensor, ...]:
    """Append a call node to the graph under construction.

    Args:
        name: Name of the graph that is called.
        inputs: What it is applied to.
        body: Given tensors in place of the inputs, returns the results; runs under a trace.
        shapes: Static shapes of the results.
        tag: Of the call.
    """
    graph = current().graph
    assert graph is not None
    values = [graph.value_of(x) for x in inputs.values()]
    callee = FuncGraph(name)
    callee.named_after_calls, callee.graph.library = False, True
    with using(graph=callee, tapes=(), scope="", device=None):
        arguments = {
            key: callee.add_argument(key, value.dtype, value.shape)
            for key, value in zip(inputs, values, strict=True)
        }
        callee.graph.outputs = [callee.value_of(y) for y in body({**arguments})]
    types = [(y.dtype, shape) for y, shape in zip(callee.graph.outputs, shapes, strict=True)]
    named = name_node(graph, name)
    attrs: ir.Attributes = {"graph": callee.graph}
    node = graph.graph.add_node(
        ir.CALL, values, attrs, types, name=named.text, source=named.source, tag=tag
    )
    graph.place(node)
    named.given_to(node)
    results = tuple(SymbolicTensor(y, graph) for y in node.outputs)
    for tape in current().tapes:
        tape.record(ir.CALL, attrs, tuple(inputs.values()), results)
    return results
