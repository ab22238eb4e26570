"""Optimizers that make variables small or zero, and rows that a gradient does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1
train = v1.train

# What TensorFlow 2.21 has after ten steps.
EXPECTED = {
    "ftrl": [0.333907, -0.42858, 1.414162, 0.000999],
    "ftrl with strengths": [0.305672, -0.413021, 1.404322, 0.0],
    "ftrl with shrinkage": [0.319136, -0.010604, -0.289425, 0.000804],
    "descent": [0.410737, -0.107374, -0.677877, 0.001966],
    "descent with strengths": [0.168394, 0.0, -0.511361, 0.0],
    "adagrad": [0.400069, -0.555946, 1.515149, 0.001],
    "adagrad with strengths": [0.14949, -0.399172, 1.444733, 0.0],
}
MADE: dict[str, Callable[[], Any]] = {
    "ftrl": lambda: train.FtrlOptimizer(0.1),
    "ftrl with strengths": lambda: train.FtrlOptimizer(
        0.1, l1_regularization_strength=0.3, l2_regularization_strength=0.1
    ),
    "ftrl with shrinkage": lambda: train.FtrlOptimizer(
        0.2, -0.3, 0.5, l2_shrinkage_regularization_strength=0.2, beta=0.3
    ),
    "descent": lambda: train.ProximalGradientDescentOptimizer(0.1),
    "descent with strengths": lambda: train.ProximalGradientDescentOptimizer(0.1, 0.5, 0.2),
    "adagrad": lambda: train.ProximalAdagradOptimizer(0.1),
    "adagrad with strengths": lambda: train.ProximalAdagradOptimizer(0.1, 0.2, 0.5, 0.2),
}


@pytest.mark.parametrize("name", MADE)
def test_ten_steps(name: str) -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        v = v1.Variable([0.5, -1.0, 2.0, 0.01])
        loss = v1.reduce_sum((v - [0.4, 0.0, -1.0, 0.001]) ** 2)
        step = MADE[name]().minimize(loss)
        session.run(v1.global_variables_initializer())
        for _ in range(10):
            session.run(step)
        np.testing.assert_allclose(session.run(v), EXPECTED[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "moves"),
    [
        (lambda: train.MomentumOptimizer(0.1, 0.9), False),
        (lambda: train.RMSPropOptimizer(0.1, momentum=0.5), False),
        (lambda: train.AdadeltaOptimizer(1.0), False),
        (lambda: train.FtrlOptimizer(0.1, l1_regularization_strength=0.3), False),
        (lambda: train.ProximalGradientDescentOptimizer(0.1, 0.5), False),
        (lambda: train.AdamOptimizer(0.1), True),
    ],
    ids=["momentum", "rmsprop", "adadelta", "ftrl", "proximal", "adam"],
)
def test_rows_without_a_gradient_stay(make: Callable[[], Any], moves: bool) -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        v = v1.Variable(np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2))
        places = v1.placeholder(tf.int32, [None])
        step = make().minimize(v1.reduce_sum(v1.gather(v, places) ** 2))
        session.run(v1.global_variables_initializer())
        session.run(step, {places: [0, 2]})
        before = session.run(v)
        session.run(step, {places: [0]})
        after = session.run(v)
    assert (before[0] != after[0]).all() and before[1].tolist() == [3.0, 4.0]
    assert (before[2] != after[2]).all() == moves
    assert after[1].tolist() == [3.0, 4.0]


def test_refusals() -> None:
    with pytest.raises(ValueError, match="learning_rate_power"):
        train.FtrlOptimizer(0.1, 0.5)
    with pytest.raises(ValueError, match="must be positive"):
        train.ProximalAdagradOptimizer(0.1, 0.0)
