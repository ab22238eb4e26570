"""Sums of operators: of the narrowest structure that all terms have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.framework.convert import convert_to_tensor
from tfx.linear_operators.combined import sum_of
from tfx.linear_operators.diag import LinearOperatorDiag
from tfx.linear_operators.full_matrix import LinearOperatorFullMatrix
from tfx.linear_operators.identity import LinearOperatorIdentity, LinearOperatorScaledIdentity
from tfx.linear_operators.lower_triangular import LinearOperatorLowerTriangular
from tfx.ops.array.creation import ones

_IDENTITIES = (LinearOperatorIdentity, LinearOperatorScaledIdentity)
_DIAGONAL = (*_IDENTITIES, LinearOperatorDiag)
_TRIANGULAR = (*_DIAGONAL, LinearOperatorLowerTriangular)


def _factor(operator: Any) -> Any:
    if isinstance(operator, LinearOperatorScaledIdentity):
        return convert_to_tensor(operator.multiplier)
    return ones(operator.batch_shape_tensor(), operator.dtype)


def _scaled(terms: list[Any]) -> Any:
    size = terms[0].domain_dimension_tensor()
    return LinearOperatorScaledIdentity(size, sum_of([_factor(each) for each in terms]))


def _diagonal(terms: list[Any]) -> Any:
    return LinearOperatorDiag(sum_of([each.diag_part() for each in terms]))


def _dense(terms: list[Any]) -> Any:
    first, *rest = sorted(terms, key=lambda each: isinstance(each, _DIAGONAL))
    found = first.to_dense()
    for each in rest:
        found = (
            each.add_to_tensor(found) if isinstance(each, _DIAGONAL) else found + each.to_dense()
        )
    return found


def _triangular(terms: list[Any]) -> Any:
    return LinearOperatorLowerTriangular(_dense(terms))


_KINDS: list[tuple[tuple[type, ...], Callable[[list[Any]], Any]]] = [
    (_IDENTITIES, _scaled),
    (_DIAGONAL, _diagonal),
    (_TRIANGULAR, _triangular),
]


def added(terms: list[Any]) -> Any:
    """The sum of operators of one shape.

    Args:
        terms: The operators, at least one.

    Returns:
        A scaled identity, or a diagonal, lower triangular or full matrix.
    """
    if len(terms) == 1:
        return terms[0]
    for classes, make in _KINDS:
        if all(isinstance(each, classes) for each in terms):
            return make(terms)
    return LinearOperatorFullMatrix(_dense(terms))
