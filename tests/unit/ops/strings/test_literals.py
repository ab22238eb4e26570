"""Characters and texts that are replaced in a graph: what Python's expressions give, and saved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfx as tf
from tfx.ops.strings.literals import literals_of, replaceable

PUNCTUATION = r'[!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']'


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (b"<br />", ["<br />"]),
        (rb"a\.b", ["a.b"]),
        (b"[abc]", ["a", "b", "c"]),
        (b"[a-d-]", ["a", "b", "c", "d", "-"]),
        (rb"[a\-d]", ["a", "-", "d"]),
        (rb"[\[\]]", ["[", "]"]),
        (b"a.b", None),
        (b"a|b", None),
        (rb"\d", None),
        (b"[^a]", None),
        (b"[[:alpha:]]", None),
        (rb"[\d]", None),
        (b"", None),
        (b"[ -~]", None),  # too many
    ],
)
def test_what_is_literal(pattern: bytes, literals: list[str] | None) -> None:
    assert literals_of(pattern) == literals


def test_one_by_one_is_at_once_unless_what_is_written_is_replaced_again() -> None:
    assert replaceable(["a", "b"], "x")
    assert replaceable(["ab"], "abab")
    assert not replaceable(["a", "b"], "ab")


_remove = tf.function(
    lambda x: tf.strings.regex_replace(x, PUNCTUATION, ""),
    input_signature=[tf.TensorSpec([None], tf.string)],
    autograph=False,
)
_rewrite = tf.function(
    lambda x: tf.strings.regex_replace(x, "ab", "<ba>"),
    input_signature=[tf.TensorSpec([None], tf.string)],
    autograph=False,
)
_swap = tf.function(
    lambda x: tf.strings.regex_replace(x, "[ab]", "ab"),
    input_signature=[tf.TensorSpec([None], tf.string)],
    autograph=False,
)


@given(st.lists(st.text("ab!.c[\\ é-", max_size=12), max_size=5))
def test_graphs_replace_as_python_does(texts: list[str]) -> None:
    x = tf.constant(texts, tf.string)
    for traced, pattern, rewrite in (
        (_remove, PUNCTUATION, ""),
        (_rewrite, "ab", "<ba>"),
        (_swap, "[ab]", "ab"),
    ):
        expected = tf.strings.regex_replace(x, pattern, rewrite).numpy()
        np.testing.assert_array_equal(traced(x).numpy(), expected)


@given(st.text("a b\t\n\r\v\f", max_size=15))
def test_a_traced_split_knows_all_white_space(text: str) -> None:
    traced = tf.function(lambda x: tf.strings.split(x), autograph=False)
    assert traced(tf.constant(text)).numpy().tolist() == text.encode().split()


def test_any_shape_and_saved(tmp_path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.string)])
    def clean(x):
        return tf.strings.regex_replace(tf.strings.lower(x), PUNCTUATION, "")

    module = tf.Module()
    module.clean = clean
    tf.saved_model.save(module, str(tmp_path / "bundle"))
    loaded = tf.saved_model.load(str(tmp_path / "bundle"))
    given = tf.constant([["A.", "b!"], ["(C)", "d"]])
    assert loaded.clean(given).numpy().tolist() == [[b"a", b"b"], [b"c", b"d"]]
    assert clean(tf.zeros([0, 2], tf.string)).shape == (0, 2)
