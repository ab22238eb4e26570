"""Operations on ``IndexedSlices``: which keep the form, and what the dense tensor is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.ops.array import indexed_slices as operations

DENSE = np.array([[0.0, 0.0], [4.0, 6.0], [0.0, 0.0]], np.float32)


def _slices(values: Any = ((1.0, 2.0), (3.0, 4.0))) -> tf.IndexedSlices:
    return tf.IndexedSlices(tf.constant(values), tf.constant([1, 1]), tf.constant([3, 2]))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda s: -s, [[-1, -2], [-3, -4]]),
        (lambda s: tf.math.scalar_mul(2.0, s), [[2, 4], [6, 8]]),
        (tf.identity, [[1, 2], [3, 4]]),
        (tf.stop_gradient, [[1, 2], [3, 4]]),
        (lambda s: tf.cast(s, tf.int32), [[1, 2], [3, 4]]),
        (lambda s: tf.clip_by_value(s, 0.0, 2.0), [[1, 2], [2, 2]]),
        (lambda s: tf.clip_by_norm(s, 1.0), np.array([[1, 2], [3, 4]]) / np.sqrt(30)),
        (lambda s: tf.clip_by_global_norm([s, None], 1.0)[0][0], [[1, 2], [3, 4]] / np.sqrt(30)),
    ],
    ids=["-", "times", "identity", "stop", "cast", "by value", "by norm", "by global norm"],
)
def test_slices_of_slices(function: Callable[[Any], Any], expected: Any) -> None:
    found = function(_slices())
    assert isinstance(found, tf.IndexedSlices)
    np.testing.assert_allclose(found.values, expected, rtol=1e-6)
    assert found.indices.numpy().tolist() == [1, 1]
    assert found.shape == (3, 2)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (tf.convert_to_tensor, DENSE),
        (tf.negative, -DENSE),
        (lambda s: tf.constant(2.0) * s, 2 * DENSE),
        (lambda s: tf.multiply(s, 2.0), 2 * DENSE),
        (lambda s: tf.ones([3, 2]) + s, 1 + DENSE),
        (lambda s: tf.add_n([s, s]), 2 * DENSE),
        (lambda s: tf.add_n([s, tf.ones([3, 2])]), 1 + DENSE),
        (tf.square, DENSE**2),
        (tf.reduce_sum, 10.0),
        (lambda s: tf.gather(s, [1]), [[4.0, 6.0]]),
        (tf.shape, [3, 2]),
        (tf.zeros_like, 0 * DENSE),
    ],
    ids=[
        "convert",
        "negative",
        "times",
        "multiply",
        "plus",
        "add_n",
        "add_n mixed",
        "square",
        "sum",
        "gather",
        "shape",
        "zeros",
    ],
)
@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_tensors_of_slices(function: Callable[[Any], Any], expected: Any, staged: bool) -> None:
    found = (tf.function(function) if staged else function)(_slices())
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape))


def test_assignments() -> None:
    v = tf.Variable(tf.zeros([3, 2]))
    np.testing.assert_array_equal(v.assign_sub(_slices()), -DENSE)
    np.testing.assert_array_equal(v.scatter_add(_slices()), 0 * DENSE)
    np.testing.assert_array_equal(v.assign(_slices()), DENSE)


def test_without_a_dense_shape() -> None:
    with pytest.raises(ValueError, match="without dense_shape"):
        tf.convert_to_tensor(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0])))


def test_another_dtype() -> None:
    with pytest.raises(ValueError, match="Incompatible tensor conversion requested"):
        tf.convert_to_tensor(_slices(), tf.float64)


def test_an_index_out_of_range() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.convert_to_tensor(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([3]), [3, 2]))


def test_scalars_and_tall_rows() -> None:
    scalars = tf.IndexedSlices(tf.constant([1.0, 2.0, 4.0]), tf.constant([2, 0, 2]), [3])
    assert tf.convert_to_tensor(scalars).numpy().tolist() == [2.0, 0.0, 5.0]
    tall = tf.IndexedSlices(tf.ones([2, 2, 3]), tf.constant([1, 1], tf.int64), [2, 2, 3])
    np.testing.assert_array_equal(tall, np.stack([np.zeros((2, 3)), np.full((2, 3), 2.0)]))


def test_a_large_dense_tensor_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.convert_to_tensor(_slices())
    monkeypatch.setattr(operations, "_LARGE", 6)
    with pytest.warns(UserWarning, match="to a dense Tensor with 6 elements"):
        tf.convert_to_tensor(_slices())


def test_gradients_of_the_conversion() -> None:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        rows = tf.IndexedSlices(v * 1.0, tf.constant([0, 0]), tf.constant([2, 2]))
        y = tf.reduce_sum(tf.convert_to_tensor(rows) ** 2)
    np.testing.assert_array_equal(tape.gradient(y, v), [[8.0, 12.0], [8.0, 12.0]])


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    tf.print(_slices(), [_slices()])
    assert capsys.readouterr().err == "[[0 0]\n [4 6]\n [0 0]] [[[0 0]\n [4 6]\n [0 0]]]\n"


def test_joined_slices() -> None:
    other = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([2], tf.int64), tf.constant([3, 2]))
    joined = operations.joined_slices([_slices(), other])
    assert joined.indices.dtype == tf.int64
    np.testing.assert_array_equal(joined, np.add(DENSE, [[0], [0], [1]]))
    assert operations.joined_slices([other]) is other
