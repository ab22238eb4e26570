"""Activations keep the small end of their range: eagerly, traced, saved, in every float type.

What is expected is computed by NumPy in a longer type from the functions' definitions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.ulps import ulps
from tfx.graph.ir import Graph
from tfx.graph.kernels.accurate_activations import gates
from tfx.graph.kernels.legalize import legalize
from tfx.runtime.session import Session
from tfx.runtime.values import from_numpy, to_numpy

EDGES = (-np.inf, -1e4, -745.0, -709.5, -103.0, -89.0, -88.0, -40.0, -37.0, -20.0, -18.0, -15.0,
         -1e-3, -1e-30, -0.0, 0.0, 1e-30, 1e-3, 15.0, 17.4, 20.0, 40.0, 89.0, 745.0, np.inf,
         np.nan)  # fmt: skip


def wide_sigmoid(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


FUNCTIONS = {
    "sigmoid": (tf.sigmoid, wide_sigmoid, 4),
    "tanh": (tf.tanh, np.tanh, 6),
    "softplus": (tf.math.softplus, lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), 5),
    "log_sigmoid": (tf.math.log_sigmoid,
                    lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))), 5),
}  # fmt: skip


def points(kind: str) -> Any:
    rng = np.random.default_rng(7)
    spread = np.concatenate([rng.normal(size=2000) * s for s in (1e-3, 1, 10, 60)])
    return tf.cast(tf.constant(np.concatenate([EDGES, spread])), kind)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_relative_accuracy_everywhere(name: str, kind: str) -> None:
    function, wide, bound = FUNCTIONS[name]
    x = points(kind)
    with np.errstate(all="ignore"):
        wanted = wide(np.asarray(tf.cast(x, "float64")).astype(np.longdouble))
    # Six more roundings in float64, in which tanh is the kernel's.
    limit = bound + 3 if kind == "float64" else bound
    for found in (function(x), tf.function(function)(x)):
        assert found.dtype.name == kind
        assert ulps(found, wanted) <= limit


def test_numbers_that_were_wrong() -> None:
    np.testing.assert_allclose(
        tf.sigmoid([-15.0, -20.0]), [3.0590222692562472e-07, 2.0611536181902037e-09], rtol=5e-7
    )
    x = tf.constant([-100.0, -700.0], "float64")
    np.testing.assert_allclose(tf.sigmoid(x), np.exp([-100.0, -700.0]), rtol=1e-15)
    np.testing.assert_allclose(tf.nn.silu(-20.0), -4.1223072448771154e-08, rtol=5e-7)


def test_a_cross_entropy_by_hand() -> None:
    logits = tf.constant([-88.0, -18.0, 0.0, 3.0])

    def loss(x: Any) -> Any:
        return -tf.math.log(tf.sigmoid(x))

    for function in (loss, tf.function(loss)):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            found = function(logits)
        np.testing.assert_allclose(found, [88.0, 18.0, 0.6931472, 0.04858735], rtol=1e-6)
        wanted = [-1.0, -1.0, -0.5, -0.04742587]
        np.testing.assert_allclose(tape.gradient(found, logits), wanted, rtol=1e-5)


def test_tanh_stays_within_one() -> None:
    x = np.linspace(-10, 10, 200_001, dtype=np.float32)
    for function in (tf.tanh, tf.function(tf.tanh)):
        assert np.abs(function(tf.constant(x)).numpy()).max() == 1.0
    rest = tf.function(lambda x: tf.math.log(1.0 - tf.tanh(x) ** 2))(tf.constant(x))
    assert not np.isnan(rest.numpy()).any()


def test_what_is_saved_is_of_standard_operators(tmp_path: Any) -> None:
    module = tf.Module()
    spec = [tf.TensorSpec([None], "float32")]
    module.f = tf.function(lambda x: tf.sigmoid(x) + tf.math.softplus(x), input_signature=spec)
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.f)
    session = Session((tmp_path / "m" / "serving_default.onnx").read_bytes())
    x = np.array([-20.0, -3.0], np.float32)
    found = to_numpy(session.run({session.input_names[0]: from_numpy(x)})[0])
    wide = x.astype(np.float64)
    np.testing.assert_allclose(found, wide_sigmoid(wide) + np.log1p(np.exp(wide)), rtol=1e-6)
    again = tf.saved_model.load(str(tmp_path / "m"))
    np.testing.assert_array_equal(again.f(tf.constant(x)), found)


@pytest.mark.parametrize("op", ["Sigmoid", "Tanh", "Softplus"])
def test_half_of_a_graph_that_is_made_legal_again_stays(op: str) -> None:
    graph = Graph("g")
    x = graph.add_input("x", 10, (3,))
    graph.outputs = [graph.add_node(op, (x,), {}, [(10, (3,))]).outputs[0]]
    once = legalize(graph)
    assert [n.op for n in legalize(once).nodes] == [n.op for n in once.nodes]


def body_of(function: Any) -> Graph:
    x = tf.constant([1.0, 2.0])

    def loop(x: Any) -> Any:
        return tf.while_loop(lambda t, h: t < 3, lambda t, h: (t + 1, function(h, x)), (0, x))[1]

    graph = tf.function(loop).get_concrete_function(x).graph.graph
    (found,) = [n for n in graph.nodes if n.op == "Loop"]
    return found.attrs["body"]


def test_gates_of_a_recurrent_network_are_the_kernels() -> None:
    def gru(h: Any, x: Any) -> Any:
        z, r = tf.sigmoid(h + x), tf.sigmoid(h - x)
        new = tf.tanh(tf.tensordot(r * h, x, 1) + x)
        return (1.0 - z) * h + z * new

    body = body_of(gru)
    assert len(gates(body)) >= 2


NO_GATES = {
    "returned": lambda h, x: tf.sigmoid(h + x),
    "logarithm": lambda h, x: tf.math.log(tf.sigmoid(h + x)) * h,
    "silu": lambda h, x: tf.nn.silu(h + x) + h,
    "logarithm of a product": lambda h, x: tf.math.log(tf.sigmoid(h + x) * x) + h,
    "scaled": lambda h, x: 0.5 * tf.sigmoid(h + x) + h,
    "square": lambda h, x: 1.0 - tf.tanh(h) ** 2 + x,
    "product with itself": lambda h, x: 1.0 - tf.tanh(h) * tf.tanh(h) + x,
    "difference": lambda h, x: 1.0 - tf.sigmoid(h) * x,
}


@pytest.mark.parametrize("name", NO_GATES)
def test_other_activations_in_loops_are_no_gates(name: str) -> None:
    assert not gates(body_of(NO_GATES[name]))


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_slopes_in_the_tails(kind: str) -> None:
    x = np.array([-80.0, -40.0, -20.0, -3.0, 0.0, 3.0, 20.0, 80.0])
    down, up = wide_sigmoid(x.astype(np.longdouble)), wide_sigmoid(-x.astype(np.longdouble))
    slopes = {
        tf.math.softplus: down,
        tf.math.log_sigmoid: up,
        tf.nn.silu: down * (1 + x * up),
    }
    given = tf.constant(x, kind)
    limit = 1e-6 if kind == "float32" else 2e-14
    for function, wanted in slopes.items():
        for way in (function, tf.function(function)):
            with tf.GradientTape() as tape:
                tape.watch(given)
                y = way(given)
            np.testing.assert_allclose(tape.gradient(y, given), wanted.astype(float), rtol=limit)
    # Of the sigmoid itself and of tanh it is computed from the result, as in TensorFlow: relatively
    # accurate below 0, and to one unit of 1 above.
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(given)
        y, z = tf.sigmoid(given), tf.tanh(given)
    slope, unit = tape.gradient(y, given).numpy(), float(np.finfo(kind).eps)
    wanted = (down * up).astype(float)
    np.testing.assert_allclose(slope[x < 0], wanted[x < 0], rtol=limit)
    np.testing.assert_allclose(slope, wanted, rtol=limit, atol=unit)
    slope = tape.gradient(z, given).numpy()
    assert (slope >= 0).all()
    np.testing.assert_allclose(slope, 1 / np.cosh(x) ** 2, rtol=1e-5, atol=8 * unit)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_cross_entropies_of_extreme_logits(kind: str) -> None:
    x = tf.constant([-700.0, -80.0, -20.0, 0.0, 20.0, 80.0, 700.0], kind)
    small = np.log1p(np.exp(-np.abs(x.numpy().astype(np.longdouble)))).astype(float)
    ones = tf.ones_like(x)
    found = tf.nn.sigmoid_cross_entropy_with_logits(ones, x)
    limit = 4 * float(np.finfo(kind).eps)
    tiny = float(np.finfo(kind).tiny)
    wanted = np.maximum(-x.numpy(), 0) + small
    np.testing.assert_allclose(found, wanted, rtol=limit, atol=tiny)
    pairs = tf.stack([x, tf.zeros_like(x)], 1)
    found = tf.nn.softmax_cross_entropy_with_logits([[1.0, 0.0]] * 7, pairs)
    # A logarithm of a sum that is 1 plus little: to one unit of 1.
    np.testing.assert_allclose(found, wanted, rtol=limit, atol=float(np.finfo(kind).eps))


def test_a_sigmoid_of_what_is_not_far_below_0_keeps_its_kernel():
    signature = [tf.TensorSpec([None], tf.float32)]
    bounded = tf.function(lambda x: tf.sigmoid(tf.tanh(x)), input_signature=signature)
    free = tf.function(lambda x: tf.sigmoid(x), input_signature=signature)
    kept = [node.op_type for node in bounded.get_concrete_function().as_onnx().graph.node]
    written = [node.op_type for node in free.get_concrete_function().as_onnx().graph.node]
    assert "Sigmoid" in kept
    assert "Sigmoid" not in written
    x = np.linspace(-20, 20, 100_001, dtype=np.float32)
    inner = tf.tanh(x).numpy().astype(np.float64)
    expected = 1 / (1 + np.exp(-inner))
    error = np.abs(bounded(x).numpy() - expected) / np.spacing(expected.astype(np.float32))
    assert error.max() <= 4
