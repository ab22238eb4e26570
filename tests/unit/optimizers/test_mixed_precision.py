"""Training in mixed precision: convergence against float32, checkpoints, plain ONNX Runtime."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file
from sklearn.datasets import load_digits

import tfx as tf

mp = tf.mixed_precision
STEPS = 200


@functools.cache
def digits() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    images, labels = load_digits(return_X_y=True)
    return (images / 16).astype(np.float32), labels.astype(np.int64)


class Network(tf.Module):
    """A convolution, a pool and two dense layers, and how it is trained."""

    def __init__(self, policy: str, optimizer: Any) -> None:
        super().__init__()
        rng = np.random.default_rng(0)

        def weights(*shape: int) -> Any:
            fan_in = np.prod(shape[:-1])
            return tf.Variable((rng.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32))

        self.dtype_policy = mp.Policy(policy)
        with mp.policy_scope(policy):
            self.filters, self.first = weights(3, 3, 1, 8), weights(128, 32)
            self.second, self.bias = weights(32, 10), tf.Variable(tf.zeros([10]))
        self.optimizer = optimizer

    @mp.autocast
    def logits(self, x: Any) -> Any:
        x = tf.reshape(x, [-1, 8, 8, 1])
        x = tf.nn.relu(tf.nn.conv2d(x, self.filters, 1, "SAME"))
        x = tf.reshape(tf.nn.max_pool2d(x, 2, 2, "VALID"), [-1, 128])
        return tf.nn.relu(x @ self.first) @ self.second + self.bias

    @tf.function(input_signature=[tf.TensorSpec([None, 64]), tf.TensorSpec([None], tf.int64)])
    def train_step(self, images: Any, labels: Any) -> Any:
        variables = self.trainable_variables
        with tf.GradientTape() as tape:
            logits = tf.cast(self.logits(images), tf.float32)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(losses)
            scaled = self.optimizer.scale_loss(loss)
        self.optimizer.apply_gradients(
            zip(tape.gradient(scaled, variables), variables, strict=True)
        )
        return {"loss": loss}


def batches(steps: int, start: int = 0) -> Iterator[tuple[Any, Any]]:
    images, labels = digits()
    for step in range(start, start + steps):
        chosen = np.random.default_rng(step).integers(0, 1500, 64)
        yield images[chosen], labels[chosen]


def network(policy: str, scaled: bool = True) -> Network:
    optimizer = tf.optimizers.Adam(0.003)
    return Network(policy, mp.LossScaleOptimizer(optimizer) if scaled else optimizer)


@functools.cache
def trained(policy: str, scaled: bool) -> tuple[float, float]:
    """The mean loss of the last steps, and the accuracy on digits that were not trained on."""
    model = network(policy, scaled)
    losses = [float(model.train_step(x, y)["loss"]) for x, y in batches(STEPS)]
    images, labels = digits()
    found = np.argmax(model.logits(tf.constant(images[1500:])).numpy(), 1)
    assert all(v.dtype is tf.float32 for v in model.variables if v.dtype.is_floating)
    return float(np.mean(losses[-30:])), float((found == labels[1500:]).mean())


@pytest.mark.parametrize(
    ("policy", "scaled"),
    [("mixed_float16", True), ("mixed_bfloat16", True), ("mixed_bfloat16", False)],
)
def test_it_converges_as_float32_does(policy: str, scaled: bool) -> None:
    loss, accuracy = trained(policy, scaled)
    expected, wanted = trained("float32", False)
    assert expected < 0.15
    assert loss == pytest.approx(expected, rel=0.1)
    assert accuracy == pytest.approx(wanted, abs=0.02)


def test_a_scaled_loss_changes_nothing_in_float32() -> None:
    assert trained("float32", True) == trained("float32", False)


@pytest.mark.parametrize(
    "option", ["auto_mixed_precision_cpu", "auto_mixed_precision_onednn_bfloat16"]
)
def test_rewritten_plans_converge_as_well(option: str) -> None:
    set_options = tf.config.optimizer.set_experimental_options
    model = network("float32")
    set_options({option: True})
    try:
        losses = [float(model.train_step(x, y)["loss"]) for x, y in batches(STEPS)]
    finally:
        set_options({option: False})
    expected, _ = trained("float32", False)
    loss = float(np.mean(losses[-30:]))
    assert loss == pytest.approx(expected, rel=0.1)
    assert loss != expected


def test_small_gradients_need_the_scale() -> None:
    # The gradient is 1e-8 in float32, and 0 in float16: below its smallest number, 6e-8.
    steps = []
    for scaled in (False, True):
        v = mp.AutoCastVariable(1.0)
        optimizer: Any = tf.optimizers.SGD(1e6)
        if scaled:
            optimizer = mp.LossScaleOptimizer(optimizer)
        with tf.GradientTape() as tape:
            with mp.autocast("mixed_float16"):
                small = tf.cast(v * tf.constant(1.0, tf.float16), tf.float32)
            loss = optimizer.scale_loss(small * 1e-8)
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])
        steps.append(1.0 - float(v))
    assert steps[0] == 0.0
    assert steps[1] == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_checkpoint_resumes_to_the_same_bits(policy: str, tmp_path: Path) -> None:
    first, second = network(policy), network(policy)
    for x, y in batches(3):
        first.train_step(x, y)
    first.train_step(np.full((2, 64), np.inf, np.float32), np.array([1, 2]))
    path = tf.train.Checkpoint(model=first).save(str(tmp_path / "ckpt"))
    tf.train.Checkpoint(model=second).restore(path)
    for x, y in batches(3, start=3):
        assert float(first.train_step(x, y)["loss"]) == float(second.train_step(x, y)["loss"])
    assert float(second.optimizer.loss_scale) == 2.0**14
    for a, b in zip(first.variables, second.variables, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_plain_onnxruntime_trains_on(policy: str, tmp_path: Path) -> None:
    model = network(policy)
    for x, y in batches(5):
        model.train_step(x, y)
    tf.saved_model.save(model, tmp_path / "bundle", signatures={"train_step": model.train_step})
    session = onnxruntime.InferenceSession(tmp_path / "bundle" / "train_step.onnx")
    state = load_file(tmp_path / "bundle" / "variables" / "model.safetensors")
    names = [output.name for output in session.get_outputs()]
    assert {v.type for v in session.get_inputs()} == {"tensor(float)", "tensor(int64)"}
    given = list(batches(20, start=5))
    given.insert(10, (np.full((4, 64), np.inf, np.float32), np.arange(4)))
    for x, y in given:
        needed = {i.name for i in session.get_inputs()}
        feeds = {"images": x, "labels": y} | {n: v for n, v in state.items() if n in needed}
        results = dict(zip(names, session.run(None, feeds), strict=True))
        loss = results.pop("loss")
        state |= {name.removesuffix("_new"): value for name, value in results.items()}
        np.testing.assert_allclose(loss, model.train_step(x, y)["loss"].numpy(), rtol=1e-2)
    assert state["optimizer/loss_scale/current_loss_scale"] == 2.0**14
    loaded = tf.saved_model.load(tmp_path / "bundle").signatures["train_step"]
    once = loaded(images=tf.constant(given[0][0]), labels=tf.constant(given[0][1]))["loss"]
    assert np.isfinite(once.numpy())
