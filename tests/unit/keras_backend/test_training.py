"""Keras models that train, in one graph a step, and what they leave behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import tfx as tf

keras = tf.keras

X = np.random.default_rng(0).normal(size=(96, 5)).astype(np.float32)
Y = (X.sum(1) > 0).astype(np.int32)


def classifier(**options: Any) -> Any:
    """A small compiled model with state of every kind: weights, statistics, random numbers."""
    keras.utils.set_random_seed(1)
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((5,), name="x"),
            layers.Dense(8, activation="relu", name="hidden"),
            layers.BatchNormalization(),
            layers.Dropout(0.25),
            layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], **options)
    return model


def test_fit_learns_and_step_by_step_gives_the_same() -> None:
    graph, eager = classifier(), classifier(run_eagerly=True)
    for model in (graph, eager):
        history = model.fit(X, Y, batch_size=40, epochs=3, shuffle=False, verbose=0).history
        assert history["loss"][-1] < history["loss"][0]
    for a, b in zip(graph.get_weights(), eager.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
    # Batches of 40, 40 and 16 examples share one graph.
    assert len(graph.train_function._functions) == 1


def test_steps_per_execution_is_the_same_training() -> None:
    one, several = classifier(), classifier(steps_per_execution=3)
    for model in (one, several):
        model.fit(X, Y, batch_size=16, epochs=2, shuffle=False, verbose=0)
    for a, b in zip(one.get_weights(), several.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert several.train_function._loops


def test_datasets_generators_and_arrays_feed_fit() -> None:
    expected = None
    batches = [(X[i : i + 32], Y[i : i + 32]) for i in range(0, 96, 32)]
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(32)
    several: list[dict[str, Any]] = [
        {"x": X, "y": Y, "batch_size": 32},
        {"x": dataset},
        {"x": (batch for batch in batches), "steps_per_epoch": 3},
    ]
    for data in several:
        model = classifier()
        model.fit(**data, shuffle=False, verbose=0)
        found = model.get_weights()[0]
        expected = found if expected is None else expected
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    loss, accuracy = model.evaluate(dataset, verbose=0)
    np.testing.assert_allclose([loss, accuracy], model.evaluate(X, Y, verbose=0), rtol=1e-5)
    assert model.predict(dataset.map(lambda x, y: x), verbose=0).shape == (96, 2)
    with pytest.raises(ValueError, match="`y` should not be passed"):
        model.fit(dataset, Y)


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
@pytest.mark.parametrize("built", [True, False])
def test_no_data_is_no_step(built: bool) -> None:
    model = keras.Sequential([*[keras.Input((3,))] * built, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    nothing = tf.data.Dataset.from_tensor_slices((tf.zeros([0, 3]), tf.zeros([0, 1]))).batch(2)
    for data in ((nothing,), (np.zeros((0, 3)), np.zeros((0, 1)))):
        assert model.fit(*data, verbose=0).history == {}
        assert model.evaluate(*data, verbose=0) == []
    assert model.fit(np.ones((2, 3)), np.ones((2, 1)), verbose=0).history["loss"]


def test_tapes_and_functions_around_layers() -> None:
    layer = keras.layers.Dense(1, use_bias=False)
    layer.build((None, 5))

    @tf.function
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x))
        return tape.gradient(loss, layer.trainable_variables)

    np.testing.assert_allclose(slope(X)[0], X.sum(0)[:, None], rtol=1e-4)
    optimizer = keras.optimizers.SGD(0.5)
    plain = tf.Variable([1.0, 2.0])
    optimizer.apply_gradients([(tf.constant([1.0, 1.0]), plain)])
    assert plain.numpy().tolist() == [0.5, 1.5]


def test_bundles_serve_and_go_on_training(tmp_path: Path) -> None:
    model = classifier()
    model.fit(X, Y, epochs=1, shuffle=False, verbose=0)
    model.export(tmp_path / "bundle", train=True, verbose=False)
    loaded = tf.saved_model.load(tmp_path / "bundle")
    assert set(loaded.signatures) == {"serve", "train_step", "serving_default"}
    np.testing.assert_allclose(loaded.serve(X[:4]), model.predict(X[:4], verbose=0), rtol=1e-6)
    for _ in range(3):
        there = loaded.train_step(X[:32], Y[:32])
        here = model.train_function([(X[:32], Y[:32])])
        np.testing.assert_allclose(there["loss"], here["loss"], rtol=1e-5)
    np.testing.assert_allclose(loaded.serve(X[:4]), model.predict(X[:4], verbose=0), rtol=1e-5)


def test_an_endpoint_needs_shapes() -> None:
    archive = keras.export.ExportArchive()
    doubled = tf.function(lambda x: x * 2)
    with pytest.raises(ValueError, match="you must either provide a function that has been called"):
        archive.add_endpoint("doubled", doubled)
    doubled(tf.ones([2]))
    assert archive.add_endpoint("doubled", doubled) is doubled


def test_one_onnx_file(tmp_path: Path) -> None:
    model = classifier()
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    session = ort.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {"x": X[:3]})
    np.testing.assert_allclose(found, model.predict(X[:3], verbose=0), rtol=1e-6)


def test_saved_models_checkpoints_and_keras_files(tmp_path: Path) -> None:
    model = classifier()
    model.fit(X, Y, epochs=1, verbose=0)
    expected = model.predict(X[:3], verbose=0)
    tf.saved_model.save(model, tmp_path / "saved")
    served = tf.saved_model.load(tmp_path / "saved").signatures["serving_default"](X[:3])
    np.testing.assert_allclose(next(iter(served.values())), expected, rtol=1e-6)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.predict(X[:3], verbose=0), expected)
    path = tf.train.Checkpoint(model=model).save(tmp_path / "checkpoint")
    names = [name for name, _ in tf.train.list_variables(path)]
    assert {"model/layers/1/kernel", "model/optimizer/velocities/0"} <= set(names)
    other = classifier()
    tf.train.Checkpoint(model=other).restore(path).expect_partial()
    np.testing.assert_array_equal(other.predict(X[:3], verbose=0), expected)


def test_recurrent_layers_as_one_operator() -> None:
    x = np.random.default_rng(0).normal(size=(2, 6, 3)).astype(np.float32)
    for kind in (keras.layers.LSTM, keras.layers.GRU):
        keras.utils.set_random_seed(0)
        layer = kind(4, return_sequences=True, bias_initializer="uniform")
        fast = layer(x)
        layer.use_cudnn = False
        np.testing.assert_allclose(fast, layer(x), rtol=1e-4, atol=1e-6)
        graph = tf.function(layer).get_concrete_function(tf.TensorSpec([None, 6, 3])).graph
        assert "Loop" in {op.type for op in graph.get_operations()}


class Game(keras.Model):
    """Two networks against each other: no call of its own, and variables made while traced."""

    def __init__(self) -> None:
        super().__init__()
        self.judge = keras.Sequential([keras.layers.Dense(4, "relu"), keras.layers.Dense(1)])
        self.maker = keras.Sequential([keras.layers.Dense(4, "relu"), keras.layers.Dense(3)])
        self.loss_of_judge = keras.metrics.Mean(name="judge")

    def compile(self, **optimizers: Any) -> None:
        super().compile()
        self.optimizers = optimizers

    def train_step(self, data: Any) -> Any:
        noise = keras.random.normal((keras.ops.shape(data)[0], 2), seed=1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.judge(self.maker(noise)) ** 2 - self.judge(data))
        weights = self.judge.trainable_variables
        self.optimizers["judge"].apply_gradients(
            zip(tape.gradient(loss, weights), weights, strict=True)
        )
        with tf.GradientTape() as tape:
            gain = -tf.reduce_mean(self.judge(self.maker(noise)))
        weights = self.maker.trainable_variables
        self.optimizers["maker"].apply_gradients(
            zip(tape.gradient(gain, weights), weights, strict=True)
        )
        self.loss_of_judge.update_state(loss)
        return {"judge": self.loss_of_judge.result(), "maker": gain}


def test_a_model_with_its_own_step_needs_no_call() -> None:
    game = Game()
    game.compile(judge=keras.optimizers.Adam(), maker=keras.optimizers.Adam())
    data = tf.data.Dataset.from_tensor_slices(np.ones((10, 3), np.float32)).batch(4)
    history = game.fit(data, epochs=2, verbose=0).history
    assert history["judge"][1] < history["judge"][0]
    assert len(game.judge.trainable_variables) == len(game.maker.trainable_variables) == 4
