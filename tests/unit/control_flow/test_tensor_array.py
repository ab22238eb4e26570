"""``tf.TensorArray``: the same answers eagerly and in graphs, in loops and outside."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

F32 = tf.float32


def array(size=3, **options):
    return tf.TensorArray(F32, size=size, **options)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: array(2).write(0, 1.0).write(1, 2.0).stack(), [1, 2]),
        (lambda: array().write(1, 1.0).stack(), [0, 1, 0]),
        (lambda: array(element_shape=[2]).stack(), np.zeros([3, 2])),
        (lambda: array().write(1, [1.0, 2.0]).read(0), [0, 0]),
        (lambda: array().write(1, 1.0).write(1, 2.0).read(1), 2),
        (lambda: array(0, dynamic_size=True).write(2, 1.0).stack(), [0, 0, 1]),
        (lambda: array(0, dynamic_size=True).unstack([1.0, 2.0]).stack(), [1, 2]),
        (lambda: array().unstack([1.0, 2.0]).size(), 2),
        (lambda: array().unstack([1.0, 2.0, 3.0]).gather([2, 0]), [3, 1]),
        (lambda: array().unstack([1.0, 2.0, 3.0]).write(1, 9.0).stack(), [1, 9, 3]),
        (lambda: array().scatter([2, 0], [1.0, 2.0]).stack(), [2, 0, 1]),
        (
            lambda: array(2, infer_shape=False).write(0, [1.0]).write(1, [2.0, 3.0]).concat(),
            [1, 2, 3],
        ),
        (lambda: array(2).unstack([[1.0, 2.0], [3.0, 4.0]]).concat(), [1, 2, 3, 4]),
        (lambda: array(2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2]).read(1), [2, 3]),
        (lambda: array(0, element_shape=[2]).stack(), np.zeros([0, 2])),
        (lambda: array(2).identity().size(), 2),
        (lambda: array(2).write(1, 1).read(1), 1.0),
    ],
    ids=[
        "all",
        "hole",
        "blank",
        "hole_read",
        "twice",
        "skip",
        "grow",
        "fewer",
        "gather",
        "dense",
        "scatter",
        "concat",
        "concat_dense",
        "split",
        "empty",
        "identity",
        "cast",
    ],
)
def test_outside_of_loops(run, make, expected):
    np.testing.assert_array_equal(run(make).numpy(), expected)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: tf.TensorArray(F32), ValueError, "Size must be declared"),
        (lambda: array(handle=1), ValueError, "handles are not supported"),
        (lambda: array(-1), ValueError, "must not be negative"),
        (lambda: array().write(3, 1.0), tf.errors.OutOfRangeError, "index 3.*size is: 3"),
        (lambda: array().write(-1, 1.0), tf.errors.OutOfRangeError, "negative"),
        (lambda: array().read(5), tf.errors.OutOfRangeError, "index 5.*size is: 3"),
        (
            lambda: array().write(0, tf.constant(1)),
            ValueError,
            "dtype is float32.*write dtype int32",
        ),
        (lambda: array().write(0, 1.0).write(1, [1.0]), ValueError, "Incompatible shape"),
        (lambda: array(element_shape=[2]).write(0, 1.0), ValueError, "Incompatible shape"),
        (lambda: array(1).unstack([1.0, 2.0]), ValueError, "Cannot unstack 2 tensors.*size 1"),
        (lambda: array().unstack(1.0), ValueError, "at least one axis"),
        (lambda: array().stack(), ValueError, "tells its shape"),
        (lambda: array().write(1.0, 1.0), TypeError, "must be an integer"),
        (lambda: array().write(0, 1.0).concat(), ValueError, "at least vectors"),
        (lambda: array(2).split([1.0, 2.0], [1, 2]), ValueError, "sum of lengths is 3"),
        (lambda: array(5).split([1.0, 2.0], [1, 1]), ValueError, "5 vs. 2"),
        (lambda: array().grad("x"), NotImplementedError, "GradientTape"),
        (lambda: tf.TensorArray(F32, flow=1), TypeError, "flow must be"),
    ],
    ids=[
        "size",
        "handle",
        "minus",
        "write_out",
        "write_minus",
        "read_out",
        "dtype",
        "shape",
        "element_shape",
        "many",
        "scalar",
        "blank",
        "index",
        "concat",
        "lengths",
        "number",
        "grad",
        "flow",
    ],
)
def test_refusals(run, make, error, text):
    with pytest.raises(error, match=text):
        run(make)


def test_an_eager_array_changes_and_clears():
    ta = array(2)
    assert ta.write(0, 1.0) is ta
    assert ta.read(0).numpy() == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="twice"):
        ta.read(0)
    kept = array(2, clear_after_read=False).write(0, 1.0)
    assert kept.read(0) == kept.read(0)


def test_an_array_of_a_graph_stays_what_it_was():
    @tf.function
    def f():
        ta = array(1)
        one, two = ta.write(0, 1.0), ta.write(0, 2.0)
        return one.read(0), two.read(0), one.read(0)

    assert [float(x) for x in f()] == [1.0, 2.0, 1.0]


def _ops(f, *args):
    nodes = tf.function(f).get_concrete_function(*args).graph.graph.nodes
    (loop,) = [n for n in nodes if n.op == "Loop"]
    return [n.op for n in loop.attrs["body"].nodes]


def squares(n):
    ta = tf.TensorArray(tf.int32, size=n)
    return tf.while_loop(lambda i, _: i < n, lambda i, ta: (i + 1, ta.write(i, i * i)), (0, ta))[
        1
    ].stack()


@pytest.mark.parametrize("n", [0, 1, 5])
def test_written_at_the_loops_own_index(run, n):
    np.testing.assert_array_equal(run(squares, tf.constant(n)).numpy(), np.arange(n) ** 2)


def test_that_is_a_scan_output():
    assert not any("Sequence" in op or op == "Call" for op in _ops(squares, tf.constant(3)))


def test_an_array_that_is_not_filled(run):
    def f(n):
        ta = array(6, element_shape=[2])
        ta = tf.while_loop(
            lambda i, _: i < n, lambda i, ta: (i + 1, ta.write(i, tf.ones([2]))), (0, ta)
        )[1]
        return ta.stack(), ta.size()

    for n in (0, 4):
        stacked, size = run(f, tf.constant(n))
        np.testing.assert_array_equal(
            stacked.numpy(), np.repeat([[1], [0]], [n, 6 - n], 0).repeat(2, 1)
        )
        assert size.numpy() == 6


def countdown(n, size=None):
    ta = tf.TensorArray(tf.int32, size=n if size is None else size, element_shape=[])
    last = (n if size is None else size) - 1
    return tf.while_loop(lambda i, _: i < n, lambda i, ta: (i + 1, ta.write(last - i, i)), (0, ta))[
        1
    ].stack()


def test_written_from_the_end(run):
    """That is a scan output too, turned around."""
    for n in (0, 1, 4):
        np.testing.assert_array_equal(run(countdown, tf.constant(n)).numpy(), np.arange(n)[::-1])
    found = run(lambda n: countdown(n, 6), tf.constant(4)).numpy()
    np.testing.assert_array_equal(found, [0, 0, 3, 2, 1, 0])
    assert not any("Sequence" in op or op == "Call" for op in _ops(countdown, tf.constant(3)))


def test_writes_behind_the_end_fail_when_it_runs(run):
    def f(n, offset):
        ta = array(2)
        return tf.while_loop(
            lambda i, _: i < n, lambda i, ta: (i + 1, ta.write(i + offset, 1.0)), (0, ta)
        )[1].stack()

    assert run(f, tf.constant(2), 0).shape == [2]
    for offset in (0, 1):
        with pytest.raises(tf.errors.OpError):
            run(f, tf.constant(3), offset)


@pytest.mark.parametrize("dynamic", [False, True])
def test_written_elsewhere(run, dynamic):
    def f(n):
        size = 0 if dynamic else 5
        ta = tf.TensorArray(tf.int32, size=size, dynamic_size=dynamic, element_shape=[])
        return tf.while_loop(
            lambda i, _: i < n, lambda i, ta: (i + 1, ta.write(i * 2 % 5, i + 1)), (0, ta)
        )[1].stack()

    np.testing.assert_array_equal(run(f, tf.constant(5)).numpy(), [1, 4, 2, 5, 3])
    found = run(f, tf.constant(2)).numpy()
    np.testing.assert_array_equal(found, [1, 0, 2] if dynamic else [1, 0, 2, 0, 0])


def test_each_element_from_the_one_before(run):
    def fibonacci(n):
        ta = tf.TensorArray(tf.int64, size=n, clear_after_read=False)
        ta = ta.write(0, tf.constant(1, tf.int64)).write(1, tf.constant(1, tf.int64))
        return tf.while_loop(
            lambda i, _: i < n,
            lambda i, ta: (i + 1, ta.write(i, ta.read(i - 1) + ta.read(i - 2))),
            (2, ta),
        )[1].stack()

    assert run(fibonacci, tf.constant(10)).numpy()[-1] == 55


def test_read_in_a_loop(run, rng):
    x = rng.normal(size=(4, 3)).astype(np.float32)

    def f(x):
        ta = tf.TensorArray(F32, size=4, clear_after_read=False).unstack(x)
        return tf.while_loop(
            lambda i, s: i < 4,
            lambda i, s: (i + 1, s * 0.5 + ta.read(i) * ta.read(3 - i)),
            (0, x[0]),
        )[1]

    expected = x[0]
    for i in range(4):
        expected = expected * 0.5 + x[i] * x[3 - i]
    np.testing.assert_allclose(run(f, x).numpy(), expected, rtol=1e-5)


def test_elements_of_different_shapes(run):
    def f(n):
        ta = tf.TensorArray(tf.int32, size=n, infer_shape=False, clear_after_read=False)
        ta = tf.while_loop(
            lambda i, _: i < n, lambda i, ta: (i + 1, ta.write(i, tf.range(i + 1))), (0, ta)
        )[1]
        return ta.concat(), ta.read(2)

    joined, third = run(f, tf.constant(3))
    np.testing.assert_array_equal(joined.numpy(), [0, 0, 1, 0, 1, 2])
    np.testing.assert_array_equal(third.numpy(), [0, 1, 2])


@pytest.mark.parametrize("x", [1.0, -1.0])
def test_in_branches(x):
    @tf.function
    def f(x):
        ta = array(2, element_shape=[]).write(0, 5.0)
        ta = tf.cond(x > 0, lambda: ta.write(1, x), lambda: ta)
        other = tf.cond(x > 0, lambda: ta.write(1, x), lambda: ta.write(1, -x))
        return ta.stack(), other.stack()

    first, second = f(tf.constant(x))
    np.testing.assert_array_equal(first.numpy(), [5, max(x, 0)])
    np.testing.assert_array_equal(second.numpy(), [5, 1])


def test_scatter_at_indices_known_only_when_it_runs():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None])])
    def f(places, values):
        return array(4, element_shape=[]).scatter(places, values).stack()

    np.testing.assert_array_equal(f([3, 1], [1.0, 2.0]).numpy(), [0, 2, 0, 1])


def test_split_by_lengths_known_only_when_it_runs():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def f(lengths):
        ta = array(0, dynamic_size=True, infer_shape=False).split([1.0, 2.0, 3.0], lengths)
        return ta.read(1), ta.size()

    second, size = f([1, 2])
    np.testing.assert_array_equal(second.numpy(), [2, 3])
    assert size.numpy() == 2


@pytest.mark.parametrize(
    "dtype",
    [tf.bool, tf.uint8, tf.int16, tf.uint32, tf.uint64, tf.float16, tf.bfloat16, tf.float64],
)
def test_dtypes(run, dtype):
    x = tf.cast([0, 1, 2], dtype)

    def f(x):
        given = tf.TensorArray(dtype, size=3, clear_after_read=False).unstack(x)
        ta = tf.TensorArray(dtype, size=3, element_shape=[])
        return tf.while_loop(
            lambda i, _: i < 3, lambda i, ta: (i + 1, ta.write(2 - i, given.read(i))), (0, ta)
        )[1].stack()

    np.testing.assert_array_equal(run(f, x).numpy(), x.numpy()[::-1])


def test_facts():
    ta = array(2, dynamic_size=True)
    assert (ta.dtype, ta.dynamic_size, ta.handle) == (F32, True, None)
    assert ta.write(0, [1.0]).element_shape == [1]
    other = tf.TensorArray(F32, flow=ta.flow)
    np.testing.assert_array_equal(other.read(0).numpy(), [1.0])
    assert "size=2" in repr(ta)
    ta.close()


def _scattered(places, size):
    def body(i, rows):
        return i + 1, rows.write(places[i], tf.ones([2]) * tf.cast(i + 1, tf.float32))

    rows = tf.TensorArray(tf.float32, size)
    count = tf.shape(places)[0]
    return tf.while_loop(lambda i, _: i < count, body, (0, rows))[1].stack()


@pytest.mark.parametrize(
    "places", [[], [3, 1, 0, 2], [2, 2, 2], [1, 3, 1], [0, 1, 0, 1, 0, 3, 3, 2, 3]]
)
def test_writes_at_any_index_are_collected(places):
    """Of several elements at one index the last one stays; the others are zeros."""
    f = tf.function(
        lambda places: _scattered(places, 4), input_signature=[tf.TensorSpec([None], tf.int32)]
    )
    wanted = np.zeros([4, 2], np.float32)
    for i, place in enumerate(places):
        wanted[place] = i + 1
    np.testing.assert_array_equal(f(tf.constant(places, tf.int32)).numpy(), wanted)
    (loop,) = [n for n in f.get_concrete_function().graph.graph.nodes if n.op == "Loop"]
    assert len(loop.inputs) == 2  # nothing is carried
    with pytest.raises(tf.errors.OpError):
        f(tf.constant([0, 4], tf.int32))


def test_gradients_of_writes_at_any_index():
    weights = tf.constant(np.arange(8.0, dtype=np.float32).reshape(4, 2))

    @tf.function
    def f(x, places):
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = tf.TensorArray(tf.float32, 4)
            rows = tf.while_loop(
                lambda i, _: i < 5,
                lambda i, rows: (i + 1, rows.write(places[i], x[i] * x[i])),
                (0, rows),
            )[1]
            y = tf.reduce_sum(rows.stack() * weights)
        return tape.gradient(y, x)

    x = tf.constant(np.arange(1.0, 11.0, dtype=np.float32).reshape(5, 2))
    places = [3, 0, 3, 1, 0]
    wanted = np.zeros([5, 2], np.float32)
    for i, place in enumerate(places):
        if place not in places[i + 1 :]:
            wanted[i] = 2 * x.numpy()[i] * weights.numpy()[place]
    np.testing.assert_allclose(f(x, tf.constant(places)).numpy(), wanted)
