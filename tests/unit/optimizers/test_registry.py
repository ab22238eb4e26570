"""Optimizers by name and as plain values; constructor defaults against Keras's."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tfx as tf
from tests.unit.optimizers import keras_runs


@pytest.mark.parametrize("name", keras_runs.DEFAULTS)
def test_defaults_are_those_of_keras(name: str) -> None:
    config = getattr(tf.optimizers, name)().get_config()
    assert config.pop("name") == name.lower()
    expected = keras_runs.OPTIONS | keras_runs.DEFAULTS[name]
    rate = config.pop("learning_rate")
    assert rate == pytest.approx(expected.pop("learning_rate"), rel=1e-7)
    assert config == expected


@pytest.mark.parametrize("name", keras_runs.DEFAULTS)
def test_round_trip(name: str) -> None:
    schedule = tf.optimizers.schedules.CosineDecay(0.5, 10)
    optimizer = getattr(tf.optimizers, name)(schedule, clipnorm=2.0, use_ema=True, name="mine")
    config = json.loads(json.dumps(tf.optimizers.serialize(optimizer)))
    copied = tf.optimizers.deserialize(config)
    assert type(copied) is type(optimizer)
    assert copied.get_config() == optimizer.get_config()
    assert copied.name == "mine"


@pytest.mark.parametrize("name", ["adam", "Adam", "ADAM", "sgd", "rmsprop", "adamw", "ftrl"])
def test_get_by_name(name: str) -> None:
    found = tf.optimizers.get(name)
    assert found is not None
    assert type(found).__name__.lower() == name.lower()


def test_get_others() -> None:
    optimizer = tf.optimizers.Adam()
    assert tf.optimizers.get(optimizer) is optimizer
    assert tf.optimizers.get(None) is None
    made: Any = tf.optimizers.get({"class_name": "SGD", "config": {"momentum": 0.5}})
    assert made.momentum == 0.5


def test_get_errors() -> None:
    with pytest.raises(ValueError, match="Unknown optimizer: 'adagard'; did you mean 'adagrad'"):
        tf.optimizers.get("adagard")
    with pytest.raises(ValueError, match="Could not interpret optimizer identifier: 3"):
        tf.optimizers.get(3)


def test_classes_of_ones_own() -> None:
    class Mine(tf.optimizers.SGD):
        pass

    config = tf.optimizers.serialize(Mine(0.25))
    assert type(tf.optimizers.deserialize(config, {"Mine": Mine})) is Mine
    with pytest.raises(ValueError, match="Unknown optimizer: 'Mine'"):
        tf.optimizers.deserialize(config)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"lr": 0.1}, TypeError, "not recognized: 'lr'; use learning_rate"),
        ({"decay": 0.1}, TypeError, "'decay'; use a schedule"),
        ({"clip_norm": 0.1}, TypeError, "'clip_norm'; use clipnorm"),
        ({"clipnorm": 1.0, "clipvalue": 1.0}, ValueError, "Only one of `clipnorm`"),
        ({"ema_momentum": 1.5}, ValueError, r"in the range \[0, 1\]. Received: ema_momentum=1.5"),
        ({"ema_overwrite_frequency": 0}, ValueError, "integer >= 1 or None"),
        ({"gradient_accumulation_steps": 1}, ValueError, "integer >= 2 or None"),
        ({"gradient_accumulation_steps": 2.5}, ValueError, "steps=2.5"),
        ({"clipnorm": -1.0}, ValueError, "`clipnorm` must not be negative. Received: clipnorm=-1"),
        ({"name": "a b"}, ValueError, "not a valid module name"),
    ],
)
def test_bad_options(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        tf.optimizers.SGD(**options)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("SGD", {"momentum": 1.5}, "`momentum` must be a float between"),
        ("AdamW", {"weight_decay": None}, "`weight_decay` must be a float"),
        ("Lion", {"beta_1": 0.0}, "degenerates to SignSGD"),
        ("Ftrl", {"initial_accumulator_value": -1.0}, "needs to be positive or zero"),
        ("Ftrl", {"l1_regularization_strength": -1.0}, "l1_regularization_strength=-1.0"),
        ("Ftrl", {"learning_rate_power": 0.5}, "needs to be negative or zero"),
    ],
)
def test_bad_arguments(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(tf.optimizers, name)(**arguments)
