"""``SequenceMap`` for all elements: its body is converted, items have the batch in front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfx.core import dtypes
from tfx.framework.body_graph import BodyGraph
from tfx.framework.context import current, using
from tfx.framework.func_graph import graph_under_construction
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.ir import Graph, Node, RawShape, Value
from tfx.vectorize.batched_value import BatchedValue
from tfx.vectorize.loop_fallback import repeated

if TYPE_CHECKING:
    from tfx.vectorize.batcher import Batcher


def convert_map(batcher: Batcher, node: Node) -> list[BatchedValue]:
    """The results of a ``SequenceMap``."""
    if not any(batcher.batched_value(v).batched for v in batcher.uses(node)):
        return repeated(batcher, node)
    graph = graph_under_construction()
    body: Graph = node.attrs["body"]
    batched_values = [batcher.batched_value(v) for v in node.inputs if v is not None]
    made = BodyGraph(body.name, graph)
    with using(graph=made, tapes=()):
        inner = batcher.for_body(inside=True)
        for formal, batched_value in zip(body.inputs, batched_values, strict=True):
            value = Value(made.graph.unique_name(formal.name), formal.dtype, None)
            made.graph.inputs.append(value)
            inner.put(formal, SymbolicTensor(value, made), batched_value.batched)
        found = inner.run(body)
        made.graph.outputs = [made.value_of(x.tensor) for x in found]
    tensors = [x.tensor for x in batched_values]
    values = [graph.value_of(t) for t in tensors]
    kinds: list[tuple[int, RawShape]] = [
        (dtypes.SEQUENCE + v.dtype, None) for v in made.graph.outputs
    ]
    attrs = {"body": made.graph}
    name = f"{current().scope}{node.name}"
    added = graph.graph.add_node("SequenceMap", values, attrs, kinds, name=name)
    results: list[Tensor] = [SymbolicTensor(v, graph) for v in added.outputs]
    for tape in current().tapes:
        tape.record("SequenceMap", attrs, tuple(tensors), tuple(results))
    return [BatchedValue(t, x.batched) for t, x in zip(results, found, strict=True)]
