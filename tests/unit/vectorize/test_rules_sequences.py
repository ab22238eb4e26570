"""Batching rules of sequences, in a graph."""

from __future__ import annotations

import numpy as np

import tfx as tf
from tfx.framework.apply import apply
from tfx.framework.convert import int64_constant

X = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)


def compared(fn, x):
    every = tf.function(lambda v: tf.vectorized_map(fn, v, fallback_to_while_loop=False))(x)
    one = tf.function(fn)
    for k in range(len(x)):
        for got, want in zip(every, one(x[k]), strict=True):
            np.testing.assert_allclose(got.numpy()[k], want.numpy(), rtol=1e-6)


def test_sequences_of_each_element():
    def fn(e):
        s = apply("SplitToSequence", (e,), {"axis": 0, "keepdims": 0})
        s = apply("SequenceInsert", (s, e[0] * 2))
        s = apply("SequenceErase", (s, int64_constant(1)))
        item = apply("SequenceAt", (s, int64_constant(2)))
        length = apply("SequenceLength", (s,))
        stacked = apply("ConcatFromSequence", (s,), {"axis": 0, "new_axis": 1})
        return stacked + item, tf.cast(length, tf.float32) + e[0, 0]

    compared(fn, X)


def test_a_sequence_that_all_share_gets_an_item_of_each():
    def fn(e):
        s = apply("SequenceConstruct", (tf.zeros([5]), tf.ones([5])))
        s = apply("SequenceInsert", (s, e[1], int64_constant(1)))
        return (apply("ConcatFromSequence", (s,), {"axis": -1, "new_axis": 0}),)

    compared(fn, X)


def test_arrays_that_grow():
    def fn(e):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, infer_shape=False)
        for i in tf.range(3):
            array = array.write(i, e[i] * 2)
        return (array.stack(),)

    compared(fn, X)
