"""Sequences whose length only a run tells, on their way out of a function.

A function returns tensors. Such a sequence leaves as three of them: its elements as one vector,
their sizes, and their ranks. Outside they are put together again, with operations that tapes see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tfx.control_flow.sequences import mapped
from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import embed
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.graph.ir import Graph

_INT64 = dtypes.int64.onnx


def taken_apart(sequence: Tensor) -> list[Tensor]:
    """Elements, sizes and ranks of a sequence of a graph under construction."""
    code = sequence.dtype.onnx
    return [
        _joined(sequence, code, "Reshape"),
        _joined(sequence, _INT64, "Shape"),
        _joined(sequence, _INT64, "Shape", "Shape"),
    ]


def _joined(sequence: Tensor, code: int, *ops: str) -> Tensor:
    """Apply operators to each element, and join the results to one vector."""
    graph = current().graph
    assert graph is not None
    body = Graph("each", graph.graph)
    value = body.add_input("item", sequence.dtype.onnx, None)
    for op in ops:
        given = [value]
        if op == "Reshape":
            given.append(graph.value_of(embed(np.array([-1]))))
        value = body.add_node(op, given, {}, [(code, (None,))]).outputs[0]
    body.outputs = [value]
    parts = mapped(graph, (sequence,), body, code)
    # There may be no element at all, of which ONNX Runtime makes no vector.
    dtype = dtypes.from_onnx(code)
    none = ox.Cast(embed(np.zeros(0, np.float32)), to=dtype.onnx)
    return ox.ConcatFromSequence(ox.SequenceInsert(parts, none), axis=0)


def put_together(parts: Sequence[Tensor]) -> list[Tensor]:
    """The elements of a sequence, from its three parts."""
    elements, sizes, ranks = parts
    found: list[Tensor] = []
    at = 0
    for dims in _shapes(sizes, ranks):
        size = int(np.prod(dims, dtype=np.int64))
        bounds = [embed(np.array([at])), embed(np.array([at + size]))]
        flat = ox.Slice(elements, *bounds)
        found.append(ox.Reshape(flat, embed(np.array(dims, np.int64)), allowzero=1))
        at += size
    return found


def _shapes(sizes: Tensor, ranks: Tensor) -> Iterator[list[int]]:
    assert isinstance(sizes, EagerTensor)
    assert isinstance(ranks, EagerTensor)
    flat = sizes.numpy().tolist()
    at = 0
    for rank in ranks.numpy().tolist():
        yield flat[at : at + rank]
        at += rank
