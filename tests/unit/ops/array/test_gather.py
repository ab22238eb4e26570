"""``gather`` and ``gather_nd`` against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
import tfx.ops.common.operator_overloads
from tests.unit.ops.agreement import check
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.context import using
from tfx.framework.convert import constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.variable import Variable
from tfx.ops.array.gather import gather, gather_nd
from tfx.testing import assert_close, check_grads

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
INDICES = [np.array(1), np.array([2, 0, 2]), np.array([[0, 1], [1, 0]]), np.zeros((0,), int)]


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", INDICES, ids=lambda i: str(i.shape))
def test_gather(indices, axis, dtype):
    expected = np.take(X, indices, axis)
    check(lambda x, i: gather(x, i, axis=axis), [X, indices.astype(dtype)], expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", INDICES, ids=lambda i: str(i.shape))
def test_gather_gradient(indices, axis):
    check_grads(lambda x: gather(x, indices, axis=axis) ** 2.0, [X * 0.1 + 1])

    def f(x, i):
        with GradientTape() as tape:
            tape.watch(x)
            y = gather(x, i, axis=axis) * 2.0
        return tape.gradient(y, x)

    expected = np.zeros_like(X)
    places = [slice(None)] * 3
    places[axis] = indices.reshape(-1)
    np.add.at(expected, tuple(places), 2.0)
    check(f, [X, indices], expected)


def test_gather_gradient_of_unknown_rank():
    graph = FuncGraph("f")
    with using(graph=graph), GradientTape() as tape:
        x = graph.add_argument("x", dtypes.float32.onnx, None)
        tape.watch(x)
        y = gather(x, [0, 1])
        assert tape.gradient(y, x) is not None


def _batch_reference(x, indices, axis, batch):
    rows = [np.take(x[b], indices[b], axis - batch) for b in np.ndindex(x.shape[:batch])]
    return np.stack(rows).reshape(x.shape[:batch] + rows[0].shape)


@pytest.mark.parametrize(
    ("axis", "batch", "shape"),
    [
        (1, 1, (3, 2)),
        (2, 1, (3, 2)),
        (2, 2, (3, 4)),
        (2, 2, (3, 4, 6)),
        (1, 1, (3,)),
        (2, 1, (3, 2, 2)),
    ],
)
def test_batch_dims(axis, batch, shape, rng):
    indices = rng.integers(0, X.shape[axis], shape)
    expected = _batch_reference(X, indices, axis, batch)
    check(lambda x, i: gather(x, i, axis=axis, batch_dims=batch), [X, indices], expected)
    if batch < len(shape):
        assert_close(gather(X, indices, axis=axis, batch_dims=batch - len(shape)), expected)
    check_grads(lambda x: gather(x, indices, axis=axis, batch_dims=batch) ** 2.0, [X * 0.1 + 1])


def test_batch_gradient_of_unknown_shape(rng):
    indices = rng.integers(0, 5, (3, 4, 2))

    def f(x, i):
        with GradientTape() as tape:
            tape.watch(x)
            y = gather(x, i, batch_dims=2)
        return tape.gradient(y, x)

    expected = np.zeros_like(X)
    for b in np.ndindex(3, 4):
        np.add.at(expected[b], indices[b], 1.0)
    check(f, [X, indices], expected)


def test_gather_from_a_variable():
    v = Variable(X)
    with GradientTape() as tape:
        y = gather(v, [1, 1])
    expected = np.zeros_like(X)
    expected[1] = 2
    assert_close(tape.gradient(y, v), expected)


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16", "int8", "uint16", "bool"])
def test_dtypes(dtype):
    x = constant(X % 2 == 0 if dtype == "bool" else X, dtype)
    assert_close(gather(x, [1, 0], axis=1), np.asarray(x)[:, [1, 0]])


def test_strings():
    x = [["a", "b"], ["c", "d"]]
    assert gather(x, [1, 0]).numpy().tolist() == [[b"c", b"d"], [b"a", b"b"]]
    assert gather_nd(x, [[1, 0]]).numpy().tolist() == [b"c"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2, 3], [5]), r"indices\[0\] = 5 is not in \[0, 3\)"),
        (([1, 2, 3], 5), r"indices = 5 is not in \[0, 3\)"),
        (([1, 2, 3], [[0, 1], [2, -4]]), r"indices\[1,1\] = -4 is not in \[0, 3\)"),
        (([1, 2, 3], [1.0]), "Value for attr 'Tindices' of float32"),
        (([1, 2, 3], [1], None, 3), r"range \[-1, 1\), but got 3"),
        ((1, [0]), "params must be at least 1 dimensional"),
        (([[1], [2]], [[0], [0]], None, None, 2), r"batch_dims \(2\) must be less than"),
        (([[1], [2]], [[0], [0]], None, 0, 1), "must be less than or equal to axis"),
        (([[1], [2]], [[0]] * 4, None, None, 1), r"params.shape\[0\]: 2 should be equal to"),
    ],
)
def test_bad_gathers(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        gather(*arguments)


def test_no_indices_may_be_an_empty_list():
    assert gather(X, []).shape == (0, 4, 5)


# gather_nd


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    "indices",
    [[1], [[1], [0], [1]], [[1, 2], [0, 3]], [[[1, 2, 3]], [[0, 0, 0]]], [2, 3, 4]],
    ids=str,
)
def test_gather_nd(indices, dtype):
    where = np.array(indices, dtype)
    expected = X[tuple(np.moveaxis(where, -1, 0))]
    check(gather_nd, [X, where], expected)
    check_grads(lambda x: gather_nd(x, where) ** 2.0, [X * 0.1 + 1])


def test_gather_nd_gradient_of_unknown_shape():
    where = np.array([[1, 2], [0, 3], [1, 2]])

    def f(x, i):
        with GradientTape() as tape:
            tape.watch(x)
            y = gather_nd(x, i)
        return tape.gradient(y, x)

    expected = np.zeros_like(X)
    np.add.at(expected, tuple(where.T), 1.0)
    check(f, [X, where], expected)


@pytest.mark.parametrize("batch", [1, -1])
def test_gather_nd_batch_dims(batch):
    where = np.array([[[0, 1], [2, 2]], [[3, 4], [0, 0]], [[1, 1], [1, 1]]])
    batch = batch if batch > 0 else batch - 1
    expected = np.stack([X[b][tuple(where[b].T)] for b in range(3)])
    check(lambda x, i: gather_nd(x, i, batch_dims=batch), [X, where], expected)
    check_grads(lambda x: gather_nd(x, where, batch_dims=1) ** 2.0, [X * 0.1 + 1])


def test_gather_nd_of_no_coordinates():
    assert_close(gather_nd(X, np.zeros((2, 0), np.int32)), np.stack([X, X]))
    where = np.zeros((3, 2, 0), np.int32)
    assert_close(gather_nd(X, where, batch_dims=1), np.stack([X, X], 1))


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[0, 5]], r"indices\[0\] = \[0, 5\] does not index into param shape \[2,3\]"),
        ([[0, 0, 0]], "index innermost dimension length must be <= params rank; saw: 3 vs. 2"),
        (1, "indices must be at least a vector"),
        ([[0.5]], "Value for attr 'Tindices' of float32"),
    ],
)
def test_bad_coordinates(indices, message):
    with pytest.raises(InvalidArgumentError, match=message):
        gather_nd([[1, 2, 3], [4, 5, 6]], indices)


def test_bad_indices_policy():
    with pytest.raises(ValueError, match="bad_indices_policy"):
        gather_nd([1], [[0]], bad_indices_policy="LENIENT")


# Operators of imported graphs


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements_gradient(axis, rng):
    indices = constant(rng.integers(0, 3, (3, 4, 5)))
    check_grads(lambda x: apply("GatherElements", (x, indices), {"axis": axis}) ** 2.0, [X + 1.0])


def test_out_of_range_in_a_graph():
    with pytest.raises(InvalidArgumentError, match="out of data bounds"):
        run_traced(gather, X, np.array([3]))


def test_coordinates_outside_are_zeros_where_they_are_ignored() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    at = [[0, 1], [2, 0], [1, -1]]
    found = tf.gather_nd(x, at, bad_indices_policy="IGNORE")
    assert found.numpy().tolist() == [2, 0, 0]
    assert tf.raw_ops.GatherNd(
        params=x, indices=[[1], [2]], bad_indices_policy="IGNORE"
    ).numpy().tolist() == [[3, 4], [0, 0]]
    batch = tf.gather_nd(x, [[1], [5]], batch_dims=1, bad_indices_policy="IGNORE")
    assert batch.numpy().tolist() == [2, 0]
    words = tf.gather_nd(["a", "b"], [[1], [2]], bad_indices_policy="IGNORE")
    assert words.numpy().tolist() == [b"b", b""]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.gather_nd(x, at, bad_indices_policy="IGNORE")
    assert tape.gradient(y, x).numpy().tolist() == [[0, 1], [0, 0]]
