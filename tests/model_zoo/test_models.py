"""What the models of the zoo promise by themselves."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.model_zoo.char_lstm.model import CharLstm
from tfx.model_zoo.diffusion.model import Diffusion
from tfx.model_zoo.forces.data import lennard_jones, load
from tfx.model_zoo.forces.model import Energy
from tfx.model_zoo.policy_gradient import environment
from tfx.model_zoo.resnet50.model import ResNet
from tfx.model_zoo.tabular.model import Table
from tfx.model_zoo.vae.model import Autoencoder


def numerical(energy, x, step):
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[place] += sign * step
            ends.append(energy(moved))
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found


def test_forces_are_minus_the_gradient_of_the_energy():
    x = load(1, seed=0).positions
    forces = lennard_jones(x)[1]
    wanted = -numerical(lambda y: lennard_jones(y)[0][0], x.astype(np.float64), 1e-5)
    np.testing.assert_allclose(forces, wanted, rtol=1e-6, atol=1e-6)

    model = Energy()
    found = model.serve(x)
    wanted = -numerical(lambda y: float(model.serve(y)["energy"][0]), x, np.float32(1e-2))
    np.testing.assert_allclose(found["forces"], wanted, atol=2e-2 * np.abs(wanted).max())


def test_energies_do_not_change_with_place_direction_and_order():
    model, x = Energy(), load(5, seed=1).positions
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    moved = (x @ turn.astype(np.float32) + 0.5)[:, [2, 0, 3, 1]]
    before, after = (model.serve(y)["energy"].numpy() for y in (x, moved))
    np.testing.assert_allclose(after, before, rtol=1e-4)


def test_the_pole_falls_as_it_does_in_the_textbook():
    # The numbers of Gymnasium's CartPole for the same beginning and push.
    state = tf.constant([[0.01, 0.02, 0.03, 0.04], [0.0, 0.0, 0.0, 0.0]])
    after = environment.step(state, tf.constant([True, False])).numpy()
    np.testing.assert_allclose(after[1], [0, -0.19512195, 0, 0.29268293], atol=1e-6)
    np.testing.assert_allclose(after[0, [0, 2]], [0.0104, 0.0308], atol=1e-6)
    up = environment.stands(tf.constant([[0, 0, 0.2, 0], [2.5, 0, 0, 0], [2.3, 9, -0.2, 9]]))
    assert up.numpy().tolist() == [True, False, True]


def test_resnet_50_has_the_number_of_weights_that_it_is_known_for():
    model = ResNet()
    assert sum(v.shape.num_elements() for v in model.trainable_variables) == 25_557_032
    assert len(model.blocks) == 16


def test_resnet_judges_with_moments_that_it_has_seen():
    tf.random.set_seed(0)
    model = ResNet(8, 1, 10, depths=(1, 1), width=4, learning_rate=0.05)
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 10
    images = (rng.normal(size=(10, 8, 8, 1))[labels] + 3).astype(np.float32)
    losses = [float(model.train_step(images, labels)["loss"]) for _ in range(60)]
    assert losses[-1] < 0.3 * losses[0]
    assert np.mean(model.serve(images)["probabilities"].numpy().argmax(1) == labels) > 0.9


def test_an_lstm_writes_what_it_has_learned():
    tf.random.set_seed(0)
    model = CharLstm(units=32, width=8, learning_rate=2e-2)
    tokens = np.tile(np.array([97, 98, 99]), 8)
    for _ in range(60):
        loss = float(model.train_step(np.tile(tokens, (4, 1)))["loss"])
    assert loss < 0.5
    prompt = tf.constant(tokens[:4])
    written = model.generate(prompt, tf.constant(8), tf.constant(0.1))["tokens"]
    np.testing.assert_array_equal(written, tokens[:12])


def test_diffusion_begins_with_the_image_and_ends_in_noise():
    model = Diffusion(units=16, depth=1)
    assert model._left[0] > 0.999
    assert model._left[-1] < 1e-3
    assert (np.diff(model._left) < 0).all()
    drawn = model.sample(np.array([1, 2]))["image"].numpy()
    assert drawn.shape == (2, 8, 8)
    assert drawn.min() >= 0
    assert drawn.max() <= 1


def test_the_divergence_of_an_autoencoder_is_that_of_two_normals():
    model = Autoencoder(code=2, units=4)
    image = tf.zeros([1, 8, 8])
    mean, log_variance = (x.numpy()[0] for x in model.distribution(image))
    wanted = -0.5 * np.sum(1 + log_variance - mean**2 - np.exp(log_variance))
    assert float(model.losses(image, tf.zeros([1, 2]))[1]) == pytest.approx(wanted, rel=1e-5)


def test_a_table_standardizes_its_columns_in_the_graph():
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(200, 3)) * [1, 100, 0.01] + [0, 5000, 1]).astype(np.float32)
    labels = (rows[:, 1] > 5000).astype(np.int64)
    model = Table(rows, classes=2, units=16)
    for _ in range(150):
        model.train_step(rows, labels)
    assert np.mean(model.serve(rows)["probabilities"].numpy().argmax(1) == labels) > 0.95
