"""Training that is interrupted goes on as if it had not been."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf

INPUTS = np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)
TARGETS = INPUTS.sum(1, keepdims=True) ** 2


class Dense(tf.Module):
    """A layer that makes its variables when it is first called."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.units = units

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        if not hasattr(self, "kernel"):
            rng = np.random.default_rng(self.units)
            shape = (int(x.shape[-1]), self.units)
            self.kernel = tf.Variable(rng.normal(size=shape).astype(np.float32))
            self.bias = tf.Variable(np.zeros(self.units, np.float32))
        return x @ self.kernel + self.bias


class Model(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [Dense(8), Dense(1)]

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        first, second = self.layers
        return second(tf.nn.relu(first(x)))


def make(optimizer: str, traced: bool) -> tuple[tf.train.Checkpoint, Callable[[], float]]:
    model = Model()
    rule = getattr(tf.optimizers, optimizer)(0.01)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(tf.constant(INPUTS)) - tf.constant(TARGETS)) ** 2)
        variables = model.trainable_variables
        rule.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    run = tf.function(step) if traced else step
    return tf.train.Checkpoint(model=model, optimizer=rule), lambda: float(run())


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("optimizer", ["Adam", "SGD", "RMSprop"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_going_on_from_a_checkpoint(
    tmp_path: Path, optimizer: str, traced: bool, when: str
) -> None:
    checkpoint, step = make(optimizer, traced)
    for _ in range(3):
        step()
    path = checkpoint.save(tmp_path / "c")
    expected = [step() for _ in range(3)]
    other, step = make(optimizer, traced)
    if when == "after":
        step()  # all variables exist
    status = other.restore(path)
    if when == "after":
        status.assert_consumed()
    assert [step() for _ in range(3)] == expected
    status.assert_consumed()


def test_names_of_slots(tmp_path: Path) -> None:
    checkpoint, step = make("Adam", traced=True)
    step()
    names = {name for name, _ in tf.train.list_variables(checkpoint.write(tmp_path / "c"))}
    model = {f"model/layers/{i}/{part}" for i in (0, 1) for part in ("kernel", "bias")}
    assert model < names
    slots = {name for name in names if name.startswith("optimizer/") and "/model/" in name}
    assert {name.partition("/model/")[2] for name in slots} == {
        name.removeprefix("model/") for name in model
    }
    assert len(slots) == 2 * len(model)


def test_layers_that_are_added_change_nothing_for_the_others(tmp_path: Path) -> None:
    checkpoint, step = make("Adam", traced=False)
    step()
    path = checkpoint.write(tmp_path / "c")
    other, step = make("Adam", traced=False)
    other.model.layers.insert(0, Dense(3))
    other.model.__class__ = type("Deeper", (Model,), {"__call__": _all_layers})
    step()
    rename = {"model/layers/0": "model/layers/1", "model/layers/1": "model/layers/2"}
    status = other.read(path, rename=rename)
    assert {row.path for row in status.report.missing} >= {"model/layers/0/kernel"}
    assert not status.report.unexpected
    for old, new in zip(checkpoint.model.layers, other.model.layers[1:], strict=True):
        np.testing.assert_array_equal(old.kernel.numpy(), new.kernel.numpy())


def _all_layers(self: Model, x: tf.Tensor) -> tf.Tensor:
    for layer in self.layers:
        x = layer(x)
    return x
