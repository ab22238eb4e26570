"""What Python does to texts: values that TensorFlow 2.21 gave, eagerly and in functions."""

from __future__ import annotations

from typing import Any

import pytest

import tfx as tf

CASES: dict[str, tuple[Any, Any]] = {
    "strip": (lambda: tf.strings.strip([" \t a b\n"]), [b"a b"]),
    "length": (lambda: tf.strings.length("é🙂"), 6),
    "length in characters": (lambda: tf.strings.length(["é🙂", "a"], "UTF8_CHAR"), [2, 1]),
    "substr": (lambda: tf.strings.substr(["Hello", "World"], 1, 3), [b"ell", b"orl"]),
    "substr from the end": (lambda: tf.strings.substr("Hello", -3, 2), b"ll"),
    "substr beyond": (lambda: tf.strings.substr("Hello", 1, 100), b"ello"),
    "substr of nothing": (lambda: tf.strings.substr("Hello", 5, 1), b""),
    "substr of characters": (
        lambda: tf.strings.substr(["ééa", "xyz"], [1, -2], [2, 1], "UTF8_CHAR"),
        ["éa".encode(), b"y"],
    ),
    "replace": (lambda: tf.strings.regex_replace("a1b22", r"(\d)", r"<\1>"), b"a<1>b<2><2>"),
    "replace once": (lambda: tf.strings.regex_replace("a1b22", r"\d", "x", False), b"axb22"),
    "replace by all": (lambda: tf.strings.regex_replace("ab", "(a)", r"\0\\"), b"a\\b"),
    "floats": (
        lambda: tf.strings.as_string([1.5, 1e10, float("nan"), float("inf")]),
        [b"1.500000", b"10000000000.000000", b"nan", b"inf"],
    ),
    "precision": (lambda: tf.strings.as_string([1.5], 2, width=8, fill="0"), [b"00001.50"]),
    "scientific": (lambda: tf.strings.as_string([1.5], scientific=True), [b"1.500000e+00"]),
    "shortest": (lambda: tf.strings.as_string([1e-10, 1.0], shortest=True), [b"1e-10", b"1"]),
    "width": (lambda: tf.strings.as_string([1, -2], width=5), [b"    1", b"   -2"]),
    "spaces behind": (
        lambda: tf.strings.as_string([1, -2], width=5, fill="-"),
        [b"1    ", b"-2   "],
    ),
    "zeros": (lambda: tf.strings.as_string([1, -2], width=5, fill="0"), [b"00001", b"-0002"]),
    "booleans": (lambda: tf.as_string([True, False]), [b"true", b"false"]),
    "integers": (lambda: tf.as_string(tf.constant([7, -8], tf.int64)), [b"7", b"-8"]),
    "format": (
        lambda: tf.strings.format("a {} b {}", (tf.range(10), tf.constant("x"))),
        b'a [0 1 2 ... 7 8 9] b "x"',
    ),
    "bytes": (lambda: tf.strings.bytes_split("abc"), [b"a", b"b", b"c"]),
    "ngrams": (lambda: tf.strings.ngrams(["A", "B"], [1, 2]), [b"A", b"B", b"A B"]),
    "padded ngrams": (
        lambda: tf.strings.ngrams(["A", "B"], 3, pad_values=("<", ">")),
        [b"< < A", b"< A B", b"A B >", b"B > >"],
    ),
    "rows of ngrams": (
        lambda: tf.strings.ngrams([["A", "B", "C"], ["x", "y", "z"]], 2),
        [[b"A B", b"B C"], [b"x y", b"y z"]],
    ),
    "short ngrams": (
        lambda: tf.strings.ngrams(["A", "B"], 3, preserve_short_sequences=True),
        [b"A B"],
    ),
    "segments": (
        lambda: tf.strings.unsorted_segment_join(["a", "b", "c"], [0, 1, 0], 2, ":"),
        [b"a:c", b"b"],
    ),
    "segments of rows": (
        lambda: tf.strings.unsorted_segment_join([["a", "x"], ["b", "y"]], [1, 1], 2),
        [[b"", b""], [b"ab", b"xy"]],
    ),
    "code points": (lambda: tf.strings.unicode_decode("aé🙂", "UTF-8"), [97, 233, 128578]),
    "no code points": (lambda: tf.strings.unicode_decode(b"a\xff", "UTF-8"), [97, 65533]),
    "from code points": (
        lambda: tf.strings.unicode_encode([[97, 233], [98, 99]], "UTF-8"),
        ["aé".encode(), b"bc"],
    ),
    "characters": (lambda: tf.strings.unicode_split("aé", "UTF-8"), [b"a", "é".encode()]),
    "transcode": (
        lambda: tf.strings.unicode_transcode(["aé"], "UTF-8", "UTF-16-BE"),
        [b"\x00a\x00\xe9"],
    ),
    "buckets": (lambda: tf.strings.to_hash_bucket_fast(["Hello", "World"], 100), [51, 72]),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    call, expected = CASES[name]
    for result in (call(), tf.function(call)()):
        found = result.numpy()
        assert (found.tolist() if hasattr(found, "tolist") else found) == expected


def test_errors() -> None:
    refused = tf.errors.InvalidArgumentError
    with pytest.raises(refused, match="pos 7 out of range for string b'Hello'"):
        tf.strings.substr("Hello", 7, 1)
    with pytest.raises(refused, match="Invalid pattern"):
        tf.strings.regex_replace("ab", "(", "x")
    with pytest.raises(refused, match=r"has 1 group\(s\), not 2"):
        tf.strings.regex_replace("ab", "(a)", r"\2")
    with pytest.raises(refused, match="precision"):
        tf.as_string([1], precision=2)
    with pytest.raises(refused, match="both"):
        tf.as_string([1.0], scientific=True, shortest=True)
    with pytest.raises(ValueError, match="0 placeholder"):
        tf.strings.format("v", [tf.constant("q")])
    with pytest.raises(ValueError, match="unit"):
        tf.strings.length("a", "LETTER")
    with pytest.raises(refused, match=r"Invalid formatting"):
        tf.strings.unicode_decode(b"\xff", "UTF-8", errors="strict")
    with pytest.raises(ValueError, match="no encoding"):
        tf.strings.unicode_decode("a", "UTF-9")
    with pytest.raises(refused, match="out of range"):
        tf.strings.unsorted_segment_join(["a"], [3], 2)
    with pytest.raises(ValueError, match="at least 1"):
        tf.strings.to_hash_bucket_fast("a", 0)


def test_a_function_that_needs_python_is_not_saved(tmp_path: Any) -> None:
    class Lengths(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def count(self, x: tf.Tensor) -> tf.Tensor:
            return tf.strings.length(x)

    module = Lengths()
    with pytest.raises(tf.errors.OpError, match=r"strings\.length"):
        tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.count)


def test_joining_nothing_and_empty_words():
    assert tf.strings.join([]).numpy() == b""
    found = tf.strings.unsorted_segment_join(["", "a", "", "b"], [0, 0, 0, 1], 2, "-")
    assert found.numpy().tolist() == [b"a-", b"b"]
