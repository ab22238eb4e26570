"""Batching rules of ``RNN``, ``GRU`` and ``LSTM``."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.vectorize.elementwise import Case, check, check_all, normal, whole

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def case(op, direction="forward", layout=0, may=(0, 4, 5), **more):
    two, gates = 2 if direction == "bidirectional" else 1, GATES[op]
    x, state = ((2, 4, 3), (2, two, 5)) if layout else ((4, 2, 3), (two, 2, 5))
    attrs = {"hidden_size": 5, "direction": direction, "layout": layout}
    inputs = (
        normal(*x), normal(two, gates * 5, 3), normal(two, gates * 5, 5), normal(two, gates * 10),
        whole(1, 5, 2, dtype=np.int32), normal(*state),
    )  # fmt: skip
    return Case(op, attrs, inputs, may, 3 if op == "LSTM" else 2, **more)


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_sequences(op, direction, layout):
    check_all(case(op, direction, layout))


def test_weights_take_a_loop():
    check(case("GRU", may=(1,), loops=True), (1,), traced=False)


def test_gradients_of_each_sequence():
    """A gradient inside of the map, and the Jacobian of what an LSTM returns."""
    made = [np.random.default_rng(i).standard_normal(s).astype(np.float32) for i, s in
            enumerate([(3, 4, 1, 2), (1, 12, 2), (1, 12, 3)])]  # fmt: skip
    x, w, r = map(tf.constant, made)

    def slope(e):
        with tf.GradientTape() as tape:
            tape.watch(e)
            y = tf.reduce_sum(tf.raw.LSTM(e, w, r, hidden_size=3, n_outputs=1) ** 2)
        return tape.gradient(y, e)

    found = tf.function(lambda v: tf.vectorized_map(slope, v, fallback_to_while_loop=False))(x)
    for k in range(3):
        np.testing.assert_allclose(found[k].numpy(), slope(x[k]).numpy(), rtol=1e-4, atol=1e-6)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(r)
        y = tf.reshape(tf.raw.LSTM(x[0], w, r, hidden_size=3, n_outputs=1)[-1], [-1])
    fast = tape.jacobian(y, r)
    slow = tape.jacobian(y, r, experimental_use_pfor=False)
    np.testing.assert_allclose(fast.numpy(), slow.numpy(), rtol=1e-4, atol=1e-6)
