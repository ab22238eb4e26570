"""``train_step`` and ``freeze``: losses against float64, what is trained, what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.importing.samples import constant, make, node, value
from tfx import adapt


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


W, X = _numbers(4, 3), _numbers(5, 4, seed=1)
LOGITS = X.astype(float) @ W.astype(float)
CLASSES = np.array([0, 2, 1, 1, 0])
SHARES = np.abs(_numbers(5, 3, seed=2)) / np.abs(_numbers(5, 3, seed=2)).sum(1, keepdims=True)


def _log_softmax(x: np.ndarray) -> np.ndarray:
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


BINARY = -np.mean(SHARES * np.log(_sigmoid(LOGITS)) + (1 - SHARES) * np.log(1 - _sigmoid(LOGITS)))
EXPECTED: dict[str, tuple[str | None, Any, float]] = {
    "mse": (None, SHARES, float(np.mean((LOGITS - SHARES) ** 2))),
    "mae": (None, SHARES, float(np.mean(np.abs(LOGITS - SHARES)))),
    "sparse_cross_entropy": (
        "Softmax", CLASSES, float(-np.mean(_log_softmax(LOGITS)[range(5), CLASSES]))),
    "cross_entropy": (
        "Softmax", SHARES, float(-np.mean((SHARES * _log_softmax(LOGITS)).sum(1)))),
    "binary_cross_entropy": ("Sigmoid", SHARES, float(BINARY)),
}  # fmt: skip


def _imported(*ops: str) -> Any:
    names = ["l", "p"]
    nodes = [node("MatMul", ["x", "w"], ["l"])]
    nodes += [node(op, [names[i]], [names[i + 1]]) for i, op in enumerate(ops)]
    outputs = [value(names[len(ops)], ["n", 3])]
    return tf.import_onnx(make(nodes, [value("x", ["n", 4])], outputs, [constant("w", W)]))


@pytest.mark.parametrize("name", EXPECTED)
def test_losses_are_those_of_the_textbook(name: str) -> None:
    op, label, expected = EXPECTED[name]
    for model in (_imported(), *([_imported(op)] if op else [])):
        step = adapt.train_step(model, name.replace("_", "-"), tf.optimizers.SGD(0.1))
        spec = step.input_signature[-1]
        assert spec.name == "label"
        label = np.asarray(label, spec.dtype.as_numpy_dtype)
        before = model.weights["w"].numpy()
        found = step(x=X, label=label)["loss"]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        # The step is minus the gradient: by central differences along itself.
        change = model.weights["w"].numpy() - before

        def loss(w: np.ndarray, model: Any = model, label: Any = label, step: Any = step) -> float:
            model.weights["w"].assign(w)
            return float(step(x=X, label=label)["loss"])

        size, d = float(np.sum(change.astype(float) ** 2)), 1e-2 / np.abs(change).max()
        slope = (loss(before + d * change) - loss(before - d * change)) / (2 * d)
        np.testing.assert_allclose(slope, -size / 0.1, rtol=2e-2)


def test_what_is_trained_is_asked_for_by_name() -> None:
    model = tf.Module()
    model.body, model.head = tf.Variable(W), tf.Variable(_numbers(3, 2))
    assert adapt.freeze(model) == ["body", "head"]
    call = lambda x: x @ model.body @ model.head  # noqa: E731
    inputs = [tf.TensorSpec([None, 4], name="x")]
    with pytest.raises(tf.errors.InvalidArgumentError, match="no trainable variables"):
        adapt.train_step(model, "mse", "sgd", call=call, inputs=inputs)
    step = adapt.train_step(model, "mse", "sgd", targets="head", call=call, inputs=inputs)
    body, head = model.body.numpy(), model.head.numpy()
    step(X, np.zeros((5, 2), np.float32))
    np.testing.assert_array_equal(model.body, body)
    assert np.abs(model.head.numpy() - head).max() > 0
    assert adapt.unfreeze(model, re.compile("^b")) == ["body"]
    step = adapt.train_step(model, "mse", "sgd", call=call, inputs=inputs)
    step(X, np.zeros((5, 2), np.float32))
    assert np.abs(model.body.numpy() - body).max() > 0


def test_freezing_holds_in_functions_that_were_traced() -> None:
    model = tf.Module()
    model.w = tf.Variable(2.0)

    @tf.function
    def gradient() -> Any:
        with tf.GradientTape() as tape:
            y = model.w * model.w
        return tape.gradient(y, model.w, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    assert float(gradient()) == 4.0
    adapt.freeze(model, "w")
    assert float(gradient()) == 0.0
    adapt.unfreeze(model, "w")
    assert float(gradient()) == 4.0


def test_a_function_as_the_loss_and_several_outputs() -> None:
    model = tf.Module()
    model.w = tf.Variable(W)

    @tf.function(input_signature=[tf.TensorSpec([None, 4], name="x")])
    def run(x: Any) -> Any:
        return {"y": x @ model.w, "more": {"z": x @ model.w * 2.0}}

    labels = [tf.TensorSpec([None, 3], name="t"), tf.TensorSpec([], name="weight")]
    step = adapt.train_step(
        model,
        lambda y, t, weight: weight * tf.square(y - t),
        tf.optimizers.SGD(0.0),
        call=run,
        output="more_z",
        labels=labels,
    )
    found = step(x=X, t=np.zeros((5, 3), np.float32), weight=3.0)["loss"]
    np.testing.assert_allclose(found, 3 * np.mean((2 * LOGITS) ** 2), rtol=1e-5)
    alone = adapt.train_step(model, tf.square, "sgd", call=run, output="y")
    np.testing.assert_allclose(alone(X)["loss"], np.mean(LOGITS**2), rtol=1e-5)


def test_what_is_wrong_is_said() -> None:
    model = _imported()
    error = tf.errors.InvalidArgumentError
    with pytest.raises(error, match=r"did you mean 'mse'\?"):
        adapt.train_step(model, "mes", "sgd")
    with pytest.raises(ValueError, match="Unknown optimizer: 'adma'"):
        adapt.train_step(model, "mse", "adma")
    with pytest.raises(error, match="the inputs are not known"):
        adapt.train_step(tf.Module(), "mse", "sgd", call=lambda x: x)
    with pytest.raises(error, match="two of the inputs and labels have one name: x, x"):
        adapt.train_step(model, "mse", "sgd", labels=tf.TensorSpec([None, 3], name="x"))
    several = make(
        [node("MatMul", ["x", "w"], ["y"]), node("Shape", ["y"], ["s"])],
        [value("x", ["n", 4])],
        [value("y", ["n", 3]), value("s", [2], 7)],
        [constant("w", W)],
    )
    with pytest.raises(error, match="has 2 outputs, s, y: say with output="):
        adapt.train_step(tf.import_onnx(several), "mse", "sgd")
    with pytest.raises(error, match="'z', which the model does not have; it has s, y"):
        adapt.train_step(tf.import_onnx(several), "mse", "sgd", output="z")
    with pytest.raises(error, match="needs a prediction of floating-point numbers, and s is int64"):
        adapt.train_step(tf.import_onnx(several), "mse", "sgd", output="s")
    other = tf.Module()
    other.w = tf.Variable(1.0)
    step = adapt.train_step(
        other, tf.square, "sgd", call=lambda x: x, inputs=[tf.TensorSpec([2], name="x")]
    )
    with pytest.raises(error, match="depends on none of the 1 variables"):
        step(tf.ones([2]))
