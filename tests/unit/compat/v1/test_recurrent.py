"""TensorFlow 1's cells against NumPy, and the loops that run them against one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1
cells = v1.nn.rnn_cell
rng = np.random.default_rng(0)
X = rng.random((3, 6, 4), np.float32)
LENGTHS = np.array([6, 2, 4], np.int32)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _load(session: Any) -> dict[str, Any]:
    values = {}
    for i, variable in enumerate(v1.global_variables()):
        drawn = np.random.default_rng(i).random(variable.shape.as_list(), np.float32) - 0.5
        variable.load(drawn, session)
        values[variable.name] = drawn
    return values


def _run(build: Any) -> tuple[Any, dict[str, Any]]:
    with v1.Graph().as_default(), v1.Session() as session:
        outputs = build()
        session.run(v1.global_variables_initializer())
        values = _load(session)
        return session.run(outputs), values


def test_lstm_step_with_everything() -> None:
    def build() -> Any:
        cell = cells.LSTMCell(5, use_peepholes=True, cell_clip=0.2, num_proj=3, proj_clip=0.1)
        return cell(tf.constant(X[:, 0]), cells.LSTMStateTuple(tf.ones([3, 5]), tf.ones([3, 3])))

    (output, state), v = _run(build)
    v = {name.removeprefix("lstm_cell/").removesuffix(":0"): x for name, x in v.items()}
    joined = np.concatenate([X[:, 0], np.ones((3, 3), np.float32)], 1)
    i, j, f, o = np.split(joined @ v["kernel"] + v["bias"], 4, 1)
    c = _sigmoid(f + 1 + v["w_f_diag"]) + _sigmoid(i + v["w_i_diag"]) * np.tanh(j)
    c = np.clip(c, -0.2, 0.2)
    m = _sigmoid(o + v["w_o_diag"] * c) * np.tanh(c)
    m = np.clip(m @ v["projection/kernel"], -0.1, 0.1)
    np.testing.assert_allclose(state.c, c, rtol=1e-5)
    np.testing.assert_allclose(output, m, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(output, state.h)


def test_gru_step() -> None:
    (output, state), v = _run(lambda: cells.GRUCell(5)(tf.constant(X[:, 0]), tf.ones([3, 5])))
    old = np.ones((3, 5), np.float32)
    gates = _sigmoid(
        np.concatenate([X[:, 0], old], 1) @ v["gru_cell/gates/kernel:0"]
        + v["gru_cell/gates/bias:0"]
    )
    r, u = np.split(gates, 2, 1)
    c = np.tanh(
        np.concatenate([X[:, 0], r * old], 1) @ v["gru_cell/candidate/kernel:0"]
        + v["gru_cell/candidate/bias:0"]
    )
    np.testing.assert_allclose(output, u * old + (1 - u) * c, rtol=1e-5)
    np.testing.assert_array_equal(output, state)


CELLS = {
    "basic": lambda: cells.BasicRNNCell(5),
    "lstm": lambda: cells.LSTMCell(5),
    "flat lstm": lambda: cells.BasicLSTMCell(5, state_is_tuple=False),
    "stack": lambda: cells.MultiRNNCell([cells.GRUCell(5), cells.LSTMCell(3)]),
    "residual": lambda: cells.ResidualWrapper(cells.GRUCell(4)),
    "device": lambda: cells.DeviceWrapper(cells.GRUCell(4), "/cpu:0"),
}


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["full", "lengths"])
@pytest.mark.parametrize("name", CELLS)
def test_loops_and_written_out_steps_agree(name: str, lengths: Any) -> None:
    def looped() -> Any:
        outputs, state = v1.nn.dynamic_rnn(CELLS[name](), tf.constant(X), lengths, dtype=tf.float32)
        slopes = v1.gradients(v1.reduce_sum(outputs * outputs), v1.trainable_variables())
        return outputs, tf.nest.flatten(state), slopes

    def written_out() -> Any:
        pieces = tf.unstack(tf.constant(X), axis=1)
        outputs, state = v1.nn.static_rnn(
            CELLS[name](), pieces, dtype=tf.float32, sequence_length=lengths
        )
        stacked = tf.stack(outputs, 1)
        slopes = v1.gradients(v1.reduce_sum(stacked * stacked), v1.trainable_variables())
        return stacked, tf.nest.flatten(state), slopes

    (first, names), (second, others) = _run(looped), _run(written_out)
    assert names.keys() == others.keys()
    for a, b in zip(tf.nest.flatten(first), tf.nest.flatten(second), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    if lengths is not None:
        assert not first[0][1, 2:].any() and first[0][1, :2].any()


def test_lengths_keep_the_state_of_sequences_that_ended() -> None:
    def build() -> Any:
        x = v1.placeholder_with_default(X, [None, None, 4])
        return v1.nn.dynamic_rnn(cells.GRUCell(5), x, LENGTHS, dtype=tf.float32, scope="s")

    (outputs, state), values = _run(build)
    assert next(iter(values)) == "s/gru_cell/gates/kernel:0"
    for row, length in enumerate(LENGTHS):
        np.testing.assert_array_equal(state[row], outputs[row, length - 1])


def test_both_directions() -> None:
    def build() -> Any:
        return v1.nn.bidirectional_dynamic_rnn(
            cells.GRUCell(5), cells.GRUCell(5), tf.constant(X), LENGTHS, dtype=tf.float32
        )

    def backward_alone() -> Any:
        turned = tf.reverse_sequence(tf.constant(X), LENGTHS, 1, 0)
        with v1.variable_scope("bidirectional_rnn"), v1.variable_scope("fw"):
            v1.nn.dynamic_rnn(cells.GRUCell(5), turned, LENGTHS, dtype=tf.float32)
        with v1.variable_scope("bidirectional_rnn"), v1.variable_scope("bw"):
            out, _ = v1.nn.dynamic_rnn(cells.GRUCell(5), turned, LENGTHS, dtype=tf.float32)
        return tf.reverse_sequence(out, LENGTHS, 1, 0)

    ((_, back), _), _ = _run(build)
    expected, _ = _run(backward_alone)
    np.testing.assert_allclose(back, expected, rtol=1e-5)


def test_dropout_of_a_sequence_drops_the_same_elements() -> None:
    def build() -> Any:
        cell = cells.DropoutWrapper(
            cells.LSTMCell(50),
            output_keep_prob=0.5,
            variational_recurrent=True,
            dtype=tf.float32,
        )
        return v1.nn.dynamic_rnn(cell, tf.constant(X), dtype=tf.float32)[0]

    found, _ = _run(build)
    dropped = found == 0
    assert (dropped == dropped[:, :1]).all() and 0.2 < dropped.mean() < 0.8


def test_raw_rnn_runs_as_it_is_told() -> None:
    def build() -> Any:
        cell = cells.BasicRNNCell(5)
        steps = tf.TensorArray(tf.float32, 6).unstack(tf.constant(X.transpose(1, 0, 2)))

        def tell(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
            state = tf.zeros([3, 5]) if output is None else state
            done = time >= LENGTHS
            rest = v1.cond(v1.reduce_all(done), lambda: tf.zeros([3, 4]), lambda: steps.read(time))
            return done, rest, state, output, None

        emitted, state, _ = v1.nn.raw_rnn(cell, tell)
        return tf.transpose(emitted.stack(), [1, 0, 2]), state

    def plain() -> Any:
        cell = cells.BasicRNNCell(5)
        return v1.nn.dynamic_rnn(cell, tf.constant(X), LENGTHS, dtype=tf.float32)

    (first, last), _ = _run(build)
    (second, state), _ = _run(plain)
    np.testing.assert_allclose(first, second, rtol=1e-5)
    np.testing.assert_allclose(last, state, rtol=1e-5)


def test_a_cell_of_the_programs_own() -> None:
    class Mine(cells.RNNCell):
        state_size = 3
        output_size = 2

        def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            w = v1.get_variable("w", [4, 3])
            state = tf.tanh(inputs @ w + args[0])
            return state[:, :2], state

    _, values = _run(lambda: v1.nn.dynamic_rnn(Mine(), tf.constant(X), dtype=tf.float32))
    assert list(values) == ["rnn/mine/w:0"]


def test_an_lstm_learns_a_sum() -> None:
    v1.set_random_seed(1)
    with v1.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(1)
        x = v1.placeholder(tf.float32, [None, 6, 4])
        y = v1.placeholder(tf.float32, [None, 1])
        outputs, _ = v1.nn.dynamic_rnn(cells.LSTMCell(8), x, dtype=tf.float32)
        loss = v1.losses.mean_squared_error(y, v1.layers.dense(outputs[:, -1], 1))
        step = v1.train.AdamOptimizer(0.05).minimize(loss)
        session.run(v1.global_variables_initializer())
        feeds = {x: X, y: X.sum((1, 2))[:, None] / 10}
        first = session.run(loss, feeds)
        for _ in range(30):
            session.run(step, feeds)
        assert session.run(loss, feeds) < 0.3 * first


def test_refusals() -> None:
    with v1.Graph().as_default():
        with pytest.raises(ValueError, match="must give a dtype"):
            v1.nn.dynamic_rnn(cells.GRUCell(2), tf.constant(X))
        with pytest.raises(TypeError, match="not an RNNCell"):
            v1.nn.dynamic_rnn("cell", tf.constant(X), dtype=tf.float32)
        with pytest.raises(ValueError, match="for a batch of 3"):
            v1.nn.dynamic_rnn(cells.GRUCell(2), tf.constant(X), [1, 2], dtype=tf.float32)
        with pytest.raises(ValueError, match="must be between 0 and 1"):
            cells.DropoutWrapper(cells.GRUCell(2), 1.5)
