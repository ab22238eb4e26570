"""``tfx.strings``: values that TensorFlow 2.21 gave, eagerly and in functions; what is saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

# A call, and what TensorFlow's result is as Python values.
CASES: dict[str, tuple[Any, Any]] = {
    "join": (lambda: tf.strings.join(["a", ["b", "c"]], "-"), [b"a-b", b"a-c"]),
    "join of three": (lambda: tf.strings.join([["a"], ["b"], ["c"]]), [b"abc"]),
    "reduce_join": (lambda: tf.strings.reduce_join([["a", "b"], ["c", "d"]]), b"abcd"),
    "reduce_join in order": (
        lambda: tf.strings.reduce_join([["a", "b"], ["c", "d"]], [0, 1]),
        b"acbd",
    ),
    "reduce_join keeps axes": (
        lambda: tf.strings.reduce_join([["a", "b"], ["c", "d"]], [1, 0], True, "-"),
        [[b"a-b-c-d"]],
    ),
    "reduce_join over the last": (
        lambda: tf.strings.reduce_join([["a", "b"], ["c", "d"]], -1),
        [b"ab", b"cd"],
    ),
    "reduce_join of a scalar": (lambda: tf.strings.reduce_join("a"), b"a"),
    "split": (lambda: tf.strings.split("  a  b "), [b"a", b"b"]),
    "split nothing": (lambda: tf.strings.split(""), []),
    "split nothing by a mark": (lambda: tf.strings.split("", sep=","), [b""]),
    "split by a mark": (lambda: tf.strings.split(",a,", sep=","), [b"", b"a", b""]),
    "split by a space": (lambda: tf.strings.split("a  b", " "), [b"a", b"", b"b"]),
    "split twice": (lambda: tf.strings.split("a,b,c", ",", 1), [b"a", b"b,c"]),
    "split spaces once": (lambda: tf.strings.split("  a  b c ", maxsplit=1), [b"a", b"b c "]),
    "lower": (lambda: tf.strings.lower([["É", "A b"]]), [["É".encode(), b"a b"]]),
    "upper": (lambda: tf.strings.upper("éa"), "éA".encode()),
    "upper of all letters": (lambda: tf.strings.upper("éa", "utf-8"), "ÉA".encode()),
    "match": (lambda: tf.strings.regex_full_match(["a", "ba", ""], "a.*"), [True, False, False]),
    "match nothing": (lambda: tf.strings.regex_full_match(["", "a"], ""), [True, False]),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    call, expected = CASES[name]
    for result in (call(), tf.function(call)()):
        found = result.numpy()
        assert (found.tolist() if hasattr(found, "tolist") else found) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" 3 ", 3.0),
        ("1e3", 1000.0),
        ("-Inf", -np.inf),
        ("0x10", 16.0),
        ("+4", 4.0),
        (".5", 0.5),
        ("1.", 1.0),
    ],
)
def test_to_number(text: str, value: float) -> None:
    assert float(tf.strings.to_number(text)) == value
    assert float(tf.function(tf.strings.to_number)(tf.constant(text))) == value


@pytest.mark.parametrize("text", ["1.5x", "", "abc", "1_0"])
def test_what_is_no_number(text: str) -> None:
    for call in (tf.strings.to_number, tf.function(tf.strings.to_number)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly convert"):
            call(tf.constant(["1", text]))


def test_a_long_text_is_not_shown_in_full() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r": \\xffa{76}\.\.\. \(900 bytes\)"):
        tf.strings.to_number(b"\xff" + b"a" * 899)


@pytest.mark.parametrize("text", ["15x", "1e3", "99999999999", "0x10"])
def test_what_is_no_int32(text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        tf.strings.to_number(text, tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.function(lambda x: tf.strings.to_number(x, tf.int32))(tf.constant(text))


def test_numbers_of_other_dtypes() -> None:
    assert tf.strings.to_number(["9007199254740993"], tf.int64).numpy()[0] == 2**53 + 1
    assert tf.strings.to_number(tf.constant([], tf.string), tf.float64).dtype == tf.float64
    with pytest.raises(tf.errors.InvalidArgumentError, match="int8"):
        tf.strings.to_number("1", tf.int8)


def test_a_function_of_texts_is_saved(tmp_path: Any) -> None:
    class Words(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
        def count(self, line: tf.Tensor) -> Any:
            words = tf.strings.split(tf.strings.lower(line), sep=",")
            return {
                "size": tf.size(words),
                "last": tf.strings.join([words[-1], "!"]),
                "good": tf.strings.regex_full_match(words, "[a-z]+"),
            }

    module = Words()
    tf.saved_model.save(module, str(tmp_path / "words"), signatures=module.count)
    found = tf.saved_model.load(str(tmp_path / "words")).count(tf.constant("Ab,C,É1"))
    assert found["last"].numpy() == "É1!".encode()
    assert found["good"].numpy().tolist() == [True, True, False]
    assert int(found["size"]) == 3


def test_bad_arguments() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"of int32 .* expected strings"):
        tf.strings.lower([1])
    with pytest.raises(ValueError, match="encoding"):
        tf.strings.lower("a", "latin")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
        tf.strings.regex_full_match("a", "[")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[-1, 1\)"):
        tf.strings.reduce_join(["a"], 5)


def test_axes_of_unknown_length_are_joined() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.string)])
    def joined(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        rows = tf.strings.reduce_join(x, axis=-1, separator="-")
        return rows, tf.strings.reduce_join(x, 0, keepdims=True), tf.strings.reduce_join(x)

    rows, columns, whole = joined(tf.constant([["a", "b", ""], ["c", "", "d"]]))
    assert rows.numpy().tolist() == [b"a-b-", b"c--d"]
    assert columns.numpy().tolist() == [[b"ac", b"b", b"d"]]
    assert whole.numpy() == b"abcd"
    rows, columns, whole = joined(tf.zeros([2, 0], tf.string))
    assert rows.numpy().tolist() == [b"", b""]
    assert columns.shape == [1, 0]
    assert whole.numpy() == b""


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (0, [[b" a  b "], [b"a b c"], [b""]]),
        (1, [[b"a", b"b "], [b"a", b"b c"], []]),
        # What is behind the last split is a piece, even where nothing is.
        (2, [[b"a", b"b", b""], [b"a", b"b", b"c"], []]),
        (3, [[b"a", b"b"], [b"a", b"b", b"c", b""], []]),
    ],
)
def test_a_limited_number_of_splits_at_white_space(most: int, expected: list[list[bytes]]) -> None:
    assert tf.strings.split([" a  b ", "a b c", ""], maxsplit=most).to_list() == expected
