"""The way back from an exported bundle to the Keras model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf

keras: Any = tf.keras
layers: Any = keras.layers


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(32, 4)).astype(np.float32), rng.normal(size=(32, 1)).astype(np.float32)


def trained() -> Any:
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(3, activation="relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.3),
            layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    model.fit(*data(), batch_size=8, verbose=0)
    return model


@pytest.mark.parametrize("train", [False, True])
def test_the_model_of_a_bundle_goes_on_where_it_was(tmp_path: Path, train: bool) -> None:
    model = trained()
    model.export(tmp_path / "bundle", train=train, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = keras.models.load_model(tmp_path / "bundle")
        x, y = data()
        np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))
        # The optimizer's slots and the state of the dropout are there, too.
        histories = [
            m.fit(x, y, batch_size=8, shuffle=False, verbose=0).history for m in (model, again)
        ]
    assert histories[0] == histories[1]
    plain = keras.models.load_model(tmp_path / "bundle", compile=False)
    assert not plain.compiled


def test_vocabularies_come_back(tmp_path: Path) -> None:
    texts = np.array([["a good film"], ["a bad one"]], object)
    words = layers.TextVectorization(output_sequence_length=4)
    words.adapt(texts)
    model = keras.Sequential(
        [
            keras.Input((1,), dtype="string"),
            words,
            layers.Embedding(10, 3),
            layers.GlobalMaxPooling1D(),
        ]
    )
    model.export(tmp_path / "bundle", verbose=False)
    again = keras.models.load_model(tmp_path / "bundle")
    given = tf.constant([["bad film"], ["unknown"]])
    np.testing.assert_array_equal(again(given), model(given))


def test_code_is_refused(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((2,)), layers.Lambda(lambda x: 2 * x)])
    model.export(tmp_path / "bundle", verbose=False)
    with pytest.raises(ValueError, match="safe_mode=False"):
        keras.models.load_model(tmp_path / "bundle")
    again = keras.models.load_model(tmp_path / "bundle", safe_mode=False)
    np.testing.assert_array_equal(again(np.ones([1, 2])), [[2.0, 2.0]])


def test_a_bundle_without_a_model_says_what_it_is(tmp_path: Path) -> None:
    class Own(keras.Model):
        def __init__(self, unusual: object) -> None:
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.dense(x)

    model = Own(object())
    x = np.ones([2, 3], np.float32)
    expected = model(x)
    model.export(tmp_path / "bundle", verbose=False)
    with pytest.raises(ValueError, match="without a Keras model"):
        keras.models.load_model(tmp_path / "bundle")
    layer = layers.TFSMLayer(str(tmp_path / "bundle"))
    np.testing.assert_array_equal(layer(x), expected)
