"""What a sparse tensor is, its operators, and what public operations make of it.

Values and messages are those of TensorFlow 2.21.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tfx as tf


def example() -> tf.SparseTensor:
    return tf.SparseTensor([[0, 1], [1, 0]], [1.0, 4.0], [2, 3])


def dense(x: tf.SparseTensor) -> np.ndarray:
    return tf.sparse.to_dense(x).numpy()


def test_it_shows_its_parts() -> None:
    assert str(example()) == (
        "SparseTensor(indices=tf.Tensor(\n[[0 1]\n [1 0]], shape=(2, 2), dtype=int64), "
        "values=tf.Tensor([1. 4.], shape=(2,), dtype=float32), "
        "dense_shape=tf.Tensor([2 3], shape=(2,), dtype=int64))"
    )
    assert example().shape == [2, 3] and example().dtype == tf.float32
    assert tf.sparse.SparseTensor is tf.SparseTensor
    assert tf.is_tensor(example())
    again = pickle.loads(pickle.dumps(example()))
    np.testing.assert_array_equal(dense(again), dense(example()))


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        (([[0, 0]], [1, 2], [2, 2]), ValueError, "Dimensions 1 and 2 are not compatible"),
        (([0, 0], [1, 2], [2, 2]), ValueError, r"Shape \(2,\) must have rank 2"),
        (([[0, 0]], [1], [2, 2, 3]), ValueError, "Dimensions 2 and 3 are not compatible"),
        (([[0.0, 0]], [1], [2, 2]), TypeError, "int64"),
        ((tf.constant([[0]]), [1], [2]), ValueError, "requested dtype int64"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, error, message) -> None:
    with pytest.raises(error, match=message):
        tf.SparseTensor(*parts)


def test_products_and_quotients_take_dense_tensors() -> None:
    x = example()
    np.testing.assert_array_equal((x * 2.0).values.numpy(), [2, 8])
    np.testing.assert_array_equal((x / 2.0).values.numpy(), [0.5, 2])
    row, column = tf.constant([[1.0, 2.0, 3.0]]), tf.constant([[5.0], [7.0]])
    for other in (row, column, row * column, row[0]):
        np.testing.assert_array_equal(dense(x * other), dense(x) * other.numpy())
        np.testing.assert_array_equal(dense(other * x), dense(x) * other.numpy())
        np.testing.assert_array_equal(dense(x / other), dense(x) / other.numpy())
    with pytest.raises(tf.errors.InvalidArgumentError, match="broadcasts dense to sparse only"):
        x * tf.ones([4])
    with pytest.raises(tf.errors.InvalidArgumentError, match="broadcasts dense to sparse only"):
        x * tf.ones([1, 2, 3])


def test_other_operators_are_refused_as_in_tensorflow() -> None:
    x = example()
    for wrong in (lambda: x + x, lambda: x + 1.0, lambda: -x, lambda: 2.0 * x, lambda: x[0]):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError, match=r"with an unsupported type .*SparseTensor"):
        tf.convert_to_tensor(x)
    with pytest.raises(ValueError, match=r"tf\.sparse\.to_dense"):
        tf.reduce_sum(x)


def test_operations_that_keep_zeros_take_the_values() -> None:
    x = example()
    assert tf.negative(x).values.numpy().tolist() == [-1, -4]
    assert tf.sqrt(x).values.numpy().tolist() == [1, 2]
    assert tf.cast(x, tf.int32).values.dtype == tf.int32
    assert tf.abs(x=x).values.numpy().tolist() == [1, 4]
    assert isinstance(tf.math.erf(tf.identity(tf.stop_gradient(x))), tf.SparseTensor)
    assert tf.shape(x).numpy().tolist() == [2, 3] and tf.shape(x).dtype == tf.int32
    assert int(tf.size(x)) == 6 and int(tf.rank(x)) == 2
    counts = tf.math.bincount(tf.SparseTensor([[0, 1], [1, 0]], [1, 4], [2, 3]))
    assert counts.numpy().tolist() == [0, 1, 0, 0, 1]
    assert tf.abs(tf.constant(-1)).numpy() == 1  # dense tensors go on as before


def test_specs() -> None:
    spec = tf.type_spec_from_value(example())
    assert spec == tf.SparseTensorSpec([2, 3], tf.float32)
    assert repr(tf.SparseTensorSpec([2, None], tf.int32)) == (
        "SparseTensorSpec(TensorShape([2, None]), tf.int32)"
    )
    wider = tf.SparseTensorSpec([None, 3])
    assert wider.is_compatible_with(example()) and spec.is_subtype_of(wider)
    assert not wider.is_compatible_with(tf.sparse.eye(4))
    assert spec.most_specific_common_supertype([tf.SparseTensorSpec([5, 3])]) == wider
    assert pickle.loads(pickle.dumps(wider)) == wider


def test_ragged_tensors_and_back() -> None:
    x = tf.ragged.constant([[1, 2], [3]]).to_sparse()
    assert x.indices.numpy().tolist() == [[0, 0], [0, 1], [1, 0]] and x.shape == [2, 2]
    assert tf.RaggedTensor.from_sparse(x).to_list() == [[1, 2], [3]]
    deeper = tf.ragged.constant([[[1, 2], [3]], []]).to_sparse()
    assert deeper.indices.numpy().tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert deeper.shape == [2, 2, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not right-ragged"):
        tf.RaggedTensor.from_sparse(example())
    with pytest.raises(ValueError, match="must be 2, got 3"):
        tf.RaggedTensor.from_sparse(deeper)


def test_tables_look_up_the_values() -> None:
    pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    found = tf.lookup.StaticHashTable(pairs, -1).lookup(
        tf.SparseTensor([[0], [2]], ["b", "z"], [3])
    )
    assert found.values.numpy().tolist() == [2, -1] and found.shape == [3]


def test_components_are_in_the_order_of_the_constructor() -> None:
    x = tf.SparseTensor([[0, 1], [2, 0]], [1.5, 2.5], [3, 4])
    indices, values, shape = tf.nest.flatten(x, expand_composites=True)
    assert indices.numpy().tolist() == [[0, 1], [2, 0]]
    assert values.numpy().tolist() == [1.5, 2.5]
    assert shape.numpy().tolist() == [3, 4]
    kinds = [s.dtype for s in tf.nest.flatten(tf.SparseTensorSpec([3, 4]), expand_composites=True)]
    assert kinds == [tf.int64, tf.float32, tf.int64]
    twice = tf.nest.pack_sequence_as(x, [indices, values * 2, shape], expand_composites=True)
    assert tf.sparse.to_dense(twice).numpy()[2, 0] == 5
