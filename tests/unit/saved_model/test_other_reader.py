"""What ``saved_model`` writes, the loader without tracing reads, and the other way around."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.saved_model import damage
from tests.unit.saved_model.models import Trainer, batch, numbers
from tfx.exporters import save_onnx
from tfx.loaders import Bundle


def test_training_is_the_same_in_both(tmp_path: Any) -> None:
    model = Trainer()
    model.train_step(*batch())
    tf.saved_model.save(model, tmp_path / "m", signatures=model.signatures)
    with Bundle.open(tmp_path / "m") as bundle:
        for i in range(1, 4):
            x, y = (t.numpy() for t in batch(i))
            loss = bundle.call("train_step", {"x": x, "y": y})["loss"]
            np.testing.assert_array_equal(loss, model.train_step(x, y)["loss"])
            logits = bundle.call("serving_default", {"x": x})["logits"]
            np.testing.assert_allclose(logits, model.predict(x)["logits"], rtol=1e-6)
        bundle.save(tmp_path / "trained")
    back = tf.saved_model.load(tmp_path / "trained")
    assert int(back.optimizer.iterations) == 4
    for i in range(4, 6):
        x, y = batch(i)
        assert back.train_step(x, y)["loss"] == model.train_step(x, y)["loss"]


@pytest.mark.parametrize("freeze", [True, False])
def test_every_kind_of_variable_and_constant(freeze: bool, tmp_path: Any) -> None:
    module = tf.Module()
    module.scalar = tf.Variable(2.0)
    module.empty = tf.Variable(np.zeros((0, 3), np.float32))
    module.half = tf.Variable(tf.cast(tf.constant(numbers(5)), tf.bfloat16))
    module.text = tf.Variable(["a", "ü"])
    module.free = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    big = tf.constant(numbers(3, 700))
    inner = tf.function(lambda x: x @ big)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def f(x: Any) -> Any:
        rows = tf.concat([x, module.empty.value()], 0) * module.scalar
        return {
            "inner": inner(rows),
            "half": tf.cast(module.half.value(), tf.float32),
            "text": module.text.value(),
            "free": module.free.value(),
            "x": x,
        }

    module.f = f
    options = tf.saved_model.SaveOptions(max_shard_bytes=4000)
    tf.saved_model.save(module, tmp_path / "m", options=options)
    x = numbers(2, 3)
    expected = f(x)
    with Bundle.open(tmp_path / "m", freeze=freeze) as bundle:
        found = bundle.call("serving_default", {"x": x})
    assert found.keys() == expected.keys()
    assert list(found.pop("text")) == ["a", "ü"]
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-5)


def test_the_bundle_of_the_damage_tests(tmp_path: Any) -> None:
    damage.make_bundle(tmp_path / "m")
    back = tf.saved_model.load(tmp_path / "m")
    x = numbers(2, 40)
    with Bundle.open(tmp_path / "m", verify=True) as bundle:
        found = bundle.call("square", {"x": x})["y"]
        np.testing.assert_allclose(found, back.square(x)["y"], rtol=1e-5)
        assert set(bundle.signatures) == set(back.signatures)
        for name, info in bundle.signatures.items():
            _, inputs = back.signatures[name].structured_input_signature
            assert list(info.inputs) == list(inputs)
            assert list(info.outputs) == list(back.signatures[name].structured_outputs)


def test_a_model_of_somebody_else(tmp_path: Any) -> None:
    spec = tf.TensorSpec([None, 4], tf.float32, name="image")
    w = tf.Variable(numbers(4, 300))
    f = tf.function(lambda image: {"y": tf.nn.softmax(image @ w)}, input_signature=[spec])
    tf.saved_model.save(f, tmp_path / "ours")
    save_onnx(tmp_path / "ours" / "serving_default.onnx", tmp_path / "m")
    x = numbers(2, 4)
    with Bundle.open(tmp_path / "m") as bundle:
        np.testing.assert_allclose(
            bundle.call("serving_default", {"image": x})["y"], f(x)["y"], rtol=1e-6
        )
    np.testing.assert_allclose(tf.saved_model.load(tmp_path / "m")(x)["y"], f(x)["y"], rtol=1e-6)
