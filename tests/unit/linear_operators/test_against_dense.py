"""Operators give what their dense matrices give: eagerly, in functions, with unknown sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.linear_operators.operators import SQUARE, adjoint, circulant, numbers

L = tf.linalg
BATCHES = [(), (2,), (2, 1)]
RTOL = {"float32": 5e-3, "float64": 1e-8, "complex64": 5e-3, "complex128": 1e-8}
names = pytest.mark.parametrize("name", SQUARE)
flags = pytest.mark.parametrize(("turned", "turned_arg"), [(0, 0), (1, 0), (0, 1), (1, 1)])


def _made(name: str, batch: tuple[int, ...], dtype: str) -> tuple[Any, Any, list[Any]]:
    case = SQUARE[name]
    arrays = case.arrays(np.random.default_rng(len(batch)), batch, dtype)
    return case.make(*map(tf.constant, arrays)), case.dense(*arrays), arrays


def _same(found: Any, expected: Any, dtype: str) -> None:
    tolerance = RTOL[dtype]
    found = np.asarray(found)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@names
@flags
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_products_and_solutions(
    name: str, turned: int, turned_arg: int, batch: tuple[int, ...], dtype: str
) -> None:
    operator, dense, _ = _made(name, batch, dtype)
    dense = adjoint(dense) if turned else dense
    rng = np.random.default_rng(5)
    # Arguments without a batch, with the operator's, and with more axes than it has.
    for lead in ((), batch, (3, *batch)):
        x = numbers(rng, *lead, dense.shape[-1], 2, dtype=dtype)
        given = adjoint(x) if turned_arg else x
        options = {"adjoint": bool(turned), "adjoint_arg": bool(turned_arg)}
        _same(operator.matmul(given, **options), dense @ x, dtype)
        whole = np.broadcast_to(dense, np.broadcast_shapes(dense.shape, (*lead, 1, 1)))
        right = np.broadcast_to(x, (*whole.shape[:-1], 2))
        _same(operator.solve(given, **options), np.linalg.solve(whole, right), dtype)
        vector = x[..., 0]
        _same(operator.matvec(vector, adjoint=bool(turned)), (dense @ x)[..., 0], dtype)
        found = operator.solvevec(vector, adjoint=bool(turned))
        _same(found, np.linalg.solve(whole, right)[..., 0], dtype)


@names
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_numbers(name: str, batch: tuple[int, ...], dtype: str) -> None:
    operator, dense, _ = _made(name, batch, dtype)
    assert operator.dtype.name == dtype
    assert operator.shape == dense.shape
    for known, size in (
        (operator.shape_tensor(), dense.shape),
        (operator.batch_shape_tensor(), dense.shape[:-2]),
        (operator.tensor_rank_tensor(), dense.ndim),
        (operator.domain_dimension_tensor(), dense.shape[-1]),
        (operator.range_dimension_tensor(), dense.shape[-2]),
    ):
        np.testing.assert_array_equal(known, size)
    _same(operator.to_dense(), dense, dtype)
    diagonal = np.diagonal(dense, axis1=-2, axis2=-1)
    _same(operator.diag_part(), np.broadcast_to(diagonal, dense.shape[:-1]), dtype)
    _same(operator.trace(), diagonal.sum(-1), dtype)
    exact = dense.astype("complex128" if "complex" in dtype else "float64")
    size = np.abs(np.linalg.det(exact))
    np.testing.assert_allclose(operator.determinant(), np.linalg.det(exact), 5e-3 * size.max())
    logs = np.real(operator.log_abs_determinant())
    np.testing.assert_allclose(logs, np.log(size), rtol=RTOL[dtype], atol=RTOL[dtype])
    x = np.ones(dense.shape, dtype)
    _same(operator.add_to_tensor(x), dense + x, dtype)
    if operator.is_self_adjoint:
        values = np.sort(np.real(operator.eigvals()), -1)
        _same(values, np.linalg.eigvalsh(exact), dtype)
    if name != "triangular":  # whose eigenvalues TensorFlow takes for its singular values
        np.testing.assert_allclose(operator.cond(), np.linalg.cond(exact), rtol=0.02)


@names
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_operators_made_of_one(name: str, dtype: str) -> None:
    operator, dense, _ = _made(name, (2,), dtype)
    _same(operator.adjoint().to_dense(), adjoint(dense), dtype)
    _same(operator.H.to_dense(), adjoint(dense), dtype)
    _same(operator.inverse().to_dense(), np.linalg.inv(dense), dtype)
    _same((operator @ operator).to_dense(), dense @ dense, dtype)
    _same(operator.matmul(operator, adjoint_arg=True).to_dense(), dense @ adjoint(dense), dtype)
    one = np.broadcast_to(np.eye(len(dense[0])), dense.shape)
    _same(operator.solve(operator).to_dense(), one, dtype)
    if operator.is_self_adjoint and operator.is_positive_definite:
        _same(operator.cholesky().to_dense(), np.linalg.cholesky(dense), dtype)


@names
@pytest.mark.parametrize("known", ["sizes", "ranks", "nothing"])
def test_functions(name: str, known: str) -> None:
    _, dense, arrays = _made(name, (2,), "float64")
    x = np.random.default_rng(1).normal(size=(2, dense.shape[-1], 2))
    shapes: dict[str, Any] = {"sizes": np.shape, "ranks": lambda a: [None] * a.ndim}
    shape_of = shapes.get(known, lambda _: None)
    signature = [tf.TensorSpec(shape_of(a), a.dtype) for a in (*arrays, x)]

    @tf.function(input_signature=signature)
    def traced(*given: Any) -> Any:
        again = SQUARE[name].make(*given[:-1])
        right = given[-1]
        numbers = again.trace(), again.determinant(), again.shape_tensor()
        return again.matmul(right), again.solve(right), again.to_dense(), numbers

    product, solution, whole, (trace, determinant, shape) = traced(*arrays, x)
    _same(product, dense @ x, "float64")
    _same(solution, np.linalg.solve(dense, x), "float64")
    _same(whole, dense, "float64")
    _same(trace, np.trace(dense, axis1=-2, axis2=-1), "float64")
    _same(determinant, np.linalg.det(dense), "float64")
    np.testing.assert_array_equal(shape, dense.shape)


@names
def test_gradients(name: str) -> None:
    _, _, arrays = _made(name, (), "float64")
    x = np.random.default_rng(2).normal(size=(SQUARE[name].dense(*arrays).shape[-1], 2))

    def total(*given: Any) -> Any:
        operator = SQUARE[name].make(*given[:-1])
        right = given[-1]
        terms = [operator.matmul(right), operator.solve(right), operator.log_abs_determinant()]
        return tf.add_n([tf.reduce_sum(tf.sin(term)) for term in terms])

    def of_symmetric(a: Any, right: Any) -> Any:
        return total((a + tf.transpose(a)) / 2.0, right)

    # So that differences of any direction are right.
    checked = of_symmetric if name == "definite" else total
    points = [tf.constant(a) for a in (*arrays, x)]
    tf.testing.check_grads(checked, points, order=1)
    tf.testing.check_grads(tf.function(checked), points, order=1)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_circulant_matrices(dtype: str) -> None:
    rng = np.random.default_rng(3)
    column = numbers(rng, 2, 4, dtype=dtype)
    spectrum = np.fft.fft(column)
    operator = L.LinearOperatorCirculant(spectrum, input_output_dtype=dtype)
    dense = circulant(spectrum)
    dense = dense if "complex" in dtype else dense.real
    x = numbers(rng, 3, 2, 4, 2, dtype=dtype)
    _same(operator.to_dense(), dense, dtype)
    _same(operator.matmul(x), dense @ x, dtype)
    _same(operator.matmul(x, adjoint=True), adjoint(dense) @ x, dtype)
    _same(operator.solve(x), np.linalg.solve(np.broadcast_to(dense, (3, 2, 4, 4)), x), dtype)
    _same(operator.trace(), np.trace(dense, axis1=1, axis2=2), dtype)
    _same(operator.diag_part(), np.diagonal(dense, axis1=1, axis2=2), dtype)
    _same(operator.determinant(), np.linalg.det(dense), dtype)
    _same(operator.convolution_kernel(), column, dtype)
    np.testing.assert_allclose(operator.cond(), np.linalg.cond(dense))


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [(L.LinearOperatorCirculant2D, (2, 3)), (L.LinearOperatorCirculant3D, (2, 3, 2))],
    ids=["2d", "3d"],
)
def test_nested_circulant_matrices_convolve(kind: Any, sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    axes = tuple(range(-len(sizes), 0))
    kernel = rng.normal(size=(2, *sizes))
    spectrum = np.fft.fftn(kernel, axes=axes)
    operator = kind(spectrum, input_output_dtype=tf.float64)
    assert operator.block_shape == sizes
    assert operator.block_depth == len(sizes)
    x = rng.normal(size=(2, *sizes))
    expected = np.fft.ifftn(spectrum * np.fft.fftn(x, axes=axes), axes=axes).real
    _same(operator.matvec(x.reshape(2, -1)), expected.reshape(2, -1), "float64")
    _same(operator.solvevec(expected.reshape(2, -1)), x.reshape(2, -1), "float64")
    _same(operator.convolution_kernel(), kernel, "float64")
    _same(operator.trace(), kernel.reshape(2, -1)[:, 0] * np.prod(sizes), "float64")


@pytest.mark.parametrize("batch", [None, [2], [2, 3]], ids=str)
def test_identities_and_zeros(batch: list[int] | None) -> None:
    lead = tuple(batch or ())
    one = L.LinearOperatorIdentity(3, batch_shape=batch, dtype=tf.float64)
    zero = L.LinearOperatorZeros(3, batch_shape=batch, dtype=tf.float64)
    x = np.random.default_rng(6).normal(size=(3, 2))
    _same(one.matmul(x), np.broadcast_to(x, (*lead, 3, 2)), "float64")
    _same(one.solve(x), np.broadcast_to(x, (*lead, 3, 2)), "float64")
    _same(zero.matmul(x), np.zeros((*lead, 3, 2)), "float64")
    _same(one.to_dense(), np.broadcast_to(np.eye(3), (*lead, 3, 3)), "float64")
    _same(zero.to_dense(), np.zeros((*lead, 3, 3)), "float64")
    for operator, value in ((one, 1.0), (zero, 0.0)):
        _same(operator.determinant(), np.full(lead, value), "float64")
        _same(operator.trace(), np.full(lead, 3 * value), "float64")
        _same(operator.eigvals(), np.full((*lead, 3), value), "float64")
        _same(operator.diag_part(), np.full((*lead, 3), value), "float64")
    full = np.ones((*lead, 3, 3))
    _same(one.add_to_tensor(full), full + np.eye(3), "float64")
    _same(one.cond(), np.ones(lead), "float64")


def test_permutations() -> None:
    perm = np.array([[2, 0, 1], [0, 2, 1]], np.int32)
    operator = L.LinearOperatorPermutation(perm)
    x = np.random.default_rng(7).normal(size=(2, 3, 2)).astype(np.float32)
    dense = np.eye(3, dtype=np.float32)[perm]
    for turned in (False, True):
        matrix = adjoint(dense) if turned else dense
        np.testing.assert_array_equal(operator.matmul(x, adjoint=turned), matrix @ x)
        np.testing.assert_array_equal(operator.solve(x, adjoint=turned), adjoint(matrix) @ x)
    np.testing.assert_array_equal(operator.to_dense(), dense)
    np.testing.assert_array_equal(operator.diag_part(), [[0, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(operator.log_abs_determinant(), [0, 0])


def test_matrices_that_are_not_square() -> None:
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, 3)), rng.normal(size=(4, 2))
    wide, tall = L.LinearOperatorFullMatrix(a), L.LinearOperatorFullMatrix(b)
    x = rng.normal(size=(3, 2))
    product = tall @ wide
    _same(product.matmul(x), b @ a @ x, "float64")
    _same(product.matmul(rng.normal(size=(4, 1)), adjoint=True).shape, (3, 1), "float64")
    pair = L.LinearOperatorKronecker([wide, tall])
    _same(pair.to_dense(), np.kron(a, b), "float64")
    y = rng.normal(size=(6, 2))
    _same(pair.matmul(y), np.kron(a, b) @ y, "float64")
    _same(pair.trace(), np.trace(np.kron(a, b)), "float64")
    side = L.LinearOperatorBlockDiag([wide, tall], is_square=None)
    zeros = [np.zeros((2, 2)), np.zeros((4, 3))]
    whole = np.block([[a, zeros[0]], [zeros[1], b]])
    _same(side.to_dense(), whole, "float64")
    _same(side.matmul(np.ones((6, 2)), adjoint=True), whole.T @ np.ones((6, 2)), "float64")
    zero = L.LinearOperatorZeros(2, 3, is_square=False, is_self_adjoint=False, dtype=tf.float64)
    _same(zero.matmul(x), np.zeros((2, 2)), "float64")
    _same(zero.matmul(np.ones((2, 1)), adjoint=True), np.zeros((3, 1)), "float64")
    _same(zero.diag_part(), np.zeros(2), "float64")
