"""Recurrent operators that the runtime has no kernel for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.function.recurrent_cases import GATES, Case, tensors_of
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph
from tfx.graph.passes.legalize import legalize


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_batch_first(op, direction):
    case = Case(op, {"layout": 1, "direction": direction}, lengths=(4, 2, 3))
    inputs = case.inputs()
    for got, want in zip(case.apply(tensors_of(inputs)), case.reference(inputs), strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got.numpy(), want, atol=1e-5)


@pytest.mark.parametrize("op", GATES)
def test_float64(op):
    case = Case(op, {"layout": 1})
    inputs = case.inputs()
    found = case.apply(tensors_of(inputs, np.float64))
    for got, want in zip(found, case.reference(inputs), strict=True):
        assert got.dtype.name == "float64"
        np.testing.assert_allclose(got.numpy(), want, atol=1e-5)


def test_what_has_a_kernel_stays():
    graph = FuncGraph("f")
    case = Case("GRU", {})
    with using(graph=graph):
        given = [None if x is None else graph.add_argument("x", 1, x.shape) for x in case.inputs()]
        graph.graph.outputs = [graph.value_of(y) for y in case.apply(given)]
    assert [n.op for n in legalize(graph.graph).nodes] == ["GRU"]
