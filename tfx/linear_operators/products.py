"""What `left @ right` is, and the solution of `left @ x = right`, for operators: two tables.

A rule stands under the classes of both operators. It is found by their bases, the left one's first,
so that what is said of all operators holds where nothing more is known.
"""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable
from typing import Any

from tfx.framework.convert import convert_to_tensor
from tfx.linear_operators import hints
from tfx.linear_operators.block_diag import LinearOperatorBlockDiag
from tfx.linear_operators.block_lower_triangular import (
    LinearOperatorBlockLowerTriangular as LinearOperatorBlockLowerTriangular,
)
from tfx.linear_operators.circulant import (
    LinearOperatorCirculant,
    LinearOperatorCirculant2D,
    LinearOperatorCirculant3D,
)
from tfx.linear_operators.composition import LinearOperatorComposition
from tfx.linear_operators.derived import LinearOperatorInversion
from tfx.linear_operators.diag import LinearOperatorDiag
from tfx.linear_operators.identity import LinearOperatorIdentity, LinearOperatorScaledIdentity
from tfx.linear_operators.lower_triangular import LinearOperatorLowerTriangular
from tfx.linear_operators.operator import LinearOperator
from tfx.linear_operators.registry import PRODUCTS, SOLUTIONS, Rule, Rules
from tfx.linear_operators.zeros import LinearOperatorZeros

Combine = Callable[[Any, Any], Any]


def _first(left: Any, _: Any) -> Any:
    return left


def _second(_: Any, right: Any) -> Any:
    return right


def _composed(left: Any, right: Any) -> Any:
    return LinearOperatorComposition([left, right], **hints.of_any(left, right))


def _composed_solution(left: Any, right: Any) -> Any:
    inverse = LinearOperatorInversion(left)
    return LinearOperatorComposition([inverse, right], **hints.of_any(left, right))


def _zero(left: Any, right: Any) -> Any:
    if not left.is_square or not right.is_square:
        raise ValueError(
            "Products with a non-square `LinearOperatorZeros`, or of it with another operator that "
            f"is not square, are not supported; got {left!r} and {right!r}."
        )
    return left if isinstance(left, LinearOperatorZeros) else right


def _diagonal(operator: Any) -> Any:
    return convert_to_tensor(operator.diag)


def _numbers(operator: Any) -> Any:
    """The multipliers, as diagonals that broadcast."""
    return convert_to_tensor(operator.multiplier)[..., None]


def _triangle(operator: Any) -> Any:
    return operator.to_dense()


def _rows(operator: Any) -> Any:
    """The diagonal, a number for each row of a matrix."""
    return _diagonal(operator)[..., None]


def _columns(operator: Any) -> Any:
    """The diagonal, a number for each column of a matrix."""
    return _diagonal(operator)[..., None, :]


def _of_diagonals(of_left: Any, of_right: Any, combine: Combine) -> Rule:
    def rule(left: Any, right: Any) -> Any:
        values = combine(of_left(left), of_right(right))
        return LinearOperatorDiag(values, **hints.commuting(left, right))

    return rule


def _of_triangles(of_left: Any, of_right: Any, combine: Combine) -> Rule:
    def rule(left: Any, right: Any) -> Any:
        known = {**hints.commuting(left, right), "is_positive_definite": None}
        return LinearOperatorLowerTriangular(combine(of_left(left), of_right(right)), **known)

    return rule


def _of_scaled(combine: Combine) -> Rule:
    def rule(left: Any, right: Any) -> Any:
        values = combine(convert_to_tensor(left.multiplier), convert_to_tensor(right.multiplier))
        size = left.domain_dimension_tensor()
        return LinearOperatorScaledIdentity(size, values, **hints.commuting(left, right))

    return rule


def _of_spectra(combine: Combine) -> Rule:
    def rule(left: Any, right: Any) -> Any:
        # The dtype is complex64, as it is in TensorFlow.
        values = combine(convert_to_tensor(left.spectrum), convert_to_tensor(right.spectrum))
        return type(right)(values, **hints.commuting(left, right))

    return rule


def _of_blocks(method: str) -> Rule:
    def rule(left: Any, right: Any) -> Any:
        a, b = left.operators, right.operators
        if len(a) != len(b):
            raise ValueError(
                f"Can not efficiently {method} two `LinearOperatorBlockDiag`s together when number "
                f"of blocks differ: {len(a)} and {len(b)}."
            )
        made = [getattr(x, method)(y) for x, y in zip(a, b, strict=True)]
        known = hints.non_singular(left, right)
        return LinearOperatorBlockDiag(made, is_non_singular=known, is_square=True)

    return rule


def _swapped_division(a: Any, b: Any) -> Any:
    return b / a


def _fill(rules: Rules, combine: Combine, of_blocks: Rule) -> None:
    """The rules that products and solutions have in common."""
    diag, scaled = LinearOperatorDiag, LinearOperatorScaledIdentity
    rules[diag, diag] = _of_diagonals(_diagonal, _diagonal, combine)
    rules[diag, scaled] = _of_diagonals(_diagonal, _numbers, combine)
    rules[scaled, diag] = _of_diagonals(_numbers, _diagonal, combine)
    rules[scaled, scaled] = _of_scaled(combine)
    rules[diag, LinearOperatorLowerTriangular] = _of_triangles(_rows, _triangle, combine)
    rules[LinearOperatorBlockDiag, LinearOperatorBlockDiag] = of_blocks
    rules[LinearOperatorIdentity, LinearOperator] = _second
    for kind in (LinearOperatorCirculant, LinearOperatorCirculant2D, LinearOperatorCirculant3D):
        rules[kind, kind] = _of_spectra(combine)


_fill(PRODUCTS, python_operator.mul, _of_blocks("matmul"))
PRODUCTS[LinearOperatorLowerTriangular, LinearOperatorDiag] = _of_triangles(
    _triangle, _columns, python_operator.mul
)
PRODUCTS[LinearOperatorZeros, LinearOperator] = _zero
PRODUCTS[LinearOperator, LinearOperatorZeros] = _zero
PRODUCTS[LinearOperator, LinearOperatorIdentity] = _first
PRODUCTS[LinearOperator, LinearOperator] = _composed

_fill(SOLUTIONS, _swapped_division, _of_blocks("solve"))
SOLUTIONS[LinearOperatorInversion, LinearOperator] = lambda left, right: left.operator @ right
SOLUTIONS[LinearOperator, LinearOperatorIdentity] = lambda left, _: left.inverse()
SOLUTIONS[LinearOperator, LinearOperator] = _composed_solution
