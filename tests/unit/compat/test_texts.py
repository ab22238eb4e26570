"""The small helpers of tf.compat: what TensorFlow gives, and what it refuses."""

from __future__ import annotations

import pathlib

import pytest

import tfx as tf


@pytest.mark.parametrize("value", ["é", "é".encode(), bytearray("é".encode())])
def test_bytes_and_texts(value):
    assert tf.compat.as_bytes(value) == "é".encode()
    assert type(tf.compat.as_bytes(value)) is bytes
    assert tf.compat.as_text(value) == tf.compat.as_str(value) == "é"
    assert tf.compat.as_str_any(value) == "é"


def test_another_encoding():
    assert tf.compat.as_bytes("é", "latin-1") == b"\xe9"
    assert tf.compat.as_text(b"\xe9", encoding="latin-1") == "é"


@pytest.mark.parametrize("convert", [tf.compat.as_bytes, tf.compat.as_text])
def test_what_is_no_text(convert):
    with pytest.raises(TypeError, match="Expected binary or unicode string, got 1"):
        convert(1)
    assert tf.compat.as_str_any(1) == "1"


def test_paths():
    assert tf.compat.path_to_str(pathlib.PurePosixPath("a/b")) == "a/b"
    assert tf.compat.path_to_str(b"a") == b"a"


def test_dimensions():
    assert [tf.compat.dimension_value(d) for d in tf.TensorShape([3, None])] == [3, None]


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="as_bytes"):
        _ = tf.compat.v3
    assert {"v1", "v2", "as_str"} <= set(dir(tf.compat))
