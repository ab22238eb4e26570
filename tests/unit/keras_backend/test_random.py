"""Random numbers: the same from a seed everywhere, of the dtype asked for, of any size."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

keras = tf.keras
random = keras.src.backend.random

CASES = {
    "beta": lambda s: random.beta(s, 2.0, 3.0, seed=1),
    "binomial": lambda s: random.binomial(s, 5.0, 0.3, seed=1),
    "categorical": lambda s: random.categorical(tf.zeros(s), 4, seed=1),
    "gamma": lambda s: random.gamma(s, 2.0, seed=1),
    "normal": lambda s: random.normal(s, 1.0, 2.0, seed=1),
    "randint": lambda s: random.randint(s, 2, 9, seed=1),
    "truncated_normal": lambda s: random.truncated_normal(s, seed=1),
    "uniform": lambda s: random.uniform(s, -1.0, 1.0, seed=1),
}
ALONG = {
    "dropout": lambda x: random.dropout(x, 0.5, seed=1),
    "dropout of rows": lambda x: random.dropout(x, 0.5, (None, 1), seed=1),
    "shuffle": lambda x: random.shuffle(x, -1, seed=1),
}
X = np.arange(1, 61, dtype="float32").reshape(6, 10)


@pytest.mark.parametrize("name", [*CASES, *ALONG])
def test_a_graph_of_unknown_sizes_draws_the_same(name):
    function = ALONG.get(name) or (lambda x: CASES[name](tf.shape(x)))
    traced = tf.function(function, input_signature=[tf.TensorSpec([None, None])])
    np.testing.assert_allclose(traced(X), function(tf.constant(X)), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ["beta", "binomial", "gamma", "normal", "uniform"])
def test_numbers_have_the_dtype_asked_for(name, dtype):
    arguments = {"beta": (2.0, 3.0), "binomial": (5.0, 0.3), "gamma": (2.0,)}.get(name, ())
    found = getattr(random, name)((100,), *arguments, dtype=dtype, seed=3)
    assert found.dtype == dtype
    assert np.isfinite(np.array(found, "float64")).all()


def test_dropout_keeps_the_mean_and_its_slopes():
    x = tf.ones([200, 200])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = random.dropout(x, 0.25, seed=1)
    assert abs(float(tf.reduce_mean(y)) - 1) < 0.02
    np.testing.assert_allclose(tape.gradient(y, x), y)
    np.testing.assert_array_equal(random.dropout(x, 1.0, seed=1), np.zeros((200, 200)))
    rows = random.dropout(x, 0.25, (200, 1), seed=1)
    np.testing.assert_array_equal(rows, np.repeat(rows[:, :1], 200, 1))


def test_a_generator_goes_on_inside_a_graph():
    generator = keras.random.SeedGenerator(5)
    draw = tf.function(lambda: keras.random.normal((3,), seed=generator))
    first, second = np.array(draw()), np.array(draw())
    assert (first != second).all()
    other = keras.random.SeedGenerator(5)
    np.testing.assert_allclose(keras.random.normal((3,), seed=other), first, rtol=1e-6)
