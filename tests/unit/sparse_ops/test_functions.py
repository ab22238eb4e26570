"""Sparse tensors as arguments and results of functions, in control flow, datasets and bundles."""

from __future__ import annotations

import pytest

import tfx as tf


def example() -> tf.SparseTensor:
    return tf.SparseTensor([[0, 1], [1, 0]], [1.0, 4.0], [2, 3])


def test_functions_take_and_return_them() -> None:
    captured = example()

    @tf.function(reduce_retracing=True)
    def twice(x):
        assert isinstance(x, tf.SparseTensor) and x.shape.rank == 2
        return tf.sparse.add(x, captured), tf.sparse.reduce_sum(x)

    found, total = twice(example())
    assert found.values.numpy().tolist() == [2, 8] and float(total) == 5
    assert twice(tf.sparse.eye(2, 3))[0].values.numpy().tolist() == [1, 1, 4, 1]


def test_signatures_say_what_is_known_of_the_shape() -> None:
    shapes = []

    @tf.function(input_signature=[tf.SparseTensorSpec([None, 3], tf.float32)])
    def rows(x):
        shapes.append(x.shape.as_list())
        return tf.sparse.reduce_sum(x, 1), tf.sparse.to_dense(x)

    assert rows(example())[0].numpy().tolist() == [1, 4]
    assert rows(tf.sparse.eye(4, 3))[1].shape == [4, 3]
    assert shapes == [[None, 3]]
    with pytest.raises(TypeError, match=r"expected SparseTensorSpec\(TensorShape\(\[None, 3\]\)"):
        rows(tf.sparse.eye(4))

    @tf.function
    def width(x):
        return x.shape[1] or -1

    concrete = width.get_concrete_function(tf.SparseTensorSpec([None, 3]))
    assert int(concrete(example())) == 3
    assert int(width(tf.sparse.eye(2, 5))) == -1


def test_branches_and_loops() -> None:
    @tf.function
    def power(x, n):
        def step(i, y):
            return i + 1, y * 2.0

        grown = tf.while_loop(lambda i, _: i < n, step, [tf.constant(0), x])[1]
        return tf.cond(n > 1, lambda: grown, lambda: tf.sparse.add(x, x * -1.0, 0.5))

    assert power(example(), tf.constant(3)).values.numpy().tolist() == [8, 32]
    assert power(example(), tf.constant(1)).values.numpy().tolist() == []


def test_a_training_step_learns_through_them() -> None:
    weights = tf.Variable(tf.zeros([3, 1]))
    target = tf.constant([[2.0], [8.0]])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            error = tf.sparse.sparse_dense_matmul(x, weights) - target
            loss = tf.reduce_mean(error**2)
        weights.assign_sub(0.05 * tf.convert_to_tensor(tape.gradient(loss, weights)))
        return loss

    losses = [float(step(example())) for _ in range(60)]
    assert losses[0] == 34 and losses[-1] < 0.1


def test_datasets_hold_them() -> None:
    data = tf.data.Dataset.from_tensor_slices({"x": example(), "n": [1, 2]})
    assert data.element_spec["x"] == tf.SparseTensorSpec([3], tf.float32)
    first = next(iter(data))
    assert first["x"].indices.numpy().tolist() == [[1]] and first["x"].shape == [3]
    batches = data.map(lambda d: d["x"] * 2.0).batch(2)
    assert batches.element_spec == tf.SparseTensorSpec([None, 3], tf.float32)
    (batch,) = list(batches)
    assert batch.indices.numpy().tolist() == [[0, 1], [1, 0]]
    assert batch.values.numpy().tolist() == [2, 8]
    arrays = [a.tolist() for a in data.map(lambda d: d["x"]).as_numpy_iterator()]
    assert arrays == [[0, 1, 0], [4, 0, 0]]
    again = batches.unbatch()
    assert [x.values.numpy().tolist() for x in again] == [[2], [8]]
    totals = batches.map(lambda x: tf.sparse.reduce_sum(x, 0))
    assert next(iter(totals)).numpy().tolist() == [8, 2, 0]
    whole = tf.data.Dataset.from_tensors(example()).repeat(2)
    assert whole.element_spec == tf.SparseTensorSpec([2, 3], tf.float32) and len(list(whole)) == 2


def test_batches_are_as_large_as_the_largest() -> None:
    def rows(n):
        return tf.sparse.eye(n + 1, n)

    (batch,) = list(tf.data.Dataset.range(3).map(rows).batch(3))
    assert batch.shape == [3, 3, 2]
    assert batch.indices.numpy().tolist() == [[1, 0, 0], [2, 0, 0], [2, 1, 1]]


def test_bundles_have_their_components_as_inputs(tmp_path) -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[tf.SparseTensorSpec([None, 3])])
        def __call__(self, x):
            return {"doubled": x * 2.0, "sums": tf.sparse.reduce_sum(x, 1)}

    tf.saved_model.save(Model(), tmp_path / "model")
    loaded = tf.saved_model.load(tmp_path / "model")
    found = loaded(example())
    assert found["sums"].numpy().tolist() == [1, 4]
    assert found["doubled"].values.numpy().tolist() == [2, 8]
    x = example()
    serve = loaded.signatures["serving_default"]
    again = serve(x_indices=x.indices, x_values=x.values, x_dense_shape=x.dense_shape)
    assert again["sums"].numpy().tolist() == [1, 4]
