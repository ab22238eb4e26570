"""What TensorFlow's guides do with control flow, by the functional forms."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


def test_collatz():
    """How many steps a number takes to 1: a loop whose length depends on the data."""

    @tf.function
    def steps(n):
        def body(n, count):
            return tf.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), count + 1

        return tf.while_loop(lambda n, _: n > 1, body, (n, 0))[1]

    assert [int(steps(tf.constant(n))) for n in (1, 6, 27)] == [0, 8, 111]


def test_square_if_positive():
    @tf.function
    def f(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x * x, lambda: -x // 2)

    np.testing.assert_array_equal(f(tf.constant([2, 3])).numpy(), [4, 9])
    np.testing.assert_array_equal(f(tf.constant([-4, -2])).numpy(), [2, 1])


def test_fizzbuzz():
    @tf.function
    def fizz(n):
        def word(i):
            return tf.case(
                [
                    (i % 15 == 0, lambda: tf.constant("fizzbuzz")),
                    (i % 5 == 0, lambda: tf.constant("buzz")),
                    (i % 3 == 0, lambda: tf.constant("fizz")),
                ],
                default=lambda: tf.constant("-"),
            )

        return tf.map_fn(word, tf.range(1, n + 1), fn_output_signature=tf.string)

    assert b" ".join(fizz(tf.constant(6)).numpy().tolist()) == b"- - fizz - buzz fizz"


def test_a_dynamic_rnn():
    """The guide's loop over time steps with a TensorArray for the outputs."""
    rng = np.random.default_rng(0)
    cell = tf.Variable(rng.normal(size=(4, 4)), dtype=tf.float32)

    @tf.function(input_signature=[tf.TensorSpec([None, None, 4]), tf.TensorSpec([4])])
    def run(data, initial):
        data = tf.transpose(data, [1, 0, 2])
        steps = tf.shape(data)[0]
        states = tf.TensorArray(tf.float32, size=steps)

        def body(i, state, states):
            state = tf.tanh(state @ cell + data[i])
            return i + 1, state, states.write(i, state)

        start = tf.zeros([tf.shape(data)[1], 4]) + initial
        _, _, states = tf.while_loop(lambda i, *_: i < steps, body, (0, start, states))
        return tf.transpose(states.stack(), [1, 0, 2])

    data = rng.normal(size=(2, 5, 4)).astype(np.float32)
    expected, state = [], np.zeros((2, 4), np.float32)
    for i in range(5):
        state = np.tanh(state @ cell.numpy() + data[:, i])
        expected.append(state)
    np.testing.assert_allclose(
        run(data, np.zeros(4, np.float32)).numpy(), np.stack(expected, 1), rtol=1e-4, atol=1e-5
    )


def test_gradients_follow_the_branch_taken():
    """The autodiff guide: a tape records the operations that ran."""
    x, v0, v1 = tf.constant(1.0), tf.Variable(2.0), tf.Variable(2.0)

    @tf.function
    def f(x):
        return tf.cond(x > 0.0, lambda: v0 * 1.0, lambda: v1**2.0)

    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        result = f(x)
    dv0, dv1 = tape.gradient(result, [v0, v1])
    assert dv0.numpy() == 1.0
    assert dv1.numpy() == 0.0
    assert tape.gradient(result, x) is None


def test_a_training_loop_in_one_graph():
    """All steps of a training in one call: the variables are the loop's state."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200,)).astype(np.float32)
    y = (3.0 * x + 2.0 + 0.01 * rng.normal(size=200)).astype(np.float32)
    w, b, seen = tf.Variable(0.0), tf.Variable(0.0), tf.Variable(0)
    optimizer = tf.optimizers.SGD(0.1)

    @tf.function
    def train(x, y, steps):
        losses = tf.TensorArray(tf.float32, size=steps)

        def body(i, losses):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((x * w + b - y) ** 2.0)
            optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b], strict=True))
            seen.assign_add(1)
            return i + 1, losses.write(i, loss)

        return tf.while_loop(lambda i, _: i < steps, body, (0, losses))[1].stack()

    losses = train(x, y, tf.constant(100)).numpy()
    assert losses.shape == (100,)
    assert losses[-1] < 1e-3 < losses[0]
    np.testing.assert_allclose([w.numpy(), b.numpy()], [3.0, 2.0], atol=0.01)
    assert (seen.numpy(), optimizer.iterations.numpy()) == (100, 100)


def test_newton_until_converged():
    """Differentiating through a loop that runs until it has converged."""

    @tf.function
    def root(a):
        def going(x, before):
            return tf.abs(x - before) > 1e-12

        return tf.while_loop(going, lambda x, _: ((x + a / x) / 2.0, x), (a, a + 1.0))[0]

    a = tf.constant(2.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(a)
        x = root(a)
    np.testing.assert_allclose(x.numpy(), np.sqrt(2.0))
    np.testing.assert_allclose(tape.gradient(x, a).numpy(), 0.5 / np.sqrt(2.0))


def test_greedy_decoding(tmp_path):
    """A decoding loop with early stop, saved and run by stock ONNX Runtime."""
    onnxruntime = pytest.importorskip("onnxruntime")
    table = np.array([[0, 9, 0, 0], [0, 0, 9, 0], [0, 0, 0, 9], [9, 0, 0, 0]], np.float32)

    class Decoder(tf.Module):
        def __init__(self):
            self.table = tf.Variable(table)

        @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32)])
        def decode(self, first, limit):
            tokens = tf.TensorArray(tf.int32, size=0, dynamic_size=True)

            def going(i, token, _):
                return tf.logical_and(i < limit, token != 3)

            def body(i, token, tokens):
                following = tf.argmax(self.table[token], output_type=tf.int32)
                return i + 1, following, tokens.write(i, following)

            return tf.while_loop(going, body, (0, first, tokens))[2].stack()

    decoder = Decoder()
    assert decoder.decode(0, 10).numpy().tolist() == [1, 2, 3]
    assert decoder.decode(0, 2).numpy().tolist() == [1, 2]
    path = tmp_path / "decoder"
    tf.saved_model.save(decoder, path)
    session = onnxruntime.InferenceSession(
        path / "serving_default.onnx", providers=["CPUExecutionProvider"]
    )
    given = {"first": np.array(1, np.int32), "limit": np.array(9, np.int32)}
    assert session.run(None, given)[0].tolist() == [2, 3]
    assert tf.saved_model.load(path).decode(0, 10).numpy().tolist() == [1, 2, 3]
