"""Rows of a larger tensor."""

from __future__ import annotations

import tfx as tf


def test_indexed_slices():
    rows = tf.IndexedSlices(tf.ones([2, 3]), tf.constant([4, 1]), tf.constant([5, 3]))
    assert rows.dtype == "float32"
    assert rows.indices.numpy().tolist() == [4, 1]
    assert rows.dense_shape.numpy().tolist() == [5, 3]
    assert repr(rows).startswith("IndexedSlices(values=<tf.Tensor: shape=(2, 3)")
