"""Introduction to tensors: making them, shapes, dtypes, indexing, broadcasting, text."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tfx as tf


def test_scalars_vectors_and_matrices_as_text() -> None:
    scalar = tf.constant(4)
    vector = tf.constant([2.0, 3.0, 4.0])
    matrix = tf.constant([[1, 2], [3, 4], [5, 6]], dtype=tf.float16)
    assert repr(scalar) == "<tf.Tensor: shape=(), dtype=int32, numpy=4>"
    assert str(scalar) == "tf.Tensor(4, shape=(), dtype=int32)"
    assert str(vector) == "tf.Tensor([2. 3. 4.], shape=(3,), dtype=float32)"
    assert repr(vector) == (
        "<tf.Tensor: shape=(3,), dtype=float32, numpy=array([2., 3., 4.], dtype=float32)>"
    )
    assert str(matrix) == (
        "tf.Tensor(\n[[1. 2.]\n [3. 4.]\n [5. 6.]], shape=(3, 2), dtype=float16)"
    )
    assert repr(tf.constant([[1, 2], [3, 4]])) == (
        "<tf.Tensor: shape=(2, 2), dtype=int32, numpy=\n"
        "array([[1, 2],\n       [3, 4]], dtype=int32)>"
    )


def test_rank_three() -> None:
    cube = tf.constant([[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]])
    assert cube.shape == (2, 2, 3)
    assert cube.ndim == 3
    np.testing.assert_array_equal(cube[:, :, 2], [[2, 5], [8, 11]])
    np.testing.assert_array_equal(np.array(cube), cube.numpy())


def test_arithmetic_of_matrices() -> None:
    a, b = tf.constant([[1, 2], [3, 4]]), tf.ones([2, 2], dtype=tf.int32)
    np.testing.assert_array_equal(tf.add(a, b), [[2, 3], [4, 5]])
    np.testing.assert_array_equal(a * b, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(tf.matmul(a, b), [[3, 3], [7, 7]])
    np.testing.assert_array_equal(a @ b, [[3, 3], [7, 7]])


def test_reductions() -> None:
    c = tf.constant([[4.0, 5.0], [10.0, 1.0]])
    assert tf.reduce_max(c) == 10.0
    np.testing.assert_array_equal(tf.math.argmax(c), [1, 0])
    assert tf.math.argmax(c).dtype == tf.int64
    np.testing.assert_allclose(
        tf.nn.softmax(c), [[0.26894143, 0.7310586], [0.99987662, 0.00012339458]], rtol=1e-6
    )


def test_values_are_converted_by_the_operations() -> None:
    assert tf.convert_to_tensor([1, 2, 3]).dtype == tf.int32
    assert tf.reduce_max([1, 2, 3]).numpy() == 3
    assert tf.reduce_max(np.array([1, 2, 3])).dtype == tf.int64


def test_shape_facts() -> None:
    x = tf.zeros([3, 2, 4, 5])
    assert (x.dtype, x.ndim, x.shape[0], x.shape[-1]) == (tf.float32, 4, 3, 5)
    assert tf.size(x).numpy() == 3 * 2 * 4 * 5
    assert repr(tf.rank(x)) == "<tf.Tensor: shape=(), dtype=int32, numpy=4>"
    np.testing.assert_array_equal(tf.shape(x), [3, 2, 4, 5])
    assert repr(x.shape) == "TensorShape([3, 2, 4, 5])"
    assert x.shape.as_list() == [3, 2, 4, 5]
    assert str(tf.TensorShape([1, None])) == "(1, None)"


def test_single_axis_indexing() -> None:
    fib = tf.constant([0, 1, 1, 2, 3, 5, 8, 13, 21, 34])
    expected = fib.numpy()
    for key in (0, 1, -1, slice(None), slice(4), slice(4, None), slice(2, 7), slice(None, None, 2)):
        np.testing.assert_array_equal(fib[key], expected[key])
    np.testing.assert_array_equal(fib[::-1], expected[::-1])


def test_multi_axis_indexing() -> None:
    matrix = tf.constant([[1, 2], [3, 4], [5, 6]])
    assert matrix[1, 1].numpy() == 4
    np.testing.assert_array_equal(matrix[:, 1], [2, 4, 6])
    np.testing.assert_array_equal(matrix[-1, :], [5, 6])
    np.testing.assert_array_equal(matrix[1:, :], [[3, 4], [5, 6]])


def test_reshape() -> None:
    x = tf.reshape(tf.range(30), [3, 2, 5])
    np.testing.assert_array_equal(tf.reshape(x, [-1]), np.arange(30))
    assert tf.reshape(x, [3 * 2, 5]).shape == (6, 5)
    assert tf.reshape(x, [3, -1]).shape == (3, 10)
    for wrong in ([7, -1], [2, 3, 6]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.reshape(x, wrong)


def test_dtypes_and_casts() -> None:
    wide = tf.constant([2.2, 3.3, 4.4], dtype=tf.float64)
    half = tf.cast(wide, dtype=tf.float16)
    small = tf.cast(half, dtype=tf.uint8)
    assert str(small) == "tf.Tensor([2 3 4], shape=(3,), dtype=uint8)"
    assert tf.float32 == np.float32 == tf.as_dtype("float32")
    assert (tf.float32.size, tf.int8.min, repr(tf.bool)) == (4, -128, "tf.bool")


def test_dtypes_of_python_and_numpy_values() -> None:
    kinds = [(1, tf.int32), (1.0, tf.float32), (2**40, tf.int64), ("a", tf.string)]
    for value, dtype in kinds:
        assert tf.constant(value).dtype == dtype
    assert tf.constant(True).dtype == tf.bool
    assert tf.constant([1, 2.5]).dtype == tf.float32
    assert tf.constant(np.float64(2)).dtype == tf.float64
    assert tf.constant(np.arange(3)).dtype == tf.int64
    assert tf.constant(3, dtype=tf.float32).numpy() == 3.0


def test_broadcasting() -> None:
    x = tf.constant([1, 2, 3])
    y, z = tf.constant(2), tf.constant([2, 2, 2])
    for product in (tf.multiply(x, 2), x * y, x * z):
        np.testing.assert_array_equal(product, [2, 4, 6])
    column = tf.reshape(x, [3, 1])
    row = tf.range(1, 5)
    np.testing.assert_array_equal(
        tf.multiply(column, row), [[1, 2, 3, 4], [2, 4, 6, 8], [3, 6, 9, 12]]
    )
    np.testing.assert_array_equal(tf.broadcast_to(x, [3, 3]), [[1, 2, 3]] * 3)


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant([1, 2, 3]) + tf.constant([1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant([1, 2]) + tf.constant([1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant([1, 2]) + 1.5
    with pytest.raises(ValueError, match="non-rectangular"):
        tf.constant([[1.0, 2.0], [3.0]])
    with pytest.raises(TypeError):
        tf.constant([1.5, 2.5], dtype=tf.int32)
    with pytest.raises(TypeError):
        tf.constant([1, 2])[0] = 3  # tensors never change


def test_python_protocols() -> None:
    x = tf.constant([1, 2, 3])
    assert [v.numpy() for v in x] == [1, 2, 3]
    assert len(x) == 3
    assert [10, 20, 30][tf.constant(1)] == 20
    assert list(range(tf.constant(3))) == [0, 1, 2]
    assert float(tf.constant(1.5)) == 1.5
    assert f"{tf.constant(1.5):.2f}" == "1.50"
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert x.ref().deref() is x
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)


def test_comparisons_are_element_by_element() -> None:
    x = tf.constant([1, 2, 3])
    np.testing.assert_array_equal(x == tf.constant([1, 5, 3]), [True, False, True])
    np.testing.assert_array_equal(x > 1, [False, True, True])
    assert (x == None) is False  # noqa: E711


def test_strings() -> None:
    scalar = tf.constant("Gray wolf")
    assert repr(scalar) == "<tf.Tensor: shape=(), dtype=string, numpy=b'Gray wolf'>"
    names = tf.constant(["one", "two words", "x"])
    assert str(names) == "tf.Tensor([b'one' b'two words' b'x'], shape=(3,), dtype=string)"
    assert tf.constant("🥳👍").numpy() == "🥳👍".encode()
    np.testing.assert_array_equal(tf.constant(["a", "b"]) + "c", [b"ac", b"bc"])
    np.testing.assert_array_equal(tf.constant(["a", "b"]) == "a", [True, False])


def test_numpy_works_on_tensors() -> None:
    x = tf.constant([1.0, 2.0])
    assert isinstance(np.add(x, 1), np.ndarray)
    assert isinstance(np.array([1.0, 2.0], np.float32) * x, tf.Tensor)
    copied = x.numpy()
    copied[0] = 100.0
    assert x[0] == 1.0


def test_copies_and_pickles() -> None:
    x = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), [1.0, 2.0])
    assert copy.deepcopy(x).shape == (2,)
    assert pickle.loads(pickle.dumps(tf.float32)) is tf.float32
    shape = tf.TensorShape([1, None])
    assert pickle.loads(pickle.dumps(shape)) == shape
    spec = tf.TensorSpec([1, None], tf.int32, name="x")
    assert pickle.loads(pickle.dumps(spec)) == spec
