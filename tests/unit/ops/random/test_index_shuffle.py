"""``index_shuffle``: orders are permutations, and those that TensorFlow 2.21 gives."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

shuffled = tf.random.experimental.index_shuffle
# (max_index, seed): where the first indices are, as TensorFlow 2.21 answers.
KNOWN = {
    (0, (5, 9)): [0],
    (2, (5, 9)): [2, 0, 1],
    (10, (0, 0)): [0, 9, 1, 8, 4, 10, 3, 6],
    (1000, (-1, 2**31 - 1)): [12, 28, 226, 378, 877, 868, 542, 988],
    (65535, (5, 9)): [51675, 37155, 22284, 16268, 61450, 45266, 5727, 31367],
    (100000, (5, 9)): [60062, 74737, 47055, 8914, 383, 68866, 95550, 97077],
}


@pytest.mark.parametrize(("last", "seed"), KNOWN)
def test_places_are_those_of_tensorflow(last, seed):
    expected = KNOWN[last, seed]
    given = tf.range(len(expected)), tf.constant(seed, tf.int32), tf.constant(last)
    for run in (shuffled, tf.function(shuffled)):
        found = run(*given)
        assert found.dtype == tf.int32
        np.testing.assert_array_equal(found, expected)
    assert shuffled(1 % (last + 1), seed, last).numpy() == expected[1 % (last + 1)]


@pytest.mark.parametrize("count", [1, 3, 1000, 70000])
def test_each_place_is_taken_once(count):
    found = shuffled(tf.range(count, dtype=tf.int64), [3, 4], count - 1)
    np.testing.assert_array_equal(np.sort(found), np.arange(count))


def test_wide_numbers_and_keys_for_each_index():
    found = shuffled(tf.range(5, dtype=tf.int64), tf.constant([1, 2**40], tf.int64), 10**12)
    expected = [560703411306, 560638416379, 560569194056, 560504199129, 560964501800]
    np.testing.assert_array_equal(found, expected)
    last = tf.constant(2**63 + 5, tf.uint64)
    assert shuffled(tf.constant(0, tf.uint64), [1, 2], last).numpy() == 8278034143891181295
    raw = tf.raw_ops.RandomIndexShuffle
    single = [raw(index=i, seed=k, max_index=9) for i, k in enumerate([[1, 2, 3], [4, 5, 6]])]
    keys = tf.constant([[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(raw(index=[0, 1], seed=keys, max_index=9), single)
    np.testing.assert_array_equal(
        raw(index=tf.range(11), seed=[1, 2, 3], max_index=10, rounds=6),
        [1, 6, 3, 7, 0, 5, 9, 2, 10, 4, 8],
    )


def test_shapes_in_traces():
    specs = [
        tf.TensorSpec(None, tf.int32),
        tf.TensorSpec([2], tf.int32),
        tf.TensorSpec([], tf.int32),
    ]
    traced = tf.function(shuffled, input_signature=specs)
    assert traced(2, [5, 9], 10).numpy() == 10
    np.testing.assert_array_equal(traced([0, 2], [5, 9], 10), [8, 10])
    vector = tf.TensorSpec([None], tf.int32)
    assert tf.function(shuffled).get_concrete_function(vector, *specs[1:]).output_shapes == [None]


@pytest.mark.parametrize(
    "given",
    [
        (-1, [1, 2], 4),
        (5, [1, 2], 4),
        (1, [1, 2, 3], 4),
        (1, [1.0, 2.0], 4),
        ([1, 2], [1, 2], [4] * 3),
    ],
)
def test_refusals(given):
    with pytest.raises(tf.errors.InvalidArgumentError):
        shuffled(*given)


def test_graphs_refuse_what_is_out_of_range_when_they_run():
    traced = tf.function(shuffled)
    for given in ((-1, 70000), (70001, 70000), (5, 4)):
        place, last = map(tf.constant, given)
        with pytest.raises(tf.errors.InvalidArgumentError, match="max_index"):
            traced(place, [1, 2], last)
