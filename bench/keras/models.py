"""The models that are trained, with made-up data; the same code on every backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Training(NamedTuple):
    """A compiled model and the data of one epoch.

    Attributes:
        model: The model.
        x: Its inputs.
        y: The classes.
        batch: Examples in a step.
    """

    model: Any
    x: Any
    y: Any
    batch: int

    @property
    def steps(self) -> int:
        """Steps in an epoch."""
        return len(self.x) // self.batch


def _compiled(model: Any, x: Any, classes: int, batch: int) -> Training:
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    y = np.random.default_rng(1).integers(0, classes, len(x)).astype(np.int32)
    return Training(model, x, y, batch)


def _numbers(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def mlp(keras: Any, steps: int = 50) -> Training:
    """784-512-512-10, batch 128."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((784,)),
            layers.Dense(512, activation="relu"),
            layers.Dense(512, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    return _compiled(model, _numbers(steps * 128, 784), 10, 128)


def _application(keras: Any, name: str, steps: int) -> Training:
    model = getattr(keras.applications, name)(weights=None, input_shape=(224, 224, 3), classes=100)
    return _compiled(model, _numbers(steps * 8, 224, 224, 3), 100, 8)


def resnet50(keras: Any, steps: int = 1) -> Training:
    """Keras' own, 224x224, batch 8."""
    return _application(keras, "ResNet50", steps)


def mobilenet(keras: Any, steps: int = 1) -> Training:
    """MobileNetV2, Keras' own, 224x224, batch 8."""
    return _application(keras, "MobileNetV2", steps)


def lstm(keras: Any, steps: int = 5) -> Training:
    """128 units over 100 steps of 64 numbers, batch 32."""
    layers = keras.layers
    model = keras.Sequential(
        [keras.Input((100, 64)), layers.LSTM(128), layers.Dense(10, activation="softmax")]
    )
    return _compiled(model, _numbers(steps * 32, 100, 64), 10, 32)


def transformer(keras: Any, steps: int = 5) -> Training:
    """Two blocks of width 128 with 4 heads over 64 tokens, batch 32."""
    layers = keras.layers
    tokens = keras.Input((64,), dtype="int32")
    x = layers.Embedding(1000, 128)(tokens)
    for _ in range(2):
        attended = layers.MultiHeadAttention(4, 32)(x, x)
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(attended))
        inner = layers.Dense(128)(layers.Dense(512, activation="gelu")(x))
        x = layers.LayerNormalization()(x + layers.Dropout(0.1)(inner))
    outputs = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(x))
    given = np.random.default_rng(0).integers(0, 1000, (steps * 32, 64)).astype(np.int32)
    return _compiled(keras.Model(tokens, outputs), given, 10, 32)


def images(tf: Any, count: int = 12_800) -> Any:
    """A dataset of batches of 128 images of 32x32 that are shuffled and augmented one by one."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (count, 32, 32, 3)).astype(np.uint8)
    classes = rng.integers(0, 10, count).astype(np.int32)

    def prepared(image: Any, label: Any) -> Any:
        return tf.image.random_flip_left_right(tf.cast(image, tf.float32) / 255.0), label

    data = tf.data.Dataset.from_tensor_slices((pixels, classes)).shuffle(2000)
    return data.map(prepared, num_parallel_calls=tf.data.AUTOTUNE).batch(128).prefetch(2)


def small_network(keras: Any) -> Any:
    """A network of convolutions for such images."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


MODELS: dict[str, Callable[..., Training]] = {
    "mlp": mlp,
    "resnet50": resnet50,
    "mobilenet": mobilenet,
    "lstm": lstm,
    "transformer": transformer,
}
