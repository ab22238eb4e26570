"""Reductions within fused programs, beside NumPy in float64 and ONNX Runtime's kernels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import always_fuse, fused, fused_nodes, needs_library, run
from tfx.core import dtypes
from tfx.function.execution.plan import Plan
from tfx.graph.ir import FUSED_LOOP, Graph, bodies_below
from tfx.graph.passes.pipeline import prepare, tune_for_cpu

pytestmark = [needs_library, pytest.mark.usefixtures("always_fuse")]
__all__ = ["always_fuse"]

NUMPY = {"ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min}
SHAPES = [(7,), (200, 2), (3, 1, 4), (2, 3, 4, 5), (1, 1), (40, 33), (5, 1, 1, 300)]


def between(op, dtype, shape, axes, keeps):
    """Twice the input, reduced, negated: two loops around one that reduces."""
    code = dtypes.as_dtype(dtype).onnx
    graph = Graph("g")
    x = graph.add_input("x", code, shape)
    doubled = graph.add_node("Add", [x, x], {}, [(code, shape)]).outputs[0]
    sizes = np.sum(np.empty(shape), axis=axes, keepdims=keeps).shape
    given = graph.add_constant(np.array(axes, np.int64), 7)
    reduced = graph.add_node(op, [doubled, given], {"keepdims": int(keeps)}, [(code, sizes)])
    graph.outputs = [graph.add_node("Neg", reduced.outputs, {}, [(code, sizes)]).outputs[0]]
    return graph


@pytest.mark.parametrize("op", NUMPY)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("keeps", [True, False])
def test_as_numpy(op, dtype, keeps, rng):
    if op == "ReduceMean" and dtype.startswith("int"):
        pytest.skip("means of integers are computed otherwise")
    for shape in SHAPES:
        for count in range(1, len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), count):
                graph = between(op, dtype, shape, axes, keeps)
                together = fused(graph)
                assert fused_nodes(together) == len(together.nodes) == 1
                x = (rng.normal(size=shape) * 100).astype(dtype)
                (found,) = run(together, [x])
                expected = -NUMPY[op](2 * x.astype(np.float64), axis=axes, keepdims=keeps)
                assert found.dtype == x.dtype and found.shape == expected.shape
                size = np.sum(np.abs(2.0 * x)) if op in ("ReduceSum", "ReduceMean") else 1
                tolerance = 4 * np.finfo(found.dtype).eps * size if found.dtype.kind == "f" else 0
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=tolerance)


@pytest.mark.parametrize("op", NUMPY)
def test_special_values(op):
    graph = between(op, "float32", (4, 3), (1,), False)
    rows = [[1, np.nan, 2], [np.inf, 0, 1], [-np.inf, np.inf, 0], [-0.0, 0.0, -0.0]]
    x = np.array(rows, np.float32)
    with np.errstate(invalid="ignore"):
        expected = -NUMPY[op](2 * x, axis=1)
    np.testing.assert_array_equal(run(fused(graph), [x])[0], expected)


@pytest.mark.parametrize(
    ("shape", "axes"), [((2, 3), [2]), ((2, 3), [-3]), ((), [0]), ((0, 3), [0])]
)
def test_what_is_wrong_or_empty_is_left_to_the_runtime(shape, axes):
    graph = Graph("g")
    x = graph.add_input("x", 1, shape)
    doubled = graph.add_node("Add", [x, x], {}, [(1, shape)]).outputs[0]
    given = graph.add_constant(np.array(axes, np.int64), 7)
    reduced = graph.add_node("ReduceSum", [doubled, given], {"keepdims": 0}, [(1, (3,))])
    graph.outputs = [graph.add_node("Neg", reduced.outputs, {}, [(1, (3,))]).outputs[0]]
    assert "ReduceSum" in [node.op for node in fused(graph).nodes]


def test_integers_wrap_around():
    x = np.array([[2**30, 2**30, 5]], np.int32)
    graph = between("ReduceSum", "int32", (1, 3), (1,), False)
    np.testing.assert_array_equal(run(fused(graph), [x])[0], [-10])


def test_sums_are_no_less_accurate_than_one_by_one(rng):
    x = rng.random((1, 4000)).astype(np.float32)
    graph = between("ReduceSum", "float32", x.shape, (1,), False)
    exact = -2 * np.sum(x.astype(np.float64))
    together, alone = (abs(run(g, [x])[0][0] - exact) for g in (fused(graph), graph))
    assert together <= max(2 * alone, 4e-7 * abs(exact))


def test_what_is_normalized_is_one_program():
    """Values of one shape before and behind what reduces them are two loops."""

    @tf.function(input_signature=[tf.TensorSpec([50, 8])])
    def normalized(x):
        centred = x * 2.0 - tf.reduce_mean(x * 2.0, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
        return centred * tf.math.rsqrt(variance + 1e-3)

    graph = normalized.get_concrete_function()._observed.make_pure().graph
    together = fused(tune_for_cpu(prepare(graph, runs_here=True), 2))
    assert [n.op for n in together.nodes] == ["Fused"]
    x = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    expected = (2 * x - (2 * x).mean(-1, keepdims=True)) / np.sqrt(
        (2 * x).var(-1, keepdims=True) + 1e-3
    )
    np.testing.assert_allclose(normalized(x), expected, rtol=1e-4, atol=1e-5)


def test_loops_until_all_are_close():
    @tf.function(input_signature=[tf.TensorSpec([3])])
    def root(x):
        y = x
        while tf.reduce_any(tf.abs(y * y - x) > 1e-4 * x):
            y = 0.5 * (y + x / y)
        return y

    graph = root.get_concrete_function()._observed.make_pure().graph
    together = fused(tune_for_cpu(prepare(graph, runs_here=True), 2))
    graphs = (together, *bodies_below(together))
    assert sum(n.op == FUSED_LOOP for g in graphs for n in g.nodes) == 1
    assert Plan(graph).fused
    np.testing.assert_allclose(root(np.array([2.0, 9.0, 1e6], np.float32)), [2**0.5, 3, 1e3], 1e-4)
