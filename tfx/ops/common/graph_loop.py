"""Repetitions inside of one operation: a ``Loop`` of ONNX, without what users' loops need."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tfx.core import dtypes
from tfx.framework.body_graph import BodyGraph
from tfx.framework.context import current, using
from tfx.framework.convert import embed, int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor


def repeated(
    limit: int | Tensor,
    start: Sequence[Tensor],
    step: Callable[..., tuple[Tensor, Sequence[Tensor]]],
) -> list[Tensor]:
    """Repeat in a graph: ``step`` takes the round's number and the state.

    Args:
        limit: At most so many rounds; int64, if it is a tensor.
        start: The state at first.
        step: Gives whether to go on, and the new state.
    """
    graph = current().graph
    assert graph is not None
    body = BodyGraph("round", graph)
    given = [(dtypes.int64.onnx, ()), (dtypes.bool.onnx, ())]
    types = [(x.dtype.onnx, x.shape.symbolic) for x in start]
    with using(graph=body, scope=""):
        number, _, *state = [
            body.add_argument(f"given{i}", *kind) for i, kind in enumerate((*given, *types))
        ]
        go, new = step(number, *state)
        body.graph.outputs = [body.value_of(x) for x in (go, *new)]
    rounds = int64_constant(limit) if isinstance(limit, int) else limit
    inputs = [rounds, embed(np.array(True)), *start]
    node = graph.graph.add_node(
        "Loop", [graph.value_of(x) for x in inputs], {"body": body.graph}, types, name="rounds"
    )
    return [SymbolicTensor(v, graph) for v in node.outputs]
