"""Steps by ``IndexedSlices``: the same as by dense gradients; of large tables, without these."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tfx as tf
from tfx.optimizers import step as steps
from tfx.optimizers.rows import Rows, rows_of

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {}),
    "momentum": ("SGD", {"momentum": 0.9}),
    "nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}),
    "adam": ("Adam", {}),
    "amsgrad": ("Adam", {"amsgrad": True}),
    "adamw": ("AdamW", {}),
    "adamax": ("Adamax", {}),
    "nadam": ("Nadam", {}),
    "adagrad": ("Adagrad", {}),
    "adadelta": ("Adadelta", {}),
    "rmsprop": ("RMSprop", {}),
    "centered": ("RMSprop", {"centered": True, "momentum": 0.5}),
    "ftrl": ("Ftrl", {"l1_regularization_strength": 0.1}),
    "lion": ("Lion", {}),
    "clipnorm": ("Adagrad", {"clipnorm": 0.5}),
    "global": ("SGD", {"global_clipnorm": 0.5}),
    "clipvalue": ("SGD", {"clipvalue": 0.2}),
    "decay": ("SGD", {"weight_decay": 0.1}),
    "average": ("SGD", {"use_ema": True}),
    "scaled": ("Adam", {"loss_scale_factor": 2.0}),
    "accumulated": ("Adam", {"gradient_accumulation_steps": 2}),
}


@pytest.fixture(params=["rows", "whole"])
def _size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that count as large, and as small."""
    if request.param == "rows":
        monkeypatch.setattr(steps, "_SMALL_TABLE", 0)
        monkeypatch.setattr(steps, "_FADING_TABLE", 0)


def _gradients(step: int, repeated: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(step)
    values = rng.integers(-20, 20, size=(3, 2)).astype(np.float32) / 8  # exact in each dtype
    indices = np.array([1, 1, 3] if repeated else [[1, 3, 0], [2, 0, 1], [3, 1, 2]][step % 3])
    dense = np.zeros((5, 2), np.float32)
    np.add.at(dense, indices, values)
    return values, indices, dense


def _trained(case: str, *, slices: bool, repeated: bool, staged: bool, dtype: Any) -> np.ndarray:
    name, options = CASES[case]
    optimizer = getattr(tf.optimizers, name)(learning_rate=0.1, **options)
    w = tf.Variable(np.linspace(-1, 1, 10).reshape(5, 2), dtype=dtype)

    def step(values: Any, indices: Any, dense: Any) -> None:
        found = tf.IndexedSlices(values, indices, tf.constant([5, 2])) if slices else dense
        optimizer.apply_gradients([(found, w)])

    run = tf.function(step) if staged else step
    for number in range(4):
        run(*map(tf.constant, _gradients(number, repeated)))
    return w.numpy().astype(np.float64)


@pytest.mark.usefixtures("_size")
@pytest.mark.parametrize("repeated", [False, True], ids=["distinct", "repeated"])
@pytest.mark.parametrize("case", CASES)
def test_as_with_dense_gradients(case: str, repeated: bool) -> None:
    options: dict[str, Any] = {"repeated": repeated, "staged": False, "dtype": tf.float32}
    dense = _trained(case, slices=False, **options)
    np.testing.assert_allclose(_trained(case, slices=True, **options), dense, atol=2e-7)


@pytest.mark.usefixtures("_size")
@pytest.mark.parametrize("case", ["sgd", "adam", "adamax", "adagrad", "rmsprop", "global"])
def test_in_a_function(case: str) -> None:
    options: dict[str, Any] = {"repeated": True, "dtype": tf.float32}
    dense = _trained(case, slices=False, staged=False, **options)
    np.testing.assert_allclose(
        _trained(case, slices=True, staged=True, **options), dense, atol=2e-7
    )


@pytest.mark.usefixtures("_size")
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64])
def test_other_dtypes(dtype: tf.DType) -> None:
    kind = dtype.as_numpy_dtype
    options: dict[str, Any] = {"repeated": True, "staged": False, "dtype": dtype}
    dense = _trained("adagrad", slices=False, **options)
    found = _trained("adagrad", slices=True, **options)
    np.testing.assert_allclose(found, dense, rtol=2 * float(ml_dtypes.finfo(kind).eps))


@pytest.mark.usefixtures("_size")
def test_negative_indices_are_the_same_rows() -> None:
    w = tf.Variable(tf.zeros([3, 1]))
    rows = tf.IndexedSlices(tf.constant([[1.0], [1.0]]), tf.constant([2, -1]))
    tf.optimizers.Adagrad(1.0, initial_accumulator_value=0.0).apply_gradients([(rows, w)])
    np.testing.assert_allclose(w, [[0.0], [0.0], [-1.0]], rtol=1e-6)


@pytest.mark.usefixtures("_size")
def test_no_rows() -> None:
    w = tf.Variable(tf.ones([3, 2]))
    rows = tf.IndexedSlices(tf.zeros([0, 2]), tf.zeros([0], tf.int32))
    for name in ("SGD", "Adam", "Adagrad"):
        getattr(tf.optimizers, name)(1.0).apply_gradients([(rows, w)])
    np.testing.assert_array_equal(w, np.ones((3, 2)))


def test_rows_of_another_shape() -> None:
    w = tf.Variable(tf.zeros([3, 2]), name="w")
    with pytest.raises(ValueError, match=r"'w:0' has rows of shape \(3,\)"):
        tf.optimizers.SGD(1.0).apply_gradients(
            [(tf.IndexedSlices(tf.ones([1, 3]), tf.constant([0])), w)]
        )


def test_a_rule_of_ones_own_gets_a_dense_gradient() -> None:
    seen = []

    class Mine(tf.optimizers.Optimizer):
        def update_step(self, gradient: Any, value: Any, slots: Any, scalars: Any) -> Any:
            seen.append(gradient)
            return value - tf.sign(gradient)

    w = tf.Variable(tf.zeros([3, 1]))
    Mine(1.0).apply_gradients([(tf.IndexedSlices(tf.ones([2, 1]), tf.constant([1, 1])), w)])
    assert isinstance(seen[0], tf.Tensor)
    np.testing.assert_array_equal(w, [[0.0], [-1.0], [0.0]])


@pytest.mark.parametrize(("name", "tables"), [("SGD", 1), ("Adagrad", 2)], ids=["sgd", "adagrad"])
def test_only_rows_are_computed(name: str, tables: int) -> None:
    table = tf.Variable(tf.zeros([100_000, 3]))
    optimizer = getattr(tf.optimizers, name)(0.1)

    @tf.function
    def step(i: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, i) ** 2)
        optimizer.apply_gradients([(tape.gradient(y, table), table)])

    graph = step.get_concrete_function(tf.TensorSpec([5], tf.int32)).graph
    large = [
        op.type
        for op in graph.get_operations()
        for y in op.outputs
        if y.dtype == tf.float32 and y.shape.rank and y.shape[0] == 100_000
    ]
    made = [op for op in large if op not in ("Placeholder", "ReadVariableOp", "AssignVariableOp")]
    assert made == ["ScatterElements"] * tables


def _rows(values: Any, indices: Any) -> Rows:
    slices = tf.IndexedSlices(tf.constant(values), tf.constant(indices))
    return rows_of(slices, tf.Variable(tf.zeros([3, 1])), tf.float32)


def test_the_arithmetic_of_rows() -> None:
    rows = _rows([[1.0], [2.0], [4.0]], [2, 0, 2])
    dense = np.array([[2.0], [0.0], [5.0]])
    table = tf.constant([[1.0], [2.0], [4.0]])
    t = table.numpy()
    for found, expected in [
        (rows.dense(), dense),
        (rows.once().dense(), dense),
        ((-rows).dense(), -dense),
        ((rows * 2.0).dense(), 2 * dense),
        ((tf.constant(2.0) * rows).dense(), 2 * dense),
        ((rows / 2.0).dense(), dense / 2),
        ((rows * rows).dense(), dense**2),
        ((rows * table).dense(), dense * t),
        ((rows / table).dense(), dense / t),
        ((rows + rows).dense(), 2 * dense),
        (rows + table, dense + t),
        (table + rows, dense + t),
        (table - rows, t - dense),
        (rows - table, dense - t),
        (rows * _rows([[3.0]], [2]), dense * [[0.0], [0.0], [3.0]]),
    ]:
        np.testing.assert_array_equal(found, expected)
