"""Routines on matrices as parts of programs, beside NumPy in float64 and the loops of operators."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library
from tfx.function.execution.plan import Plan
from tfx.graph.fusion.elementwise import fused_plan
from tfx.graph.ir import FUSED_LOOP, bodies_below
from tfx.graph.passes.pipeline import prepare, tune_for_cpu
from tfx.kernels.library import usable_library
from tfx.runtime.values import from_numpy, to_numpy

pytestmark = needs_library

DTYPES = ["float32", "float64"]


def pure(function, *values):
    tensors = [tf.constant(v) for v in values]
    return function.get_concrete_function(*tensors)._observed.make_pure().graph


def planned(function, *values):
    """All nodes of a function's plan, bodies included."""
    ready = prepare(pure(function, *values), runs_here=True, own_kernels=True)
    together = fused_plan(tune_for_cpu(ready, 2), usable_library().instructions)
    return [n for g in (together, *bodies_below(together)) for n in g.nodes]


def both(function, *values, rtol=2e-5):
    """What a function gives with fused kernels, once compared with what it gives without."""
    graph = pure(function, *values)
    results = []
    for fuse in (True, False):
        plan = Plan(graph, fuse=fuse)
        assert plan.fused == fuse
        found = plan.run([from_numpy(np.asarray(v)) for v in values])
        results.append([np.array(to_numpy(found[i])) for i in range(len(graph.outputs))])
    for a, b in zip(*results, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    return results[0]


def spd(rng, *shape, dtype="float32"):
    a = rng.normal(size=shape)
    return (a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (20, 20), (2, 0, 4, 4), (2, 3, 5, 5), (70, 70)])
def test_factors_and_solutions(dtype, shape, rng):
    a, b = spd(rng, *shape, dtype=dtype), rng.normal(size=(*shape[:-1], 3)).astype(dtype)

    @tf.function
    def run(a, b):
        factor = tf.linalg.cholesky(a)
        lower = tf.linalg.triangular_solve(factor, b[..., :1])
        upper = tf.linalg.triangular_solve(factor, b, adjoint=True)
        return factor, lower, upper, tf.linalg.solve(a, b), tf.linalg.det(a), tf.linalg.lu(a)

    factor, lower, upper, x, det, lu, order = both(run, a, b, rtol=1e-3)
    wide = a.astype(np.float64)
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-11}
    expected = np.linalg.cholesky(wide) if wide.size else wide
    np.testing.assert_allclose(factor, expected, **close)
    np.testing.assert_allclose(factor @ lower, b[..., :1], **close)
    np.testing.assert_allclose(np.swapaxes(factor, -1, -2) @ upper, b, **close)
    np.testing.assert_allclose(wide @ x, b, **close)
    if shape[-1] < 50:  # else it is larger than float32
        np.testing.assert_allclose(det, np.linalg.det(wide), rtol=1e-3)
    assert order.dtype == np.int32 and lu.shape == shape


def test_rows_are_exchanged_and_what_is_not_invertible_is_as_in_the_loop(rng):
    @tf.function
    def run(a, b):
        return tf.linalg.solve(a, b), tf.linalg.lu(a), tf.linalg.slogdet(a)

    a = rng.normal(size=(6, 4, 4)).astype(np.float32)
    a[0, 0, 0] = a[1, 2] = 0
    a[2, 1, 1], a[3, 0, 2] = np.nan, np.inf
    a[4] = np.eye(4)[[2, 0, 3, 1]]
    with np.errstate(all="ignore"):
        b = a[..., :2].copy()
        graph, given = pure(run, a, b), [from_numpy(a), from_numpy(b)]
        found = [Plan(graph, fuse=fuse).run(given) for fuse in (True, False)]
        for i in range(len(graph.outputs)):
            one, other = (to_numpy(x[i]) for x in found)
            if i < 3:  # step by step the same
                np.testing.assert_array_equal(one, other)
            else:
                np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 3, 8, 17])
def test_decompositions(dtype, size, rng):
    @tf.function
    def run(a, b):
        values, vectors = tf.linalg.eigh(a)
        s, u, v = tf.linalg.svd(b)
        q, r = tf.linalg.qr(b)
        whole = tf.linalg.qr(b, full_matrices=True)
        return values, vectors, s, u, v, q, r, *whole

    a, b = spd(rng, 2, size, size, dtype=dtype), rng.normal(size=(2, size + 2, size)).astype(dtype)
    assert not any(node.op == "Loop" for node in planned(run, a, b))
    made = [np.array(x) for x in run(a, b)]
    assert all(x.dtype == dtype for x in made)
    values, vectors, s, u, v, q, r, full_q, full_r = (x.astype(np.float64) for x in made)
    close = {"rtol": 1e-5, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-11}
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a.astype(np.float64)), **close)
    turned = np.swapaxes(vectors, -1, -2)
    np.testing.assert_allclose(vectors * values[:, None] @ turned, a, **close)
    np.testing.assert_allclose(s, np.linalg.svd(b.astype(np.float64))[1], **close)
    np.testing.assert_allclose(u * s[:, None] @ np.swapaxes(v, -1, -2), b, **close)
    expected = [np.linalg.qr(x.astype(np.float64)) for x in b]
    np.testing.assert_allclose(q, [x.Q for x in expected], **close)
    np.testing.assert_allclose(r, [x.R for x in expected], **close)
    np.testing.assert_allclose(full_q @ full_r, b, **close)
    np.testing.assert_allclose(
        np.swapaxes(full_q, -1, -2) @ full_q, [np.eye(size + 2)] * 2, **close
    )


@pytest.mark.parametrize("of", ["eigh", "svd", "qr"])
def test_what_is_not_finite(of):
    a = np.stack([np.eye(3), np.full((3, 3), np.nan), np.zeros((3, 3))]).astype(np.float32)
    found = [np.array(x) for x in tf.function(getattr(tf.linalg, of))(a)]
    for x in found:
        assert np.isfinite(x[[0, 2]]).all() and (
            np.isnan(x[1]).any() if of == "qr" else np.isnan(x[1]).all()
        )
    assert not found[of == "qr"][2].any() or of != "eigh"


def test_a_matrix_without_factor_is_nan_from_there_on():
    a = np.diag(np.array([4, -1, 9, 1], np.float32))
    (factor,) = both(tf.function(lambda x: [tf.linalg.cholesky(x)]), a)
    assert factor[0, 0] == 2 and np.isnan(factor[np.tril_indices(4)][1:]).sum() >= 6
    assert not np.triu(factor, 1).any()


def filter_step(ys, rate):
    """A Kalman filter, as a loop with everything in it."""
    matrix = tf.constant([[1.0, 0.1], [0.0, 1.0]])

    def body(t, m, p, total):
        p = matrix @ p @ tf.transpose(matrix) + rate * tf.eye(2)
        s = p[:1, :1] + 0.1
        factor = tf.linalg.cholesky(s)
        gain = tf.transpose(tf.linalg.cholesky_solve(factor, p[:1]))
        error = ys[t] - m[0]
        total -= 0.5 * error**2 / s[0, 0] + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))
        return t + 1, m + gain[:, 0] * error, p - gain @ p[:1], total

    start = (0, tf.zeros([2]), tf.eye(2), 0.0)
    return tf.while_loop(lambda t, *_: t < 30, body, start)[3]


def test_a_loop_with_matrices_in_it_is_one_program(rng):
    ys = rng.normal(size=30).astype(np.float32)
    nodes = planned(tf.function(filter_step), ys, np.float32(0.01))
    assert sorted(n.op for n in nodes) == [FUSED_LOOP, "Loop"]
    both(tf.function(filter_step), ys, np.float32(0.01))


def test_gradients_go_through_routines(rng):
    @tf.function
    def slope(ys, rate):
        with tf.GradientTape() as tape:
            tape.watch(rate)
            total = filter_step(ys, rate)
        return total, tape.gradient(total, rate)

    ys = rng.normal(size=30).astype(np.float32)
    found = both(slope, ys, np.float32(0.01))
    ends = [filter_step(tf.constant(ys), tf.constant(0.01 + d)) for d in (1e-3, -1e-3)]
    np.testing.assert_allclose(found[1], (ends[0] - ends[1]) / 2e-3, rtol=2e-2)

    @tf.function
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.linalg.logdet(tf.eye(3) * x + 1.0) ** 2)
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    both(second, np.float32(2.0))


def test_unknown_sizes(rng):
    specs = [tf.TensorSpec([None, None, None]), tf.TensorSpec([None, None, None])]

    @tf.function(input_signature=specs)
    def run(a, b):
        def body(i, x):
            return i + 1, tf.linalg.solve(a, x) + tf.linalg.triangular_solve(
                tf.linalg.cholesky(a), b
            )

        return tf.while_loop(lambda i, _: i < 3, body, (0, b))[1]

    a, b = spd(rng, 2, 4, 4), rng.normal(size=(2, 4, 3)).astype(np.float32)
    expected = b
    for _ in range(3):
        expected = np.linalg.solve(a, expected) + np.linalg.solve(np.linalg.cholesky(a), b)
    np.testing.assert_allclose(run(a, b), expected, rtol=1e-4, atol=1e-5)


def test_a_constant_of_one_number():
    @tf.function
    def run(x):
        return tf.linalg.cholesky([[4.0]]) + tf.linalg.solve([[2.0]], x)

    assert run(tf.constant([[6.0]])).numpy() == 5


def test_the_graph_that_is_saved_has_none(tmp_path, rng):
    module = tf.Module()
    module.run = tf.function(filter_step, input_signature=[tf.TensorSpec([30]), tf.TensorSpec([])])
    ys = tf.constant(rng.normal(size=30).astype(np.float32))
    expected = module.run(ys, 0.01)
    tf.saved_model.save(module, str(tmp_path / "bundle"))
    again = tf.saved_model.load(str(tmp_path / "bundle"))
    np.testing.assert_allclose(again.run(ys, tf.constant(0.01)), expected, rtol=1e-4)
    graph = module.run.get_concrete_function()._observed.make_pure().graph
    assert not any(n.op == "MatrixRoutine" for n in prepare(graph, portable=True).all_nodes())
