"""Which products get a transposition of their own, and that they stay what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfx.graph.ir import Graph
from tfx.graph.passes.gemm_transposes import share_transposes
from tfx.graph.serialization.serialize import to_model
from tfx.graph.verify import verify
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy

FLOAT = 1


def products(rows: Any, width: int, columns: tuple[int, ...], attrs: Any = None) -> Graph:
    """``a.T @ b`` for one ``a`` and some ``b``."""
    graph = Graph("products")
    a = graph.add_input("a", FLOAT, (rows, width))
    for i, n in enumerate(columns):
        b = graph.add_input(f"b{i}", FLOAT, (rows, n))
        given = {"transA": 1, **(attrs or {})}
        node = graph.add_node("Gemm", (a, b), given, [(FLOAT, (width, n))])
        graph.outputs.append(node.outputs[0])
    return graph


def run(graph: Graph, *arrays: Any) -> list[Any]:
    names = [f"x{i}" for i in range(len(arrays))]
    outputs = [f"y{i}" for i in range(len(graph.outputs))]
    model = to_model(graph, input_names=names, output_names=outputs)
    given = {n: from_numpy(np.asarray(a)) for n, a in zip(names, arrays, strict=True)}
    found = Session(model.SerializeToString()).run(given)
    return [to_numpy(found[i]) for i in range(len(outputs))]


def ops(graph: Graph) -> list[str]:
    return [n.op for n in graph.nodes]


@pytest.mark.parametrize("rows", [128, None], ids=["static", "dynamic"])
@pytest.mark.parametrize("size", [128, 0], ids=["rows", "empty"])
def test_a_wide_product_is_turned_once(rows: Any, size: int) -> None:
    rng = np.random.default_rng(0)
    graph = products(rows, 64, (256, 128), {"alpha": 0.5})
    changed = share_transposes(graph)
    verify(changed)
    assert ops(changed) == ["Reshape", "Transpose", "Reshape", "Gemm", "Gemm"]
    assert not any(n.attrs.get("transA") for n in changed.nodes)
    assert ops(graph) == ["Gemm", "Gemm"]
    if rows is None or size:
        a, *bs = (rng.standard_normal((size, n)).astype(np.float32) for n in (64, 256, 128))
        for b, y in zip(bs, run(changed, a, *bs), strict=True):
            np.testing.assert_allclose(y, 0.5 * a.T @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("rows", "width", "columns", "threads"),
    [
        (128, 64, (256,), 1),
        (128, 32, (512,), 1),
        (128, 64, (512,), 2),
        (65536, 64, (512,), 1),
        (None, 2048, (512,), 1),
    ],
    ids=["narrow", "small", "threads", "huge", "perhaps huge"],
)
def test_others_stay(rows: int | None, width: int, columns: tuple[int, ...], threads: int) -> None:
    graph = products(rows, width, columns)
    assert share_transposes(graph, threads) is graph
