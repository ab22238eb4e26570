"""``tf.sparse``: compared with NumPy on random tensors, and with what TensorFlow 2.21 gives."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


def sample(shape: tuple[int, ...], seed: int = 0, share: float = 0.4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < share, rng.integers(-5, 6, shape), 0).astype(np.float32)


def sparse(array: np.ndarray) -> tf.SparseTensor:
    return tf.sparse.from_dense(array)


def dense(x: tf.SparseTensor) -> np.ndarray:
    return tf.sparse.to_dense(x).numpy()


SHAPES = [(3,), (4, 5), (2, 3, 4), (3, 0), (1, 1), (2, 3, 1, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("how", ["eager", "traced"])
def test_against_numpy(shape, how) -> None:
    a, b = sample(shape), sample(shape, 1)
    rank = len(shape)
    axis = rank - 1

    def several(x, y):
        # Results of the same operations in NumPy are below, in the same order.
        return {
            "back": tf.sparse.to_dense(x),
            "sum": tf.sparse.reduce_sum(x, axis),
            "all": tf.sparse.reduce_sum(x),
            "kept": tf.sparse.reduce_sum(x, 0, keepdims=True),
            "turned": tf.sparse.to_dense(tf.sparse.transpose(x)),
            "added": tf.sparse.to_dense(tf.sparse.add(x, y)),
            "most": tf.sparse.to_dense(tf.sparse.maximum(x, y)),
            "least": tf.sparse.to_dense(tf.sparse.minimum(x, y)),
            "joined": tf.sparse.to_dense(tf.sparse.concat(axis, [x, y])),
            "first": tf.sparse.to_dense(tf.sparse.concat(0, [x, y])),
            "longer": tf.sparse.to_dense(tf.sparse.expand_dims(x, 0)),
            "flat": tf.sparse.to_dense(tf.sparse.reshape(x, [-1] if 0 not in shape else [0])),
            "part": tf.sparse.to_dense(tf.sparse.slice(x, [0] * rank, [2] * rank)),
            "both": tf.sparse.add(x, tf.ones(shape)),
        }

    given = (sparse(a), sparse(b))
    found = (tf.function(several) if how == "traced" else several)(*given)
    expected = {
        "back": a,
        "sum": a.sum(axis),
        "all": a.sum(),
        "kept": a.sum(0, keepdims=True),
        "turned": a.T,
        "added": a + b,
        "most": np.maximum(a, b),
        "least": np.minimum(a, b),
        "joined": np.concatenate([a, b], axis),
        "first": np.concatenate([a, b], 0),
        "longer": a[None],
        "flat": a.reshape(-1),
        "part": a[(slice(0, 2),) * rank],
        "both": a + 1,
    }
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name].numpy(), value, err_msg=name)


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_matrices(turned) -> None:
    a, b = sample((3, 4)), sample((4, 2), 1)
    first = a.T if turned[0] else a
    second = b.T if turned[1] else b
    found = tf.sparse.sparse_dense_matmul(sparse(first), second, *turned)
    np.testing.assert_allclose(found.numpy(), a @ b)
    found = tf.sparse.sparse_dense_matmul(first, sparse(second), *turned)
    np.testing.assert_allclose(found.numpy(), a @ b)


def test_gradients_reach_both_operands() -> None:
    indices = tf.constant([[0, 1], [1, 0], [1, 2]], tf.int64)

    def product(values, b):
        x = tf.SparseTensor(indices, values, [2, 3])
        return tf.sparse.sparse_dense_matmul(x, b)

    values = tf.constant([1.0, -2.0, 0.5], tf.float64)
    tf.testing.check_grads(product, (values, tf.constant(sample((3, 2)), tf.float64)), order=2)

    def others(values):
        x = tf.SparseTensor(indices, values, [2, 3])
        y = tf.sparse.softmax(tf.sparse.add(x * 2.0, x))
        z = tf.sparse.reduce_sum(tf.sparse.reshape(x, [3, 2]), 1)
        return tf.sparse.to_dense(y), z, tf.sparse.to_dense(tf.sparse.slice(x, [0, 0], [2, 2]))

    tf.testing.check_grads(others, (values,), order=1)


def test_a_tape_gives_a_sparse_gradient() -> None:
    x = tf.SparseTensor([[0], [2]], [1.0, 3.0], [4])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.sparse.to_dense(x) ** 2)
    found = tape.gradient(y, x)
    assert found.values.numpy().tolist() == [2, 6] and found.shape == [4]


def test_what_to_dense_refuses() -> None:
    order = tf.SparseTensor([[1, 0], [0, 0]], [1, 2], [2, 2])
    twice = tf.SparseTensor([[0, 0], [0, 0]], [1, 2], [2, 2])
    outside = tf.SparseTensor([[0, 0], [5, 0]], [1, 2], [2, 2])
    for x, message in (
        (order, r"indices\[1\] = \[0,0\] is out of order. Many sparse ops require sorted indices"),
        (twice, r"indices\[1\] = \[0,0\] is repeated"),
        (outside, r"indices\[1\] = \[5,0\] is out of bounds: need 0 <= index < \[2,2\]"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.sparse.to_dense(x)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="out of order, repeated or out of"
        ):
            tf.function(tf.sparse.to_dense)(x)
    assert dense(tf.sparse.reorder(order)).tolist() == [[2, 0], [1, 0]]
    assert tf.sparse.to_dense(order, validate_indices=False).numpy().tolist() == [[2, 0], [1, 0]]
    assert tf.sparse.to_dense(tf.sparse.eye(2), 7).numpy().tolist() == [[1, 7], [7, 1]]


def test_shapes_that_do_not_match_are_refused() -> None:
    x, y = sparse(sample((2, 3))), tf.sparse.eye(3)
    for wrong, message in (
        (lambda x, y: tf.sparse.add(x, y), "got 2 and 3 for dimension 0"),
        (lambda x, y: tf.sparse.sparse_dense_matmul(x, tf.ones([2, 2])), "3 vs. 2"),
        (lambda x, y: tf.sparse.reshape(x, [5]), "6 dense values, but the requested shape has 5"),
        (lambda x, y: tf.sparse.concat(0, [x, tf.sparse.eye(2)]), "expected 3 for dimension 1 but"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            wrong(x, y)
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.function(wrong)(x, y)
    with pytest.raises(ValueError, match=r"new_shape \(\[1,3\]\), sp_input.shape \(\[2,3\]\)"):
        tf.sparse.reset_shape(x, [1, 3])
    with pytest.raises(TypeError, match="must be a SparseTensor"):
        tf.sparse.to_dense([1])


def test_the_rest_as_tensorflow_gives_it() -> None:
    x = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 4.0], [2, 3])
    joined = tf.sparse.concat(0, [x, tf.sparse.eye(2)], expand_nonconcat_dims=True)
    assert joined.shape == [4, 3] and joined.values.numpy().tolist() == [1, 4, 1, 1]
    assert tf.sparse.reset_shape(x).shape == [2, 2]
    halves = tf.sparse.split(x, 2, 1)
    assert [h.shape.as_list() for h in halves] == [[2, 2], [2, 1]]
    assert halves[1].indices.shape == [0, 2]
    negative = tf.SparseTensor([[0, 1]], [-1.0], [2, 3])
    assert tf.sparse.reduce_max(negative, 1).numpy().tolist() == [-1, 0]
    assert float(tf.sparse.reduce_max(negative)) == -1
    none = tf.SparseTensor(tf.zeros([0, 2], tf.int64), tf.zeros([0]), [2, 3])
    assert float(tf.sparse.reduce_max(none)) == 0 and float(tf.sparse.reduce_sum(none)) == 0
    rows = tf.sparse.reduce_sum(x, 1, output_is_sparse=True)
    assert rows.indices.numpy().tolist() == [[0], [1]] and rows.values.numpy().tolist() == [1, 4]
    filled, empty = tf.sparse.fill_empty_rows(tf.SparseTensor([[0, 1], [2, 0]], [1, 4], [3, 3]), 9)
    assert filled.indices.numpy().tolist() == [[0, 1], [1, 0], [2, 0]]
    assert filled.values.numpy().tolist() == [1, 9, 4]
    assert empty.numpy().tolist() == [False, True, False]
    known = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [3, 1, 2], [2, 2])
    assert tf.sparse.to_indicator(known, 5).numpy().astype(int).tolist() == [
        [0, 0, 0, 1, 0],
        [0, 1, 1, 0, 0],
    ]
    assert tf.sparse.retain(x, [True, False]).values.numpy().tolist() == [1]
    kept = tf.sparse.mask(tf.IndexedSlices(tf.constant([1, 2]), tf.constant([0, 1])), [1])
    assert kept.indices.numpy().tolist() == [0]
    large = tf.sparse.add(x, tf.SparseTensor([[0, 1]], [-0.95], [2, 3]), threshold=0.1)
    assert large.values.numpy().tolist() == [4]
    alone = tf.sparse.add(x, tf.SparseTensor([[0, 2]], [0.05], [2, 3]), threshold=0.1)
    assert alone.indices.numpy().tolist() == [[0, 1], [0, 2], [1, 0]]  # not a sum
    texts = tf.sparse.from_dense([["", "x"]])
    assert texts.indices.numpy().tolist() == [[0, 1]]
    assert dense(texts).tolist() == [[b"", b"x"]]


def test_map_values() -> None:
    x = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 4.0], [2, 3])
    assert tf.sparse.map_values(tf.add, x, 5.0).values.numpy().tolist() == [6, 9]
    assert tf.sparse.map_values(tf.multiply, x, y=x).values.numpy().tolist() == [1, 16]
    assert tf.sparse.map_values(tf.add, 1, 2).numpy() == 3
    for wrong in (tf.sparse.map_values, tf.function(tf.sparse.map_values)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Mismatched indices"):
            wrong(tf.add, x, tf.sparse.eye(2, 3))
    with pytest.raises(ValueError, match="as many values"):
        tf.sparse.map_values(tf.reduce_sum, x)


def test_segments_and_counts() -> None:
    data = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert tf.sparse.segment_sum(data, [0, 2], [0, 0]).numpy().tolist() == [[6, 8]]
    found = tf.sparse.segment_mean(data, [0, 2], [0, 2], num_segments=4)
    assert found.numpy().tolist() == [[1, 2], [0, 0], [5, 6], [0, 0]]
    root = tf.sparse.segment_sqrt_n(data, [0, 2], [0, 0])
    np.testing.assert_allclose(root.numpy(), np.array([[6, 8]]) / 2**0.5, rtol=1e-6)
    rows = tf.sparse.bincount([[1, 1, 2], [0, 5, 5]], axis=-1)
    assert rows.indices.numpy().tolist() == [[0, 1], [0, 2], [1, 0], [1, 5]]
    assert rows.values.numpy().tolist() == [2, 1, 1, 2] and rows.shape == [2, 6]
    one = tf.sparse.bincount([1, 1, 2], minlength=5, binary_output=True)
    assert one.values.numpy().tolist() == [1, 1] and one.shape == [5]
    weighted = tf.sparse.bincount([1, 1, 2], weights=[0.5, 1.0, 2.0])
    assert weighted.values.numpy().tolist() == [1.5, 2]
    ragged = tf.sparse.bincount(tf.ragged.constant([[1], [], [2, 2]]), axis=-1)
    assert ragged.values.numpy().tolist() == [1, 2] and ragged.shape == [3, 3]


def test_crosses_and_strings() -> None:
    numbers = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [1, 2, 3], [2, 2])
    found = tf.sparse.cross([tf.constant([["a", "b"], ["c", "d"]]), numbers])
    assert b" ".join(found.values.numpy()) == b"1_X_a 1_X_b 2_X_c 2_X_d 3_X_c 3_X_d"
    assert found.shape == [2, 4]
    message = tf.io.serialize_sparse(tf.SparseTensor([[0, 1], [1, 0]], [1.0, 4.0], [2, 3]))
    assert message.numpy()[1] == b'\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x80@'
    many = tf.io.serialize_many_sparse(numbers)
    again = tf.io.deserialize_many_sparse(many, tf.int32, 2)
    np.testing.assert_array_equal(dense(again), dense(numbers))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch"):
        tf.io.deserialize_many_sparse(many, tf.float32)


def test_nothing_and_single_numbers() -> None:
    none = tf.SparseTensor(tf.zeros([0, 2], tf.int64), tf.zeros([0]), [0, 3])
    assert tf.sparse.to_dense(none).shape == [0, 3]
    assert tf.sparse.reshape(none, [-1, 3]).shape == [0, 3]
    assert tf.sparse.add(none, none).values.shape == [0]
    assert tf.sparse.reduce_sum(none, 0).numpy().tolist() == [0, 0, 0]
    assert tf.sparse.sparse_dense_matmul(none, tf.ones([3, 2])).shape == [0, 2]
    assert tf.sparse.reset_shape(none).shape == [0, 0]
    scalar = tf.SparseTensor(tf.zeros([1, 0], tf.int64), [3.0], tf.zeros([0], tf.int64))
    assert float(tf.sparse.to_dense(scalar)) == 3
    assert tf.sparse.expand_dims(scalar, 0).shape == [1]
    huge = tf.SparseTensor([[2**40, 5]], [1.0], [2**41, 2**20])
    part = tf.sparse.slice(tf.sparse.add(huge, huge), [2**40, 0], [1, 8])
    assert dense(part).tolist() == [[0, 0, 0, 0, 0, 2, 0, 0]]


def test_an_unknown_rank_is_refused_while_tracing() -> None:
    function = tf.function(lambda x: tf.sparse.reduce_sum(x, 1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="needs a SparseTensor of known rank"):
        function.get_concrete_function(tf.SparseTensorSpec(None))


LARGE = {
    "reorder": tf.sparse.reorder,
    "transpose": tf.sparse.transpose,
    "add": lambda x: tf.sparse.add(x, x),
    "maximum": lambda x: tf.sparse.maximum(x, x),
    "concat": lambda x: tf.sparse.concat(0, [x, x]),
    "softmax": tf.sparse.softmax,
    "reshape": lambda x: tf.sparse.reshape(x, [2, -1]),
    "reduce": lambda x: tf.sparse.reduce_sum(x, [], output_is_sparse=True),
}


@pytest.mark.parametrize("how", ["eager", "traced", "unknown"])
@pytest.mark.parametrize("name", LARGE)
def test_shapes_whose_elements_have_no_numbers_are_refused(name, how) -> None:
    """Numbers in row-major order overflow there: entries would come in another order."""
    run = LARGE[name]
    if how != "eager":
        spec = [tf.SparseTensorSpec([None, None], tf.float32)] if how == "unknown" else None
        run = tf.function(run, input_signature=spec)
    large = tf.SparseTensor([[0, 1], [2, 7], [3, 5]], [1.0, 2.0, 3.0], [4, 2**62])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"more than 2\*\*63 - 1 elements"):
        run(large)
    # The largest that can be numbered.
    if name != "concat":
        run(
            tf.SparseTensor(
                [[0, 1], [0, 7]], [1.0, 2.0], [1, 2**62 if name == "reshape" else 2**63 - 1]
            )
        )
    run(tf.SparseTensor([[0, 1], [1, 7]], [1.0, 2.0], [2, 2**60]))


def test_new_shapes_whose_elements_have_no_numbers_are_refused() -> None:
    x = tf.SparseTensor(np.zeros([0, 2], np.int64), np.zeros(0, np.float32), [0, 5])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"got \[4611686018427387904, 4\]"):
        tf.sparse.reshape(x, [2**62, 4])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"got \[3, 4611686018427387905\]"):
        tf.sparse.bincount(tf.constant([[2**62], [2**62], [3]]), axis=-1)


def test_crosses_write_numbers_as_whole_ones() -> None:
    # TensorFlow 2.21: whatever is no string is joined as int64.
    x = tf.SparseTensor([[0, 0], [1, 0]], [1.5, -2.0], [2, 1])
    found = tf.sparse.cross([x, tf.constant([["a"], ["b"]])])
    assert found.values.numpy().tolist() == [b"1_X_a", b"-2_X_b"]


def test_counts_are_no_wider_than_their_limit() -> None:
    found = tf.sparse.bincount([[0, 5], [1, 0]], minlength=4, maxlength=2, axis=-1)
    assert found.dense_shape.numpy().tolist() == [2, 2]
    assert found.indices.numpy().tolist() == [[0, 0], [1, 0], [1, 1]]


def test_sampled_products_keep_the_dtype_of_indices() -> None:
    places, sizes = tf.constant([[0, 0], [1, 1]]), tf.constant([2, 2])
    a, b = tf.ones([2, 3]), tf.ones([3, 2])
    found, values, shape = tf.sparse.sampled_addmm(places, [1.0, 2.0], sizes, a, b)
    assert found.dtype == shape.dtype == tf.int32
    assert found.numpy().tolist() == [[0, 0], [1, 1]] and shape.numpy().tolist() == [2, 2]
    np.testing.assert_array_equal(values, [4.0, 5.0])


def test_sampled_products_of_batches() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=n).astype(np.float32) for n in ((2, 4, 3), (2, 3, 5)))
    places = np.array([[[0, 4], [3, 1]], [[2, 2], [1, 0]]])
    have = np.array([[3.0, 5.0], [2.0, 7.0]], np.float32)
    whole = a @ b
    wanted = [[whole[i, r, c] for r, c in rows] for i, rows in enumerate(places)]

    def sampled(places, have):
        return tf.sparse.sampled_addmm(places, have, [4, 5], a, b, beta=0.25, alpha=0.5)[1]

    for call in (sampled, tf.function(sampled)):
        found = call(tf.constant(places), tf.constant(have))
        np.testing.assert_allclose(found, 0.5 * np.array(wanted) + 0.25 * have, rtol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[..., n, 2\]"):
        sampled(places[0], have)
