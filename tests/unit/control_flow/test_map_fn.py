"""``tf.map_fn``, ``tf.scan``, ``tf.foldl``, ``tf.foldr`` against NumPy and Python loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tfx as tf


def test_map_fn(run, rng):
    x = rng.normal(size=(5, 3))
    np.testing.assert_allclose(
        run(lambda x: tf.map_fn(lambda r: tf.reduce_sum(r * r), x), x).numpy(), (x * x).sum(1)
    )


def test_map_fn_over_structures(run):
    def f(a, b):
        return tf.map_fn(
            lambda e: {"sum": e[0] + e[1], "as_float": tf.cast(e[0], tf.float32)},
            (a, b),
            fn_output_signature={"sum": tf.int32, "as_float": tf.TensorSpec([], tf.float32)},
        )

    result = run(f, tf.constant([1, 2]), tf.constant([10, 20]))
    np.testing.assert_array_equal(result["sum"].numpy(), [11, 22])
    np.testing.assert_array_equal(result["as_float"].numpy(), [1.0, 2.0])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("initial", [None, 10])
def test_scan(run, reverse, initial):
    x = [1, 2, 3, 4]
    found = run(
        lambda x: tf.scan(lambda a, e: a * 2 - e, x, initializer=initial, reverse=reverse),
        tf.constant(x),
    )
    steps = x[::-1] if reverse else x
    expected = list(itertools.accumulate(steps, lambda a, e: a * 2 - e, initial=initial))
    expected = expected[1:] if initial is not None else expected
    np.testing.assert_array_equal(found.numpy(), expected[::-1] if reverse else expected)


def test_scan_over_structures(run):
    def f(x, y):
        return tf.scan(lambda a, e: (a[0] + e[0], a[1] * e[1]), (x, y))

    a, b = run(f, tf.constant([1, 2, 3]), tf.constant([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(a.numpy(), [1, 3, 6])
    np.testing.assert_array_equal(b.numpy(), [1, 2, 6])


def test_the_state_may_be_another_structure_than_the_elements(run):
    f = lambda x: tf.scan(lambda a, e: (a[0] + 1, a[1] + e), x, initializer=(0, 0.5))  # noqa: E731
    counts, sums = run(f, tf.constant([1.0, 2.0]))
    np.testing.assert_array_equal(counts.numpy(), [1, 2])
    np.testing.assert_array_equal(sums.numpy(), [1.5, 3.5])


@pytest.mark.parametrize("initial", [None, 10])
def test_folds(run, initial):
    x = tf.constant([1, 2, 3])
    left = run(lambda x: tf.foldl(lambda a, e: a - e, x, initializer=initial), x)
    right = run(lambda x: tf.foldr(lambda a, e: a - e, x, initializer=initial), x)
    assert (int(left), int(right)) == ((-4, 0) if initial is None else (4, 4))


@pytest.mark.parametrize("length", [0, 1, 4])
def test_lengths_known_only_when_it_runs(length):
    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def f(x):
        return (
            tf.map_fn(lambda r: r * 2.0, x),
            tf.scan(lambda a, r: a + r, x, initializer=tf.zeros([3])),
            tf.foldl(lambda a, r: a + r, x, initializer=tf.zeros([3])),
        )

    x = np.arange(length * 3, dtype=np.float32).reshape(length, 3)
    mapped, scanned, folded = f(x)
    np.testing.assert_array_equal(mapped.numpy().reshape(length, 3), x * 2)
    np.testing.assert_array_equal(scanned.numpy().reshape(length, 3), np.cumsum(x, 0))
    np.testing.assert_array_equal(folded.numpy(), x.sum(0))


def test_elements_become_slices_and_scan_outputs():
    f = tf.function(lambda x: tf.map_fn(lambda e: e * 2.0, x))
    (loop,) = f.get_concrete_function(tf.ones([4])).graph.graph.nodes
    assert loop.op == "Loop"
    assert loop.outputs[-1].shape == (4,)
    ops = [n.op for n in loop.attrs["body"].nodes]
    assert "Gather" in ops
    assert not any(op.startswith("Sequence") for op in ops)


def test_elements_of_different_shapes(run):
    def f(x):
        ragged = tf.map_fn(lambda e: tf.range(e), x, infer_shape=False)
        return ragged

    with pytest.raises(tf.errors.InvalidArgumentError):
        run(f, tf.constant([1, 2]))


@pytest.mark.parametrize("dtype", [tf.bfloat16, tf.float16, tf.uint8, tf.int64, tf.bool])
def test_dtypes(run, dtype):
    x = tf.cast([0, 1, 1], dtype)
    np.testing.assert_array_equal(run(lambda x: tf.map_fn(tf.identity, x), x).numpy(), x.numpy())


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tf.map_fn(1, tf.ones([2])), TypeError, "not callable"),
        (lambda: tf.map_fn(tf.identity, tf.constant(1.0)), ValueError, "not scalars"),
        (lambda: tf.map_fn(tf.identity, []), ValueError, "does not contain any Tensors"),
        (
            lambda: tf.map_fn(lambda e: e[0], (tf.ones([2]), tf.ones([3]))),
            ValueError,
            "Dimensions 2 and 3 are not compatible",
        ),
        (lambda: tf.map_fn(lambda e: (e, e), tf.ones([2])), ValueError, "another structure"),
        (
            lambda: tf.map_fn(lambda e: tf.cast(e, tf.int32), tf.ones([2])),
            tf.errors.InvalidArgumentError,
            "dtype is float32 but Op is trying to write dtype int32",
        ),
        (lambda: tf.scan(lambda a, e: a, tf.zeros([0])), tf.errors.OutOfRangeError, "initializer"),
        (lambda: tf.foldl(lambda a, e: a, tf.zeros([0])), tf.errors.OutOfRangeError, "initializer"),
    ],
    ids=["callable", "scalar", "nothing", "lengths", "structure", "dtype", "scan", "fold"],
)
def test_refusals(run, call, error, text):
    with pytest.raises(error, match=text):
        run(call)


def test_scan_of_one_row_of_small_integers() -> None:
    x = np.array([[1, 127, 7]], np.int8)
    assert tf.scan(lambda total, row: total + row, x).numpy().tolist() == x.tolist()
