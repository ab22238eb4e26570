"""Sparse tensors and slices in Keras' functions, layers, optimizers and ``fit``.

Expected values are those of the dense tensors, which NumPy or the same model computes; which
results are sparse is what Keras declares.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests import documents

keras: Any = tf.keras
layers: Any = keras.layers
ops: Any = keras.ops

A = np.array([[0, 1.5, 0], [2, 0, -0.5]], np.float32)
B = np.array([[4, 0, 0], [-3, 0, 0.25]], np.float32)


def sparse(array: Any) -> Any:
    return tf.sparse.from_dense(array)


def array(x: Any) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = ops.convert_to_numpy(x)
    return found


def slices(*rows: int, dense: Any = A) -> Any:
    """Slices of rows of an array, which may repeat."""
    return tf.IndexedSlices(tf.gather(dense, rows), tf.constant(rows), tf.constant(dense.shape))


def entries(x: Any) -> list[list[int]]:
    found: list[list[int]] = x.indices.numpy().tolist()
    return found


def test_conversions_keep_sparse_tensors() -> None:
    x = sparse(A)
    assert ops.is_tensor(x)
    assert ops.convert_to_tensor(x) is x
    assert isinstance(ops.cast(x, "int32"), tf.SparseTensor)
    assert ops.cast(x, "int32").dtype == tf.int32
    dense = ops.convert_to_tensor(x, sparse=False)
    assert isinstance(dense, tf.Tensor)
    np.testing.assert_array_equal(dense, A)
    np.testing.assert_array_equal(array(x), A)
    assert ops.shape(x) == (2, 3)


@pytest.mark.parametrize("name", ["sin", "square", "negative", "floor", "sqrt", "expm1"])
def test_functions_that_keep_zero_keep_the_places(name: str) -> None:
    found = getattr(ops, name)(sparse(abs(A)))
    assert entries(found) == entries(sparse(A))
    np.testing.assert_allclose(array(found), getattr(np, name)(abs(A)), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "elsewhere"), [("cos", 1), ("exp", 1), ("exp2", 1), ("log", -np.inf)]
)
def test_other_functions_give_dense_tensors(name: str, elsewhere: float) -> None:
    found = getattr(ops, name)(sparse(abs(A)))
    assert isinstance(found, tf.Tensor)
    assert found[0, 0] == elsewhere


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("add", [[0, 0], [0, 1], [1, 0], [1, 2]]),
        ("subtract", [[0, 0], [0, 1], [1, 0], [1, 2]]),
        ("maximum", [[0, 0], [0, 1], [1, 0], [1, 2]]),
        ("minimum", [[0, 0], [0, 1], [1, 0], [1, 2]]),
        ("multiply", [[1, 0], [1, 2]]),
    ],
)
def test_two_sparse_tensors(name: str, places: list[list[int]]) -> None:
    found = getattr(ops, name)(sparse(A), sparse(B))
    assert entries(found) == places
    np.testing.assert_array_equal(array(found), getattr(np, name)(A, B))
    mixed = getattr(ops, name)(sparse(A), ops.cast(sparse(B), "float64"))
    assert mixed.dtype == tf.float64


@pytest.mark.parametrize(
    ("other", "is_sparse"),
    [(B, True), (B[:1], True), (B[0], True), (B[:, :1], True), (2.0, True), (3, True)],
)
def test_products_and_quotients_with_dense_tensors(other: Any, is_sparse: bool) -> None:
    for found in (ops.multiply(sparse(A), other), ops.multiply(other, sparse(A))):
        assert isinstance(found, tf.SparseTensor) is is_sparse
        np.testing.assert_array_equal(array(found), A * other)
    with np.errstate(all="ignore"):
        expected = A / np.asarray(other)
    found = ops.divide(sparse(A), other)
    assert isinstance(found, tf.SparseTensor) is is_sparse
    np.testing.assert_allclose(array(found), expected, rtol=1e-6)


def test_a_sparse_tensor_that_is_broadcast_becomes_dense() -> None:
    found = ops.multiply(sparse(A[:1]), B)
    assert isinstance(found, tf.Tensor)
    np.testing.assert_array_equal(found, A[:1] * B)
    np.testing.assert_array_equal(ops.divide(B, sparse(A + 5)), B / (A + 5))
    np.testing.assert_array_equal(ops.greater(sparse(A), sparse(B)), A > B)


def test_slices_that_repeat_are_added_up_before_they_count() -> None:
    x = slices(1, 0, 1)
    dense = array(x)
    np.testing.assert_array_equal(dense, A * [[1], [2]])
    np.testing.assert_array_equal(array(ops.square(x)), dense**2)
    np.testing.assert_array_equal(array(ops.multiply(x, slices(1, 1))), dense * A * [[0], [2]])
    np.testing.assert_array_equal(
        array(ops.maximum(x, slices(1, 1))), np.maximum(dense, A * [[0], [2]])
    )
    np.testing.assert_array_equal(array(ops.add(x, slices(0, 1))), dense + A)
    np.testing.assert_array_equal(array(ops.multiply(x, B)), dense * B)
    assert isinstance(ops.multiply(x, B), tf.IndexedSlices)

    @tf.function
    def squares(rows: Any) -> Any:
        return ops.convert_to_tensor(tf.convert_to_tensor(ops.square(slices_of(rows))))

    def slices_of(rows: Any) -> Any:
        return tf.IndexedSlices(tf.gather(A, rows), rows, tf.constant(A.shape))

    np.testing.assert_array_equal(squares(tf.constant([1, 0, 1])), dense**2)


SHAPES = [
    ((2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((2, 5, 2, 3), (2, 5, 3, 4)),
    ((2, 3), (3,)),
]


@pytest.mark.parametrize(("first", "second"), SHAPES)
@pytest.mark.parametrize("which", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("traced", [False, True])
def test_matrix_products(first: Any, second: Any, which: Any, traced: bool) -> None:
    both = all(which)
    if (len(second) == 1 and which[1]) or (both and len(first) != len(second)):
        pytest.skip("of batches of matrices")
    random = np.random.default_rng(0)
    made = [random.normal(size=s) * (random.random(s) < 0.4) for s in (first, second)]
    made = [np.asarray(m, np.float32) for m in made]
    given = [sparse(m) if is_sparse else m for m, is_sparse in zip(made, which, strict=True)]
    multiply: Callable[..., Any] = tf.function(ops.matmul) if traced else ops.matmul
    found = multiply(*given)
    assert isinstance(found, tf.SparseTensor) is both
    np.testing.assert_allclose(array(found), made[0] @ made[1], rtol=1e-5, atol=1e-6)


def test_products_know_their_shape_and_their_gradients() -> None:
    found = layers.Dense(4)(keras.Input((3,), sparse=True))
    assert found.shape == (None, 4)
    assert not found.sparse
    weights = tf.Variable(B.T)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(ops.matmul(sparse(A), weights) * [[1.0, 2.0]])
    gradient = tape.gradient(y, weights)
    assert isinstance(gradient, tf.IndexedSlices)
    expected = np.outer(A.sum(0), [1, 2])
    np.testing.assert_allclose(array(gradient), expected)


def test_shapes_and_sums() -> None:
    x = sparse(A)
    for found, expected in (
        (ops.reshape(x, (3, -1)), A.reshape(3, 2)),
        (ops.transpose(x), A.T),
        (ops.expand_dims(x, (0, -1)), A[None, ..., None]),
        (ops.squeeze(ops.expand_dims(x, 1)), A),
        (ops.concatenate([x, sparse(B)], 1), np.concatenate([A, B], 1)),
        (ops.sum(x, 0), A.sum(0)),
        (ops.sum(x, (0, 1), keepdims=True), A.sum(keepdims=True)),
        (ops.mean(x, -1), A.mean(-1)),
    ):
        assert isinstance(found, tf.SparseTensor)
        np.testing.assert_allclose(array(found), expected)
    assert isinstance(ops.concatenate([x, B], 0), tf.Tensor)
    np.testing.assert_array_equal(ops.concatenate([x, B], 0), np.concatenate([A, B]))
    with pytest.raises(ValueError, match=r"Cannot squeeze axis=1 of shape \(2, 3\)"):
        ops.squeeze(x, 1)


def test_classes() -> None:
    classes = np.array([[2, 0], [1, -1]])
    for axis in (-1, 0, 1):
        found = ops.one_hot(classes, 3, axis, sparse=True)
        assert isinstance(found, tf.SparseTensor)
        np.testing.assert_array_equal(array(found), ops.one_hot(classes, 3, axis))
    found = ops.multi_hot(classes, 3, dtype="bool", sparse=True)
    np.testing.assert_array_equal(array(found), [[True, False, True], [False, True, False]])
    x = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 1, 2], [3, 2])
    np.testing.assert_array_equal(ops.multi_hot(x, 3), [[0, 1, 0], [0, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(array(ops.bincount(x)), [[0, 2, 0], [0, 0, 0], [0, 0, 1]])
    rows = ops.take(np.arange(6).reshape(3, 2) + 1, x, axis=0)
    np.testing.assert_array_equal(rows[:, 0], [[3, 4], [1, 2], [5, 6]])


def test_symbolic_tensors_and_layers() -> None:
    x = keras.Input((4,), sparse=True)
    assert layers.Reshape((2, 2))(x).sparse
    assert layers.Add()([x, x]).sparse
    assert not layers.Add()([x, keras.Input((4,))]).sparse
    given = sparse(np.eye(4, dtype=np.float32))
    found = keras.Model(x, layers.Flatten()(layers.Reshape((2, 2))(x)))(given)
    assert isinstance(found, tf.SparseTensor)
    np.testing.assert_array_equal(array(found), np.eye(4))


@pytest.mark.parametrize("mode", ["one_hot", "multi_hot", "count"])
def test_layers_of_categories_give_sparse_tensors(mode: str) -> None:
    given = np.array([["a"], ["c"]]) if mode == "one_hot" else np.array([["a", "c"], ["c", "c"]])
    options = {"output_mode": mode, "vocabulary": ["a", "b", "c"]}
    found = layers.StringLookup(sparse=True, **options)(given)
    assert isinstance(found, tf.SparseTensor)
    np.testing.assert_array_equal(array(found), layers.StringLookup(**options)(given))
    numbers = np.array([[2], [0]]) if mode == "one_hot" else np.array([[2, 0], [1, 1]])
    found = layers.CategoryEncoding(3, mode, sparse=True)(numbers)
    assert isinstance(found, tf.SparseTensor)
    np.testing.assert_array_equal(array(found), layers.CategoryEncoding(3, mode)(numbers))


def data() -> tuple[Any, Any]:
    random = np.random.default_rng(1)
    x = (random.normal(size=(50, 8)) * (random.random((50, 8)) < 0.3)).astype(np.float32)
    return x, (x.sum(1) > 0).astype(np.float32)[:, None]


def classifier(is_sparse: bool) -> Any:
    keras.utils.set_random_seed(3)
    inputs = keras.Input((8,), sparse=is_sparse)
    model = keras.Sequential([inputs, layers.Dense(4, "relu"), layers.Dense(1)])
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile("sgd", loss, metrics=["accuracy"])
    return model


@pytest.mark.parametrize("kind", ["tensor", "scipy", "dataset"])
@pytest.mark.parametrize("steps", [1, 3])
def test_fit_takes_sparse_data(kind: str, steps: int) -> None:
    x, y = data()
    given: Any = sparse(x)
    if kind == "scipy":
        given = pytest.importorskip("scipy.sparse").coo_matrix(x)
    expected = classifier(False).fit(x, y, 16, 2, 0, shuffle=False).history
    model = classifier(True)
    model.steps_per_execution = steps
    if kind == "dataset":
        batches = tf.data.Dataset.from_tensor_slices((given, y)).batch(16)
        found = model.fit(batches, epochs=2, verbose=0).history
    else:
        found = model.fit(given, y, 16, 2, 0, shuffle=False).history
        np.testing.assert_allclose(
            model.evaluate(given, y, verbose=0), model.evaluate(x, y, verbose=0), rtol=1e-5
        )
        assert model.predict(given, verbose=0).shape == (50, 1)
        model.fit(given, y, verbose=0, validation_split=0.2)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4)


def test_sparse_predictions_stay_sparse() -> None:
    x, _ = data()
    inputs = keras.Input((8,), sparse=True)
    found = keras.Model(inputs, layers.Reshape((2, 4))(inputs)).predict(sparse(x), 16, verbose=0)
    assert isinstance(found, tf.SparseTensor)
    np.testing.assert_array_equal(array(found), x.reshape(50, 2, 4))


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: keras.optimizers.SGD(0.5),
    "momentum": lambda: keras.optimizers.SGD(0.5, momentum=0.9),
    "clipnorm": lambda: keras.optimizers.SGD(0.5, clipnorm=0.01),
    "global_clipnorm": lambda: keras.optimizers.SGD(0.5, global_clipnorm=0.01),
    "accumulation": lambda: keras.optimizers.SGD(0.5, gradient_accumulation_steps=2),
    "scaled": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.5)),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.1),
    "adagrad": lambda: keras.optimizers.Adagrad(0.1),
    "adadelta": lambda: keras.optimizers.Adadelta(1.0),
    "adam": lambda: keras.optimizers.Adam(0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("eager", [False, True])
def test_a_table_is_trained_as_if_its_gradients_were_dense(name: str, eager: bool) -> None:
    ids = np.array([[1, 1, 3], [3, 3, 3], [0, 1, 0], [2, 2, 1]])  # rows repeat within a step
    y = np.array([[1.0], [0], [1], [0]], np.float32)
    found = []
    for of_rows in (True, False):
        keras.utils.set_random_seed(2)
        table = layers.Embedding(5, 2) if of_rows else layers.Dense(2, use_bias=False)
        model = keras.Sequential([table, layers.GlobalAveragePooling1D(), layers.Dense(1)])
        given = ids if of_rows else np.eye(5, dtype=np.float32)[ids]
        model.build(given.shape)
        table.set_weights([np.linspace(-1, 1, 10, dtype=np.float32).reshape(5, 2)])
        model.layers[-1].set_weights([np.array([[0.5], [-1]], np.float32), np.zeros(1, np.float32)])
        model.compile(OPTIMIZERS[name](), "mse", run_eagerly=eager)
        model.fit(given, y, 2, 3, 0, shuffle=False)
        found.append(table.get_weights()[0])
    np.testing.assert_allclose(*found, rtol=2e-4, atol=1e-5)


def test_rows_that_no_gradient_reaches_are_not_updated() -> None:
    seen: list[Any] = []

    class Seeing(keras.optimizers.SGD):  # type: ignore[misc]
        def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
            seen.append(gradient)
            super().update_step(gradient, variable, learning_rate)

    table = layers.Embedding(1000, 2)
    model = keras.Sequential([table, layers.Flatten(), layers.Dense(1)])
    model.compile(Seeing(0.1), "mse")
    model.fit(np.array([[1, 7]]), np.ones((1, 1)), verbose=0)
    kinds = {tuple(g.shape): type(g) for g in seen}
    assert kinds[1000, 2] is tf.IndexedSlices


def test_the_examples_of_the_document() -> None:
    assert documents.run_examples("docs/keras.md") > 4
