"""Look at the graph that a function of tensors is traced to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.core import dtypes, nest
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph
from tfx.graph.ir import Graph
from tfx.graph.passes.pipeline import prepare


def traced(f: Callable[..., Any], *shapes: Sequence[Any], dtype: str = "float32") -> Graph:
    """The graph of ``f`` for arguments of these shapes (names allowed), without dead nodes."""
    graph = FuncGraph("f")
    code = dtypes.as_dtype(dtype).onnx
    with using(graph=graph):
        symbols = [graph.add_argument(f"a{i}", code, tuple(s)) for i, s in enumerate(shapes)]
        results = nest.flatten(f(*symbols))
        graph.graph.outputs = [graph.value_of(r) for r in results]
    return prepare(graph.graph)


def operators(f: Callable[..., Any], *shapes: Sequence[Any], dtype: str = "float32") -> list[str]:
    """The operators of that graph, in order."""
    return [node.op for node in traced(f, *shapes, dtype=dtype).nodes]
