"""The comparison of fused plans with other frameworks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from bench.fused import __main__ as driver
from bench.fused import networks, worker


def test_every_row_is_known_to_the_worker() -> None:
    assert {row.case for row in driver.ROWS} == set(worker._tensorflow_cases(tf))


@pytest.mark.parametrize("name", ["tiny", "loop"])
def test_small_programs_compute_the_same(name: str) -> None:
    cases = worker._tensorflow_cases(tf)
    case = cases[name]()
    case.round(0.001)
    steps = worker.ITERATIONS if name == "loop" else worker.ITERATIONS // 2
    expected = 1.01**steps * 2 - 1  # the fixed point is -1
    assert case.first_value == pytest.approx(expected, rel=1e-4)


def test_the_gradient_of_a_path() -> None:
    """Two paths whose beginnings differ a little say the same."""
    case = worker._tensorflow_cases(tf)["path"]()
    case.round(0.001)

    def loss(state: np.ndarray[Any, Any]) -> float:
        total = 0.0
        for _ in range(worker.ITERATIONS):
            velocity = state[1] - 0.01 * np.sin(state[0])
            state = np.stack([state[0] + 0.01 * velocity, velocity])
            total += float(np.mean(state[0] ** 2))
        return total / worker.ITERATIONS

    begin, step = networks.pendulums().astype(np.float64), np.zeros((2, 20))
    step[0, 0] = 1e-5
    slope = (loss(begin + step) - loss(begin - step)) / 2e-5
    assert case.first_value == pytest.approx(slope, rel=1e-3)


def test_the_perceptron_learns() -> None:
    ops = networks.tensorflow_ops(tf)
    weights = [tf.Variable(w) for w in networks.perceptron_weights()]
    x, labels = networks.perceptron_data()
    losses = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = networks.perceptron_loss(ops, weights, x, labels)
        for w, g in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(0.1 * g)
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True)


def test_the_sampler_keeps_the_energy_with_small_steps() -> None:
    """With networks that do nothing a step of L2HMC is one of Hamiltonian dynamics."""
    ops = networks.tensorflow_ops(tf)
    weights = [np.zeros_like(w) for w in networks.sampler_weights()]
    weights[-1] = np.float32(np.log(1e-3))
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=(2, networks.CHAINS, networks.DIM)).astype(np.float32)
    _, proposal, accepted = networks.sampler_loss(ops, weights, x, v)
    assert float(tf.reduce_min(accepted)) > 0.99
    # Each of the ten steps moves both coordinates by the momentum.
    np.testing.assert_allclose(proposal, x + 1e-2 * v, atol=1e-2)
