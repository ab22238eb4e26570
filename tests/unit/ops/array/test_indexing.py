"""``tensor[...]`` against NumPy, and against what TensorFlow says about indices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as npst

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.agreement import check
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import using
from tfx.framework.convert import constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.variable import Variable
from tfx.testing import assert_close, check_grads

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)

KEYS = [
    np.s_[0],
    np.s_[-1],
    np.s_[1, 2],
    np.s_[-1, -1, -1],
    np.s_[:, 1],
    np.s_[..., 0],
    np.s_[0, ..., 1],
    np.s_[:],
    np.s_[...],
    np.s_[()],
    np.s_[1:2],
    np.s_[1:, 2:4, -3:],
    np.s_[::2, ::-1],
    np.s_[::-1, ::-2, -2:0:-1],
    np.s_[2:0],
    np.s_[10:, :99],
    np.s_[:-10:-1],
    np.s_[-9::-1, -2::-1, -5::-1],
    np.s_[None],
    np.s_[None, ..., None],
    np.s_[:, None, 1],
    np.s_[0, None, :, 2],
    np.s_[:, -1, None, 1:3],
    np.s_[..., 1:3, None],
    np.s_[1, ..., None, -1],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_python_indices(key):
    check(lambda x: x[key], [X], X[key])


@given(npst.basic_indices((3, 4, 5), allow_newaxis=True, allow_ellipsis=True))
def test_every_basic_index(key):
    result = constant(X)[key]
    assert_close(result, X[key])


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_gradients(key):
    check_grads(lambda x: x[key] * x[key], [X * 0.1])


@pytest.mark.parametrize("key", [k for k in KEYS if X[k].size], ids=str)
def test_gradients_of_unknown_shape(key):
    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x[key] * x[key]
        return tape.gradient(y, x)

    expected = np.zeros_like(X)
    expected[key] = 2 * X[key]
    assert_close(run_traced(f, X), expected)


@pytest.mark.parametrize("dtype", ["int32", "int64", "int16"])
@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda i, j: i, -1),
        (lambda i, j: (i, slice(1, 3)), np.s_[-1, 1:3]),
        (lambda i, j: (slice(i, None, -1), j), np.s_[-1::-1, 2]),
        (lambda i, j: (slice(j), slice(i, None), 1), np.s_[:2, -1:, 1]),
        (lambda i, j: (i, 1, j), np.s_[-1, 1, 2]),
        (lambda i, j: (Ellipsis, j, None), np.s_[..., 2, None]),
        (lambda i, j: (i, None, Ellipsis, j), np.s_[-1, None, ..., 2]),
        (lambda i, j: (slice(None), slice(None, None, i)), np.s_[:, ::-1]),
        (lambda i, j: (slice(None, None, j), 0), np.s_[::2, 0]),
        (lambda i, j: slice(i - 9, None, -1), np.s_[-10::-1]),
        (lambda i, j: slice(i - 9, None, i), np.s_[-10::-1]),
        (lambda i, j: slice(i - 9, None, j), np.s_[-10::2]),
        (lambda i, j: (slice(1, None), i, slice(None, j)), np.s_[1:, -1, :2]),
    ],
)
def test_tensors_as_indices(make, key, dtype):
    i, j = np.array(-1, dtype), np.array(2, dtype)
    check(lambda x, i, j: x[make(i, j)], [X, i, j], X[key])


def test_an_index_may_be_a_numpy_number_or_a_variable():
    x = constant(X)
    for index in (np.int64(1), np.uint8(1), np.array(1), Variable(1)):
        assert_close(x[index], X[1])
        assert_close(x[:, :index], X[:, :1])


def test_a_list_is_one_index_per_axis():
    assert_close(constant(X)[[0, 1]], X[0, 1])


def test_unknown_rank():
    graph = FuncGraph("f")
    with using(graph=graph):
        x = graph.add_argument("x", dtypes.float32.onnx, None)
        y = x[..., 0, None, 1:3]
        z = x[0, None, ..., -1]
    assert y.shape.rank is None
    assert z.shape.rank is None


def test_indices_of_unknown_rank_are_scalars():
    graph = FuncGraph("f")
    with using(graph=graph):
        i = graph.add_argument("i", dtypes.int32.onnx, None)
        y = constant(X)[i, i:, :i]
    assert y.shape.rank == 2
    np.testing.assert_array_equal(run_traced(lambda i: constant(X)[i, i:, :i], 2), X[2, 2:, :2])


def test_static_shapes_survive():
    graph = FuncGraph("f")
    with using(graph=graph):
        x = graph.add_argument("x", dtypes.float32.onnx, ("batch", 4, 5))
        assert x[:, 1].shape.as_list() == [None, 5]
        assert x[0].shape.as_list() == [4, 5]
        assert x[:, ::2, None].shape.as_list() == [None, 2, 1, 5]
        assert x[:, 1].shape.symbolic == ("batch", 5)


@pytest.mark.parametrize(
    ("key", "nodes"),
    [
        (np.s_[0], ["Gather"]),
        (np.s_[..., 1], ["Gather"]),
        (np.s_[1:2, ::3], ["Slice"]),
        (np.s_[0, 1], ["Slice", "Squeeze"]),
        (np.s_[0, :, None, 1:], ["Slice", "Squeeze", "Unsqueeze"]),
        (np.s_[...], []),
    ],
    ids=str,
)
def test_as_few_nodes_as_possible(key, nodes):
    graph = FuncGraph("f")
    with using(graph=graph):
        x = graph.add_argument("x", dtypes.float32.onnx, (3, 4, 5))
        x[key]
    assert [n.op for n in graph.graph.nodes] == nodes


def test_a_tensor_index_costs_one_node():
    graph = FuncGraph("f")
    with using(graph=graph):
        x = graph.add_argument("x", dtypes.float32.onnx, (None, 4))
        x[graph.add_argument("i", dtypes.int32.onnx, ())]
    assert [n.op for n in graph.graph.nodes] == ["Gather"]


# Masks


def test_masks():
    mask = X > 30
    check(lambda x, m: x[m], [X, mask], X[mask])
    rows = mask.any(axis=(1, 2))
    check(lambda x, m: x[m], [X, rows], X[rows])
    assert_close(constant(X)[rows], X[rows])
    assert constant(X)[np.zeros(3, bool)].shape == (0, 4, 5)


def test_masks_of_another_length_are_refused():
    with pytest.raises(ValueError, match="incompatible"):
        constant(X)[np.array([True])]
    with pytest.raises(ValueError, match="mask cannot be scalar"):
        constant(X)[True]


# What cannot be an index


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (5, "slice index 5 of dimension 0 out of bounds"),
        ((0, 0, -6), "slice index -6 of dimension 2 out of bounds"),
        ((1, 1, 1, 1), "Index out of range using input dim 3; input has only 3 dims"),
        ((..., 0, ...), "Multiple ellipses in slice spec not allowed"),
        (np.s_[:, ::0], r"strides\[1\] must be non-zero"),
    ],
)
def test_indices_out_of_range(key, message):
    with pytest.raises(InvalidArgumentError, match=message):
        constant(X)[key]
    with pytest.raises(InvalidArgumentError, match=message):
        run_traced(lambda x: x[key], X, static=True)


@pytest.mark.parametrize(
    "key",
    ["a", 1.0, np.s_[1.0:], (True, 0), [[1, 2]], np.array([1]), np.array(1, np.uint8)],
    ids=repr,
)
def test_other_kinds_of_index(key):
    with pytest.raises(TypeError, match="Only integers, slices"):
        constant(X)[key]


def test_out_of_range_at_run_time():
    with pytest.raises(InvalidArgumentError):
        constant(X)[constant(3)]
    with pytest.raises(InvalidArgumentError):
        run_traced(lambda x: x[5], X)
    with pytest.raises(InvalidArgumentError):
        run_traced(lambda x: x[5, 0], X)


def test_scalars():
    x = constant(3.0)
    assert_close(x[...], 3.0)
    assert x[None].shape == (1,)
    with pytest.raises(InvalidArgumentError, match="Attempting to slice scalar input"):
        x[0]


@pytest.mark.parametrize(
    "dtype",
    [
        "float16",
        "float64",
        "bfloat16",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
    ],
)
def test_dtypes(dtype):
    x = constant(X % 2 == 0 if dtype == "bool" else X % 7, dtype)
    assert_close(x[1:, ::-1, 2], np.asarray(x)[1:, ::-1, 2])
    assert x[0].dtype == dtype


def test_strings():
    x = constant([["a", "b"], ["c", "d"]])
    assert x[1].numpy().tolist() == [b"c", b"d"]
    assert x[:, ::-1].numpy().tolist() == [[b"b", b"a"], [b"d", b"c"]]


# The tensor slicing guide of TensorFlow, in its order


def test_the_slicing_guide():
    t1 = constant([0, 1, 2, 3, 4, 5, 6, 7])
    assert_close(t1[1:4], [1, 2, 3])
    assert_close(t1[-3:], [5, 6, 7])
    assert_close(t1[0:8:3], [0, 3, 6])
    t2 = constant([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19]])
    assert_close(t2[:-1, 1:3], [[1, 2], [6, 7], [11, 12]])
    t3 = constant(np.arange(0, 32, 2).reshape(2, 2, 4))
    assert_close(t3[1, 1, 2:], [28, 30])
    assert_close(t3[..., 0], [[0, 8], [16, 24]])


def test_variables():
    v = Variable(X)
    assert_close(v[1:, 0], X[1:, 0])
    with GradientTape() as tape:
        y = v[0, 1] * 2.0
    expected = np.zeros_like(X)
    expected[0, 1] = 2
    assert_close(tape.gradient(y, v), expected)
