"""``tf.__operators__``: Python's operators on tensors as functions."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


def test_arithmetic_and_comparisons() -> None:
    x = tf.constant([1, 2])
    assert tf.__operators__.add(x, 3).numpy().tolist() == [4, 5]
    assert tf.__operators__.add(tf.constant(["a"]), ["b"]).numpy().tolist() == [b"ab"]
    assert tf.__operators__.eq(x, [1, 3]).numpy().tolist() == [True, False]
    assert tf.__operators__.ne(x, [1, 3]).numpy().tolist() == [False, True]
    with pytest.raises(TypeError):
        tf.__operators__.add(x, "text")


def test_parts() -> None:
    x = np.arange(12).reshape(3, 4)
    v = tf.Variable(x)
    key = (slice(1, None), ..., 2)
    for given in (x, tf.constant(x), v):
        assert np.array_equal(tf.__operators__.getitem(given, key), x[1:, 2])
    f = tf.function(lambda i: tf.__operators__.getitem(v, i))
    assert np.array_equal(f(tf.constant(2)), x[2])
    ragged = tf.ragged.constant([[1], [2, 3]])
    assert tf.__operators__.ragged_getitem(ragged, 1).numpy().tolist() == [2, 3]
    assert tf.__operators__.add(ragged, 1).to_list() == [[2], [3, 4]]


def test_where_the_namespace_is_found() -> None:
    assert sorted(dir(tf.__operators__)) == ["add", "eq", "getitem", "ne", "ragged_getitem"]
    assert tf.compat.v1.__operators__ is tf.compat.v2.__operators__ is tf.__operators__
    assert "__operators__" not in dir(tf)
