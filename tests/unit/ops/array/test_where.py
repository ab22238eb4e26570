"""``where`` and ``boolean_mask`` against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.agreement import check
from tests.unit.ops.number_types import INTEGERS
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.convert import constant
from tfx.ops.array.where import boolean_mask, where
from tfx.ops.math.elementwise import log
from tfx.testing import assert_close, check_grads

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
C = (X % 5) < 3


@pytest.mark.parametrize(
    ("condition", "x", "y"),
    [
        (C, X, -X),
        (C, X, np.float32(0)),
        (C[0, 0], X, -X),
        (C[:, :1, :1], X[:1], X[0, :, :1]),
        (np.array(True), X, -X),
        (C, np.float32(1), np.float32(2)),
        (np.zeros((0, 1), bool), np.ones((1, 3), np.float32), np.float32(2)),
    ],
)
def test_selection(condition, x, y):
    check(where, [condition, x, y], np.where(condition, x, y))
    check_grads(lambda x, y: where(condition, x * x, y * y), [x, y])


DTYPES = ["float16", "bfloat16", "float64", *INTEGERS, "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    a, b = (
        constant([0, 1] if dtype != "bool" else [False, True], dtype),
        constant([1, 1] if dtype != "bool" else [True, True], dtype),
    )
    result = where([False, True], a, b)
    assert result.dtype == dtype
    assert_close(result, np.asarray(b))
    assert_close(boolean_mask(a, [False, True]), np.asarray(a)[1:])


def test_python_numbers_follow_the_other_operand():
    assert where([True, False], constant([1.0, 2.0]), 0).dtype == "float32"
    assert where([True, False], 0.0, constant([1.0, 2.0], "float64")).dtype == "float64"
    assert where([True], 1, 2).dtype == "int32"
    assert where([True, False], "a", "b").numpy().tolist() == [b"a", b"b"]


def test_the_branch_not_taken_does_not_spoil_the_gradient():
    x = constant([1.0, 2.0, 0.0])
    with GradientTape() as tape:
        tape.watch(x)
        safe = where(x > 0.0, x, 1.0)
        y = where(x > 0.0, log(safe), 0.0)
    assert_close(tape.gradient(y, x), [1.0, 0.5, 0.0])


def test_gradient_of_unknown_shape():
    def f(c, x, y):
        with GradientTape() as tape:
            tape.watch([x, y])
            z = where(c, x * 2.0, y * 3.0)
        return tape.gradient(z, [x, y])

    c, x, y = C, X[:1], X[0, :, :1]
    dx = np.where(C, 2, 0).sum(0, keepdims=True).astype(np.float32)
    dy = np.where(C, 0, 3).sum((0, 2))[:, None].astype(np.float32)
    check(f, [c, x, y], (dx, dy))


@pytest.mark.parametrize("dtype", ["bool", "float32", "float64", "int32", "uint8", "int16"])
@pytest.mark.parametrize("shape", [(7,), (2, 3), (2, 0, 3), (2, 2, 3)])
def test_coordinates(shape, dtype, rng):
    condition = rng.integers(0, 2, shape).astype(dtype)
    check(where, [condition], np.argwhere(condition))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([True], 1), ValueError, "x and y must both be non-None or both be None"),
        ((True,), InvalidArgumentError, "Unhandled input dimensions: 0"),
        ((["a"],), InvalidArgumentError, "string is not allowed by Where"),
        (([1, 0], 1, 2), TypeError, "Cannot convert .* dtype bool"),
        (([True, False, True], [1, 2], 3), InvalidArgumentError, "Where cannot be applied"),
        (([True], 1, [2.5]), TypeError, "Cannot convert"),
    ],
)
def test_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        where(*arguments)


def test_two_dtypes():
    with pytest.raises(InvalidArgumentError, match="cannot compute SelectV2"):
        where([True], constant(1.0), constant(1.0, "float64"))


# boolean_mask


@pytest.mark.parametrize(
    ("axis", "shape"),
    [(None, (2,)), (0, (2, 3)), (0, (2, 3, 4)), (1, (3,)), (1, (3, 4)), (2, (4,)), (-1, (4,))],
)
def test_boolean_mask(axis, shape, rng):
    mask = rng.random(shape) < 0.5
    first = 0 if axis is None else axis % 3
    expected = X[(slice(None),) * first + (mask,)]
    check(lambda x, m: boolean_mask(x, m, axis=axis), [X, mask], expected)
    assert_close(boolean_mask(X, mask.astype(np.int32), axis=axis), expected)
    check_grads(lambda x: boolean_mask(x, mask, axis=axis) ** 2.0, [X + 1])


def test_masked_gradient_of_unknown_shape():
    mask = np.array([False, True, True])

    def f(x, m):
        with GradientTape() as tape:
            tape.watch(x)
            y = boolean_mask(x, m, axis=1) * 3.0
        return tape.gradient(y, x)

    expected = np.zeros_like(X)
    expected[:, 1:] = 3
    check(f, [X, mask], expected)


def test_compress_of_everything():
    mask = constant(C.reshape(-1))
    check_grads(lambda x: apply("Compress", (x, mask)) ** 2.0, [X + 1])


@pytest.mark.parametrize(
    ("mask", "message"),
    [(True, "mask cannot be scalar"), ([True], "incompatible"), ([[[[True]]]], "incompatible")],
)
def test_bad_masks(mask, message):
    with pytest.raises(ValueError, match=message):
        boolean_mask(X, mask)


def test_a_short_mask_is_refused_at_run_time():
    with pytest.raises(InvalidArgumentError):
        run_traced(boolean_mask, X, np.array([True]))


def test_only_one_node_for_a_vector_mask():
    from tfx.core import dtypes
    from tfx.framework.context import using
    from tfx.framework.func_graph import FuncGraph

    graph = FuncGraph("f")
    with using(graph=graph):
        x = graph.add_argument("x", dtypes.float32.onnx, ("n", 4))
        m = graph.add_argument("m", dtypes.bool.onnx, ("n",))
        y = boolean_mask(x, m)
    assert [n.op for n in graph.graph.nodes] == ["Compress"]
    assert y.shape.as_list() == [None, 4]


def test_complex_numbers_count_by_both_parts():
    values = constant([0j, 1j, 1 + 0j, 1 + 1j])
    np.testing.assert_array_equal(where(values), [[1], [2], [3]])
