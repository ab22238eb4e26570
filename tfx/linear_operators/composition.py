"""``LinearOperatorComposition``: products of operators, applied one after the other."""

from __future__ import annotations

from typing import Any

from tfx.core.dimension import Dimension
from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor
from tfx.linear_operators.combined import CombinedOperator, listed
from tfx.linear_operators.hints import of_all
from tfx.linear_operators.lower_triangular import LinearOperatorLowerTriangular
from tfx.linear_operators.tensors import joined
from tfx.ops.math.elementwise import sign


class LinearOperatorComposition(CombinedOperator):
    """The product of operators: the last one acts first.

    Products and solutions go through the operators one by one; no product of matrices is made.

    Args:
        operators: A list of operators whose sizes fit, of one dtype; their batches broadcast.
        is_non_singular: Hint, see ``LinearOperator``; True if all of them are.
        is_self_adjoint: Hint; True for products ``A @ A.H``.
        is_positive_definite: Hint; True for such products that are not singular.
        is_square: Hint; True for such products.
        name: A name; None: made of the operators'.

    Raises:
        TypeError: no list, or several dtypes.
        ValueError: no operators, or hints that cannot be.

    Example:
        >>> import tfx as tf
        >>> turned = tf.linalg.LinearOperatorPermutation([1, 0])
        >>> scaled = tf.linalg.LinearOperatorDiag([2.0, 3.0])
        >>> tf.linalg.LinearOperatorComposition([turned, scaled]).matvec([1.0, 1.0]).numpy()
        array([3., 2.], dtype=float32)
    """

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        parameters = {**locals()}
        self._operators = listed(operators)
        known = of_all(
            self._operators, {"is_non_singular": is_non_singular}, ("is_non_singular",), "product"
        )
        symmetric = is_product_with_adjoint(self._operators)
        alone = len(self._operators) == 1 and self._operators[0].is_self_adjoint
        implied = {
            "is_self_adjoint": symmetric or alone,
            "is_square": symmetric,
            "is_positive_definite": symmetric and known["is_non_singular"],
        }
        for hint, holds in implied.items():
            if holds and parameters[hint] is False:
                raise ValueError(
                    f"The composition was determined to have {hint}=True, being "
                    f"{'A @ A.H' if symmetric else 'a single such operator'}; got {hint}=False."
                )
            known[hint] = True if holds else parameters[hint]
        self._set_up(self._operators[0].dtype, parameters, **known)
        if name is None:
            self._name = "_o_".join(each.name for each in self._operators)

    def _shape(self) -> TensorShape:
        first, *rest = self._operators
        columns: Dimension = first.domain_dimension
        for each in rest:
            columns.assert_is_compatible_with(each.range_dimension)
            columns = each.domain_dimension
        return self._batch().concatenate([first.range_dimension.value, columns.value])

    def _shape_tensor(self) -> Tensor:
        rows = self._operators[0].range_dimension_tensor()
        columns = self._operators[-1].domain_dimension_tensor()
        return joined(self._open_batch(), [rows, columns])

    def _linop_cholesky(self) -> Any:
        left = self._operators[0]
        whole = len(self._operators) == 2 and is_product_with_adjoint(self._operators)
        if not whole or not isinstance(left, LinearOperatorLowerTriangular):
            return super()._linop_cholesky()
        if left.is_positive_definite:
            return left
        signs = sign(left.diag_part())[..., None, :]
        return LinearOperatorLowerTriangular(
            left.tril / signs,
            is_non_singular=left.is_non_singular,
            is_self_adjoint=left.is_self_adjoint,
            is_square=True,
        )

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        first, *rest = self._operators if adjoint else self._operators[::-1]
        found = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for each in rest:
            found = each.matmul(found, adjoint=adjoint)
        return found

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        first, *rest = self._operators[::-1] if adjoint else self._operators
        found = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for each in rest:
            found = each.solve(found, adjoint=adjoint)
        return found

    def _assert_non_singular(self) -> Any:
        if not all(each.is_square for each in self._operators):
            return super()._assert_non_singular()
        return self._each_asserts("assert_non_singular")


def is_product_with_adjoint(operators: list[Any]) -> bool:
    """True for the factors of ``A @ A.H``."""
    half, odd = divmod(len(operators), 2)
    return not odd and all(_are_adjoint(operators[i], operators[-1 - i]) for i in range(half))


def _are_adjoint(x: Any, y: Any) -> bool:
    if x is y:
        return bool(x.is_self_adjoint)
    return x.H is y or y.H is x
