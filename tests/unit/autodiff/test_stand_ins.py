"""Objects of other libraries that stand for variables: ``__tf_variable__``."""

from __future__ import annotations

from typing import Any

import numpy as np

import tfx as tf


class Weight:
    """A parameter of another library, which keeps its values in a variable."""

    def __init__(self, value: float) -> None:
        self.kept = tf.Variable(value)

    def __tf_variable__(self) -> tf.Variable:
        return self.kept

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> tf.Tensor:
        return self.kept.value()


def test_gradients_are_of_the_variable_meant() -> None:
    w = Weight(3.0)
    with tf.GradientTape() as tape:
        y = tf.square(w)
    (found,) = tape.gradient(y, [w])
    assert float(found) == 6.0
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(w)
        y = tf.square(w)
    assert float(tape.gradient(y, {"w": w})["w"]) == 6.0
    with tf.GradientTape() as tape:
        tape.watch(w)
    assert float(tape.gradient(w, w)) == 1.0


def test_tangents_and_steps() -> None:
    w = Weight(3.0)
    with tf.autodiff.ForwardAccumulator(w, tf.constant(2.0)) as accumulator:
        y = tf.square(w)
    np.testing.assert_allclose(accumulator.jvp(y), 12.0)
    np.testing.assert_allclose(accumulator.jvp(w), 2.0)
    tf.optimizers.SGD(0.5).apply_gradients([(tf.constant(2.0), w)])
    assert float(w.kept) == 2.0
