"""Products of small matrices within fused programs, beside NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import always_fuse, fused, fused_nodes, needs_library, run
from tfx.core import dtypes
from tfx.graph.ir import FUSED_LOOP, Graph, bodies_below
from tfx.graph.passes.pipeline import prepare, tune_for_cpu

pytestmark = [needs_library, pytest.mark.usefixtures("always_fuse")]
__all__ = ["always_fuse"]

SIZES = [(1, 1, 2), (4, 3, 5), (200, 10, 10), (2, 200, 7), (10, 2, 33), (9, 40, 16), (3, 500, 8)]


def between(op, dtype, left, right, attrs=None, result=None):
    """Twice a matrix by another one, negated: two loops around one that multiplies."""
    code = dtypes.as_dtype(dtype).onnx
    graph = Graph("g")
    a, b = graph.add_input("a", code, left), graph.add_input("b", code, right)
    doubled = graph.add_node("Add", [a, a], {}, [(code, left)]).outputs[0]
    turned, right_turned = ((attrs or {}).get(name, 0) for name in ("transA", "transB"))
    if result is None:
        result = (*left[:-2], left[-1 if turned else -2], right[-2 if right_turned else -1])
    product = graph.add_node(op, [doubled, b], attrs or {}, [(code, result)]).outputs[0]
    graph.outputs = [graph.add_node("Neg", [product], {}, [(code, result)]).outputs[0]]
    return graph


def check(graph, a, b, expected):
    together = fused(graph)
    assert [node.op for node in together.nodes] == ["Fused"]
    (found,) = run(together, [a, b])
    assert found.dtype == a.dtype and found.shape == expected.shape
    size = 2 * np.abs(a.astype(np.float64)).max() * np.abs(b).max() * max(a.shape[-2:])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=np.finfo(a.dtype).eps * size)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("right_turned", [0, 1])
def test_as_numpy(dtype, turned, right_turned, rng):
    for rows, inner, columns in SIZES:
        a = rng.normal(size=(inner, rows) if turned else (rows, inner)).astype(dtype)
        b = rng.normal(size=(columns, inner) if right_turned else (inner, columns)).astype(dtype)
        attrs = {"transA": turned, "transB": right_turned}
        graph = between("Gemm", dtype, a.shape, b.shape, attrs)
        left, right = a.T if turned else a, b.T if right_turned else b
        check(graph, a, b, -2 * left.astype(np.float64) @ right)


@pytest.mark.parametrize(
    ("left", "right"), [((5, 4, 3), (3, 6)), ((5, 4, 3), (5, 3, 6)), ((2, 3, 9, 2), (2, 3, 2, 17))]
)
def test_many_matrices(left, right, rng):
    a, b = (rng.normal(size=shape).astype(np.float32) for shape in (left, right))
    check(between("MatMul", "float32", left, right), a, b, -2 * a.astype(np.float64) @ b)


def test_special_values_stay_where_they_are(rng):
    """Lanes that a narrow product does not use do not come into it."""
    a = rng.normal(size=(9, 5)).astype(np.float32)
    b = rng.normal(size=(5, 3)).astype(np.float32)
    a[4, 2], a[7, 0], b[1, 1] = np.nan, np.inf, -np.inf
    graph = between("MatMul", "float32", a.shape, b.shape)
    with np.errstate(invalid="ignore"):
        expected = -(2 * a @ b)
    found = run(fused(graph), [a, b])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_as_accurate_as_the_runtime(rng):
    a = rng.random((4, 500)).astype(np.float32)
    b = rng.random((500, 8)).astype(np.float32)
    graph = between("MatMul", "float32", a.shape, b.shape)
    exact = -2 * a.astype(np.float64) @ b
    together, alone = (np.abs(run(g, [a, b])[0] - exact).max() for g in (fused(graph), graph))
    assert together <= 4 * alone + 1e-5


@pytest.mark.parametrize(
    ("op", "left", "right", "attrs"),
    [
        ("MatMul", (64, 64), (64, 64), None),  # quicker by ONNX Runtime
        ("MatMul", (1, 128), (128, 256), None),
        ("MatMul", (2, 600), (600, 2), None),
        ("MatMul", (None, 4), (4, 4), None),
        ("MatMul", (0, 4), (4, 4), None),
        ("MatMul", (1, 4, 3), (5, 3, 6), None),  # broadcast
        ("MatMul", (3, 3), (5, 3, 6), None),
        ("Gemm", (4, 3), (3, 5), {"alpha": 2.0}),
        ("MatMul", (3, 4), (5, 6), None),  # wrong
    ],
)
def test_others_are_left_to_the_runtime(op, left, right, attrs):
    graph = between(op, "float32", left, right, attrs, result=(1, 1))
    assert op in [node.op for node in fused(graph).nodes]


def test_a_small_network_trains_in_one_operator(rng):
    weights = [tf.Variable(rng.normal(size=s).astype(np.float32)) for s in [(6, 8), (8,), (8, 1)]]
    start = [w.numpy() for w in weights]
    x = rng.normal(size=(20, 6)).astype(np.float32)

    def step(x):
        with tf.GradientTape() as tape:
            hidden = tf.tanh(x @ weights[0] + weights[1])
            loss = tf.reduce_mean(tf.square(hidden @ weights[2] - tf.reduce_sum(x, 1, True)))
        for w, g in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(0.05 * g)
        return loss

    results = []
    for compiled in (None, False):
        for w, value in zip(weights, start, strict=True):
            w.assign(value)
        train = tf.function(step, jit_compile=compiled)
        losses = [train(x).numpy() for _ in range(30)]
        assert losses[-1] < 0.5 * losses[0]
        results.append([*losses, *(w.numpy().sum() for w in weights)])
        if compiled is None:
            graph = train.get_concrete_function(x)._observed.make_pure().graph
            together = fused(tune_for_cpu(prepare(graph, runs_here=True), 2))
            assert [node.op for node in together.nodes] == ["Fused"]
    np.testing.assert_allclose(*results, rtol=2e-4, atol=1e-5)


def test_loops_of_products_run_whole(rng):
    """Power iteration; and as often as it takes."""

    @tf.function
    def largest(a, v):
        for _ in tf.range(200):
            v = a @ v
            v = v / tf.norm(v)
        return tf.reduce_sum(v * (a @ v))

    a = rng.normal(size=(8, 8)).astype(np.float32)
    a = a @ a.T
    v = np.ones((8, 1), np.float32)
    np.testing.assert_allclose(largest(a, v), np.linalg.eigvalsh(a)[-1], rtol=1e-4)
    graph = Graph("g")
    x, w = graph.add_input("x", 1, (3, 3)), graph.add_input("w", 1, (3, 3))
    body = Graph("body", graph)
    body.add_input("i", 7, ())
    going, carried = body.add_input("go", 9, ()), body.add_input("v", 1, (3, 3))
    y = body.add_node("MatMul", [carried, w], {}, [(1, (3, 3))]).outputs[0]
    body.outputs = [going, body.add_node("Tanh", [y], {}, [(1, (3, 3))]).outputs[0]]
    trips = graph.add_constant(np.array(7, np.int64), 7)
    loop = graph.add_node("Loop", [trips, None, x], {"body": body}, [(1, (3, 3))])
    graph.outputs = [loop.outputs[0]]
    together = fused(graph)
    assert fused_nodes(together) == 1
    assert any(n.op == FUSED_LOOP for g in bodies_below(together) for n in g.nodes)
    given = [rng.normal(size=(3, 3)).astype(np.float32) for _ in range(2)]
    np.testing.assert_allclose(run(together, given)[0], run(graph, given)[0], rtol=1e-5)


def test_long_chains_share_memory(rng):
    """More values between loops than a program has temporaries at once are no matter."""
    graph = Graph("g")
    x = graph.add_input("x", 1, (5, 5))
    w = graph.add_input("w", 1, (5, 5))
    for _ in range(300):
        y = graph.add_node("MatMul", [x, w], {}, [(1, (5, 5))]).outputs[0]
        x = graph.add_node("Tanh", [y], {}, [(1, (5, 5))]).outputs[0]
    graph.outputs = [x]
    together = fused(graph)
    assert [node.op for node in together.nodes] == ["Fused"]
    given = [rng.normal(size=(5, 5)).astype(np.float32) for _ in range(2)]
    given[1] /= 4  # contracting: differences of rounding die out
    np.testing.assert_allclose(run(together, given)[0], run(graph, given)[0], atol=1e-6)
