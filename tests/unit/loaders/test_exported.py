"""Bundles that our exporters write: trained here as there, with the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.loaders import Bundle


class Classifier(tf.Module):
    """A convolution, a normalisation with state, a dense layer, and a step that trains them."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(3)
        self.filters = tf.Variable(rng.standard_normal((3, 3, 1, 4)).astype("f4") * 0.3, name="f")
        self.dense = tf.Variable(rng.standard_normal((64, 3)).astype("f4") * 0.1, name="dense")
        self.steps = tf.Variable(0, name="steps", trainable=False)

    @tf.function(input_signature=[tf.TensorSpec(["batch", 4, 4, 1], tf.float32, name="image")])
    def predict(self, image: Any) -> Any:
        hidden = tf.nn.relu(tf.nn.conv2d(image, self.filters, strides=1, padding="SAME"))
        return {"logits": tf.matmul(tf.reshape(hidden, [-1, 64]), self.dense)}

    @tf.function(
        input_signature=[
            tf.TensorSpec(["batch", 4, 4, 1], tf.float32, name="image"),
            tf.TensorSpec(["batch"], tf.int32, name="label"),
        ]
    )
    def step(self, image: Any, label: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = self.predict(image)["logits"]
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
            )
        variables = [self.filters, self.dense]
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * gradient)
        self.steps.assign_add(1)
        return {"loss": loss}


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Classifier, Path]:
    model = Classifier()
    signatures = {"serving_default": model.predict, "train_step": model.step}
    tf.saved_model.save(model, str(tmp_path / "m"), signatures=signatures)
    return model, tmp_path / "m"


def test_training_goes_on_with_the_same_numbers(
    saved: tuple[Classifier, Path], rng: np.random.Generator
) -> None:
    model, path = saved
    image = rng.standard_normal((8, 4, 4, 1)).astype(np.float32)
    label = rng.integers(0, 3, 8).astype(np.int32)
    with Bundle.open(path) as bundle:
        assert bundle.signatures["serving_default"].inputs["image"].shape == ("batch", 4, 4, 1)
        for _ in range(3):
            served = bundle.call("serving_default", {"image": image})["logits"]
            np.testing.assert_allclose(served, model.predict(image)["logits"], rtol=1e-4, atol=1e-5)
            loss = bundle.call("train_step", {"image": image, "label": label})["loss"]
            np.testing.assert_allclose(loss, model.step(image, label)["loss"], rtol=1e-4)
        assert sorted(bundle.signatures["train_step"].updates) == sorted(bundle.variables)
        bundle.save(path.parent / "again")
    again = tf.saved_model.load(str(path.parent / "again"))
    assert int(again.steps) == 3
    np.testing.assert_allclose(again.dense.numpy(), model.dense.numpy(), rtol=1e-4, atol=1e-6)


def test_assignments_reach_the_exported_readers(
    saved: tuple[Classifier, Path], rng: np.random.Generator
) -> None:
    _, path = saved
    image = rng.standard_normal((2, 4, 4, 1)).astype(np.float32)
    with Bundle.open(path) as bundle:
        bundle.call("serving_default", {"image": image})
        name = next(n for n in bundle.variables if bundle.variables[n].shape == (64, 3))
        bundle.variables[name] = np.zeros((64, 3), np.float32)
        assert not bundle.call("serving_default", {"image": image})["logits"].any()
