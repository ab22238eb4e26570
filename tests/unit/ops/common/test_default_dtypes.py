"""Arguments that say a dtype: None says the default, as attributes of operations do."""

from __future__ import annotations

import pytest

import tfx as tf


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: tf.shape([1], out_type=None), tf.int32),
        (lambda: tf.size([1], out_type=None), tf.int32),
        (lambda: tf.argmax([1.0, 2.0], output_type=None), tf.int64),
        (lambda: tf.argmin([1.0, 2.0], output_type=None), tf.int64),
        (lambda: tf.searchsorted([1.0, 2.0], [1.5], out_type=None), tf.int32),
        (lambda: tf.unique([1], out_idx=None).idx, tf.int32),
        (lambda: tf.unique_with_counts([1], out_idx=None).count, tf.int32),
        (lambda: tf.math.top_k([1.0], index_type=None).indices, tf.int32),
        (lambda: tf.math.bincount([1], dtype=None), tf.int32),
        (lambda: tf.sequence_mask([1], dtype=None), tf.bool),
        (lambda: tf.strings.to_number("1", None), tf.float32),
        (lambda: tf.random.stateless_normal([1], [1, 2], dtype=None), tf.float32),
        (lambda: tf.random.stateless_truncated_normal([1], [1, 2], dtype=None), tf.float32),
    ],
)
def test_none_says_the_default(call, expected):
    assert call().dtype is expected


def test_none_is_no_dtype_where_there_is_no_default():
    for call in (tf.zeros, tf.ones, tf.random.uniform, tf.random.normal, tf.TensorSpec):
        with pytest.raises(TypeError, match="None"):
            call([1], dtype=None)
