"""Tensors that a run makes only if a condition holds."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.core.refusals import Refusal
from tfx.framework.guards import not_negative, refused_if_negative, refused_unless
from tfx.graph.symbolic_shapes import elements

INVALID = tf.errors.InvalidArgumentError
DEPTH = "depth must be non-negative in OneHot"


def guarded(x, fine):
    return refused_unless(fine, x, Refusal.DEPTH)


@pytest.mark.parametrize("known", ["shape", "rank", "nothing"])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (0,), (2, 3), (2, 0)])
def test_any_rank(shape, known):
    spec = {"shape": shape, "rank": [None] * len(shape), "nothing": None}[known]
    f = tf.function(guarded, input_signature=[tf.TensorSpec(spec), tf.TensorSpec([None], tf.bool)])
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    for fine in ([True, True], []):
        np.testing.assert_array_equal(f(x, np.array(fine, bool)), x)
    with pytest.raises(INVALID, match=DEPTH) as caught:
        f(x, np.array([True, False]))
    assert caught.value.op == "OneHot"
    assert f.get_concrete_function().output_shapes == tf.TensorShape(spec)


def test_static_shapes_symbols_and_elements_stay():
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([], tf.int32)])
    def f(x, n):
        sizes = tf.stack([tf.shape(x)[0], 4, n])
        seen.append([(v._symbol.shape, elements(v._symbol)) for v in (x, sizes)])
        both = guarded(x, n > 0), guarded(sizes, n > 0)
        seen.append([(v._symbol.shape, elements(v._symbol)) for v in both])
        return both

    f.get_concrete_function()
    assert seen[0] == seen[1]
    assert seen[0][1] == ((3,), (seen[0][0][0][0], 4, None))


def test_known_elements_do_not_take_the_place_of_a_check():
    f = tf.function(lambda n: guarded(tf.constant([3, 4]), n > 0) + 1)
    np.testing.assert_array_equal(f(tf.constant(1)), [4, 5])
    with pytest.raises(INVALID, match=DEPTH):
        f(tf.constant(0))


@pytest.mark.parametrize("dtype", [tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint64])
@pytest.mark.parametrize("shape", [(), (3,), (0,)])
def test_negative_numbers_of_any_dtype(dtype, shape):
    f = tf.function(
        lambda x: refused_if_negative(x, Refusal.DEPTH),
        input_signature=[tf.TensorSpec([None] * len(shape), dtype)],
    )
    x = np.full(shape, 2, dtype.as_numpy_dtype)
    np.testing.assert_array_equal(f(x), x)
    if dtype.is_unsigned:
        assert not f.get_concrete_function().graph.graph.nodes
    elif x.size:
        with pytest.raises(INVALID, match=DEPTH):
            f(-x)


def test_it_costs_four_nodes():
    for spec in (tf.TensorSpec([], tf.int32), tf.TensorSpec([2], tf.int32)):
        f = tf.function(lambda x: refused_if_negative(x, Refusal.DEPTH), input_signature=[spec])
        assert len(f.get_concrete_function().graph.graph.nodes) == 4


def test_in_loops_and_branches():
    @tf.function
    def f(n):
        loop = tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s + 2 ** (n - i)), [0, 0])
        return loop[1] + tf.cond(n > 5, lambda: 3 ** (n - 6), lambda: n)

    assert int(f(tf.constant(1))) == 2 + 1 + 1
    assert int(f(tf.constant(7))) == 2**7 + 2**6 + 3
    with pytest.raises(INVALID, match="negative integer powers are not allowed in Pow"):
        f(tf.constant(0))


def test_gradients_pass():
    @tf.function
    def f(x, n):
        return tf.reduce_sum(guarded(x, n >= 0) ** 2.0)

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, tf.constant(0))
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 4.0])


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    "f, wrong",
    [
        (lambda i: tf.pow(2, i), -1),
        (lambda i: tf.unravel_index(i, [2, 3]), 6),
        (lambda i: tf.math.invert_permutation(tf.stack([i, 1 - i])), 2),
        (lambda i: tf.slice(tf.range(4), [i], [2]), 3),
    ],
)
def test_elements_of_a_batch_are_checked_without_a_loop(f, wrong, traced):
    def run(x):
        return tf.vectorized_map(f, x, fallback_to_while_loop=False)

    call = tf.function(run) if traced else run
    fine = tf.constant([0, 1])
    np.testing.assert_array_equal(call(fine), np.stack([f(tf.constant(i)) for i in (0, 1)]))
    with pytest.raises(INVALID):
        call(tf.constant([0, wrong]))


def test_a_condition_that_all_elements_share():
    @tf.function
    def f(x, n):
        return tf.vectorized_map(lambda e: guarded(e, not_negative(n)), x)

    x = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(f(x, tf.constant(0)), x)
    with pytest.raises(INVALID, match=DEPTH):
        f(x, tf.constant(-1))


def test_known_elements_beside_unknown_ones():
    f = tf.function(lambda x, n: tf.pad(x, [[n, 1]]))
    with pytest.raises(INVALID, match="Paddings must be non-negative in Pad"):
        f(tf.constant([1.0, 2.0]), tf.constant(-1))


class Model(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def hot(self, depth):
        return tf.one_hot([1], depth)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def mean(self, ids):
        return tf.math.segment_mean(tf.cast(ids, tf.float32), ids)


def test_saved_graphs_say_it_too(tmp_path):
    tf.saved_model.save(Model(), str(tmp_path / "bundle"))
    loaded = tf.saved_model.load(str(tmp_path / "bundle"))
    np.testing.assert_array_equal(loaded.hot(tf.constant(2)), [[0, 1]])
    with pytest.raises(INVALID, match=DEPTH) as caught:
        loaded.hot(tf.constant(-2))
    assert caught.value.op == "OneHot"
    with pytest.raises(INVALID, match="not increasing from 0 on in SegmentMean"):
        loaded.mean(tf.constant([1, 0]))


@pytest.mark.parametrize("wanted", [[3], [], [None], [3, None]], ids=str)
def test_ensure_shape_of_an_unknown_rank(wanted):
    f = tf.function(lambda x: tf.ensure_shape(x, wanted), input_signature=[tf.TensorSpec(None)])
    for shape in ((), (3,), (3, 3), (4,), (1,), (0,), (3, 0)):
        x = np.ones(shape, np.float32)
        if tf.TensorShape(shape).is_compatible_with(wanted):
            np.testing.assert_array_equal(f(x), x)
        else:
            with pytest.raises(INVALID, match="in EnsureShape"):
                f(x)


def test_ensure_shape_of_an_unknown_size_says_what_it_got():
    f = tf.function(lambda x: tf.ensure_shape(x, [3]), input_signature=[tf.TensorSpec([None])])
    with pytest.raises(INVALID, match=r"in EnsureShape of float32\[4\]"):
        f(np.ones(4, np.float32))
