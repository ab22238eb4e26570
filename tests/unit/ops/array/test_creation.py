"""Tensors made from nothing, and that traces of them hold no data."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.agreement import check
from tests.unit.ops.number_types import NUMBERS
from tests.unit.ops.tracing import run_traced
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.context import using
from tfx.framework.convert import constant
from tfx.framework.func_graph import FuncGraph
from tfx.ops.array import ranges
from tfx.ops.array.creation import eye, fill, ones, ones_like, zeros, zeros_like
from tfx.ops.array.shape import shape
from tfx.testing import assert_close, check_grads

DTYPES = [*NUMBERS, "bool"]


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
    "f",
    [
        lambda n: zeros([n, 1000]),
        lambda n: ones([1000, 1000]),
        lambda n: fill([n, 1000], 3.0),
        lambda n: eye(1000),
        lambda n: ranges.range(1_000_000),
        lambda n: ranges.linspace(0.0, 1.0, 1_000_000),
        lambda n: zeros_like(ones([1000, n])),
    ],
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
