"""Which public functions take linear operators, and what carries them out then.

Owns the table, by public names. It must not know how a function finds out that it was given one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.linear_operators.operator import LinearOperator
from tfx.ops.linalg.matmul import adjoint as adjoint_of
from tfx.ops.math.complex_parts import real

Handler = Callable[..., Any]


def table() -> dict[str, Handler]:
    """What carries out public functions that are given an operator, by their names."""
    return {
        "linalg.adjoint": lambda matrix, name=None: matrix.adjoint(),
        "linalg.cholesky": lambda input, name=None: input.cholesky(),
        "linalg.det": lambda input, name=None: input.determinant(),
        "linalg.diag_part": _diag_part,
        "linalg.inv": _inverse,
        "linalg.logdet": _logdet,
        "linalg.matmul": _matmul,
        "linalg.solve": _solve,
        "linalg.trace": lambda x, name=None: x.trace(),
    }


def _diag_part(input: Any, name: Any = None, **_: Any) -> Any:
    return input.diag_part()


def _inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    found = input.inverse()
    return found.adjoint() if adjoint else found


def _logdet(matrix: Any, name: str | None = None) -> Any:
    if matrix.is_positive_definite and matrix.is_self_adjoint:
        return real(matrix.log_abs_determinant())
    raise ValueError(
        "linalg.logdet expects an operator that is known to be self-adjoint and positive definite; "
        f"got {matrix!r}. Give it the hints, or call its method log_abs_determinant."
    )


def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    **_: Any,
) -> Any:
    if transpose_a or transpose_b:
        raise ValueError(
            "matmul of a linear operator does not transpose; use adjoint_a and adjoint_b."
        )
    if a_is_sparse or b_is_sparse:
        raise ValueError("matmul of a linear operator takes no sparse matrices.")
    if isinstance(a, LinearOperator):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b)
    return adjoint_of(b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a))


def _solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    if isinstance(matrix, LinearOperator):
        return matrix.solve(rhs, adjoint=adjoint)
    raise ValueError(
        "linalg.solve takes no tensor as `matrix` with an operator as `rhs`; wrap the tensor in a "
        "LinearOperatorFullMatrix."
    )
