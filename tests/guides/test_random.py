"""Random numbers: generators, stateless functions, seeds. The numbers are tfx's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfx as tf


def test_generators_from_seeds() -> None:
    a, b = tf.random.Generator.from_seed(1), tf.random.Generator.from_seed(1, alg="philox")
    np.testing.assert_array_equal(a.normal(shape=[2, 3]), b.normal(shape=[2, 3]))
    first = a.normal([])
    assert first != a.normal([])
    a.reset_from_seed(1)
    a.normal(shape=[2, 3])
    assert first == a.normal([])
    other = tf.random.Generator.from_non_deterministic_state()
    assert other.uniform([2, 3]).shape == (2, 3)
    with pytest.raises(ValueError, match="alg"):
        tf.random.Generator.from_seed(1, alg="dice")


def test_distributions() -> None:
    g = tf.random.Generator.from_seed(2)
    x = g.normal([20_000], mean=3.0, stddev=2.0).numpy()
    assert abs(x.mean() - 3.0) < 0.1
    assert abs(x.std() - 2.0) < 0.1
    u = g.uniform([20_000], minval=-1, maxval=3).numpy()
    assert u.min() >= -1
    assert u.max() < 3
    n = g.uniform([1000], minval=0, maxval=10, dtype=tf.int32).numpy()
    assert set(n) == set(range(10))
    assert abs(g.truncated_normal([1000]).numpy()).max() <= 2.0


def test_splitting() -> None:
    parts = tf.random.Generator.from_seed(1).split(3)
    assert len({float(p.normal([])) for p in parts}) == 3


def test_state() -> None:
    g = tf.random.Generator.from_seed(3)
    twin = tf.random.Generator.from_state(g.state, alg=g.algorithm)
    assert isinstance(g.state, tf.Variable)
    before = g.state.numpy()
    np.testing.assert_array_equal(before, twin.state)
    g.normal([])
    assert (g.state.numpy() != before).any()


def test_in_functions() -> None:
    g: tf.random.Generator | None = None

    @tf.function
    def once() -> tf.Tensor:
        nonlocal g
        if g is None:
            g = tf.random.Generator.from_seed(1)
        return g.normal([])

    expected = tf.random.Generator.from_seed(1)
    assert once() == expected.normal([])
    assert once() == expected.normal([])

    @tf.function
    def given(g: tf.random.Generator) -> tf.Tensor:
        return g.normal([])

    other = tf.random.Generator.from_seed(1)
    assert given(other) == tf.random.Generator.from_seed(1).normal([])


def test_stateless_functions() -> None:
    a = tf.random.stateless_normal(shape=[2, 3], seed=[1, 2])
    np.testing.assert_array_equal(a, tf.random.stateless_normal(shape=[2, 3], seed=[1, 2]))
    assert (a.numpy() != tf.random.stateless_normal(shape=[2, 3], seed=[1, 3]).numpy()).any()


def test_global_seed() -> None:
    tf.random.set_seed(5)
    a, b = tf.random.uniform([2]), tf.random.uniform([2])
    tf.random.set_seed(5)
    np.testing.assert_array_equal(a, tf.random.uniform([2]))
    np.testing.assert_array_equal(b, tf.random.uniform([2]))
    assert (a.numpy() != b.numpy()).any()

    @tf.function
    def draw() -> tf.Tensor:
        return tf.random.uniform([])

    assert draw() != draw()  # fresh numbers at every call


def test_saving_a_generator(tmp_path: Path) -> None:
    g = tf.random.Generator.from_seed(1)
    ckpt = tf.train.Checkpoint(generator=g)
    path = ckpt.write(str(tmp_path / "generator"))
    first = g.normal([])
    assert g.normal([]) != first
    ckpt.restore(path)
    assert g.normal([]) == first

    class Dice(tf.Module):
        def __init__(self) -> None:
            self.g = tf.random.Generator.from_seed(0)

        @tf.function
        def throw(self) -> tf.Tensor:
            return self.g.uniform([], 1, 7, tf.int32)

        @tf.function
        def state(self) -> tf.Tensor:
            return self.g.state

    dice = Dice()
    dice.throw()
    dice.state()
    tf.saved_model.save(dice, str(tmp_path / "dice"))
    loaded = tf.saved_model.load(str(tmp_path / "dice"))
    assert [int(loaded.throw()) for _ in range(20)] == [int(dice.throw()) for _ in range(20)]
    np.testing.assert_array_equal(loaded.state(), dice.state())
