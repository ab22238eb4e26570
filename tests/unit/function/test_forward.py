"""Forward mode around, inside and through functions; the numbers are JAX's."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.function.gradients import pure_function

Accumulator = tf.autodiff.ForwardAccumulator


def wave(*shape: int, k: float = 0.0):
    """Numbers that both programs can make."""
    return tf.constant(np.sin(np.arange(int(np.prod(shape))) * 0.7 + k).reshape(shape))


def mlp(w1, w2):
    hidden = tf.tanh(wave(5, 4, k=0.3) @ w1)
    logits = hidden @ w2
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(tf.constant([0, 2, 1, 1, 0]), logits)
    )


def rnn(w1, w2):
    state, total = tf.zeros([3], tf.float64), tf.zeros([], tf.float64)
    for i in tf.range(6):
        row = wave(6, 4, k=0.1)[i]
        state = tf.tanh(
            tf.linalg.matvec(w2, state, transpose_a=True)
            + tf.linalg.matvec(w1, row, transpose_a=True)
        )
        total = total + tf.reduce_sum(state**2) * tf.cast(i, tf.float64)
    return total + tf.reduce_sum(state)


def norm(w1, w2):
    a = w1 @ w2
    mean, variance = tf.nn.moments(a, [1], keepdims=True)
    normed = (a - mean) / tf.sqrt(variance + 1e-3)
    total = tf.reduce_sum(normed * wave(4, 3, k=2.0)) + tf.reduce_logsumexp(a)
    return total + tf.reduce_prod(a[0]) + tf.norm(w1)


def conv(w1, w2):
    kernel = wave(3, 3, 1, 2) * w1[0, 0] + w1[0, 1] * w1[0, 2]
    y = tf.nn.relu(tf.nn.conv2d(wave(1, 6, 6, 1, k=0.5), kernel, 1, "SAME"))
    y = tf.nn.max_pool2d(y, 2, 2, "VALID")
    return tf.reduce_sum(tf.nn.gelu(y) * w2[0, 0])


# Value, derivative along a direction, two numbers of the Hessian times it, third derivative.
JAX = {
    mlp: (
        1.2659324127541796,
        -0.1997560183615824,
        [0.04049756108536762, 0.18374909502173842],
        -0.10096881855458449,
    ),
    rnn: (
        0.8505210727850642,
        -0.25170749050981145,
        [-8.93894500248639, 2.6201141656712963],
        -8.963112446263121,
    ),
    norm: (
        8.608446891199415,
        2.528526292183943,
        [55.621216821661534, 2.8499008915166897],
        708.8065935021104,
    ),
    conv: (
        36.819106910356375,
        -27.32645225675081,
        [37.49082510305899, -3.4989366268528688],
        -4.319201581233846,
    ),
}
# Some kernels of convolutions and pools exist in float32 only.
TOLERANCE = {conv: 2e-6}


def _point():
    primals = [wave(4, 3, k=1.0), wave(3, 3, k=2.0)]
    return primals, [wave(4, 3, k=3.0), wave(3, 3, k=4.0)]


def _all_orders(f, primals, tangents):
    with Accumulator(primals, tangents) as third, Accumulator(primals, tangents) as second:
        with Accumulator(primals, tangents) as first:
            y = f(*primals)
        slope = first.jvp(y)
    with Accumulator(primals, tangents) as acc:
        with tf.GradientTape() as tape:
            tape.watch(primals)
            z = f(*primals)
        gradients = tape.gradient(z, primals)
    products = [
        tf.reduce_sum(h * wave(*g.shape, k=5.0))
        for g, h in zip(gradients, acc.jvp(gradients), strict=True)
    ]
    return y, slope, products, third.jvp(second.jvp(slope))


@pytest.mark.parametrize("program", JAX, ids=[f.__name__ for f in JAX])
@pytest.mark.parametrize("way", ["eager", "around", "inside"])
def test_agrees_with_jax(program, way: str) -> None:
    primals, tangents = _point()
    if way == "eager" and program is not rnn:
        found = _all_orders(program, primals, tangents)
    elif way == "inside":
        found = tf.function(lambda p, t: _all_orders(tf.function(program), p, t))(primals, tangents)
    else:
        found = _all_orders(tf.function(program), primals, tangents)
    for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(JAX[program]), strict=True):
        np.testing.assert_allclose(float(a), b, rtol=TOLERANCE.get(program, 1e-9))


def test_one_graph_for_each_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    made, traces = [], []
    original = pure_function.pushed_forward

    def counted(function, needs):
        made.append(needs)
        return original(function, needs)

    monkeypatch.setattr(pure_function, "pushed_forward", counted)

    @tf.function
    def f(x, y):
        traces.append(x)
        return x * x * y

    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    for _ in range(3):
        with Accumulator(x, tf.ones(2)) as acc:
            z = f(x, y)
        np.testing.assert_allclose(acc.jvp(z), [6.0, 16.0])
    assert made == [(True, False)]
    for _ in range(2):
        with Accumulator([x, y], [tf.ones(2), tf.ones(2)]) as acc:
            z = f(x, y)
        np.testing.assert_allclose(acc.jvp(z), [7.0, 20.0])
    assert made == [(True, False), (True, True)]
    assert len(traces) == 1


def test_products_with_the_hessian_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    original = pure_function.pushed_forward
    monkeypatch.setattr(
        pure_function, "pushed_forward", lambda f, needs: made.append(needs) or original(f, needs)
    )
    v = tf.Variable([1.0, 2.0])
    f = tf.function(lambda: tf.reduce_sum(tf.sin(v) * v))
    for direction in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]):
        with Accumulator(v, tf.constant(direction)) as acc:
            with tf.GradientTape() as tape:
                y = f()
            gradient = tape.gradient(y, v)
        at = np.array([1.0, 2.0])
        expected = (2 * np.cos(at) - at * np.sin(at)) * direction
        np.testing.assert_allclose(acc.jvp(gradient), expected, rtol=1e-5)
    assert len(made) == 2


def test_a_whole_hessian() -> None:
    x = tf.constant([[0.5, -0.3], [0.2, 0.9]], tf.float64)
    f = tf.function(lambda x: tf.reduce_sum(tf.exp(x) @ tf.transpose(x) ** 2))

    def product(index):
        direction = tf.reshape(tf.one_hot(index, 4, dtype=tf.float64), [2, 2])
        with Accumulator(x, direction) as acc:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            gradient = tape.gradient(y, x)
        return tf.reshape(acc.jvp(gradient), [4])

    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        rows = tf.unstack(tf.reshape(inner.gradient(y, x), [4]))
    expected = [tf.reshape(outer.gradient(row, x), [4]) for row in rows]
    for found in (
        tf.map_fn(product, tf.range(4), fn_output_signature=tf.float64),
        tf.vectorized_map(product, tf.range(4)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_state_changes_once() -> None:
    v, x = tf.Variable(1.0), tf.constant(2.0)

    @tf.function
    def f(x):
        v.assign_add(1.0)
        return v * x

    with Accumulator(x, 1.0) as acc:
        y = f(x)
    assert (float(y), float(acc.jvp(y)), float(v)) == (4.0, 2.0, 2.0)
    with Accumulator(v, 1.0) as acc:
        y = f(x)
    assert (float(y), float(acc.jvp(y)), float(v)) == (6.0, 2.0, 3.0)


def test_what_python_does_happens_once() -> None:
    seen = []

    def note(x):
        seen.append(float(x))
        return x * x * x

    @tf.function
    def f(x):
        return tf.py_function(note, [x], tf.float32)

    x = tf.constant(2.0)
    with Accumulator(x, 1.0) as acc:
        y = f(x)
    assert float(acc.jvp(y)) == 12.0
    assert seen[0] == 2.0


def test_unknown_shapes() -> None:
    spec = [tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None], tf.float64)]

    @tf.function(input_signature=spec)
    def f(x, b):
        y = tf.nn.softmax(x + b) * tf.reduce_max(x, axis=1, keepdims=True)
        return tf.reduce_mean(tf.concat([y, tf.tile(x[:1] + b, [2, 1])], 0), axis=0)

    x, b = wave(3, 4), wave(4, k=1.0)
    tx, tb = wave(3, 4, k=2.0), wave(4, k=3.0)
    for primals, tangents in (([x, b], [tx, tb]), ([b], [tb])):
        with Accumulator(primals, tangents) as acc:
            found = acc.jvp(f(x, b))
        with Accumulator(primals, tangents) as acc:
            expected = acc.jvp(f.python_function(x, b))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_captured_constant_is_a_primal() -> None:
    x = tf.constant(1.1)
    f = tf.function(lambda: x**3.5)
    with Accumulator(x, 1.0) as acc:
        y = f()
    np.testing.assert_allclose(acc.jvp(y), 3.5 * 1.1**2.5, rtol=1e-6)


def test_an_accumulator_does_not_see_into_a_trace() -> None:
    x = tf.constant([1.0, 2.0])
    with Accumulator(x, tf.ones(2)) as acc:

        @tf.function
        def f(t):
            return acc.jvp(t * t), t * t

        inside, y = f(x)
    assert inside is None
    np.testing.assert_allclose(acc.jvp(y), [2.0, 4.0])


def test_functions_that_run_eagerly() -> None:
    tf.config.run_functions_eagerly(True)
    try:
        x = tf.constant(1.0)
        with Accumulator(x, 2.0) as acc:
            y = tf.function(lambda x: x * 3.0)(x)
        assert float(acc.jvp(y)) == 6.0
    finally:
        tf.config.run_functions_eagerly(False)


def test_loops_compute_once_what_they_computed() -> None:
    """The tangents are carried by the loop that is there; there is no second one."""

    @tf.function
    def f(x, t):
        with Accumulator(x, t) as acc:
            y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.sin(y) * x), (0, x))[1]
        return y, acc.jvp(y)

    x = tf.constant([1.0, 2.0])
    concrete = f.get_concrete_function(x, x)
    nodes = concrete.graph.graph.nodes
    (loop,) = [n for n in nodes if n.op == "Loop"]
    assert [n.op for n in loop.attrs["body"].nodes].count("Sin") == 1


def test_gradients_of_a_graph_are_differentiated() -> None:
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x):
        with Accumulator([x, v], [tf.ones_like(x), tf.zeros(2)]) as acc:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.cond(x[0] > 0.0, lambda: x**3 * v, lambda: x)
                dx, dv = tf.gradients(tf.reduce_sum(y), [x, v])
                product = tf.reduce_sum(dx * dv)  # 3 v x**5
            found = tape.gradient(product, [x, v])
        return found, acc.jvp(found)

    (by_x, by_v), (by_x_x, by_v_x) = f(tf.constant([1.0, 2.0]))
    np.testing.assert_allclose(by_x, [15.0, 480.0])
    np.testing.assert_allclose(by_v, [3.0, 96.0])
    np.testing.assert_allclose(by_x_x, [60.0, 960.0])
    np.testing.assert_allclose(by_v_x, [15.0, 240.0])


def test_a_captured_constant_of_loops_is_differentiated_twice() -> None:
    x = tf.constant([1.1, 2.2])

    def second(f):
        def run():
            with Accumulator(x, tf.ones(2)) as acc:
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.reduce_sum(f(x))
                gradient = tape.gradient(y, x)
            return acc.jvp(gradient)

        return run

    def squares(x):
        return tf.map_fn(lambda t: t * t * tf.sin(t), x)

    def branches(x):
        index = tf.cast(x[0], tf.int32)
        return tf.switch_case(index, [lambda: x, lambda: x**3, lambda: x + 1.0])

    at = np.array([1.1, 2.2])
    expected = 2 * np.sin(at) + 4 * at * np.cos(at) - at**2 * np.sin(at)
    np.testing.assert_allclose(tf.function(second(tf.function(squares)))(), expected, rtol=1e-4)
    np.testing.assert_allclose(tf.function(second(tf.function(branches)))(), 6 * at, rtol=1e-5)


def test_what_a_branch_assigns_and_uses_is_differentiated_twice() -> None:
    v, x = tf.Variable(0.4, dtype=tf.float64), tf.constant(0.3, tf.float64)

    def branch(x):
        v.assign(tf.sin(x))
        return tf.sin(v) * x

    @tf.function
    def f(x):
        with tf.GradientTape() as outer, Accumulator(v, tf.ones([], tf.float64)) as acc:
            with tf.GradientTape() as tape:
                y = tf.cond(x > 0.0, lambda: branch(x), lambda: x)
                v.assign(v * 2.0)
            slope = tape.gradient(y, v)
        return acc.jvp(slope), outer.gradient(slope, v)

    expected = -np.sin(np.sin(0.3)) * 0.3
    np.testing.assert_allclose(f(x), [expected, expected], rtol=1e-12)


def test_a_call_that_assigns_in_a_branch_is_differentiated_twice() -> None:
    v, x = tf.Variable(0.4, dtype=tf.float64), tf.constant(0.3, tf.float64)

    @tf.function
    def assigning(x):
        v.assign(tf.sin(v) + x)
        return tf.sin(v) * x

    f = tf.function(lambda x: tf.cond(x > 0.0, lambda: assigning(x), lambda: x))
    with tf.GradientTape() as outer, Accumulator(v, tf.ones([], tf.float64)) as acc:
        with tf.GradientTape() as tape:
            y = f(x)
        slope = tape.gradient(y, v)
    # What is read after the assignment depends on the variable with slope 1.
    expected = -np.sin(np.sin(0.4) + 0.3) * 0.3
    np.testing.assert_allclose(acc.jvp(slope), expected, rtol=1e-12)
    np.testing.assert_allclose(outer.gradient(slope, v), expected, rtol=1e-12)
