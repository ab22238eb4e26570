"""``variable[...].assign(...)`` against NumPy's assignment, eagerly and traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

KEYS: list[tuple[Any, Any]] = [
    (0, [9.0, 8.0, 7.0]),
    (0, 5.0),
    (0, [6.0]),
    ((1, 2), 7.0),
    ((slice(None), 1), [0.0, 1.0]),
    (slice(0, 1), [1.0, 2.0, 3.0]),
    ((slice(None, None, -1), slice(None, None, 2)), [[1.0, 2.0], [3.0, 4.0]]),
    ((None, 0), [[1.0, 1.0, 1.0]]),
    ((Ellipsis, -1), [5.0, 6.0]),
    (slice(1, 1), 3.0),
    (Ellipsis, 2.0),
]


def start() -> np.ndarray[Any, Any]:
    return np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(("key", "value"), KEYS)
@pytest.mark.parametrize("traced", [False, True])
def test_like_numpy(key: Any, value: Any, traced: bool) -> None:
    expected = start()
    expected[key] = value
    v = tf.Variable(start())

    def assign() -> Any:
        v[key].assign(value)
        return v + 0.0

    after = (tf.function(assign) if traced else assign)()
    np.testing.assert_array_equal(v, expected)
    np.testing.assert_array_equal(after, expected)


@pytest.mark.parametrize("traced", [False, True])
def test_indices_that_are_tensors(traced: bool) -> None:
    v = tf.Variable(start())

    def assign(i: Any, mask: Any) -> None:
        v[i].assign([0.0, 1.0, 2.0])
        v[mask].assign(100.0)

    run = tf.function(assign) if traced else assign
    run(tf.constant(1), tf.constant([True, False]))
    np.testing.assert_array_equal(v, [[100.0] * 3, [0.0, 1.0, 2.0]])


def test_of_a_shape_that_is_not_known() -> None:
    v = tf.Variable(start(), shape=[None, 3])

    @tf.function
    def assign(x: Any) -> None:
        v[-1].assign(x)

    v.assign(np.zeros([4, 3]))
    assign(tf.ones([3]))
    np.testing.assert_array_equal(tf.reduce_sum(v, axis=1), [0.0, 0.0, 0.0, 3.0])


@pytest.mark.parametrize("dtype", [tf.int64, tf.bool, tf.string, tf.float16])
def test_dtypes(dtype: tf.DType) -> None:
    values: Any = ["a", "b"] if dtype == tf.string else [True, False]
    v = tf.Variable(tf.constant(values) if dtype == tf.string else tf.cast(values, dtype))
    v[1].assign(v[0])
    np.testing.assert_array_equal(v, [v[0].numpy()] * 2)


def test_the_variable_is_returned_and_other_parts_are_snapshots() -> None:
    v = tf.Variable([1.0, 2.0])
    part = v[0]
    assert part.assign(5.0) is v
    assert part.numpy() == 1.0


def test_what_does_not_fit() -> None:
    v = tf.Variable(start(), name="v")
    for value in ([1.0, 2.0], [[1.0] * 3] * 2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"part of shape \(3,\).*'v:0'"):
            v[0].assign(value)
    with pytest.raises(TypeError):
        v[0].assign("x")
    with pytest.raises(tf.errors.InvalidArgumentError):
        v[7].assign(1.0)
    np.testing.assert_array_equal(v, start())


def test_other_tensors_have_no_assign() -> None:
    with pytest.raises(AttributeError):
        tf.constant([1.0])[0].assign(2.0)
    assert not hasattr(tf.constant(1.0), "assign")


@pytest.mark.parametrize("operation", ["+=", "-=", "*=", "/=", "**="])
def test_in_place_arithmetic_is_refused(operation: str) -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"is not supported\. Use `variable\.assign"):
        exec(f"v {operation} 2.0")
    np.testing.assert_array_equal(v, [1.0, 2.0])
