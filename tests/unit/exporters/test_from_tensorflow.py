"""Models of TensorFlow against TensorFlow itself: answers, gradients, SavedModels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx
from tfx.exporters import from_tensorflow
from tfx.exporters.sources import tensorflow_graphs

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tf2onnx")
pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


class Network(tf.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.kernel = tf.Variable(normal(3, 3, 2, 4), name="conv/kernel")
        self.w = tf.Variable(normal(4, 3), name="dense/w")
        self.b = tf.Variable(tf.zeros(3), name="dense/b")
        self.table = tf.Variable(normal(5, 4), name="table")
        self.calls = tf.Variable(0, name="calls")

    @tf.function(input_signature=[tf.TensorSpec([None, 6, 6, 2], tf.float32, name="x")])
    def __call__(self, x: Any) -> Any:
        x = tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(x, self.kernel, 1, "SAME")), [1, 2])
        return {"y": tf.nn.softmax(x @ self.w + self.b)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="ids")])
    def look_up(self, ids: Any) -> Any:
        x = tf.gather(self.table, ids)
        _, x = tf.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x @ self.w @ tf.transpose(self.w)), [0, x]
        )
        return x / 100.0, [tf.reduce_sum(x)]

    @tf.function(input_signature=[])
    def count(self) -> Any:
        return self.calls.assign_add(1)


def test_methods_over_one_set_of_variables(tmp_path: Path) -> None:
    model = Network()
    module = from_tensorflow.export(
        model,
        tmp_path / "b",
        signatures={"serving_default": "__call__", "look_up": "look_up"},
        dynamic={"x": {0: "batch"}},
    )
    # The bias is zero everywhere, and is a variable all the same.
    assert set(module.weights) == {"conv/kernel", "dense/w", "dense/b", "table"}
    x = normal(3, 6, 6, 2)
    bundle = tfx.saved_model.load(tmp_path / "b")
    found = bundle.signatures["serving_default"](x=x)["y"]
    np.testing.assert_allclose(found, model(x)["y"], rtol=1e-4, atol=1e-6)
    ids = np.int32([4, 0, 2])
    np.testing.assert_allclose(module.look_up(ids)[0], model.look_up(ids)[0], rtol=1e-4)


def test_gradients_are_those_of_tensorflow() -> None:
    model, x = Network(), normal(3, 6, 6, 2)
    module = from_tensorflow.to_module(model)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(model(x)["y"]))
    names = ["conv/kernel", "dense/w", "dense/b"]
    wanted = tape.gradient(loss, [model.kernel, model.w, model.b])
    with tfx.GradientTape() as ours:
        loss = tfx.reduce_sum(tfx.sin(module(x)["y"]))
    found = ours.gradient(loss, [module.weights[name] for name in names])
    for gradient, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-6)


def test_a_saved_model(tmp_path: Path) -> None:
    model = Network()
    signature = model.__call__.get_concrete_function()
    tf.saved_model.save(model, str(tmp_path / "s"), signatures=signature)
    module = from_tensorflow.export(tmp_path / "s", tmp_path / "b")
    x = normal(2, 6, 6, 2)
    np.testing.assert_allclose(module(x)["y"], model(x)["y"], rtol=1e-4, atol=1e-6)
    assert list(tfx.saved_model.load(tmp_path / "b").signatures) == ["serving_default"]


def test_examples_instead_of_a_signature() -> None:
    function = tf.function(lambda a, b: a * 2.0 + b["u"])
    a, b = normal(2, 3), {"u": normal(3)}
    module = from_tensorflow.to_module(function, (a, b))
    np.testing.assert_allclose(module(a, b), function(a, b), rtol=1e-6)


def test_mistakes_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(tfx.errors.UnimplementedError, match=r"count changes variables .*calls"):
        from_tensorflow.to_module(Network(), signatures={"count": "count"})
    with pytest.raises(FileNotFoundError, match=r"has no saved_model\.pb"):
        from_tensorflow.to_module(tmp_path)
    with pytest.raises(tfx.errors.InvalidArgumentError, match="has no method 'nothing'"):
        from_tensorflow.to_module(Network(), signatures={"a": "nothing"})
    with pytest.raises(tfx.errors.InvalidArgumentError, match="give example arguments"):
        from_tensorflow.to_module(tf.function(lambda x: x))
    with pytest.raises(tfx.errors.UnimplementedError, match="cannot convert the operation"):
        from_tensorflow.to_module(tf.function(tf.math.igamma), (normal(2) ** 2, normal(2) ** 2))


def test_a_damaged_saved_model(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"junk" * 10)
    with pytest.raises(tfx.errors.InvalidArgumentError, match="cannot be read by TensorFlow"):
        from_tensorflow.export(str(tmp_path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("default::UserWarning")
def test_made_up_inputs_that_do_not_suit_are_said(tmp_path: Path) -> None:
    class Reshaped(tf.Module):  # type: ignore[misc, name-defined]
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
        def __call__(self, x: Any) -> Any:
            return tf.reshape(x, [7, -1, 11])

    with pytest.warns(UserWarning, match="saved without being compared.*give example arrays"):
        from_tensorflow.export(Reshaped(), tmp_path / "m")
    with pytest.raises(tfx.errors.InvalidArgumentError, match="refuses the example arguments"):
        from_tensorflow.export(Reshaped(), tmp_path / "n", kwargs={"x": normal(76)})
    from_tensorflow.export(Reshaped(), tmp_path / "n", kwargs={"x": normal(77)})


def test_a_difference_names_the_node_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A weight that goes wrong on its way into the bundle; and a conversion to another model."""
    network, made = Network(), from_tensorflow.SourceVariable

    def wrong(value: Any, trainable: bool) -> Any:
        return made(value * (3 if value.shape == (4, 3) else 1), trainable)

    monkeypatch.setattr(from_tensorflow, "SourceVariable", wrong)
    with pytest.raises(
        tfx.errors.InvalidArgumentError, match=r"that differs is 'matmul \(MatMul\)'"
    ):
        from_tensorflow.export(network, tmp_path / "m")
    monkeypatch.undo()
    answers = tensorflow_graphs._answers
    monkeypatch.setattr(
        tensorflow_graphs,
        "_answers",
        lambda *args: {n: a + 1 for n, a in answers(*args).items()},
    )
    with pytest.raises(tfx.errors.InvalidArgumentError, match="tf2onnx converts the model to"):
        from_tensorflow.export(network, tmp_path / "m")
    assert not list(tmp_path.iterdir())
