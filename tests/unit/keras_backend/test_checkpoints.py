"""Checkpoints that are restored before a Keras object has its variables: they get them later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf

keras = pytest.importorskip("tfx.keras")

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "adam": lambda: keras.optimizers.Adam(0.1),
    "amsgrad with averages": lambda: keras.optimizers.Adam(0.1, amsgrad=True, use_ema=True),
    "accumulated gradients": lambda: keras.optimizers.SGD(
        0.1, momentum=0.9, gradient_accumulation_steps=2
    ),
    "rows and columns": lambda: keras.optimizers.Adafactor(0.1),
    "scaled loss": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Nadam(0.1)),
    "centered": lambda: keras.optimizers.RMSprop(0.1, momentum=0.9, centered=True),
}


@pytest.mark.parametrize("how", ["eagerly", "built first", "in a function"])
@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_slots_arrive_when_an_optimizer_gets_them(
    make: Callable[[], Any], how: str, tmp_path: Path
) -> None:
    def step(optimizer: Any, v: tf.Variable, slope: float) -> None:
        optimizer.apply_gradients([(tf.ones_like(v) * slope, v)])

    optimizer, v = make(), tf.Variable([[1.0, 2.0]])
    checkpoint = tf.train.Checkpoint(optimizer=optimizer, v=v)
    for slope in (0.1, 0.2, 0.3):
        step(optimizer, v, slope)
    path = checkpoint.save(tmp_path / "checkpoint")
    step(optimizer, v, 0.9)

    other, w = make(), tf.Variable([[1.0, 2.0]])
    status = tf.train.Checkpoint(optimizer=other, v=w).restore(path)
    if how == "built first":
        other.build([w])
    if how == "in a function":
        tf.function(lambda: step(other, w, 0.9))()
    else:
        step(other, w, 0.9)
    np.testing.assert_allclose(w, v, rtol=1e-6)
    status.assert_consumed()


class Grown(keras.layers.Layer):
    """A layer whose variables are private, or in a list and a dict that are filled late."""

    def build(self, shape: Any) -> None:
        self._hidden = self.add_weight(shape=(shape[-1],))
        self._more: list[Any] = []
        self._more.append(self.add_weight(shape=()))
        self._named: dict[str, Any] = {}
        self._named["a"] = self.add_weight(shape=())

    def call(self, x: Any) -> Any:
        return x * self._hidden + self._more[0] + self._named["a"]


@pytest.mark.parametrize("given", [False, True], ids=["built by its first call", "with an input"])
def test_layers_get_their_weights_when_they_are_built(given: bool, tmp_path: Path) -> None:
    def make(given: bool = False) -> Any:
        layers: list[Any] = [keras.Input((3, 4))] if given else []
        layers += [keras.layers.Dense(3), keras.layers.BatchNormalization(), Grown()]
        layers += [keras.Sequential([keras.layers.LSTM(2)]), keras.layers.Dense(1)]
        return keras.Sequential(layers)

    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    model = make(given)
    wanted = model(x)
    path = tf.train.Checkpoint(model=model).save(tmp_path / "checkpoint")
    other = make()
    status = tf.train.Checkpoint(model=other).restore(path)
    np.testing.assert_allclose(other(x), wanted, rtol=1e-6)
    status.assert_consumed()
