"""``host_call``: let Python act on the contents of tensors, eagerly or in the middle of a graph.

Eagerly it happens at once. While a function is traced a node is appended that the function's plan
carries out between its sessions, in program order.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.core.dtypes import DType
from tfx.framework.context import current
from tfx.framework.node_names import name_node
from tfx.framework.rules import Gradients, OpRecord, gradient
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.ir import HOST, HostCall, RawShape


def host_call(
    call: HostCall,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[DType, RawShape]] = (),
) -> tuple[Tensor, ...]:
    """Carry out a host call, or put it into the graph being traced.

    Args:
        call: What to do.
        inputs: Tensors whose contents it gets.
        outputs: Dtype and raw shape of what it returns.

    Returns:
        One tensor for each of ``outputs``.
    """
    context = current()
    graph = context.graph
    if graph is None:
        return tuple(call.run(inputs) or ())
    name = name_node(graph, call.kind)
    node = graph.add_host(
        call,
        [graph.value_of(x) for x in inputs],
        [(dtype.onnx, shape) for dtype, shape in outputs],
        name=name.text,
        source=name.source,
    )
    name.given_to(node)
    results = tuple(SymbolicTensor(v, graph) for v in node.outputs)
    if results:
        for tape in context.tapes:
            tape.record(HOST, node.attrs, inputs, results)
    return results


@gradient(HOST)
def _host_grad(op: OpRecord, *dys: Tensor | None) -> Gradients:
    """The call's own rule; none: nothing flows through Python."""
    call: HostCall = op.attrs["call"]
    if call.gradient is None:
        return (None,) * len(op.inputs)
    found: Gradients = call.gradient(op, *dys)
    return found
