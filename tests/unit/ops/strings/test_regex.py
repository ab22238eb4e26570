"""``tf.strings.regex_replace`` where RE2 and Python differ; expected values are TensorFlow's."""

from __future__ import annotations

import pytest

import tfx as tf

SNOWMAN = "\u00e9\u2603"


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        (SNOWMAN, ".", "xx"),
        (SNOWMAN, "[\u2600-\u26ff]", "\u00e9x"),
        ("\u00e9 l", r"\w", "\u00e9 x"),
        ("a1 b2", "[[:digit:]]", "ax bx"),
        ("a-1", "[[:alpha:]-]", "xx1"),
        ("a]b", "[]a]", "xxb"),
        ("a]b", "[^]a]", "a]x"),
        ("a[b", "[a[]", "xxb"),
        ("&a|", "[&&|]", "xax"),
        ("a\n", "a$", "a\n"),
        ("a\n", "(?m)a$", "x\n"),
        ("a$", r"\$", "ax"),
        ("a$", "[$]", "ax"),
        ("ab", r"b\z", "ax"),
        ("a\vb c", r"\s", "a\vbxc"),
        ("a\vb c", r"[\s]", "a\vbxc"),
        ("abb", "b*", "xax"),
        ("aab", "a*?", "xaxaxbx"),
        ("a\nb", ".", "x\nx"),
    ],
)
def test_as_re2(text: str, pattern: str, expected: str) -> None:
    found = tf.strings.regex_replace(text, pattern, "x").numpy()
    assert found == expected.encode()


def test_groups_and_bytes_that_are_no_text() -> None:
    found = tf.strings.regex_replace([b"\xffab", b"b"], "(a)?(b)", r"<\2\1\\>")
    assert found.numpy().tolist() == [b"\xff<ba\\>", b"<b\\>"]
    once = tf.strings.regex_replace("aaa", "a", "b", replace_global=False)
    assert once.numpy() == b"baa"


@pytest.mark.parametrize("pattern", ["a(?=b)", "(", "[[:letter:]]", "[a", "*", r"\p{L}"])
def test_refused(pattern: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern"):
        tf.strings.regex_replace("ab", pattern, "x")


def test_complex_numbers_as_text() -> None:
    x = tf.constant([1 + 2j, -0.5j])
    assert tf.as_string(x).numpy().tolist() == [b"(1.000000,2.000000)", b"(-0.000000,-0.500000)"]
    assert tf.as_string(x, precision=1).numpy().tolist() == [b"(1.0,2.0)", b"(-0.0,-0.5)"]


def test_a_part_of_a_negative_length_is_all_that_is_left() -> None:
    assert tf.strings.substr("hello", 1, -1).numpy() == b"ello"
    assert tf.strings.substr("hello", 1, -1, unit="UTF8_CHAR").numpy() == b""
