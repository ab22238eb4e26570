"""Tensors made from nothing, and that traces of them hold no data."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.operators  # noqa: F401
from tests.unit.ops.agreement import check
from tests.unit.ops.tracing import run_traced
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import using
from tfx.framework.convert import constant
from tfx.framework.func_graph import FuncGraph
from tfx.ops import creation
from tfx.ops.creation import eye, fill, linspace, ones, ones_like, zeros, zeros_like
from tfx.ops.shaping import shape
from tfx.testing import assert_close, check_grads

DTYPES = (
    "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split()
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dims", [(), (0, 2), (2, 3), (20, 30)], ids=str)
def test_zeros_and_ones(dims, dtype):
    kind = dtypes.as_dtype(dtype).as_numpy_dtype
    for f, reference in ((zeros, np.zeros), (ones, np.ones)):
        expected = reference(dims, kind)
        assert_close(f(dims, dtype), expected)
        assert f(dims, dtype).dtype == dtype
        if dims != ():
            x = np.zeros(dims, np.float32)
            check(lambda x, f=f: f(shape(x), dtype), [x], expected)
    for f, reference in ((zeros_like, np.zeros), (ones_like, np.ones)):
        x = np.zeros(dims, np.float32)
        check(lambda x, f=f: f(x, dtype), [x], reference(dims, kind))


def test_shapes_may_be_anything():
    assert zeros(3).shape == (3,)
    assert zeros([constant(2), 3]).shape == (2, 3)
    assert ones(constant([2, 3], "int64"), "int32").dtype == "int32"
    assert zeros([2], dtypes.string).numpy().tolist() == [b"", b""]
    assert zeros_like(["a"]).numpy().tolist() == [b""]
    assert ones_like(constant([1, 2], "int16")).dtype == "int16"


@pytest.mark.parametrize(
    "f", [lambda n: zeros([n, 1000]), lambda n: ones([1000, 1000]), lambda n: fill([n, 1000], 3.0),
          lambda n: eye(1000), lambda n: creation.range(1_000_000),
          lambda n: linspace(0.0, 1.0, 1_000_000), lambda n: zeros_like(ones([1000, n]))],
    ids=range(7),
)
def test_no_data_while_tracing(f):
    graph = FuncGraph("f")
    with using(graph=graph):
        f(graph.add_argument("n", dtypes.int32.onnx, ()))
    assert sum(c.const.size for c in graph.graph.constants) < 20


def test_small_ones_are_constants():
    graph = FuncGraph("f")
    with using(graph=graph):
        zeros([2, 3]), ones([4]), eye(3)
    assert not graph.graph.nodes


@pytest.mark.parametrize("f", [zeros, ones, lambda s: fill(s, 1)], ids=["zeros", "ones", "fill"])
def test_negative_dimensions(f):
    with pytest.raises(InvalidArgumentError, match="Dimension -1 must be >= 0"):
        f([2, -1])


def test_no_ones_of_strings():
    for f in (lambda: ones([2], dtypes.string), lambda: ones_like(["a"])):
        with pytest.raises(TypeError, match="Cannot convert 1 to EagerTensor of dtype string"):
            f()


@pytest.mark.parametrize("value", [2.5, 3, True, [4]], ids=str)
def test_fill(value):
    expected = np.full((2, 3), np.asarray(constant(value)).reshape(()))
    assert_close(fill([2, 3], value), expected)
    check(fill, [np.array([2, 3]), np.asarray(constant(value))], expected)


def test_fill_more():
    assert fill([2], "a").numpy().tolist() == [b"a", b"a"]
    assert fill(2, 1).shape == (2,)
    check_grads(lambda v: fill([2, 3], v) ** 2.0, [3.0])
    with pytest.raises(InvalidArgumentError, match="value must represent a scalar"):
        fill([2], [1, 2])


@pytest.mark.parametrize(("rows", "columns"), [(3, None), (2, 3), (3, 2), (0, 2), (20, 30)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool", "bfloat16"])
def test_eye(rows, columns, dtype):
    expected = np.eye(rows, columns).astype(dtypes.as_dtype(dtype).as_numpy_dtype)
    assert_close(eye(rows, columns, dtype=dtype), expected)
    result = run_traced(lambda n: eye(n, columns, dtype=dtype), np.array(rows))
    assert_close(result, expected)
    batch = eye(rows, columns, batch_shape=[2, 1], dtype=dtype)
    assert_close(batch, np.broadcast_to(expected, (2, 1, *expected.shape)))


# range


@pytest.mark.parametrize(
    "arguments",
    [(5,), (0,), (3, 18, 3), (3.0, 1, -0.5), (3, 5.5), (10, 0, -3), (2**40, 2**40 + 2), (1, 1),
     (np.int64(1), np.int64(4)), (np.float64(0), 2)],
    ids=str,
)
def test_range(arguments):
    result = creation.range(*arguments)
    assert_close(result, np.arange(*arguments))
    given = [np.asarray(constant(a)) for a in arguments]
    check(creation.range, given, np.asarray(result))


@pytest.mark.parametrize(
    ("arguments", "dtype"),
    [((3,), "int32"), ((3.0,), "float32"), ((3, 5.5), "float32"), ((np.int64(3),), "int64"),
     ((0, np.float64(2)), "float64"), ((2**40, 2**40 + 1), "int64")],
)
def test_the_widest_dtype_wins(arguments, dtype):
    assert creation.range(*arguments).dtype == dtype


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_range_of_a_dtype(dtype):
    result = creation.range(1, 6, 2, dtype=dtype)
    assert result.dtype == dtype
    assert_close(result, constant([1, 3, 5], dtype))


def test_static_shape_of_a_range():
    graph = FuncGraph("f")
    with using(graph=graph):
        assert creation.range(3, 18, 3).shape == (5,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((3, 0), "Requires start <= limit when delta > 0: 3/0"),
     ((0, 3, -1), "Requires start >= limit when delta < 0: 0/3"),
     ((0, 3, 0), "Requires delta != 0"),
     ((np.int8(3),), "range takes int32, int64, float32, float64; got int8")],
)
def test_bad_ranges(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        creation.range(*arguments)


def test_range_dtype_must_hold_the_numbers():
    with pytest.raises(TypeError, match="Cannot convert 1.5"):
        creation.range(1.5, dtype="int32")


# linspace


@pytest.mark.parametrize("num", [0, 1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linspace(num, dtype):
    start, stop = np.array(-1.5, dtype), np.array(7.25, dtype)
    expected = np.linspace(start, stop, num, dtype=dtype)
    check(lambda a, b: linspace(a, b, num), [start, stop], expected)
    check(linspace, [start, stop, np.array(num)], expected)
    check_grads(lambda a, b: linspace(a, b, num) ** 2.0, [start, stop])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_linspace_of_tensors(axis):
    start, stop = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3) * 7
    check(lambda a, b: linspace(a, b, 4, axis=axis), [start, stop],
          np.linspace(start, stop, 4, axis=axis))
    check(lambda a, b: linspace(a, b, 4, axis=axis), [np.float64(1), stop],
          np.linspace(1, stop, 4, axis=axis))


def test_the_last_number_is_stop_itself():
    stop = np.float32(0.1)
    assert float(linspace(constant(-7.3), stop, 1000)[-1]) == stop


def test_linspace_of_integers_is_float64():
    assert linspace(0, 10, 5).dtype == "float64"
    assert_close(linspace(constant(0.0), 1, 3), [0.0, 0.5, 1.0])


def test_bad_linspaces():
    with pytest.raises(ValueError, match="stop: Tensor conversion requested dtype float32"):
        linspace(0.0, constant(1.0, "float64"), 3)
    with pytest.raises(TypeError, match="Cannot convert 1.0"):
        linspace(0, 1.0, 3)
    with pytest.raises(ValueError, match="axis 2 of linspace"):
        linspace([0.0], [1.0], 3, axis=2)
