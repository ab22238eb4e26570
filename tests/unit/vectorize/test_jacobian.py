"""``GradientTape.jacobian`` and ``batch_jacobian``: values, shapes, settings, refusals."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.ops.common import registration as registration

_rng = np.random.default_rng(3)
W1 = tf.Variable(_rng.normal(size=(5, 4)))
W2 = tf.Variable(_rng.normal(size=(4, 3)))
X = tf.constant(_rng.normal(size=(2, 5)))


def _network(x: Any) -> Any:
    return tf.nn.elu(x @ W1) @ W2


def _differences(f: Callable[[Any], Any], x: Any, step: float = 1e-5) -> np.ndarray[Any, Any]:
    """Central differences of ``f`` at ``x``, in float64."""
    at = x.numpy()
    columns = []
    for i in np.ndindex(*at.shape):
        moved = np.zeros_like(at)
        moved[i] = step
        ahead, behind = f(tf.constant(at + moved)), f(tf.constant(at - moved))
        columns.append((ahead.numpy() - behind.numpy()) / (2 * step))
    whole = np.stack(columns, -1)
    return whole.reshape(*whole.shape[:-1], *at.shape)


def _jacobian(f: Callable[[Any], Any], x: Any, **options: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    return tape.jacobian(y, x, **options)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "network": _network,
    "scalar": lambda x: tf.reduce_sum(tf.sin(x) ** 2),
    "softmax": lambda x: tf.nn.softmax(x),
    "gather": lambda x: tf.gather(x, [1, 0, 1]) * x[0],
    "sort": lambda x: tf.sort(x, axis=1) ** 2,
    "cumprod": lambda x: tf.math.cumprod(x, axis=1),
    "norm": lambda x: tf.norm(x, axis=1),
    "conv": lambda x: tf.nn.conv1d(x[:, :, None], tf.reshape(W1[:4, :3], [2, 1, 6]), 2, "SAME"),
    "rank 3": lambda x: x[:, :, None] * W2[0],
    "loop": lambda x: tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, tf.sin(a) * x + a), (0, x)
    )[1],
    "branch": lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * x, lambda: tf.exp(x)),
    "call": tf.function(_network),
    "vectorized": lambda x: tf.vectorized_map(lambda r: tf.nn.softmax(r) * r[0], x),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_jacobian_is_that_of_central_differences(name: str) -> None:
    f = FUNCTIONS[name]
    wanted = _differences(f, X)
    found = {
        "eager": _jacobian(f, X),
        "of a call": _jacobian(tf.function(f), X),
        "in a function": tf.function(lambda x: _jacobian(f, x))(X),
        "in parts": _jacobian(f, X, parallel_iterations=4),
        "one by one": _jacobian(f, X, experimental_use_pfor=False),
        "one by one in a function": tf.function(
            lambda x: _jacobian(f, x, experimental_use_pfor=False)
        )(X),
    }
    for setting, j in found.items():
        assert j.shape == wanted.shape, setting
        np.testing.assert_allclose(j, wanted, rtol=1e-6, atol=1e-8, err_msg=setting)


@pytest.mark.parametrize("name", ["network", "softmax", "cumprod", "norm 2", "rank 3", "call"])
def test_batch_jacobian_is_the_diagonal_of_the_jacobian(name: str) -> None:
    f = (lambda x: tf.norm(x, axis=1, keepdims=True)) if name == "norm 2" else FUNCTIONS[name]

    def both(x: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x), tape.batch_jacobian(y, x)

    traced = tf.function(both, input_signature=[tf.TensorSpec([None, 5], tf.float64)])
    for j, b in (both(X), tf.function(both)(X), traced(X)):
        diagonal = np.stack([j.numpy()[i].take(i, axis=-2) for i in range(2)])
        np.testing.assert_allclose(b, diagonal, rtol=1e-12, atol=1e-14)


def test_structures_variables_and_what_is_not_connected() -> None:
    unused = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = _network(X)
    found = tape.jacobian(y, {"x": X, "w": [W1, unused]})
    assert found["x"].shape == (2, 3, 2, 5)
    assert found["w"][0].shape == (2, 3, 5, 4)
    assert found["w"][1] is None
    zero = tape.jacobian(y, unused, unconnected_gradients="zero")
    assert zero.shape == (2, 3, 2)
    assert zero.dtype is tf.float32
    assert not zero.numpy().any()
    sums = tape.gradient(y, W1)
    np.testing.assert_allclose(tf.reduce_sum(found["w"][0], [0, 1]), sums, rtol=1e-12)
    # As in TensorFlow, batch_jacobian has zeros where nothing is connected.
    other = tf.zeros([2, 3], tf.float64)
    assert not tape.batch_jacobian(other, X).numpy().any()
    assert tape.batch_jacobian(other, X).shape == (2, 3, 5)


def test_targets_that_are_variables_integers_or_empty() -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y = v * 2.0
        n = tf.cast(y, tf.int32)
        none = y[:0]
    np.testing.assert_array_equal(tape.jacobian(v, v), np.eye(2))
    assert tape.jacobian(n, v) is None
    assert tape.jacobian(none, v).shape == (0, 2)
    x = tf.zeros([0, 5], tf.float64)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.nn.elu(x) * x
    assert tape.batch_jacobian(y, x).shape == (0, 5, 5)
    assert tape.jacobian(y, x).shape == (0, 5, 0, 5)


def test_hessian_of_a_layer_as_the_guide_computes_it() -> None:
    def loss() -> Any:
        return tf.reduce_mean(tf.nn.elu(_network(X)) ** 2)

    def hessian() -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = loss()
            g = inner.gradient(y, W1)
        return outer.jacobian(g, W1)

    found = hessian()
    assert found.shape == (5, 4, 5, 4)
    matrix = found.numpy().reshape(20, 20)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12)
    start = W1.numpy()

    def gradient(w: Any) -> Any:
        W1.assign(w)
        with tf.GradientTape() as tape:
            y = loss()
        return tape.gradient(y, W1)

    wanted = _differences(gradient, tf.constant(start))
    W1.assign(start)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tf.function(hessian)(), wanted, rtol=1e-6, atol=1e-8)


def test_a_jacobian_can_be_differentiated() -> None:
    def penalty(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = _network(x)
        return tf.reduce_sum(tape.batch_jacobian(y, x) ** 2) + tf.reduce_sum(y)

    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = penalty(x)
        return tape.gradient(total, x)

    wanted = _differences(penalty, X)
    np.testing.assert_allclose(gradient(X), wanted, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(tf.function(gradient)(X), wanted, rtol=1e-5, atol=1e-8)


def test_per_example_gradients_by_unit_seeds() -> None:
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = _network(X)
    seeds = tf.reshape(tf.eye(6, dtype=tf.float64), [6, 2, 3])
    rows = tf.vectorized_map(lambda s: tape.gradient(y, X, output_gradients=s), seeds)
    np.testing.assert_allclose(
        tf.reshape(rows, [2, 3, 2, 5]), tape.jacobian(y, X), rtol=1e-12, atol=1e-14
    )


def test_one_backward_pass_and_not_one_for_each_element() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return _jacobian(_network, x)

    products = [
        op for op in f.get_concrete_function(X).graph.get_operations() if op.type == "MatMul"
    ]
    assert len(products) == 4


def test_an_operator_without_gradient_is_named() -> None:
    x = tf.constant([[3.0, 1.0], [1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.py_function(lambda a: a * 2, [tf.unique(x[0])[0]], tf.float32)
    assert tape.jacobian(y, x) is None


def test_custom_gradients_are_used() -> None:
    @tf.custom_gradient
    def tripled(x: Any) -> Any:
        return x * x, lambda dy: 3.0 * dy * x

    x = tf.constant([1.0, 2.0])
    for f in (tripled, tf.function(tripled)):
        np.testing.assert_array_equal(_jacobian(f, x), [[3, 0], [0, 6]])


def _used(**options: Any) -> tuple[Any, Any, Any]:
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape(**options) as tape:
        tape.watch(x)
        y = x * x
    return tape, y, x


def test_tapes_that_are_used_up_are_refused() -> None:
    tape, y, x = _used()
    tape.jacobian(y, x)
    for method in (tape.jacobian, tape.batch_jacobian):
        with pytest.raises(RuntimeError, match="non-persistent GradientTape"):
            method(y, x)
    for name in ("jacobian", "batch_jacobian"):
        tape, y, x = _used()
        with pytest.raises(RuntimeError, match=f"persistent=True to compute the {name}"):
            getattr(tape, name)(y, x, experimental_use_pfor=False)
        getattr(tape, name)(y, x)


def test_arguments_that_make_no_sense_are_refused() -> None:
    tape, y, x = _used(persistent=True)
    with pytest.raises(TypeError, match="one Tensor or Variable"):
        tape.jacobian([y, y], x)
    with pytest.raises(TypeError, match="with respect to None"):
        tape.jacobian(y, [x, None])
    with pytest.raises(ValueError, match="unconnected_gradients"):
        tape.jacobian(y, x, unconnected_gradients="some")
    with pytest.raises(ValueError, match="at least 2"):
        tape.batch_jacobian(y[0], x)
    with pytest.raises(ValueError, match=r"\(1, 2\).*\(3, 2\).*to match"):
        tape.batch_jacobian(y, tf.zeros([3, 2]))
    with pytest.raises(ValueError, match="parallel_iterations"):
        tape.jacobian(y, x, parallel_iterations=0)


def test_inside_of_the_tapes_own_block(caplog: pytest.LogCaptureFixture) -> None:
    x = tf.constant([1.0, 2.0])
    with caplog.at_level(logging.ERROR, "tfx"), tf.GradientTape() as tape:
        tape.watch(x)
        j = tape.jacobian(x * x, x)
    np.testing.assert_array_equal(j, [[2, 0], [0, 4]])


def test_of_no_elements_one_after_another() -> None:
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x[:0] * 2.0
    assert tape.jacobian(y, x, experimental_use_pfor=False).shape == (0, 2, 1, 2)


def test_batch_jacobian_of_unknown_rank() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) * 2.0
        return tape.batch_jacobian(y, x)

    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    expected = [np.diag(2 * np.cos(row)) for row in x]
    np.testing.assert_allclose(f(tf.constant(x)), expected, rtol=1e-5, atol=1e-6)


def test_a_branch_by_what_a_loop_drew_is_the_same_for_all_elements_of_a_target():
    generator = tf.random.Generator.from_seed(3)

    @tf.function
    def f(x):
        for _ in tf.range(2):
            x = x * generator.normal([3], dtype=tf.float64)
        if tf.reduce_sum(x) > -100.0:
            x = x * x * generator.normal([3], dtype=tf.float64) * tf.reduce_sum(x)
        return x

    def twice(way, x):
        generator.reset_from_seed(3)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape(persistent=True) as inner:
                inner.watch(x)
                y = f(x)
                parts = tf.unstack(y)
            slopes = way(inner, y, parts, x)
        return outer.jacobian(slopes, x)

    x = tf.constant([0.3, 0.4, 0.5], tf.float64)
    at_once = twice(lambda tape, y, parts, x: tape.jacobian(y, x), x)
    by_rows = twice(lambda tape, y, parts, x: tf.stack([tape.gradient(p, x) for p in parts]), x)
    np.testing.assert_allclose(at_once, by_rows, rtol=1e-10)


@pytest.mark.parametrize("staged", [False, True], ids=["around", "inside"])
def test_what_a_branch_reads_behind_a_loop_that_assigns_depends_on_the_variable(staged):
    v = tf.Variable([0.3, -0.4], dtype=tf.float64)

    def f(x):
        for _ in tf.range(2):
            v.assign(tf.tanh(v + x))
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.sin(v * x), lambda: x)

    def twice(way, x):
        v.assign([0.3, -0.4])
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape(persistent=True) as inner:
                inner.watch(x)
                y = f(x) if staged else tf.function(f)(x)
                parts = tf.unstack(y)
            slopes = way(inner, y, parts, x)
        return outer.jacobian(slopes, [x, v])

    def rows(tape, y, parts, x):
        return tf.stack([tape.gradient(p, x) for p in parts])

    x = tf.constant([0.5, 0.8], tf.float64)
    run = tf.function(twice) if staged else twice
    found = run(lambda tape, y, parts, x: tape.jacobian(y, x), x)
    for a, b in zip(found, run(rows, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    now = np.tanh(np.tanh(np.array([0.3, -0.4]) + x.numpy()) + x.numpy())
    mixed = np.cos(now * x.numpy()) - now * x.numpy() * np.sin(now * x.numpy())
    np.testing.assert_allclose(np.einsum("iii->i", found[1]), mixed, rtol=1e-10)


def test_second_jacobians_assign_nothing_and_know_the_variable():
    v = tf.Variable(1.0, dtype=tf.float64)

    @tf.function
    def f(x, n):
        v.assign(tf.tanh(v + 1.0))
        for _ in tf.range(n):
            x = tf.sin(x) * v
        return x

    def twice(way):
        v.assign(1.0)
        x = tf.constant([0.3, 0.4], tf.float64)
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape(persistent=True) as inner:
                inner.watch(x)
                y = f(x, 3)
                parts = tf.unstack(y)
            v.assign(10.0)
            slopes = way(inner, y, parts, x)
        found = outer.jacobian(slopes, [x, v])
        assert float(v) == 10.0
        return found

    at_once = twice(lambda tape, y, parts, x: tape.jacobian(y, x))
    by_rows = twice(lambda tape, y, parts, x: tf.stack([tape.gradient(p, x) for p in parts]))
    for a, b in zip(at_once, by_rows, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
