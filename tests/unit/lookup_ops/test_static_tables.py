"""Tables that never change: eager, traced, in stock ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfx as tf
from tfx.core import errors
from tfx.lookup_ops.vocabulary_index import _base

WORDS = ["emerson", "lake", "palmer", "zwölf", ""]


def table(keys: Any, values: Any, default: Any) -> Any:
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), default)


def both(made: Any, keys: Any) -> Any:
    """What a lookup gives: the same eagerly and in functions of fixed and open shapes."""
    eager = made.lookup(keys)
    open_shape = tf.TensorSpec([None] * len(keys.shape), keys.dtype)
    for function in (tf.function(made.lookup), tf.function(made.lookup, [open_shape])):
        traced = function(keys)
        assert traced.dtype is eager.dtype
        np.testing.assert_array_equal(traced.numpy(), eager.numpy())
    return eager.numpy()


@pytest.mark.parametrize(
    ("values", "default"),
    [
        (np.arange(5, dtype=np.int64), -1),
        (np.arange(5, dtype=np.float32) / 2, np.nan),
        (["a", "b", "c", "d", "e"], "?"),
        ([True, False, True, True, False], False),
        (np.arange(5, dtype=np.int32), 7),
    ],
    ids=["int64", "float32", "string", "bool", "int32"],
)
def test_words_to_anything(values: Any, default: Any) -> None:
    made = table(WORDS, values, default)
    found = both(made, tf.constant([["zwölf", "no", ""], ["lake", "LAKE", "emerson"]]))
    expected = np.array([[values[3], default, values[4]], [values[1], default, values[0]]])
    if expected.dtype.kind == "U":
        found = np.vectorize(lambda item: item.decode())(found)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64], ids=str)
def test_numbers_to_words(dtype: Any) -> None:
    keys = [5, -7, 2**31 - 1] if dtype is tf.int32 else [5, -7, 2**62]
    made = table(tf.constant(keys, dtype), ["five", "less", "much"], "?")
    found = both(made, tf.constant([-7, 0, keys[2]], dtype))
    assert found.tolist() == [b"less", b"?", b"much"]


@pytest.mark.parametrize("shape", [(0,), (), (2, 0), (3, 1, 2)], ids=str)
def test_shapes(shape: Any) -> None:
    made = table(["a"], tf.constant([4], tf.int64), -1)
    keys = tf.constant(np.full(shape, "a", object), tf.string)
    np.testing.assert_array_equal(both(made, keys), np.full(shape, 4))


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"),
                     max_size=6), min_size=1, max_size=80, unique=True),
    st.data(),
)  # fmt: skip
def test_any_words(words: list[str], data: Any) -> None:
    made = table(words, np.arange(len(words)), -1)
    asked = data.draw(st.lists(st.sampled_from([*words, "\1none"]), min_size=1, max_size=8))
    expected = [words.index(word) if word in words else -1 for word in asked]
    assert both(made, tf.constant(asked)).tolist() == expected


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 4096, 4097, 100_000, 262_145])
def test_there_are_digits_enough(count: int) -> None:
    base, digits = _base(count)
    assert base**digits >= count
    assert base <= 65


def test_a_vocabulary_of_many_words() -> None:
    count = 5000
    made = table([f"word{i}" for i in range(count)], np.arange(count), -1)
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, count, 200)
    asked = tf.constant([f"word{i}" for i in chosen] + ["word", "word5000"])
    assert both(made, asked).tolist() == [*chosen.tolist(), -1, -1]


def test_the_graph_is_standard_and_runs_in_stock_onnx_runtime(tmp_path: Path) -> None:
    made = table(WORDS, np.arange(5, dtype=np.int64), -1)
    function = tf.function(made.lookup, input_signature=[tf.TensorSpec([None], tf.string, "w")])
    model = function.get_concrete_function().as_onnx()
    assert {node.domain for node in model.graph.node} == {""}
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (found,) = session.run(None, {"w": np.array(["palmer", "x"], object)})
    assert found.tolist() == [2, -1]


def test_what_a_table_tells() -> None:
    made = table(["a", "b"], [1, 2], -1)
    assert (made.key_dtype, made.value_dtype) == (tf.string, tf.int32)
    assert int(made.size()) == 2
    assert int(made.default_value) == -1
    keys, values = made.export()
    assert keys.numpy().tolist() == [b"a", b"b"]
    assert values.numpy().tolist() == [1, 2]
    assert int(made[tf.constant("b")]) == 2
    assert repr(made) == "<tfx.lookup.StaticHashTable of 2 string keys to int32>"


def test_a_repeated_key_is_fine_with_the_same_value() -> None:
    made = table(["a", "b", "a"], [1, 2, 1], -1)
    assert int(made.size()) == 2
    with pytest.raises(errors.FailedPreconditionError, match="different value for same key"):
        table(["a", "a"], [1, 2], -1)


def test_mistakes() -> None:
    made = table(["a"], [1], -1)
    with pytest.raises(TypeError, match=r"Dtype of argument `keys` must be tf.string"):
        made.lookup(tf.constant([1]))
    with pytest.raises(errors.InvalidArgumentError, match="as many values as keys"):
        table(["a", "b"], [1], -1)
    with pytest.raises(errors.InvalidArgumentError, match="keys are float32"):
        table([1.5], [1], -1)
    with pytest.raises((TypeError, ValueError)):
        table(["a"], ["x"], 5)


def test_a_vocabulary_with_buckets() -> None:
    ids = tf.constant([0, 1], tf.int64)
    init = tf.lookup.KeyValueTensorInitializer(["emerson", "lake"], ids)
    one = tf.lookup.StaticVocabularyTable(init, 1)
    assert both(one, tf.constant(["lake", "x", "y"])).tolist() == [1, 2, 2]
    assert int(one.size()) == 3
    # The buckets are TensorFlow's.
    three = tf.lookup.StaticVocabularyTable(None, 3, lookup_key_dtype=tf.string)
    assert both(three, tf.constant(["q", "a", "palmer", "", "x" * 100])).tolist() == [2, 0, 0, 2, 1]
    numbers = tf.lookup.KeyValueTensorInitializer(
        tf.constant([5], tf.int64), tf.constant([0], tf.int64)
    )
    four = tf.lookup.StaticVocabularyTable(numbers, 4)
    assert both(four, tf.constant([5, 6, 7, 8], tf.int64)).tolist() == [0, 4, 1, 4]


def test_mistaken_vocabularies() -> None:
    init = tf.lookup.KeyValueTensorInitializer(["a"], [0])
    with pytest.raises(TypeError, match=r"Invalid `value_dtype`, expected tf.int64"):
        tf.lookup.StaticVocabularyTable(init, 1)
    with pytest.raises(ValueError, match="must be > 0"):
        tf.lookup.StaticVocabularyTable(None, 0)


def test_text_files(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_bytes("emerson\t10\nlake\t20\r\nzwölf\t30\n".encode())
    index = tf.lookup.TextFileIndex
    init = tf.lookup.TextFileInitializer
    columns = init(str(path), tf.string, 0, tf.int64, 1)
    found = tf.lookup.StaticHashTable(columns, -1).lookup(tf.constant(["lake", "zwölf", "x"]))
    assert found.numpy().tolist() == [20, 30, -1]
    lines = init(
        tf.constant(str(path)), tf.int64, index.LINE_NUMBER, tf.string, 0, value_index_offset=0
    )
    assert tf.lookup.StaticHashTable(lines, "?")[tf.constant([2], tf.int64)].numpy() == [
        "zwölf".encode()
    ]
    first = init(path, tf.string, 0, tf.int64, index.LINE_NUMBER, vocab_size=1)
    assert int(tf.lookup.StaticHashTable(first, -1).size()) == 1
    with pytest.raises(errors.InvalidArgumentError, match="expected 9 but got 3"):
        tf.lookup.StaticHashTable(init(path, tf.string, 0, tf.int64, -1, vocab_size=9), -1)
    with pytest.raises(errors.InvalidArgumentError, match="Invalid number of columns"):
        tf.lookup.StaticHashTable(init(path, tf.string, 5, tf.int64, -1), -1)
    with pytest.raises(errors.InvalidArgumentError, match="invalid literal"):
        tf.lookup.StaticHashTable(init(path, tf.string, -2, tf.int64, 0), -1)
    with pytest.raises(errors.NotFoundError):
        tf.lookup.StaticHashTable(init("no.txt", tf.string, -2, tf.int64, -1), -1)
    with pytest.raises(ValueError, match="they are line numbers"):
        init(path, tf.string, index.LINE_NUMBER, tf.int64, 1)


class _Numbered(tf.lookup.KeyValueTensorInitializer):
    """Keys of its own, as a program's subclass has them."""

    def __init__(self, count):
        super().__init__([str(i) for i in range(count)], list(range(count)), tf.string, tf.int64)
        self.filled = []

    def initialize(self, table):
        self.filled.append(type(table).__name__)
        super().initialize(table)


class _Forgetful(tf.lookup.KeyValueTensorInitializer):
    def initialize(self, table):
        pass


def test_an_initializer_that_is_a_subclass_fills_the_table():
    numbered = _Numbered(3)
    table = tf.lookup.StaticHashTable(numbered, -1)
    words = tf.lookup.StaticVocabularyTable(numbered, 2)
    assert table.lookup(tf.constant(["2", "z"])).numpy().tolist() == [2, -1]
    assert (int(words.size()), int(words.lookup(tf.constant("1")))) == (5, 1)
    assert numbered.filled == ["StaticHashTable", "StaticVocabularyTable"]
    # As in TensorFlow: who loads a model makes its tables first, and fills them afterwards.
    empty = tf.lookup.StaticHashTable(_Forgetful(["a"], [1]), -1)
    assert int(empty.size()) == 0
    with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized: _Forgetful"):
        empty.lookup(tf.constant("a"))


def test_a_table_may_be_made_while_a_function_is_traced():
    @tf.function
    def f(keys):
        return tf.lookup.StaticHashTable(_Numbered(3), -1).lookup(keys)

    assert f(tf.constant(["1", "z"])).numpy().tolist() == [1, -1]
