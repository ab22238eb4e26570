"""Hints that contradict each other, arguments that do not fit, checks that do not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

L = tf.linalg
FULL = L.LinearOperatorFullMatrix
MATRIX = np.array([[3.0, 1.0], [0.0, 2.0]], np.float32)


def _full(**known: Any) -> Any:
    return FULL(MATRIX, **known)


TURNED = _full().H


def _blocks(*rows: Any) -> Any:
    return L.LinearOperatorBlockLowerTriangular(list(rows))


CONSTRUCTORS: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "definite and singular": (
        ValueError,
        lambda: _full(is_positive_definite=True, is_non_singular=False),
    ),
    "non-singular and not square": (
        ValueError,
        lambda: _full(is_non_singular=True, is_square=False),
    ),
    "self-adjoint and not square": (
        ValueError,
        lambda: _full(is_self_adjoint=True, is_square=False),
    ),
    "integers": (TypeError, lambda: FULL([[1, 2], [3, 4]])),
    "a vector for a matrix": (ValueError, lambda: FULL([1.0, 2.0])),
    "a scalar for a diagonal": (ValueError, lambda: L.LinearOperatorDiag(1.0)),
    "a real diagonal": (ValueError, lambda: L.LinearOperatorDiag([1.0], is_self_adjoint=False)),
    "a diagonal": (ValueError, lambda: L.LinearOperatorDiag([1.0], is_square=False)),
    "a triangle": (
        ValueError,
        lambda: L.LinearOperatorLowerTriangular(MATRIX, is_square=False),
    ),
    "a vector for a triangle": (ValueError, lambda: L.LinearOperatorLowerTriangular([1.0])),
    "a singular identity": (
        ValueError,
        lambda: L.LinearOperatorIdentity(2, is_non_singular=False),
    ),
    "a negative size": (ValueError, lambda: L.LinearOperatorIdentity(-2)),
    "a size that is no scalar": (ValueError, lambda: L.LinearOperatorIdentity([2])),
    "a size that is no integer": (TypeError, lambda: L.LinearOperatorIdentity(2.0)),
    "a size that is a variable": (
        TypeError,
        lambda: L.LinearOperatorIdentity(tf.Variable(2)),
    ),
    "a batch that is no vector": (
        ValueError,
        lambda: L.LinearOperatorIdentity(2, batch_shape=3),
    ),
    "a negative batch": (ValueError, lambda: L.LinearOperatorZeros(2, batch_shape=[-1])),
    "zeros that are not square": (ValueError, lambda: L.LinearOperatorZeros(2, 3)),
    "zeros that are invertible": (
        ValueError,
        lambda: L.LinearOperatorZeros(2, is_non_singular=True),
    ),
    "zeros that are definite": (
        ValueError,
        lambda: L.LinearOperatorZeros(2, is_positive_definite=True),
    ),
    "a definite reflection": (
        ValueError,
        lambda: L.LinearOperatorHouseholder([1.0], is_positive_definite=True),
    ),
    "no permutation": (ValueError, lambda: L.LinearOperatorPermutation([0, 0])),
    "a permutation of floats": (TypeError, lambda: L.LinearOperatorPermutation([0.0, 1.0])),
    "a singular permutation": (
        ValueError,
        lambda: L.LinearOperatorPermutation([0, 1], is_non_singular=False),
    ),
    "a column and a row that differ": (
        ValueError,
        lambda: L.LinearOperatorToeplitz([1.0, 2.0], [1.0]),
    ),
    "another format": (
        ValueError,
        lambda: L.LinearOperatorTridiag(tf.ones([3, 2]), diagonals_format="dense"),
    ),
    "too few axes of a spectrum": (ValueError, lambda: L.LinearOperatorCirculant2D([1.0])),
    "a real spectrum": (
        ValueError,
        lambda: L.LinearOperatorCirculant([1.0], is_self_adjoint=False),
    ),
    "no operators": (ValueError, lambda: L.LinearOperatorKronecker([])),
    "no list": (TypeError, lambda: L.LinearOperatorBlockDiag(_full())),
    "several dtypes": (
        TypeError,
        lambda: L.LinearOperatorComposition([_full(), L.LinearOperatorDiag(np.ones(2))]),
    ),
    "a product with its adjoint": (
        ValueError,
        lambda: (
            L.LinearOperatorComposition([_full(), _full().H], is_self_adjoint=None)
            and L.LinearOperatorComposition([(a := _full()), a.H], is_self_adjoint=False)
        ),
    ),
    "invertible factors": (
        ValueError,
        lambda: L.LinearOperatorKronecker([_full(is_non_singular=True)], is_non_singular=False),
    ),
    "the inverse of a singular one": (
        ValueError,
        lambda: L.LinearOperatorInversion(_full(is_non_singular=False)),
    ),
    "an adjoint with other hints": (
        ValueError,
        lambda: L.LinearOperatorAdjoint(_full(is_non_singular=True), is_non_singular=False),
    ),
    "ones that are not positive": (
        ValueError,
        lambda: L.LinearOperatorLowRankUpdate(
            _full(), tf.ones([2, 1]), is_diag_update_positive=False
        ),
    ),
    "another number of rows": (
        ValueError,
        lambda: L.LinearOperatorLowRankUpdate(_full(), tf.ones([3, 1])),
    ),
    "too many blocks in a row": (ValueError, lambda: _blocks([_full(), _full()])),
    "blocks of other sizes": (
        ValueError,
        lambda: _blocks([_full()], [FULL(tf.ones([3, 2])), _full()]),
    ),
    "a block that is not square": (ValueError, lambda: _blocks([FULL(tf.ones([3, 2]))])),
    "graph parents": (ValueError, lambda: _Bare([1])),
}


class _Bare(L.LinearOperator):
    """Nothing but the constructor."""

    def __init__(self, parents: Any) -> None:
        super().__init__(tf.float32, graph_parents=parents)

    def _shape(self) -> Any:
        return tf.TensorShape([2, 2])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return x


@pytest.mark.parametrize("what", CONSTRUCTORS)
def test_constructors_refuse(what: str) -> None:
    kind, make = CONSTRUCTORS[what]
    with pytest.raises(kind):
        make()


METHODS: dict[str, tuple[type[Exception], str, Callable[[], Any]]] = {
    "another size": (ValueError, "not compatible", lambda: _full().matmul(tf.ones([3, 1]))),
    "another size of a vector": (ValueError, "not compatible", lambda: _full().matvec([1.0])),
    "another dtype": (TypeError, "float32.*float64", lambda: _full().matmul(np.ones((2, 1)))),
    "another right-hand side": (
        ValueError,
        "not compatible",
        lambda: _full().solve(tf.ones([3, 1])),
    ),
    "another operator": (
        ValueError,
        "incompatible",
        lambda: _full() @ L.LinearOperatorIdentity(3),
    ),
    "a singular one": (
        NotImplementedError,
        "singular",
        lambda: _full(is_non_singular=False).solve(tf.ones([2, 1])),
    ),
    "one that is not square": (
        NotImplementedError,
        "not square",
        lambda: FULL(tf.ones([2, 3])).solve(tf.ones([2, 1])),
    ),
    "a determinant": (
        NotImplementedError,
        "not be square",
        lambda: FULL(tf.ones([2, 3])).determinant(),
    ),
    "an inverse": (ValueError, "singular", lambda: _full(is_non_singular=False).inverse()),
    "eigenvalues": (NotImplementedError, "self-adjoint", lambda: _full().eigvals()),
    "a cholesky factor": (ValueError, "positive definite", lambda: _full().cholesky()),
    "a false hint": (ValueError, "is square", lambda: _full(is_square=False).is_square),
    "definiteness": (
        NotImplementedError,
        "assert_positive_definite",
        lambda: _full().assert_positive_definite(),
    ),
    "blocks that are not square": (
        NotImplementedError,
        "`trace`",
        lambda: L.LinearOperatorBlockDiag([FULL(tf.ones([2, 3]))], is_square=None).trace(),
    ),
    "another number of blocks": (
        ValueError,
        "number of blocks",
        lambda: (
            L.LinearOperatorBlockDiag([_full(), _full()])
            @ L.LinearOperatorBlockDiag([L.LinearOperatorIdentity(4)])
        ),
    ),
    "a part that is missing": (
        ValueError,
        "not compatible",
        lambda: L.LinearOperatorBlockDiag([_full(), _full()]).matmul(
            [tf.ones([2, 1]), tf.ones([3, 1])]
        ),
    ),
}


@pytest.mark.parametrize("what", METHODS)
def test_methods_refuse(what: str) -> None:
    kind, text, run = METHODS[what]
    with pytest.raises(kind, match=text):
        run()


HOLDS: dict[str, tuple[str, Any, Any]] = {
    # A method, an operator for which it passes, and one for which it raises.
    "diagonal": (
        "assert_non_singular",
        L.LinearOperatorDiag([1.0, 2.0]),
        L.LinearOperatorDiag([1.0, 0.0]),
    ),
    "positive diagonal": (
        "assert_positive_definite",
        L.LinearOperatorDiag([1.0, 2.0]),
        L.LinearOperatorDiag([1.0, -1.0]),
    ),
    "complex diagonal": (
        "assert_self_adjoint",
        L.LinearOperatorDiag(np.array([1, 2], np.complex64)),
        L.LinearOperatorDiag(np.array([1, 2j], np.complex64)),
    ),
    "matrix": ("assert_non_singular", _full(), FULL([[1.0, 2.0], [2.0, 4.0]])),
    "symmetric matrix": ("assert_self_adjoint", FULL(np.eye(2)), _full()),
    "definite matrix": (
        "assert_positive_definite",
        FULL(np.eye(2), is_self_adjoint=True),
        FULL(-np.eye(2), is_self_adjoint=True),
    ),
    "triangle": (
        "assert_non_singular",
        L.LinearOperatorLowerTriangular([[1.0, 0], [1, 1]]),
        L.LinearOperatorLowerTriangular([[1.0, 0], [1, 0]]),
    ),
    "scaled": (
        "assert_non_singular",
        L.LinearOperatorScaledIdentity(2, 2.0),
        L.LinearOperatorScaledIdentity(2, 0.0),
    ),
    "definite scaled": (
        "assert_positive_definite",
        L.LinearOperatorScaledIdentity(2, 2.0),
        L.LinearOperatorScaledIdentity(2, -2.0),
    ),
    "zeros": ("assert_non_singular", L.LinearOperatorIdentity(2), L.LinearOperatorZeros(2)),
    "reflection": (
        "assert_positive_definite",
        L.LinearOperatorIdentity(2),
        L.LinearOperatorHouseholder([1.0, 2.0]),
    ),
    "toeplitz": (
        "assert_self_adjoint",
        L.LinearOperatorToeplitz([1.0, 2.0], [1.0, 2.0]),
        L.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0]),
    ),
    "tridiagonal": (
        "assert_self_adjoint",
        L.LinearOperatorTridiag([[1.0, 9], [2, 3], [8, 1]]),
        L.LinearOperatorTridiag([[1.0, 9], [2, 3], [8, 2]]),
    ),
    "circulant": (
        "assert_non_singular",
        L.LinearOperatorCirculant([1.0, 2.0]),
        L.LinearOperatorCirculant([1.0, 0.0]),
    ),
    "hermitian spectrum": (
        "assert_hermitian_spectrum",
        L.LinearOperatorCirculant([1.0, 2.0, 2.0]),
        L.LinearOperatorCirculant([1.0, 2.0, 3.0]),
    ),
    "blocks": (
        "assert_non_singular",
        L.LinearOperatorBlockDiag([_full(), L.LinearOperatorDiag([1.0])]),
        L.LinearOperatorBlockDiag([_full(), L.LinearOperatorDiag([0.0])]),
    ),
    "product": (
        "assert_non_singular",
        _full() @ L.LinearOperatorDiag([1.0, 2.0]),
        _full() @ L.LinearOperatorDiag([1.0, 0.0]),
    ),
    "kronecker": (
        "assert_self_adjoint",
        L.LinearOperatorKronecker([L.LinearOperatorDiag([1.0])]),
        L.LinearOperatorKronecker([_full()]),
    ),
}


@pytest.mark.parametrize("what", HOLDS)
def test_assertions_about_contents(what: str) -> None:
    method, good, bad = HOLDS[what]
    getattr(good, method)()
    with pytest.raises(tf.errors.InvalidArgumentError):
        getattr(bad, method)()


def test_sizes_are_checked_while_a_function_runs() -> None:
    operator = L.LinearOperatorIdentity(3, assert_proper_shapes=True)
    traced = tf.function(operator.matmul, input_signature=[tf.TensorSpec([None, None])])
    traced(tf.ones([3, 1]))
    with pytest.raises(tf.errors.InvalidArgumentError):
        traced(tf.ones([2, 1]))


def test_lists_of_numbers_that_may_mean_both_are_refused() -> None:
    rows = [tf.TensorSpec([None, None])] * 2

    @tf.function(input_signature=rows)
    def traced(a: Any, b: Any) -> Any:
        operator = L.LinearOperatorBlockDiag([FULL(a), FULL(b)])
        return operator.matvec([[1.0, 2.0], [3.0, 4.0]])

    with pytest.raises(ValueError, match="ambiguous"):
        traced(tf.eye(2), tf.eye(2))
