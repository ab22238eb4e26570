"""Sums of columns and rows, and rows added by an index, by our kernels: as NumPy has them."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library
from tfx.kernels.library import usable_library
from tfx.runtime.values import from_numpy, to_numpy

pytestmark = needs_library


def found_sums(function, *args, op="ColumnSum"):
    """The nodes of one operator in a run."""
    with tf.profile() as p:
        function(*args)
    return [node for node in p.nodes if node.op == op]


def images(*shape):
    return tf.TensorSpec(shape, tf.float32)


SIZES = [(2, 64, 64, 3), (1, 1, 20_000, 1), (3, 50, 40, 33), (1, 2, 8, 4096), (7, 30, 30, 16)]


@pytest.mark.parametrize("batch", [None, "known"])
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_and_means(shape, batch, keepdims, rng):
    x = (1.0 + rng.normal(size=shape)).astype(np.float32)
    spec = images(*shape) if batch else images(None, *shape[1:])

    @tf.function(input_signature=[spec])
    def function(x):
        axes = [0, 1, 2]
        return tf.reduce_sum(x, axes, keepdims), tf.reduce_mean(x, axes, keepdims)

    total, mean = function(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(total, wide.sum((0, 1, 2), keepdims=keepdims), rtol=2e-6)
    np.testing.assert_allclose(mean, wide.mean((0, 1, 2), keepdims=keepdims), rtol=2e-6)
    assert len(found_sums(function, x)) >= (1 if batch is None and shape[-1] > 1 else 0)


def test_sums_over_nothing():
    @tf.function(input_signature=[images(None, 4, 4, 3)])
    def function(x):
        return tf.reduce_sum(x, [0, 1, 2]), tf.reduce_mean(x, [0, 1, 2])

    total, mean = function(np.zeros((0, 4, 4, 3), np.float32))
    np.testing.assert_array_equal(total, np.zeros(3))
    assert np.isnan(mean).all()


def test_many_of_one_number():
    """Which rounds wrong where one element after the other is added."""

    @tf.function(input_signature=[images(None, 2)])
    def function(x):
        return tf.reduce_mean(x, 0)

    x = np.full((3_000_000, 2), 0.1, np.float32)
    np.testing.assert_allclose(function(x), np.full(2, np.float32(0.1)), rtol=1e-6)


def test_variances_of_large_means(rng):
    """Squares of differences are added up without being made."""

    @tf.function(input_signature=[images(None, 32, 32, 8)])
    def function(x):
        return tf.nn.moments(x, [0, 1, 2])

    x = (1000.0 + rng.normal(size=(16, 32, 32, 8))).astype(np.float32)
    mean, variance = function(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(mean, wide.mean((0, 1, 2)), rtol=1e-7)
    np.testing.assert_allclose(variance, wide.var((0, 1, 2)), rtol=1e-4)
    nodes = found_sums(function, x)
    assert len(nodes) == 2


@pytest.mark.parametrize("shift", ["left", "right", "both"])
def test_products_of_differences(shift, rng):
    a, b = (rng.normal(size=5).astype(np.float32) for _ in range(2))

    @tf.function(input_signature=[images(None, 70, 80, 5)] * 2)
    def function(x, y):
        left = x - a if shift != "right" else x
        right = y - tf.reshape(b, [1, 1, 5]) if shift != "left" else y
        return tf.reduce_sum(left * right, [0, 1, 2])

    x, y = rng.normal(size=(2, 3, 70, 80, 5)).astype(np.float32)
    left = x.astype(np.float64) - (a if shift != "right" else 0)
    right = y.astype(np.float64) - (b if shift != "left" else 0)
    expected = (left * right).sum((0, 1, 2))
    np.testing.assert_allclose(function(x, y), expected, rtol=1e-4, atol=1e-2)
    assert len(found_sums(function, x, y)) == 1


def test_a_product_that_is_used_otherwise_is_made(rng):
    @tf.function(input_signature=[images(None, 60, 60, 5)])
    def function(x):
        square = x * x
        return tf.reduce_sum(square, [0, 1, 2]), square + 1.0

    x = rng.normal(size=(2, 60, 60, 5)).astype(np.float32)
    total, more = function(x)
    np.testing.assert_allclose(total, (x.astype(np.float64) ** 2).sum((0, 1, 2)), rtol=2e-6)
    np.testing.assert_array_equal(more, x * x + np.float32(1))


def test_factors_that_broadcast_at_run_time():
    """Of sizes that are not known to be equal: they are not added up as if they were."""

    @tf.function(input_signature=[images(None, 40, 40, 16), images(None, 40, 40, 16)])
    def function(x, y):
        return tf.reduce_sum(x * y, [0, 1, 2])

    for batches in ((4, 4), (1, 4), (4, 1)):
        x, y = (np.full((batch, 40, 40, 16), 2.0, np.float32) for batch in batches)
        np.testing.assert_allclose(function(x, y), np.full(16, 4.0 * 1600 * 4), rtol=1e-6)


def test_factors_of_sizes_that_nobody_knows():
    """Either may be 1 in a run."""

    @tf.function(input_signature=[images(None, 64), images(None, 64)])
    def function(x, y):
        return tf.reduce_sum(tf.exp(x)[::2] * tf.sin(y)[1:], 0)

    x, y = np.zeros((2, 64), np.float32), np.full((500, 64), 0.5, np.float32)
    np.testing.assert_allclose(function(x, y), np.full(64, 499 * np.sin(0.5)), rtol=1e-5)


@pytest.mark.parametrize("keepdims", [False, True])
def test_more_axes_than_the_kernel_has(keepdims):
    @tf.function
    def function(x):
        return tf.reduce_mean(x, axis=list(range(8)), keepdims=keepdims)

    x = np.ones([4] * 8 + [3], np.float32)
    np.testing.assert_array_equal(np.reshape(function(x), -1), np.ones(3))
    assert usable_library() is not None


def test_one_column_is_no_case_for_it():
    @tf.function(input_signature=[images(None, 1)])
    def function(x):
        return tf.reduce_sum(x, 0)

    assert not found_sums(function, np.ones((100_000, 1), np.float32))


def test_a_sum_that_fails_is_repeated_by_operators():
    """Such as one for which there is no memory."""

    @tf.function(input_signature=[images(None, 3, 64)])
    def function(x):
        return tf.reduce_sum(x, [0, 1])

    x = np.ones((500, 3, 64), np.float32)
    assert found_sums(function, x)
    (concrete,) = function.concrete_functions
    plan = concrete._strategy._plan
    error = RuntimeError("Non-zero status code returned while running ColumnSum node. Name:'x'")
    found = plan.without_programs(error, [from_numpy(x)])
    np.testing.assert_array_equal(to_numpy(found[0]), np.full(64, 1500.0))
    with pytest.raises(ValueError, match="other"):
        plan.without_programs(ValueError("other"), [from_numpy(x)])


def test_gradients_of_normalization(rng):
    """Against operators one by one."""

    def normalized(x, scale):
        mean, variance = tf.nn.moments(x, [0, 1, 2])
        return tf.nn.relu(tf.nn.batch_normalization(x, mean, variance, 0.1, scale, 1e-3))

    def slopes(x, scale):
        with tf.GradientTape() as tape:
            tape.watch((x, scale))
            y = normalized(x, scale)
            loss = tf.reduce_sum(y * tf.sin(y))
        return tape.gradient(loss, (x, scale))

    signature = [images(None, 24, 24, 8), images(8)]
    x = rng.normal(size=(8, 24, 24, 8)).astype(np.float32)
    scale = rng.normal(size=8).astype(np.float32)
    ours = tf.function(slopes, input_signature=signature, jit_compile=True)
    theirs = tf.function(slopes, input_signature=signature, jit_compile=False)
    for a, b in zip(ours(x, scale), theirs(x, scale), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * np.abs(b).max())
    assert len(found_sums(ours, x, scale)) >= 4


# --- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(40, 1000), (3, 5, 33_000), (2, 20_003), (9_000, 3)])
def test_sums_and_means_of_rows(shape, keepdims, known, rng):
    x = (1.0 + rng.normal(size=shape)).astype(np.float32)

    @tf.function(input_signature=[images(*shape) if known else images(*[None] * len(shape))])
    def function(x):
        return tf.reduce_sum(x, -1, keepdims), tf.reduce_mean(x, -1, keepdims)

    total, mean = function(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(total, wide.sum(-1, keepdims=keepdims), rtol=2e-6, atol=1e-4)
    np.testing.assert_allclose(mean, wide.mean(-1, keepdims=keepdims), rtol=2e-6, atol=1e-6)
    assert known or found_sums(function, x, op="RowSum")


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_rows_of_nothing(shape):
    @tf.function(input_signature=[images(None, None)])
    def function(x):
        return tf.reduce_sum(x, -1), tf.reduce_mean(x, -1)

    x = np.zeros(shape, np.float32)
    total, mean = function(x)
    np.testing.assert_array_equal(total, np.zeros(shape[0]))
    assert np.shape(mean) == shape[:1] and (shape[1] or np.isnan(mean).all())


def test_rows_of_products(rng):
    """Added up without being made, unless something else uses them."""
    x, y = rng.normal(size=(2, 30, 40_000)).astype(np.float32)

    @tf.function
    def function(x, y):
        square = y * y
        return tf.reduce_sum(x * y, -1), tf.reduce_sum(square, -1), square - 1.0

    product, squares, less = function(x, y)
    wide = x.astype(np.float64), y.astype(np.float64)
    np.testing.assert_allclose(product, (wide[0] * wide[1]).sum(-1), rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(squares, (wide[1] ** 2).sum(-1), rtol=1e-6)
    np.testing.assert_array_equal(less, y * y - np.float32(1))
    assert len(found_sums(function, x, y, op="RowSum")) == 2


# --- rows that are added by an index -------------------------------------------------------------


def lookup_gradient(rows, table):
    with tf.GradientTape() as tape:
        tape.watch(table)
        found = tf.gather(table, rows)
        loss = tf.reduce_sum(found * tf.sin(found))
    return tf.convert_to_tensor(tape.gradient(loss, table))


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("columns", [1, 8, 100])
def test_gradients_of_lookups(columns, known, kind, rng):
    table = rng.normal(size=(50, columns)).astype(np.float32)
    rows = rng.integers(0, 50, 400).astype(kind)
    rows[:100] = 7  # one number for many rows
    spec = [tf.TensorSpec([400 if known else None], kind)]
    spec += [images(50 if known else None, columns if known else None)]
    ours = tf.function(lookup_gradient, input_signature=spec)
    theirs = tf.function(lookup_gradient, input_signature=spec, jit_compile=False)
    expected = np.zeros((50, columns))
    np.add.at(expected, rows, (np.sin(table) + table * np.cos(table)).astype(np.float64)[rows])
    np.testing.assert_allclose(ours(rows, table), expected, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(ours(rows, table), theirs(rows, table), rtol=1e-5, atol=1e-4)
    assert len(found_sums(ours, rows, table, op="AddRows")) == 1
    for few in (rows[:1], rows[:0]):
        if not known:
            np.testing.assert_allclose(ours(few, table), theirs(few, table), rtol=1e-5, atol=1e-5)


def test_sums_of_segments(rng):
    data = rng.normal(size=(1000, 16)).astype(np.float32)
    segments = rng.integers(0, 30, 1000)

    @tf.function
    def function(data, segments):
        return tf.math.unsorted_segment_sum(data, segments, 40)

    expected = np.zeros((40, 16))
    np.add.at(expected, segments, data.astype(np.float64))
    np.testing.assert_allclose(function(data, segments), expected, rtol=1e-5, atol=1e-5)
    assert found_sums(function, data, segments, op="AddRows")


def scattered(to, index, rows):
    """``ScatterElements`` by one number for each row, or for all of them."""
    spread = tf.broadcast_to(index, tf.shape(rows))
    return tf.raw.ScatterElements(to, spread, rows, axis=0, reduction="add")


@pytest.mark.parametrize("one_for_all", [False, True])
@pytest.mark.parametrize("width", [20, 7, 0])
def test_narrower_rows_and_one_index_for_all(width, one_for_all, rng):
    """Indices below 0 count from the end; columns that no row has stay as they are."""
    to = rng.normal(size=(9, 20)).astype(np.float32)
    rows = rng.normal(size=(12, width)).astype(np.float32)
    index = rng.integers(-9, 9, (1 if one_for_all else 12, 1))
    spec = [images(9, 20), tf.TensorSpec([None, 1], tf.int64), images(None, None)]
    function = tf.function(scattered, input_signature=spec)
    expected = to.astype(np.float64)
    np.add.at(expected[:, :width], np.broadcast_to(index[:, 0], 12), rows)
    before = to.copy()
    np.testing.assert_allclose(function(to, index, rows), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(to, before)  # nothing was written over what was given
    assert found_sums(function, to, index, rows, op="AddRows")


@pytest.mark.parametrize("place", [9, -10, 2**40])
def test_rows_that_there_are_not(place):
    """What is wrong, the operators one by one say."""
    spec = [images(9, 4), tf.TensorSpec([None, 1], tf.int64), images(None, None)]
    function = tf.function(scattered, input_signature=spec)
    given = np.ones((9, 4), np.float32), np.full((3, 1), place), np.ones((3, 4), np.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in|out of range"):
        function(*given)


def test_what_rows_are_added_to_and_is_still_needed_stays(rng):
    """An operator may write its result over an operand, but not over one of these."""
    spec = [images(9, 4), tf.TensorSpec([None, 1], tf.int64), images(None, 4)]

    @tf.function(input_signature=spec)
    def function(to, index, rows):
        inner = tf.exp(to)
        first = scattered(inner, index, rows)
        second = scattered(first, index, first[: tf.shape(index)[0]])
        return first, second, inner * 2.0, scattered(to, index, rows)

    to, rows = rng.normal(size=(9, 4)).astype(np.float32), np.ones((6, 4), np.float32)
    index = rng.integers(0, 9, (6, 1))

    def added(x, rows):
        result = x.copy()
        np.add.at(result, index[:, 0], rows)
        return result

    inner = np.exp(to)
    first = added(inner, rows)
    expected = first, added(first, first[:6]), inner * 2, added(to, rows)
    for a, b in zip(function(to, index, rows), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


_COMBINED = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
PLACES = [((9,), 0, 40), ((9, 4), 0, 40), ((9, 70), 0, 5), ((3, 9), 1, 40), ((2, 9, 5), 1, 7)]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("reduction", list(_COMBINED))
@pytest.mark.parametrize(("shape", "axis", "count"), PLACES)
@pytest.mark.parametrize("is_spread", [False, True])
def test_numbers_by_an_index(kind, reduction, shape, axis, count, is_spread, rng):
    sizes = [*shape]
    sizes[axis] = count
    to = rng.integers(-3, 4, shape).astype(kind)
    x = rng.integers(-3, 4, sizes).astype(kind)
    own = [1] * len(shape) if is_spread else [*sizes]
    own[axis] = count
    index = rng.integers(-9, 9, own)

    @tf.function
    def function(to, index, x):
        places = tf.raw.Expand(index, np.array(sizes))
        return tf.raw.ScatterElements(to, places, x, axis=axis, reduction=reduction)

    expected = to.copy()
    at = list(np.indices(sizes))
    at[axis] = np.broadcast_to(index, sizes)
    _COMBINED[reduction].at(expected, tuple(at), x)
    np.testing.assert_array_equal(function(to, index, x), expected)
    ours = reduction == "add" or kind in (np.float32, np.float64)
    assert bool(found_sums(function, to, index, x, op="AddRows")) == ours


def test_a_count_of_numbers_makes_no_tensor_of_ones(rng):
    x = rng.integers(0, 50, 5_000)
    function = tf.function(tf.math.bincount)
    np.testing.assert_array_equal(function(x), np.bincount(x))
    assert found_sums(function, x, op="AddRows")


def test_many_numbers_eagerly(rng):
    x, index = rng.normal(size=20_000).astype(np.float32), rng.integers(0, 30, 20_000)
    expected = np.bincount(index, x)
    np.testing.assert_allclose(tf.math.unsorted_segment_sum(x, index, 30), expected, rtol=1e-4)
    rows = rng.normal(size=(20_000, 3))
    most = np.full((30, 3), -np.inf)
    np.maximum.at(most, index, rows)
    np.testing.assert_array_equal(tf.math.unsorted_segment_max(rows, index, 30), most)
    with pytest.raises(tf.errors.InvalidArgumentError, match="30"):
        tf.raw.ScatterElements(np.zeros(30), np.full(20_000, 30), rows[:, 0], reduction="add")
