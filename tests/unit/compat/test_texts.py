"""The small helpers of tf.compat: what TensorFlow gives, and what it refuses."""

from __future__ import annotations

import pathlib

import numpy as np
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
    with pytest.raises(AttributeError, match="no attribute 'v3'"):
        _ = tf.compat.v3
    assert {"v1", "v2", "as_str"} <= set(dir(tf.compat))


def test_types_of_numbers_and_texts():
    assert isinstance(np.int8(1), tf.compat.integral_types)
    assert not isinstance(1.0, tf.compat.integral_types)
    assert isinstance(np.float16(1), tf.compat.real_types)
    assert isinstance(1j, tf.compat.complex_types)
    assert not isinstance(1j, tf.compat.real_types)
    assert isinstance(b"a", tf.compat.bytes_or_text_types)
    assert tf.compat.path_to_bytes("a/b") == tf.compat.path_to_bytes(pathlib.PurePosixPath("a/b"))
    with tf.compat.forward_compatibility_horizon(2019, 8, 1):
        assert tf.compat.forward_compatible(2019, 8, 2)
