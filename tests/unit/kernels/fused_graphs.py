"""Graphs as the fused kernels run them, beside the same graphs as ONNX Runtime runs them alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tfx.graph.fusion import elementwise as pass_module
from tfx.graph.fusion.elementwise import fuse_elementwise
from tfx.graph.ir import KERNEL_OPERATORS, Graph, bodies_below
from tfx.graph.serialization.serialize import to_model
from tfx.kernels.library import usable_library, why_not
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy

needs_library = pytest.mark.skipif(usable_library() is None, reason=why_not())


@pytest.fixture
def always_fuse(monkeypatch):
    """Groups of two nodes are worth it, however small and whatever they compute."""
    monkeypatch.setattr(pass_module, "_PROGRAM", -100.0)
    monkeypatch.setattr(pass_module, "_SLOWER", {})


def fused(graph: Graph) -> Graph:
    library = usable_library()
    assert library is not None
    return fuse_elementwise(graph, library.instructions)


def fused_nodes(graph: Graph) -> int:
    graphs = (graph, *bodies_below(graph))
    return sum(node.op in KERNEL_OPERATORS for g in graphs for node in g.nodes)


def run(
    graph: Graph, given: Sequence[np.ndarray[Any, Any]], *, owned: bool = False
) -> list[np.ndarray[Any, Any]]:
    """What a graph gives, without any optimization by ONNX Runtime.

    Args:
        graph: What to run.
        given: An array for each input.
        owned: Nothing is copied: the arrays are given away.
    """
    ins = [f"in{i}" for i in range(len(graph.inputs))]
    outs = [f"out{i}" for i in range(len(graph.outputs))]
    model = to_model(graph, input_names=ins, output_names=outs).SerializeToString()
    library = usable_library()
    has_ours = library is not None and fused_nodes(graph)
    operators = library.registration(library.operators) if library and has_ours else None
    session = Session(model, optimize=False, operators=operators)
    values = [from_numpy(x, owned=owned) for x in given]
    found = session.run(dict(zip(ins, values, strict=True)))
    return [np.array(to_numpy(found[i]), copy=None if owned else True) for i in range(len(outs))]
