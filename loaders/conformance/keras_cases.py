"""Conformance cases of Keras models: exported from Python, they go on training elsewhere.

What is expected is what the model itself gives in Python when it goes on, not what a loaded bundle
gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from case import Case

import tfx as tf

keras: Any = tf.keras
layers: Any = keras.layers

_ROUNDS = 6


def _train(case: Case, model: Any, x: Any, y: Any, batch: int) -> None:
    """Train a little, export, go on; saved once by the loader, half way."""
    size = len(y)
    batches = [slice(i % size, i % size + batch) for i in range(0, batch * _ROUNDS, batch)]
    model.fit(x, y, batch_size=batch, epochs=1, shuffle=False, verbose=0)
    model.reset_metrics()
    model.export(str(case.bundle), train=True, verbose=False)
    serve = tf.saved_model.load(str(case.bundle)).signatures["serve"]
    ((given, _),) = serve.structured_input_signature[1].items()
    case.call("serve", {given: x[:3]}, {"output_0": model.predict(x[:3], verbose=0)})
    for number, part in enumerate(batches):
        logs = model.make_train_function()([(x[part], y[part])])
        case.call("train_step", {"x": x[part], "y": y[part]}, logs)
        if number == _ROUNDS // 2:
            case.save_again()
    case.call("serve", {given: x[:3]}, {"output_0": model.predict(x[:3], verbose=0)})


def keras_dense(case: Case) -> None:
    """A Keras model with dropout, batch and layer normalization, trained on by Adam."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((8,), name="features"),
            layers.Dense(16, activation="relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.3),
            layers.Dense(8, activation="gelu"),
            layers.LayerNormalization(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile(
        keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 8)).astype(np.float32)
    _train(case, model, x, x[:, :3].argmax(1).astype(np.int32), 16)


def keras_images(case: Case) -> None:
    """A Keras network of convolutions, augmented with random numbers, trained on by SGD."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1), name="image"),
            layers.RandomTranslation(0.1, 0.1, fill_mode="constant"),
            layers.Conv2D(6, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.SeparableConv2D(8, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(2),
        ]
    )
    model.compile(
        keras.optimizers.SGD(0.05, momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    rng = np.random.default_rng(1)
    x = rng.normal(size=(32, 8, 8, 1)).astype(np.float32)
    _train(case, model, x, (x.mean((1, 2, 3)) > 0).astype(np.int32), 8)


def keras_texts(case: Case) -> None:
    """A Keras model that cuts texts into words, looks them up and reads them with an LSTM."""
    keras.utils.set_random_seed(2)
    reviews = np.array(
        ["Good film, really!", "bad film", "so GOOD", "what a bad\tthing"] * 4, object
    )
    words = layers.TextVectorization(20, output_sequence_length=5)
    words.adapt(reviews)
    model = keras.Sequential(
        [
            keras.Input((1,), dtype="string", name="review"),
            words,
            layers.Embedding(20, 6),
            layers.LSTM(5),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.RMSprop(0.01), "binary_crossentropy", metrics=["accuracy"])
    _train(case, model, reviews[:, None], np.array([[1], [0], [1], [0]] * 4, np.int32), 4)


CASES: dict[str, Callable[[Case], None]] = {
    "keras_dense": keras_dense,
    "keras_images": keras_images,
    "keras_texts": keras_texts,
}
