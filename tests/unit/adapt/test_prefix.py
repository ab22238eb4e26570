"""``prefix``: the same as attention over keys and values with the prefix in front of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.importing.samples import make, node, value
from tfx import adapt


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


class Heads(tf.Module):
    """Attention with heads, a mask and a scale; causal if that is asked for."""

    def __init__(self, causal: bool = False) -> None:
        super().__init__("heads")
        self.w = [tf.Variable(_numbers(8, 8, seed=i), name=f"w{i}") for i in range(3)]
        self.causal = causal

    def __call__(self, x: Any, mask: Any) -> Any:
        parts = [tf.reshape(x @ w, [-1, tf.shape(x)[1], 2, 4]) for w in self.w]
        q, k, v = (tf.transpose(p, [0, 2, 1, 3]) for p in parts)
        scores = tf.matmul(q, k, transpose_b=True) / 2.0
        scores += (1.0 - mask[:, None, None, :]) * -1e9
        if self.causal:
            place = tf.range(tf.shape(x)[1])
            scores = tf.where(place[None, :] <= place[:, None], scores, -1e9)
        return tf.matmul(tf.nn.softmax(scores), v)


SPECS = [tf.TensorSpec([None, None, 8], name="x"), tf.TensorSpec([None, None], name="mask")]
X, MASK = _numbers(2, 5, 8, seed=9), np.array([[1, 1, 1, 0, 0], [1] * 5], np.float32)


def _expected(model: Heads, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """By NumPy: everything in one row of keys, in float64."""
    parts = [(X.astype(float) @ w.numpy()).reshape(2, 5, 2, 4) for w in model.w]
    q, k, v = (p.transpose(0, 2, 1, 3) for p in parts)
    n = keys.shape[1]
    k, v = (
        np.concatenate([np.broadcast_to(p, (2, *p.shape)), y], 2)
        for p, y in ((keys, k), (values, v))
    )
    seen = np.concatenate([np.ones((2, n)), MASK], 1)[:, None, None, :] > 0
    if model.causal:
        own = np.tril(np.ones((5, 5)))
        seen = seen & (np.concatenate([np.ones((5, n)), own], 1) > 0)
    scores = np.where(seen, q @ k.transpose(0, 1, 3, 2) / 2, -1e9)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("causal", [False, True])
def test_it_is_attention_with_more_keys_and_values(causal: bool) -> None:
    model = Heads(causal)
    tuned = adapt.prefix(model, 3, inputs=SPECS)
    assert [v.shape.as_list() for v in tuned.trainable_variables] == [[2, 3, 4], [2, 3, 4]]
    tuned.keys[0].assign(_numbers(2, 3, 4, seed=4))
    tuned.values[0].assign(_numbers(2, 3, 4, seed=5))
    expected = _expected(model, tuned.keys[0].numpy(), tuned.values[0].numpy())
    np.testing.assert_allclose(tuned(X, MASK), expected, atol=1e-5)


def test_it_is_trained_saved_and_loaded(tmp_path: Any) -> None:
    model = Heads()
    tuned = adapt.prefix(model, 2, inputs=SPECS)
    weights = [w.numpy() for w in model.w]
    step = adapt.train_step(tuned, "mse", tf.optimizers.Adam(0.05))
    target = np.zeros((2, 2, 5, 4), np.float32)
    losses = [float(step(X, MASK, target)["loss"]) for _ in range(10)]
    assert losses[-1] < losses[0]
    for w, before in zip(model.w, weights, strict=True):
        np.testing.assert_array_equal(w, before)
    serve = tf.function(lambda x, mask: {"y": tuned(x, mask)}, input_signature=SPECS)
    tf.saved_model.save(tuned, tmp_path / "b", signatures={"serve": serve})
    loaded = tf.saved_model.load(tmp_path / "b").signatures["serve"]
    found = loaded(x=tf.constant(X), mask=tf.constant(MASK))["y"]
    np.testing.assert_allclose(found, tuned(X, MASK), atol=1e-6)


def test_an_imported_model() -> None:
    proto = make(
        [
            node("Transpose", ["k"], ["turned"], perm=[0, 2, 1]),
            node("MatMul", ["q", "turned"], ["s"]),
            node("Softmax", ["s"], ["p"], axis=2),
            node("MatMul", ["p", "v"], ["y"]),
        ],
        [value(n, ["b", "t", 4]) for n in "qkv"],
        [value("y", ["b", "t", 4])],
        [],
    )
    tuned = adapt.prefix(tf.import_onnx(proto), 2)
    q, k, v = (_numbers(3, 5, 4, seed=i) for i in range(3))
    tuned.values[0].assign(_numbers(1, 2, 4, seed=7))
    keys, values = (
        np.concatenate([np.broadcast_to(p[0].numpy(), (3, 2, 4)), y], 1)
        for p, y in ((tuned.keys, k), (tuned.values, v))
    )
    weights = np.exp(q @ keys.transpose(0, 2, 1))
    expected = weights / weights.sum(-1, keepdims=True) @ values
    np.testing.assert_allclose(tuned(q, k, v), expected, rtol=1e-4, atol=1e-5)


def test_what_is_wrong_is_said() -> None:
    error = tf.errors.InvalidArgumentError
    model = tf.Module()
    model.w = tf.Variable(tf.ones([3, 3]))
    spec = [tf.TensorSpec([None, 3], name="x")]
    with pytest.raises(error, match="no attention that could get a prefix"):
        adapt.prefix(model, 2, inputs=spec, call=lambda x: tf.nn.softmax(x @ model.w))
    with pytest.raises(error, match="length is 0, expected a whole number"):
        adapt.prefix(Heads(), 0, inputs=SPECS)
    with pytest.raises(error, match="the inputs are not known"):
        adapt.prefix(Heads(), 2)
    unknown = [tf.TensorSpec([None, None, None])] * 3

    def attend(q: Any, k: Any, v: Any) -> Any:
        return tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True)), v)

    with pytest.raises(error, match=r"sizes of heads at .* are not known"):
        adapt.prefix(model, 2, inputs=unknown, call=attend)

    heads = Heads()

    def counts(x: Any, mask: Any) -> Any:
        model.w.assign_add(tf.ones([3, 3]))
        return heads(x, mask)

    with pytest.raises(error, match="updates variables when it is called"):
        adapt.prefix(model, 2, inputs=SPECS, call=counts)
    assert len(model.trainable_variables) == 1
