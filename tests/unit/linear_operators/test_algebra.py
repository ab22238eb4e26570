"""What products, solutions, inverses and sums of operators are, and what is known of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

L = tf.linalg


def _diag(**known: Any) -> Any:
    return L.LinearOperatorDiag([1.0, 2.0, 4.0], **known)


def _scaled() -> Any:
    return L.LinearOperatorScaledIdentity(3, 2.0)


def _triangular() -> Any:
    return L.LinearOperatorLowerTriangular([[1.0, 9, 9], [2, 3, 9], [4, 5, 6]])


def _one() -> Any:
    return L.LinearOperatorIdentity(3)


def _zero() -> Any:
    return L.LinearOperatorZeros(3)


def _full() -> Any:
    return L.LinearOperatorFullMatrix([[3.0, 1, 0], [0, 3, 1], [1, 0, 3]])


def _circulant() -> Any:
    return L.LinearOperatorCirculant([1.0, 2.0, 2.0], input_output_dtype=tf.float32)


def _blocks() -> Any:
    return L.LinearOperatorBlockDiag([L.LinearOperatorDiag([2.0]), _scaled()])


PRODUCTS: list[tuple[Any, Any, str]] = [
    (_diag, _diag, "Diag"),
    (_diag, _scaled, "Diag"),
    (_scaled, _diag, "Diag"),
    (_scaled, _scaled, "ScaledIdentity"),
    (_diag, _triangular, "LowerTriangular"),
    (_triangular, _diag, "LowerTriangular"),
    (_triangular, _triangular, "Composition"),
    (_one, _full, "FullMatrix"),
    (_full, _one, "FullMatrix"),
    (_one, _one, "Identity"),
    (_zero, _full, "Zeros"),
    (_full, _zero, "Zeros"),
    (_full, _diag, "Composition"),
    (_blocks, _blocks, "BlockDiag"),
]
SOLUTIONS: list[tuple[Any, Any, str]] = [
    (_diag, _diag, "Diag"),
    (_diag, _scaled, "Diag"),
    (_scaled, _diag, "Diag"),
    (_scaled, _scaled, "ScaledIdentity"),
    (_diag, _triangular, "LowerTriangular"),
    (_one, _full, "FullMatrix"),
    (_full, _one, "Inversion"),
    (_diag, _one, "Diag"),
    (_full, _diag, "Composition"),
    (_blocks, _blocks, "BlockDiag"),
]


@pytest.mark.parametrize(("left", "right", "kind"), PRODUCTS)
def test_products(left: Any, right: Any, kind: str) -> None:
    a, b = left(), right()
    found = a @ b
    assert type(found).__name__ == f"LinearOperator{kind}"
    dense = a.to_dense().numpy() @ b.to_dense().numpy()
    np.testing.assert_allclose(found.to_dense(), dense, rtol=1e-5)
    turned = a.matmul(b, adjoint=True, adjoint_arg=True)
    np.testing.assert_allclose(
        turned.to_dense(), a.to_dense().numpy().T @ b.to_dense().numpy().T, rtol=1e-5
    )


@pytest.mark.parametrize(("left", "right", "kind"), SOLUTIONS)
def test_solutions(left: Any, right: Any, kind: str) -> None:
    a, b = left(), right()
    found = a.solve(b)
    assert type(found).__name__ == f"LinearOperator{kind}"
    dense = np.linalg.solve(a.to_dense(), b.to_dense())
    np.testing.assert_allclose(found.to_dense(), dense, rtol=1e-4, atol=1e-5)


def test_products_of_circulant_operators_are_circulant() -> None:
    found = _circulant() @ _circulant()
    assert type(found) is L.LinearOperatorCirculant
    np.testing.assert_array_equal(found.spectrum, [1, 4, 4])
    assert found.dtype == tf.complex64  # TensorFlow's, whatever the factors take
    assert _circulant().inverse().dtype == tf.float32


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (_diag, "Diag"),
        (_scaled, "ScaledIdentity"),
        (_one, "Identity"),
        (_full, "Inversion"),
        (_triangular, "Inversion"),
        (_blocks, "BlockDiag"),
        (_circulant, "Circulant"),
        (lambda: L.LinearOperatorHouseholder([1.0, 2.0]), "Householder"),
        (lambda: L.LinearOperatorKronecker([_diag(), _scaled()]), "Kronecker"),
        (lambda: L.LinearOperatorBlockLowerTriangular([[_diag()]]), "BlockLowerTriangular"),
    ],
)
def test_inverses(make: Any, kind: str) -> None:
    operator = make()
    found = operator.inverse()
    assert type(found).__name__ == f"LinearOperator{kind}"
    dense = np.linalg.inv(operator.to_dense())
    np.testing.assert_allclose(found.to_dense(), dense, rtol=1e-4, atol=1e-5)


def test_an_operator_comes_back_from_its_inverse_and_adjoint() -> None:
    operator = _full()
    assert operator.inverse().inverse() is operator
    assert operator.H.H is operator
    assert operator.inverse().solve(_diag()).operators[0] is operator
    assert _diag().H.is_self_adjoint
    symmetric = _diag()
    assert symmetric.H is symmetric


def test_inverses_of_block_triangles_keep_structure() -> None:
    operator = L.LinearOperatorBlockLowerTriangular(
        [[_diag()], [_one(), _scaled()], [_triangular(), _diag(), _full()]]
    )
    found = operator.inverse()
    kinds = [[type(each).__name__[14:] for each in row] for row in found.operators]
    assert kinds[1] == ["Diag", "ScaledIdentity"]
    np.testing.assert_allclose(
        found.to_dense(), np.linalg.inv(operator.to_dense()), rtol=1e-4, atol=1e-5
    )


def test_cholesky_factors() -> None:
    sure = {"is_positive_definite": True, "is_self_adjoint": True}
    assert type(_diag(**sure).cholesky()) is L.LinearOperatorDiag
    scaled = L.LinearOperatorScaledIdentity(2, 4.0, **sure).cholesky()
    assert float(scaled.multiplier) == 2.0
    assert type(_one().cholesky()) is L.LinearOperatorIdentity
    low = L.LinearOperatorLowerTriangular([[-2.0, 0], [1, 3]], is_non_singular=True)
    product = low @ low.H
    np.testing.assert_allclose(product.cholesky().to_dense(), [[2, 0], [-1, 3]])
    for combined in (L.LinearOperatorKronecker, L.LinearOperatorBlockDiag):
        assert type(combined([_diag(**sure), _one()]).cholesky()) is combined


def _known(operator: Any) -> tuple[Any, ...]:
    return (
        operator.is_non_singular,
        operator.is_self_adjoint,
        operator.is_positive_definite,
        operator.is_square,
    )


def test_hints_of_products() -> None:
    sure = _diag(is_positive_definite=True)
    assert _known(sure @ sure) == (True, True, True, True)
    assert _known(_diag() @ sure) == (None, True, None, True)
    wide = L.LinearOperatorFullMatrix(tf.ones([2, 3]))
    assert _known(wide @ wide.H) == (None, True, None, True)
    tall = L.LinearOperatorFullMatrix(tf.ones([3, 3]), is_non_singular=True)
    assert _known(tall @ tall.H) == (True, True, True, True)
    assert _known(tall @ _diag()) == (None, None, None, True)
    assert _known(wide @ _diag()) == (False, False, False, False)


def test_hints_of_combinations() -> None:
    sure = _diag(is_positive_definite=True)
    for combined in (L.LinearOperatorKronecker, L.LinearOperatorBlockDiag):
        assert _known(combined([sure, sure])) == (True, True, True, True)
        assert _known(combined([sure, _full()])) == (None, None, None, True)
    low_rank = L.LinearOperatorLowRankUpdate(sure, tf.ones([3, 1]))
    assert _known(low_rank) == (True, True, True, True)
    signed = L.LinearOperatorLowRankUpdate(sure, tf.ones([3, 1]), [-1.0])
    assert _known(signed) == (None, True, None, True)
    assert _known(L.LinearOperatorAdjoint(_full(), is_non_singular=True)) == (
        True,
        None,
        None,
        True,
    )


def test_names_of_combinations() -> None:
    a, b = _diag(name="a"), _diag(name="b")
    assert (a @ L.LinearOperatorFullMatrix(tf.eye(3), name="c")).name == "a_o_c"
    assert L.LinearOperatorKronecker([a, b]).name == "a_x_b"
    assert L.LinearOperatorBlockDiag([a, b]).name == "a_ds_b"
    assert L.LinearOperatorAdjoint(a).name == "a_adjoint"
    assert L.LinearOperatorInversion(a).name == "a_inv"


def test_public_functions_take_operators() -> None:
    a = _full()
    dense = a.to_dense().numpy()
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_allclose(tf.matmul(a, x), dense @ x, rtol=1e-5)
    np.testing.assert_allclose(tf.matmul(x, a, adjoint_a=True), x.T @ dense, rtol=1e-5)
    np.testing.assert_allclose(tf.constant(x.T) @ a, x.T @ dense, rtol=1e-5)
    np.testing.assert_allclose(tf.linalg.matmul(a, x, adjoint_a=True), dense.T @ x, rtol=1e-5)
    np.testing.assert_allclose(tf.linalg.solve(a, x), np.linalg.solve(dense, x), rtol=1e-4)
    np.testing.assert_allclose(tf.linalg.det(a), np.linalg.det(dense), rtol=1e-5)
    assert float(tf.linalg.trace(a)) == 9
    np.testing.assert_array_equal(tf.linalg.diag_part(a), [3, 3, 3])
    assert type(tf.matmul(_diag(), _diag())) is L.LinearOperatorDiag
    assert type(tf.linalg.inv(a)) is L.LinearOperatorInversion
    np.testing.assert_array_equal(tf.linalg.adjoint(a).to_dense(), dense.T)
    turned = tf.linalg.inv(a, adjoint=True).to_dense()
    np.testing.assert_allclose(turned, np.linalg.inv(dense).T, rtol=1e-4)
    sure = _diag(is_positive_definite=True)
    np.testing.assert_allclose(tf.linalg.logdet(sure), np.log(8), rtol=1e-6)
    assert type(tf.linalg.cholesky(sure)) is L.LinearOperatorDiag
    with pytest.raises(ValueError, match="positive definite"):
        tf.linalg.logdet(a)
    with pytest.raises(ValueError, match="does not transpose"):
        tf.matmul(a, x, transpose_a=True)
    with pytest.raises(ValueError, match="no sparse"):
        tf.matmul(a, x, a_is_sparse=True)
    with pytest.raises(ValueError, match="LinearOperatorFullMatrix"):
        tf.linalg.solve(dense, a)


def test_blocks_are_given_and_returned_one_by_one() -> None:
    low = L.LinearOperatorBlockLowerTriangular([[_diag()], [_full(), _scaled()]])
    for operator in (L.LinearOperatorBlockDiag([_diag(), _full()]), low):
        dense = operator.to_dense().numpy()
        x = [np.ones((3, 2), np.float32), 2 * np.ones((3, 2), np.float32)]
        whole = np.concatenate(x)
        for turned in (False, True):
            matrix = dense.T if turned else dense
            product = operator.matmul(x, adjoint=turned)
            np.testing.assert_allclose(tf.concat(product, 0), matrix @ whole, rtol=1e-5)
            solution = tf.concat(operator.solve(x, adjoint=turned), 0)
            np.testing.assert_allclose(solution, np.linalg.solve(matrix, whole), rtol=1e-4)
            given = [np.ascontiguousarray(part.T) for part in x]
            again = operator.matmul(given, adjoint=turned, adjoint_arg=True)
            np.testing.assert_allclose(tf.concat(again, 0), matrix @ whole, rtol=1e-5)
        vectors = [part[:, 0] for part in x]
        found = operator.matvec(vectors)
        np.testing.assert_allclose(tf.concat(found, 0), dense @ whole[:, 0], rtol=1e-5)
        found = operator.solvevec(vectors)
        expected = np.linalg.solve(dense, whole[:, 0])
        np.testing.assert_allclose(tf.concat(found, 0), expected, rtol=1e-4)
        assert len(vectors) == 2
        assert isinstance(vectors[0], np.ndarray)  # the argument stays as it is


def test_slices_of_a_batch() -> None:
    values = np.arange(12, dtype=np.float32).reshape(2, 2, 3) + 1
    operator = L.LinearOperatorDiag(values)
    keys: list[Any] = [0, (slice(None), 1), (None, 1), slice(1, 2)]
    for key in keys:
        np.testing.assert_array_equal(operator[key].diag_part(), values[key])
    np.testing.assert_array_equal(operator[..., 0].diag_part(), values[:, 0])
    np.testing.assert_array_equal(operator[...].diag_part(), values)
    assert operator[0].is_self_adjoint
    pair = L.LinearOperatorKronecker([operator, L.LinearOperatorDiag(values[:1])])
    np.testing.assert_array_equal(pair[1].to_dense(), pair.to_dense().numpy()[1])
    one = L.LinearOperatorIdentity(2, batch_shape=[4, 3])
    assert one[1:3].shape == (2, 3, 2, 2)
    assert one[..., 0].shape == (4, 2, 2)
    with pytest.raises(ValueError, match=r"multiple `\.\.\.`"):
        operator[..., ...]
