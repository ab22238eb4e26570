"""Ragged tensors in Keras' layers and in ``fit``, and batches whose examples differ in size.

Expected values are those of TensorFlow's backend.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

keras: Any = tf.keras
layers: Any = keras.layers
ROWS = [[1, 2, 3], [], [4], [5, 6]]


def rows() -> Any:
    return tf.ragged.constant(ROWS)


def doubled() -> Any:
    """A model that gives 2 k and 2 k + 1 for each number k."""
    model = keras.Sequential(
        [keras.Input((None,), ragged=True, dtype="int32"), layers.Embedding(10, 2)]
    )
    model.layers[0].set_weights([np.arange(20, dtype=np.float32).reshape(10, 2)])
    return model


EXPECTED = [[[2 * k, 2 * k + 1] for k in row] for row in ROWS]


def test_a_symbolic_ragged_tensor_stays_one() -> None:
    found = layers.Embedding(10, 2)(keras.Input((None,), ragged=True, dtype="int32"))
    assert found.ragged
    assert found.shape == (None, None, 2)


@pytest.mark.parametrize("batched", [False, True])
def test_predictions_of_rows_are_rows(batched: bool) -> None:
    data = tf.data.Dataset.from_tensor_slices(rows()).batch(3) if batched else rows()
    options = {} if batched else {"batch_size": 3}
    found = doubled().predict(data, verbose=0, **options)
    assert isinstance(found, tf.RaggedTensor)
    assert found.to_list() == EXPECTED


def test_operations_of_keras() -> None:
    ops = keras.ops
    assert ops.shape(rows()) == (4, None)
    assert ops.cast(rows(), "float32").dtype == tf.float32
    assert ops.take(np.arange(10) * 2, rows()).to_list() == [[2 * k for k in row] for row in ROWS]
    assert ops.digitize(rows(), [2, 5]).to_list() == [[0, 1, 1], [], [1], [2, 2]]
    np.testing.assert_array_equal(
        ops.convert_to_tensor(rows(), ragged=False), [[1, 2, 3], [0, 0, 0], [4, 0, 0], [5, 6, 0]]
    )
    found = layers.Hashing(3)(tf.ragged.constant([["a", "b"], ["c"]]))
    assert found.to_list() == [[0, 1], [1]]


def test_rows_and_lengths_of_any_size_train_one_graph() -> None:
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    texts = [rng.integers(1, 50, size=n).tolist() for n in rng.integers(2, 30, 64)]
    labels = np.array([float(len(text) > 15) for text in texts])
    data = tf.data.Dataset.from_tensor_slices((tf.ragged.constant(texts), labels)).batch(8)
    data = data.map(lambda x, y: (x.to_tensor(), y))
    traces = []

    def seen(x: Any) -> Any:
        traces.append(x.shape)
        return x

    model = keras.Sequential(
        [
            layers.Lambda(seen),
            layers.Embedding(50, 8, mask_zero=True),
            layers.GlobalAveragePooling1D(),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy")
    losses = model.fit(data, epochs=6, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    # Once to build, once for the first length, once for all others.
    assert len(traces) <= 4


def test_predictions_that_differ_in_size_become_rows() -> None:
    data = tf.data.Dataset.from_tensor_slices(np.arange(4)).batch(2)
    data = data.map(lambda n: tf.ones([2, n[1] + 1]))
    model = keras.Sequential([layers.Lambda(lambda x: 2 * x)])
    found = model.predict(data, verbose=0)
    assert found.to_list() == [[2.0] * 2] * 2 + [[2.0] * 4] * 2


def test_a_part_of_rows_is_kept_for_validation() -> None:
    model = keras.Sequential(
        [
            keras.Input((None,), ragged=True, dtype="int32"),
            layers.Embedding(10, 2),
            layers.Lambda(lambda x: tf.reduce_sum(x, [1, 2])),
        ]
    )
    model.compile("sgd", "mse")
    history = model.fit(
        rows(), np.ones(4, np.float32), validation_split=0.25, batch_size=2, verbose=0
    ).history
    assert set(history) == {"loss", "val_loss"}


def test_words_of_texts_are_rows() -> None:
    layer = layers.TextVectorization(ragged=True)
    layer.adapt(["a b c", "a b"])
    assert layer(tf.constant(["a b", "c a a"])).to_list() == [[3, 2], [4, 3, 3]]
    again = layers.TextVectorization.from_config(layer.get_config())
    assert again.get_config()["ragged"]
    with pytest.raises(ValueError, match="ragged"):
        layers.TextVectorization(ragged=True, output_mode="count")
