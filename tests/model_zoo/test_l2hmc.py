"""L2HMC: its proposals are what Metropolis and Hastings ask for; it learns, resumes, is saved."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tfx as tf
from tests.model_zoo.programs import interrupt_and_resume
from tfx.model_zoo.l2hmc import train
from tfx.model_zoo.l2hmc.model import Sampler
from tfx.model_zoo.l2hmc.targets import Gaussian
from tfx.model_zoo.l2hmc.train import effective_sample_size


def strong() -> Sampler:
    """Give a sampler whose networks do something."""
    tf.random.set_seed(1)
    model = Sampler(Gaussian(), leapfrogs=3)
    for network in (model.momentum, model.position):
        network.heads.kernel.assign(30 * network.heads.kernel)
    return model


def test_a_trajectory_backwards_undoes_the_one_forwards() -> None:
    model = strong()
    x, v = tf.random.normal([50, 2]), tf.random.normal([50, 2])
    there_x, there_v, _ = model.trajectory(x, v, forward=True)
    assert float(tf.reduce_max(tf.abs(there_x - x))) > 0.1
    back_x, back_v, _ = model.trajectory(there_x, there_v, forward=False)
    np.testing.assert_allclose(back_x, x, atol=1e-4)
    np.testing.assert_allclose(back_v, v, atol=1e-4)


def test_the_change_of_volume_is_that_of_the_jacobian() -> None:
    model, state = strong(), tf.random.normal([1, 4])
    with tf.GradientTape() as tape:
        tape.watch(state)
        x, v, _ = model.trajectory(state[:, :2], state[:, 2:], forward=True)
        end = tf.concat([x, v], axis=1)
    jacobian = tape.jacobian(end, state).numpy().reshape(4, 4)
    # log of (exp of the energies' difference and the volume), when the volume is what is left.
    model.energy = lambda x, v: tf.zeros_like(x[:, 0])
    volume = 0.0
    for forward in (True, False):  # one of the two is below 1, and not cut off
        begin = (state[:, :2], state[:, 2:]) if forward else (x, v)
        accept = model.trajectory(*begin, forward=forward)[2]
        volume += float(tf.math.log(accept)[0]) * (1 if forward else -1)
    assert volume == pytest.approx(np.log(abs(np.linalg.det(jacobian))), abs=1e-3)


def test_effective_sample_size_of_known_chains() -> None:
    assert effective_sample_size(np.array([1.0, 0.0, 0.0])) == 1.0
    # An autoregressive process with coefficient a has (1 - a) / (1 + a).
    rho = 0.5 ** np.arange(40)
    assert effective_sample_size(rho) == pytest.approx(1 / 3, rel=0.1)


@pytest.mark.slow
def test_it_learns_resumes_and_is_saved(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(train, "HMC_STEPS", (0.1,))
    monkeypatch.setattr(train, "Sampler", functools.partial(Sampler, leapfrogs=2))
    found = interrupt_and_resume(train.main, tmp_path, steps=6)
    assert set(found) == {"gaussian", "mixture"}
    loaded = tf.saved_model.load(tmp_path / "whole" / "gaussian" / "bundle")
    moved = loaded.signatures["sample"](x=tf.zeros([7, 2]))
    assert moved["x"].shape == [7, 2]
    losses = [float(loaded.signatures["train_step"]()["loss"]) for _ in range(3)]
    assert np.isfinite(losses).all()
