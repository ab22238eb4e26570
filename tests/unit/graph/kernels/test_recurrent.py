"""Recurrent operators that the runtime has no kernel for."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.function.recurrent_cases import GATES, Case, tensors_of
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph
from tfx.graph.kernels.legalize import legalize


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


@pytest.mark.parametrize("sizes", [(0, 3), (2, 0), (0, 0)], ids=str)
@pytest.mark.parametrize(("op", "gates"), [("GRU", 3), ("LSTM", 4), ("RNN", 1)])
def test_nothing_to_run_over(op, gates, sizes):
    """The kernels of ONNX Runtime 1.31 end the process."""
    steps, batch = sizes
    weights = tf.ones([1, gates * 5, 2]), tf.ones([1, gates * 5, 5])
    start = tf.fill([1, batch, 5], 7.0)

    def run(x):
        return getattr(tf.raw, op)(x, *weights, None, None, start, hidden_size=5, n_outputs=2)

    x = tf.ones([steps, batch, 2])
    for f in (run, tf.function(run)):
        all_states, last = f(x)
        assert all_states.shape == [steps, 1, batch, 5]
        np.testing.assert_array_equal(last, start if steps == 0 else np.zeros([1, 0, 5]))
    unknown = tf.function(run, input_signature=[tf.TensorSpec([None, None, 2])])
    if op == "RNN":
        assert unknown(x)[0].shape == [steps, 1, batch, 5]
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match="no sequences, no steps"):
            unknown(x)


def test_weights_of_no_direction_are_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have a direction"):
        tf.raw.GRU(tf.ones([2, 3, 2]), tf.ones([0, 15, 2]), tf.ones([0, 15, 5]), hidden_size=5)
