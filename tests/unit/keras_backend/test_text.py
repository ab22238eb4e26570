"""Layers that look up text and numbers: values that TensorFlow 2.21 gave, eagerly and traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

keras: Any = pytest.importorskip("tfx.keras")

TEXTS = [["the cat"], ["a dog\tsat"], [""]]
WORDS = ["the cat sat", "the dog sat", "a cat"]


def both(layer: Any, *given: Any) -> Any:
    """What a layer gives, the same in a graph."""
    found = layer(*given).numpy()
    traced = tf.function(lambda *x: layer(*x), autograph=False)(*given)
    np.testing.assert_array_equal(traced.numpy(), found)
    return found


LN2 = 0.6931471824645996
VECTORIZED: list[tuple[dict[str, Any], Any]] = [
    ({"output_sequence_length": 4}, [[2, 4, 0, 0], [6, 5, 3, 0], [0, 0, 0, 0]]),
    ({}, [[2, 4, 0], [6, 5, 3], [0, 0, 0]]),
    (
        {"output_mode": "multi_hot"},
        [[0, 1, 0, 1, 0, 0], [0, 0, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0]],
    ),
    ({"output_mode": "count"}, [[0, 1, 0, 1, 0, 0], [0, 0, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0]]),
    (
        {"output_mode": "tf_idf"},
        [
            [0, LN2, 0, LN2, 0, 0],
            [0, 0, LN2, 0, 0.9162907600402832, 0.9162907600402832],
            [0, 0, 0, 0, 0, 0],
        ],
    ),
    ({"ngrams": 2}, [[2, 4, 6, 0, 0], [11, 8, 3, 1, 7], [0, 0, 0, 0, 0]]),
    (
        {"split": "character"},
        [[2, 6, 7, 4, 8, 3, 2, 0, 0], [3, 4, 11, 9, 10, 1, 5, 3, 2], [0] * 9],
    ),
    ({"standardize": None}, [[2, 4, 0], [6, 5, 3], [0, 0, 0]]),
    (
        {"standardize": lambda x: tf.strings.lower(x)},
        [[2, 4, 0], [6, 5, 3], [0, 0, 0]],
    ),
]


@pytest.mark.parametrize(("options", "expected"), VECTORIZED)
def test_text_vectorization(options: dict[str, Any], expected: Any) -> None:
    layer = keras.layers.TextVectorization(max_tokens=12, **options)
    layer.adapt(WORDS)
    np.testing.assert_allclose(both(layer, tf.constant(TEXTS)), expected, rtol=1e-6)


def test_a_function_that_takes_arrays_gets_arrays() -> None:
    layer = keras.layers.TextVectorization(standardize=lambda x: np.char.upper(x))
    layer.adapt(WORDS)
    assert layer.get_vocabulary()[2:5] == ["THE", "SAT", "CAT"]


LETTERS = tf.constant([["a", "c"], ["b", "m"]])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"mask_token": "m"}, [[2, 1], [3, 0]]),
        ({"output_mode": "multi_hot"}, [[1, 1, 0], [1, 0, 1]]),
        (
            {"output_mode": "count", "pad_to_max_tokens": True, "max_tokens": 5},
            [[1, 1, 0, 0, 0], [1, 0, 1, 0, 0]],
        ),
    ],
)
def test_string_lookup(options: dict[str, Any], expected: Any) -> None:
    layer = keras.layers.StringLookup(vocabulary=["a", "b"], **options)
    np.testing.assert_array_equal(both(layer, LETTERS), expected)


def test_numbers_back_to_words_and_numbers_to_numbers() -> None:
    words = keras.layers.StringLookup(vocabulary=["a", "b"], invert=True)
    assert both(words, tf.constant([1, 2, 0], tf.int64)).tolist() == [b"a", b"b", b"[UNK]"]
    numbers = keras.layers.IntegerLookup(vocabulary=[5, 7])
    assert both(numbers, tf.constant([5, 9, 7], tf.int64)).tolist() == [1, 0, 2]
    strict = keras.layers.StringLookup(vocabulary=["a"], num_oov_indices=0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="found OOV values"):
        strict(tf.constant(["z"]))


def test_hashes() -> None:
    words = tf.constant([["a"], ["b"], ["zz"]])
    reference = tf.strings.to_hash_bucket_fast(words, 4).numpy()
    np.testing.assert_array_equal(both(keras.layers.Hashing(4), words), reference)
    salted = tf.strings.to_hash_bucket_strong(words, 4, [133, 137]).numpy()
    np.testing.assert_array_equal(both(keras.layers.Hashing(4, salt=[133, 137]), words), salted)
    crossed = keras.layers.HashedCrossing(1000)
    letters, numbers = tf.constant(["a", "b", "cc"]), tf.constant([1, 2, 3])
    assert both(lambda a, b: crossed((a, b)), letters, numbers).tolist() == [485, 357, 484]


def test_a_model_of_texts_trains_and_leaves_python_with_its_words(tmp_path: Any) -> None:
    keras.utils.set_random_seed(0)
    texts = np.array(["good film, really!", "bad film", "so GOOD", "a bad, bad thing"] * 16, object)
    labels = np.array([1, 0, 1, 0] * 16)
    words = keras.layers.TextVectorization(50, output_sequence_length=6)
    words.adapt(texts)
    model = keras.Sequential(
        [
            keras.Input((1,), dtype="string", name="text"),
            words,
            keras.layers.Embedding(50, 8),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy", metrics=["accuracy"])
    history = model.fit(texts[:, None], labels, epochs=6, verbose=0).history
    assert history["accuracy"][-1] == 1.0
    assert len(history["loss"]) == 6 and history["loss"][-1] < 0.5 * history["loss"][0]
    asked = tf.constant([["Good!"], ["bad"]])
    expected = model.predict(asked, verbose=0)
    assert expected[0, 0] > 0.5 > expected[1, 0]
    model.export(str(tmp_path / "bundle"), train=True, verbose=False)
    bundle = tf.saved_model.load(str(tmp_path / "bundle"))
    np.testing.assert_allclose(bundle.serve(asked).numpy(), expected, rtol=1e-6)
    before = float(bundle.train_step(tf.constant(texts[:8, None]), labels[:8])["loss"])
    assert float(bundle.train_step(tf.constant(texts[:8, None]), labels[:8])["loss"]) != before
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.predict(asked, verbose=0), expected)


def test_features_of_many_kinds() -> None:
    space = keras.utils.FeatureSpace(
        features={"c": "string_categorical", "i": "integer_categorical", "f": "float"},
        output_mode="concat",
    )
    rows = {"c": ["x", "y", "x"], "i": [1, 2, 3], "f": [0.1, 0.2, 0.3]}
    data = tf.data.Dataset.from_tensor_slices(rows)
    space.adapt(data)
    direct = space({name: values[:2] for name, values in rows.items()})
    (mapped,) = data.batch(2).map(space).take(1)
    np.testing.assert_allclose(mapped.numpy(), np.asarray(direct), rtol=1e-6)


def test_datasets_of_folders(tmp_path: Any) -> None:
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for kind in ("cat", "dog"):
        (tmp_path / "images" / kind).mkdir(parents=True)
        (tmp_path / "texts" / kind).mkdir(parents=True)
        for i in range(3):
            pixels = rng.integers(0, 255, (20, 24, 3)).astype("uint8")
            image.fromarray(pixels).save(tmp_path / "images" / kind / f"{i}.png")
            (tmp_path / "texts" / kind / f"{i}.txt").write_text(f"this is {kind} {i}")
    for options in ({}, {"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True}):
        images = keras.utils.image_dataset_from_directory(
            tmp_path / "images", image_size=(16, 12), batch_size=4, verbose=False, **options
        )
        assert images.class_names == ["cat", "dog"] and len(images) == 2
        shapes = [(x.shape.as_list(), y.dtype) for x, y in images]
        assert shapes == [([4, 16, 12, 3], tf.int32), ([2, 16, 12, 3], tf.int32)]
    texts = keras.utils.text_dataset_from_directory(
        tmp_path / "texts", batch_size=6, max_length=11, verbose=False, shuffle=False
    )
    ((found, labels),) = list(texts)
    assert found.numpy().tolist() == [b"this is cat"] * 3 + [b"this is dog"] * 3
    assert labels.numpy().tolist() == [0, 0, 0, 1, 1, 1]


def test_windows_of_a_series_and_halves_of_a_dataset() -> None:
    windows = keras.utils.timeseries_dataset_from_array(np.arange(9), np.arange(9) + 3, 3)
    ((x, y),) = list(windows)
    assert x.numpy().tolist()[:2] == [[0, 1, 2], [1, 2, 3]] and y.numpy().tolist()[:2] == [3, 4]
    left, right = keras.utils.split_dataset(tf.data.Dataset.range(10), left_size=0.7)
    assert [int(v) for v in right] == [7, 8, 9] and len(left) == 7
    left, _ = keras.utils.split_dataset(tf.data.Dataset.range(12).batch(3), left_size=0.5)
    assert [b.shape.as_list() for b in left] == [[3], [3]]
