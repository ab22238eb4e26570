"""Recurrent layers: loops, unrolled steps and ONNX's operators give the same."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

keras = tf.keras
layers, backend = keras.layers, keras.src.backend

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 6, 4)).astype("float32")
MASK = np.array([[1, 1, 1, 0, 0, 0], [0, 1, 0, 1, 1, 0], [0] * 6], bool)

KINDS = {
    "bidirectional": lambda **options: layers.Bidirectional(layers.LSTM(5, **options)),
    "cells": lambda **options: layers.RNN([layers.LSTMCell(5), layers.GRUCell(3)], **options),
    "gru": lambda **options: layers.GRU(5, **options),
    "gru before": lambda **options: layers.GRU(5, reset_after=False, **options),
    "lstm": lambda **options: layers.LSTM(5, **options),
    "simple": lambda **options: layers.SimpleRNN(5, **options),
}


def outcome(layer, weights, mask, *, traced):
    """What the layer returns, and the slopes for its input and its weights."""
    layer.build(X.shape)
    for variable, weight in zip(layer.trainable_variables, weights, strict=False):
        variable.assign(np.resize(weight, variable.shape))

    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, mask=mask)
            squares = tf.math.square(y)
        variables = [v.value for v in layer.trainable_variables]
        return [y, *tape.gradient(squares, [x, *variables])]

    spec = [tf.TensorSpec([None, None, 4])]
    return (tf.function(run, input_signature=spec) if traced else run)(tf.constant(X))


@pytest.mark.parametrize("masked", [False, True], ids=["all", "masked"])
@pytest.mark.parametrize("kind", KINDS)
def test_loops_operators_and_unrolled_steps_agree(kind, masked):
    weights = [RNG.standard_normal(40).astype("float32") / 2 for _ in range(8)]
    mask = tf.constant(MASK) if masked else None
    unrolled = KINDS[kind](unroll=True, return_sequences=True)
    expected = outcome(unrolled, weights, mask, traced=False)
    for traced in (False, True):
        layer = KINDS[kind](return_sequences=True)
        for found, wanted in zip(
            outcome(layer, weights, mask, traced=traced), expected, strict=True
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_masked_steps_keep_or_clear_the_output():
    def add(x, states):
        return x + states[0], [x + states[0]]

    x, start = tf.ones([3, 6, 2]), [tf.zeros([3, 2])]
    for unroll in (False, True):
        _, kept, states = backend.rnn(add, x, start, mask=MASK, unroll=unroll)
        np.testing.assert_array_equal(kept[..., 0], np.cumsum(MASK, 1))
        np.testing.assert_array_equal(states[0][:, 0], MASK.sum(1))
        cleared = backend.rnn(add, x, start, mask=MASK, unroll=unroll, zero_output_for_mask=True)[1]
        np.testing.assert_array_equal(cleared[..., 0], np.cumsum(MASK, 1) * MASK)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_takes_the_loop(policy):
    for kind in ("gru", "lstm"):
        found = KINDS[kind](dtype=policy)(X)
        assert found.dtype == policy.removeprefix("mixed_")


def test_an_operator_is_there_for_what_it_computes_alone():
    assert backend.cudnn_ok(keras.activations.tanh, keras.activations.sigmoid, False, True)
    assert not backend.cudnn_ok(keras.activations.relu, keras.activations.sigmoid, False, True)
    assert not backend.cudnn_ok(keras.activations.tanh, keras.activations.sigmoid, True, True)


@pytest.mark.parametrize("kind", ["gru", "lstm", "simple"])
def test_the_batch_of_the_first_states_is_that_of_the_results(kind):
    layer = KINDS[kind](return_sequences=True, return_state=True)
    count = 2 if kind == "lstm" else 1

    @tf.function(input_signature=[tf.TensorSpec([None, 6, 4])])
    def step(x):
        states = [tf.zeros([3, 5])] * count
        for _ in tf.range(2):  # states of an open batch could not enter the loop again
            y, *states = layer(x, initial_state=states)
        assert y.shape == (3, 6, 5)
        return states

    assert [s.shape for s in step(X)] == [(3, 5)] * count
