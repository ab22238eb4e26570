"""Matrix products against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tfx as tf
import tfx.ops.common.operator_overloads
from tests.unit.ops.tracing import run_traced
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.ops.linalg import matmul
from tfx.testing import assert_close, check_grads

FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
# Shapes of the operands as they enter the product; batches broadcast.
SHAPES = [
    ((2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((1, 1), (1, 1)),
]


def swapped(x):
    return np.swapaxes(x, -1, -2)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_dtypes(dtype):
    a, b = np.arange(6).reshape(2, 3).astype(dtype), np.arange(12).reshape(3, 4).astype(dtype)
    result = matmul.matmul(a, b)
    assert result.dtype == dtype
    assert_close(result, (a.astype(np.float64) @ b.astype(np.float64)).astype(dtype))


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("shapes", SHAPES)
def test_shapes_and_transposition(shapes, transpose_a, transpose_b, rng):
    x, y = rng.standard_normal(shapes[0]), rng.standard_normal(shapes[1])
    a, b = swapped(x) if transpose_a else x, swapped(y) if transpose_b else y

    def f(a, b):
        return matmul.matmul(a, b, transpose_a=transpose_a, adjoint_b=transpose_b)

    assert_close(f(a, b), x @ y)
    assert_close(run_traced(f, a, b), x @ y)
    if x.size and y.size:
        assert_close(run_traced(f, a, b, static=True), x @ y)
        check_grads(f, [a, b])


def test_output_type():
    a = np.full((2, 300), 127, np.int8)
    result = matmul.matmul(a, a.T, output_type="int32")
    assert result.dtype == np.int32
    assert_close(result, np.full((2, 2), 300 * 127 * 127))


def test_python_operands_take_the_tensors_dtype():
    assert matmul.matmul(constant([[1.0, 2.0]], "float64"), [[1.0], [2.0]]).dtype == np.float64


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.ones((2, 2)), np.ones((3, 2)), r"Matrix size-incompatible: In\[0\]: \[2, 2\]"),
        (np.ones(2), np.ones((2, 2)), r"In\[0\] ndims must be >= 2"),
        (np.ones((2, 2)), np.ones(2), r"In\[1\] ndims must be >= 2"),
        (np.ones((2, 2)), np.ones((2, 2), np.float32), "float64"),
        (np.ones((2, 2), bool), np.ones((2, 2), bool), "not allowed by MatMul"),
    ],
)
def test_errors(a, b, message):
    with pytest.raises((InvalidArgumentError, TypeError), match=message):
        matmul.matmul(constant(a), constant(b))
    with pytest.raises(ValueError, match="Only one of"):
        matmul.matmul(np.ones((2, 2)), np.ones((2, 2)), transpose_a=True, adjoint_a=True)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((4, 2, 3), (4, 3)), ((4, 2, 3), (3,))])
def test_matvec(shapes, transpose, rng):
    a, b = rng.standard_normal(shapes[0]), rng.standard_normal(shapes[1])
    given = swapped(a) if transpose else a

    def f(a, b):
        return matmul.matvec(a, b, transpose_a=transpose)

    expected = np.einsum("...ij,...j->...i", a, b)
    assert_close(f(given, b), expected)
    assert_close(run_traced(f, given, b), expected)
    check_grads(f, [given, b])


def test_matrix_transpose_of_any_rank(rng):
    x = rng.standard_normal((2, 3, 4))
    assert_close(matmul.matrix_transpose(x), swapped(x))
    assert_close(run_traced(matmul.matrix_transpose, x), swapped(x))
    assert_close(matmul.adjoint(x), swapped(x))
    with pytest.raises(ValueError, match="rank >= 2"):
        matmul.matrix_transpose([1.0])


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_products_over_nothing_are_zeros_in_functions_too(batch: int) -> None:
    @tf.function(autograph=False)
    def f(a, b):
        # The kernel of a transposed product left what the sum's memory held.
        a, b = a * 2.0, b * 3.0
        return tf.matmul(a[..., 4:], b[..., 4:], transpose_b=True) + a * 0.0

    a = np.ones((batch, 4, 4), np.float32)
    np.testing.assert_array_equal(f(a, a), np.zeros((batch, 4, 4)))
