"""Gradients of gathered rows: ``IndexedSlices`` where TensorFlow 2.21 gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

ROWS = [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]


def _table() -> tf.Variable:
    return tf.Variable(tf.reshape(tf.range(8.0), [4, 2]))


def _parts(slices: tf.IndexedSlices) -> tuple[Any, ...]:
    assert isinstance(slices, tf.IndexedSlices)
    return slices.values.numpy().tolist(), slices.indices.numpy().tolist()


def _gradient(use: Callable[[Any], tf.Tensor], table: Any = None) -> Any:
    table = _table() if table is None else table
    with tf.GradientTape() as tape:
        tape.watch(table)
        y = tf.reduce_sum(use(table))
    return tape.gradient(y, table)


def test_rows_of_a_variable() -> None:
    found = _gradient(lambda w: tf.gather(w, [1, 1, 3]) * [[1.0, 2.0]])
    assert _parts(found) == (ROWS, [1, 1, 3])
    assert found.indices.dtype == tf.int32
    assert found.dense_shape.dtype == tf.int32
    assert found.dense_shape.numpy().tolist() == [4, 2]
    np.testing.assert_array_equal(tf.convert_to_tensor(found), [[0, 0], [2, 4], [0, 0], [1, 2]])


def test_rows_of_a_tensor() -> None:
    found = _gradient(lambda x: tf.gather(x, [1, 1, 3]) * [[1.0, 2.0]], _table().value())
    assert _parts(found) == (ROWS, [1, 1, 3])


@pytest.mark.parametrize(
    "indices",
    [tf.constant([[1, 1], [3, 0]]), tf.constant([[1, 1], [3, 0]], tf.int64)],
    ids=["int32", "int64"],
)
def test_the_indices_keep_their_dtype_and_lose_their_form(indices: tf.Tensor) -> None:
    for use in (tf.gather, tf.nn.embedding_lookup):
        found = _gradient(lambda w, use=use: use(w, indices) ** 2)
        assert _parts(found)[1] == [1, 1, 3, 0]
        assert found.indices.dtype == indices.dtype
        assert found.values.numpy().tolist() == [[4, 6], [4, 6], [12, 14], [0, 2]]


def test_one_row() -> None:
    assert _parts(_gradient(lambda w: tf.gather(w, 2))) == ([[1.0, 1.0]], [2])


def test_methods_of_variables() -> None:
    assert _parts(_gradient(lambda w: w.sparse_read([2, 1])))[1] == [2, 1]
    assert _parts(_gradient(lambda w: w.gather_nd([[2], [1]])))[1] == [2, 1]


@pytest.mark.parametrize(
    "use",
    [
        lambda w: tf.gather(w, [1, 1], axis=1),
        lambda w: tf.gather(w, [1, 1], axis=-2),
        lambda w: tf.gather(w, [1, 1, 0, 0], batch_dims=1),
        lambda w: tf.gather_nd(w, [[2, 1], [1, 0]]),
        lambda w: w[1] * w[1:3],
        lambda w: tf.boolean_mask(w, [True, False, True, True]),
        lambda w: tf.gather(w * 2.0, [1]),
        lambda w: tf.gather(tf.reshape(w, [8]), [1]),
        lambda w: tf.gather(w, [1]) + tf.reduce_sum(w * w),
    ],
    ids=["axis 1", "axis -2", "batch", "elements", "slices", "mask", "product", "form", "mixed"],
)
def test_dense_as_in_tensorflow(use: Callable[[Any], tf.Tensor]) -> None:
    assert isinstance(_gradient(use), tf.Tensor)


@pytest.mark.parametrize(
    ("use", "factor"),
    [
        (tf.identity, 1.0),
        (tf.negative, 1.0),
        (lambda w: tf.cast(w, tf.float64), 1.0),
        (lambda w: tf.identity(w) + 0.0, 1.0),
        (lambda w: tf.gather(w, [0, 1, 2, 3]), 1.0),
    ],
    ids=["identity", "negative", "cast", "scalar", "gather"],
)
def test_what_hands_rows_on(use: Callable[[Any], tf.Tensor], factor: float) -> None:
    found = _gradient(lambda w: tf.gather(use(w), [1, 1]) ** 2)
    assert found.values.dtype == tf.float32
    dense = tf.convert_to_tensor(found).numpy()
    np.testing.assert_array_equal(dense, [[0, 0], [8 * factor, 12 * factor], [0, 0], [0, 0]])


def test_pieces_of_a_table() -> None:
    w, u = _table(), _table()
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.embedding_lookup([w, u], [1, 5, 1]) ** 2)
    of_w, of_u = tape.gradient(y, [w, u])
    assert _parts(of_w) == ([[4.0, 6.0], [4.0, 6.0]], [1, 1])
    assert _parts(of_u) == ([[4.0, 6.0]], [1])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(tf.concat([w, u], 1), [1]) ** 2)
    assert _parts(tape.gradient(y, [w, u])[1]) == ([[4.0, 6.0]], [1])


def test_several_uses_are_put_one_behind_the_other() -> None:
    found = _gradient(
        lambda w: tf.reduce_sum(tf.gather(w, [1])) + tf.reduce_sum(tf.gather(w, [3, 1]) * 2.0)
    )
    values, indices = _parts(found)
    assert sorted(zip(indices, values, strict=True)) == [
        (1, [1.0, 1.0]),
        (1, [2.0, 2.0]),
        (3, [2.0, 2.0]),
    ]


def test_many_uses_are_joined_once() -> None:
    found = _gradient(lambda w: tf.add_n([tf.reduce_sum(tf.gather(w, [i % 4])) for i in range(40)]))
    assert found.indices.shape == (40,)
    np.testing.assert_array_equal(tf.convert_to_tensor(found), np.full((4, 2), 10.0))


def test_of_an_intermediate_result() -> None:
    w = _table()
    with tf.GradientTape() as tape:
        z = w * 1.0
        y = tf.reduce_sum(tf.gather(z, [0, 2]) ** 2)
    of_w, of_z = tape.gradient(y, [w, z])
    assert isinstance(of_w, tf.Tensor)
    assert _parts(of_z) == ([[0.0, 2.0], [8.0, 10.0]], [0, 2])


def test_output_gradients_and_unconnected_sources() -> None:
    w, other = _table(), _table()
    with tf.GradientTape() as tape:
        y = tf.gather(w, [[1, 1]])
    found = tape.gradient(
        y, [w, other, w], output_gradients=tf.ones([1, 2, 2]) * 3.0, unconnected_gradients="zero"
    )
    assert _parts(found[0]) == ([[3.0, 3.0], [3.0, 3.0]], [1, 1])
    assert found[1].numpy().tolist() == np.zeros((4, 2)).tolist()
    assert _parts(found[2]) == _parts(found[0])


def test_no_rows_at_all() -> None:
    found = _gradient(lambda w: tf.gather(w, tf.zeros([0], tf.int32)))
    assert found.values.shape == (0, 2)
    assert not tf.convert_to_tensor(found).numpy().any()


# Second derivatives


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_of_a_gradient(staged: bool) -> None:
    w = _table()

    def cubes(i: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.gather(w, i) ** 3)

    function = tf.function(cubes) if staged else cubes
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            y = function(tf.constant([1, 1]))
        first = inner.gradient(y, w)
        rows = tf.reduce_sum(first.values)
        square = tf.reduce_sum(tf.convert_to_tensor(first) ** 2)
    assert _parts(outer.gradient(rows, w)) == ([[12.0, 18.0], [12.0, 18.0]], [1, 1])
    found = outer.gradient(square, w)
    assert _parts(found) == ([[576.0, 1944.0], [576.0, 1944.0]], [1, 1])


# Functions


def test_a_function_under_a_tape() -> None:
    w = _table()

    @tf.function
    def f(i: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.gather(w, i) ** 2) + tf.reduce_sum(tf.gather(w, i + 1))

    with tf.GradientTape() as tape:
        y = f(tf.constant([1, 1, 2])) + tf.reduce_sum(tf.gather(w, [0]))
    found = tape.gradient(y, w)
    assert found.values.shape == (7, 2)
    dense = [[1, 1], [8, 12], [10, 12], [1, 1]]
    np.testing.assert_array_equal(tf.convert_to_tensor(found), dense)


def test_an_argument_of_a_function_and_constant_indices() -> None:
    @tf.function
    def f(w: tf.Tensor) -> tf.Tensor:
        return tf.gather(w, [1, 3])

    x = _table().value()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert _parts(tape.gradient(y, x)) == ([[1.0, 1.0], [1.0, 1.0]], [1, 3])


def test_a_tape_in_a_function() -> None:
    w = _table()

    @tf.function
    def inner(i: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.gather(w, i) ** 2)

    @tf.function
    def f(i: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = inner(i)
        found = tape.gradient(y, w)
        assert isinstance(found, tf.IndexedSlices)
        assert found.shape == (4, 2)
        return found, tf.gradients(inner(i), w)

    for found in tf.nest.flatten(f(tf.constant([1, 3]))):
        assert _parts(found) == ([[4.0, 6.0], [12.0, 14.0]], [1, 3])


@pytest.mark.parametrize(
    ("table", "indices"),
    [
        (tf.TensorSpec([None, 2]), tf.TensorSpec([None], tf.int32)),
        (tf.TensorSpec([4, None]), tf.TensorSpec([None, None], tf.int32)),
        (tf.TensorSpec(None), tf.TensorSpec(None, tf.int32)),
    ],
    ids=["rows", "matrix", "anything"],
)
def test_unknown_shapes(table: tf.TensorSpec, indices: tf.TensorSpec) -> None:
    @tf.function(input_signature=[table, indices])
    def f(w: tf.Tensor, i: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.reduce_sum(tf.gather(w, i) ** 2)
        found = tape.gradient(y, w)
        return found, tf.convert_to_tensor(found)

    given = tf.constant([1, 1]) if indices.shape.rank == 1 else tf.constant([[1, 1]])
    found, dense = f(_table().value(), given)
    assert _parts(found) == ([[4.0, 6.0], [4.0, 6.0]], [1, 1])
    assert found.dense_shape.numpy().tolist() == [4, 2]
    np.testing.assert_array_equal(dense, [[0, 0], [8, 12], [0, 0], [0, 0]])


def test_in_branches_and_loops_gradients_are_dense() -> None:
    w = _table()

    @tf.function
    def f(i: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(
                i[0] > 0, lambda: tf.reduce_sum(tf.gather(w, i) ** 2), lambda: tf.constant(0.0)
            )
        with tf.GradientTape() as other:
            z = tf.while_loop(
                lambda k, _: k < 3,
                lambda k, z: (k + 1, z + tf.reduce_sum(tf.gather(w, [k, 1]) ** 2)),
                [0, 0.0],
            )[1]
        return tape.gradient(y, w), other.gradient(z, w)

    branch, loop = f(tf.constant([1, 3]))
    np.testing.assert_array_equal(branch, [[0, 0], [4, 6], [0, 0], [12, 14]])
    np.testing.assert_array_equal(loop, [[0, 2], [16, 24], [8, 10], [0, 0]])


def test_no_tensor_of_the_tables_size_is_made() -> None:
    table = tf.Variable(tf.zeros([1000, 3]))

    @tf.function
    def f(i: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, i) ** 2)
        return tape.gradient(y, table)

    graph = f.get_concrete_function(tf.TensorSpec([5], tf.int32)).graph
    operations = {op.type for op in graph.get_operations()}
    assert not operations & {"ScatterElements", "ScatterND", "ConstantOfShape"}
