"""Keras models of any backend as modules."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx import loaders
from tfx.exporters import from_keras

pytest.importorskip("keras")
keras = tf.keras
L = keras.layers
RNG = np.random.default_rng(0)


def network() -> Any:
    keras.utils.set_random_seed(0)
    layers = [L.Input((6, 6, 2), name="image"), L.Conv2D(3, 3), L.BatchNormalization(), L.Flatten()]
    return keras.Sequential([*layers, L.Dropout(0.5), L.Dense(2, name="head")], name="net")


def test_inference_and_training_over_one_set_of_variables(tmp_path: Path) -> None:
    model = network()
    module = from_keras.export(model, tmp_path / "b", training=True)
    assert list(module.weights) and set(module.weights) == {v.path for v in model.variables}
    trained = {n for n, v in module.weights.items() if v.trainable}
    assert trained == {v.path for v in model.trainable_variables}
    x = RNG.normal(size=(4, 6, 6, 2)).astype(np.float32)
    np.testing.assert_allclose(module(x), model(x, training=False), rtol=1e-4, atol=1e-5)
    mean = next(v for n, v in module.weights.items() if n.endswith("moving_mean"))
    before = mean.numpy()
    first, second = module.call_train(x).numpy(), module.call_train(x).numpy()
    assert np.abs(first - second).max() > 0  # dropout goes on
    convolved = keras.layers.Conv2D.call(model.layers[0], x)
    batch = np.asarray(convolved).mean((0, 1, 2))
    np.testing.assert_allclose(mean.numpy(), before * 0.9801 + batch * 0.0199, rtol=1e-3, atol=1e-5)
    summary = loaders.summarize(tmp_path / "b")
    assert {item.name for item in summary.signatures} == {"serving_default", "train"}
    assert summary.manifest.metadata["source"] == "keras"
    assert summary.manifest.examples  # the model's own answers


def test_a_file_and_named_inputs_and_outputs(tmp_path: Path) -> None:
    a, b = L.Input((3,), name="a"), L.Input((2,), name="b", dtype="int32")
    embedded = L.Flatten()(L.Embedding(5, 2)(b))
    outputs = {"sum": L.Dense(2)(L.Concatenate()([a, embedded])), "first": L.Dense(1)(a)}
    model = keras.Model({"a": a, "b": b}, outputs)
    model.save(tmp_path / "m.keras")
    module = from_keras.to_module(tmp_path / "m.keras")
    given = {
        "a": RNG.normal(size=(3, 3)).astype(np.float32),
        "b": np.int32([[0, 1], [2, 3], [4, 0]]),
    }
    found, expected = module(**given), model(given)
    assert set(found) == {"sum", "first"}
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5)
    assert found["sum"].shape == (3, 2)


def test_code_in_a_file_needs_permission(tmp_path: Path) -> None:
    keras.Sequential([L.Input((2,)), L.Lambda(lambda x: x * 2)]).save(tmp_path / "l.keras")
    with pytest.raises(tf.errors.InvalidArgumentError, match="allow_pickle=True"):
        from_keras.to_module(tmp_path / "l.keras")
    module = from_keras.to_module(tmp_path / "l.keras", allow_pickle=True)
    np.testing.assert_array_equal(module(np.ones((1, 2), np.float32)), [[2, 2]])


@pytest.mark.parametrize(
    ("model", "error", "text"),
    [
        ("none.keras", FileNotFoundError, "there is no such file"),
        (3, ValueError, "expected a model of Keras 3"),
    ],
)
def test_what_is_no_model(model: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        from_keras.to_module(model)


def test_a_model_without_inputs_asks_for_them() -> None:
    class Double(keras.Model):  # type: ignore[misc, name-defined]
        def call(self, x: Any) -> Any:
            return x * 2

    with pytest.raises(tf.errors.InvalidArgumentError, match="declares no inputs: give the specs"):
        from_keras.to_module(Double())
    module = from_keras.to_module(Double(), inputs={"x": tf.TensorSpec([None, 2], tf.float32)})
    np.testing.assert_array_equal(module([[1.0, 2.0]]), [[2, 4]])


@pytest.mark.parametrize(
    ("weight", "first", "last"),
    [
        ("net/conv2d/bias", "net/conv2d", None),
        ("net/inner/one/kernel", "net/inner/one", "net/flatten"),
        ("net/head/bias", "net/head", "dropout"),
    ],
)
def test_a_difference_names_the_layer_and_leaves_nothing(
    weight: str, first: str, last: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A weight that goes wrong on its way into the bundle."""
    keras.utils.set_random_seed(0)
    inner = keras.Sequential([L.Dense(4, name="one"), L.ReLU()], name="inner")
    layers = [L.Input((6, 6, 2)), L.Conv2D(3, 3, name="conv2d"), L.Flatten(name="flatten"), inner]
    model = keras.Sequential(
        [*layers, L.Dropout(0.5, name="dropout"), L.Dense(2, name="head")], name="net"
    )
    read = from_keras.bundle_methods

    def reading(*args: Any) -> Any:
        methods, variables = read(*args)
        (wrong,) = [n for n in variables if n.endswith(weight.removeprefix("net/"))]
        variables[wrong] = replace(variables[wrong], value=variables[wrong].value + 1)
        return methods, variables

    monkeypatch.setattr(from_keras, "bundle_methods", reading)
    with pytest.raises(tf.errors.InvalidArgumentError, match="first layer that differs") as caught:
        from_keras.export(model, tmp_path / "b")
    assert f"first layer that differs is {first!r}" in str(caught.value)
    if last is not None:
        assert f"the last is {last!r}" in str(caught.value)
    assert not list(tmp_path.iterdir())
    assert "call" not in vars(model.layers[0])  # it is watched no longer


def test_made_up_inputs_that_do_not_suit_are_said(tmp_path: Path) -> None:
    class Reshaped(keras.Model):  # type: ignore[misc, name-defined]
        def call(self, x: Any) -> Any:
            return keras.ops.reshape(x, (7, -1, 11))

    inputs = {"x": tf.TensorSpec([None], tf.float32)}
    with pytest.warns(UserWarning, match="saved without being compared.*sizes that suit"):
        from_keras.export(Reshaped(), tmp_path / "b", inputs=inputs)
    from_keras.export(Reshaped(), tmp_path / "c", inputs={"x": tf.TensorSpec([77], tf.float32)})


@pytest.mark.slow
def test_a_model_of_another_backend_goes_through_a_process(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    program = """
    import sys
    import keras, numpy as np
    from tfx.exporters import from_keras
    model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2)], name="net")
    module = from_keras.export(model, sys.argv[1])
    x = np.ones((3, 4), "float32")
    np.testing.assert_allclose(module(x), np.asarray(model.predict(x, verbose=0)), rtol=1e-5)
    print(keras.backend.backend(), module.metadata["source_backend"], list(module.weights))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "b")],
        env={**os.environ, "KERAS_BACKEND": "jax", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names = "['net/dense/kernel', 'net/dense/bias']"
    assert done.stdout.strip().endswith(f"jax jax {names}")
