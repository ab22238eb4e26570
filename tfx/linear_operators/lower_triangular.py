"""``LinearOperatorLowerTriangular``: triangular matrices, solved by substitution."""

from __future__ import annotations

from typing import Any

from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor
from tfx.linalg_ops.triangular import triangular_solve
from tfx.linear_operators.operator import LinearOperator
from tfx.linear_operators.tensors import adjoint_if, assert_nowhere_zero, kept, require_rank
from tfx.ops.array.shape import shape
from tfx.ops.linalg.diagonals import band_part, diag_part
from tfx.ops.linalg.matmul import matmul
from tfx.ops.math.elementwise import abs as absolute
from tfx.ops.math.elementwise import log
from tfx.ops.math.reduction import reduce_prod, reduce_sum


class LinearOperatorLowerTriangular(LinearOperator):
    """A batch of lower triangular matrices; what stands above the diagonal is not looked at.

    Args:
        tril: ``[..., N, N]``, or such a variable.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint.
        is_positive_definite: Hint.
        is_square: Hint; always True.
        name: A name.

    Raises:
        ValueError: no matrix, or ``is_square=False``.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorLowerTriangular([[2.0, 9.0], [1.0, 4.0]])
        >>> operator.solvevec([2.0, 5.0]).numpy()
        array([1., 1.], dtype=float32)
    """

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = "LinearOperatorLowerTriangular",
    ) -> None:
        parameters = {**locals()}
        if is_square is False:
            raise ValueError(
                "Only square lower triangular operators are supported; got is_square=False."
            )
        self._tril = kept(tril)
        require_rank(self._tril, 2, "tril")
        self._set_up(self._tril.dtype, parameters, is_square=True)

    @property
    def tril(self) -> Any:
        """What the operator was made of; the part above the diagonal means nothing."""
        return self._tril

    def _read(self) -> Tensor:
        return band_part(self._tril, -1, 0)

    def _shape(self) -> TensorShape:
        found: TensorShape = self._tril.shape
        return found

    def _shape_tensor(self) -> Tensor:
        return shape(self._tril)

    def _assert_non_singular(self) -> Any:
        message = "Singular operator:  Diagonal contained zero values."
        return assert_nowhere_zero(diag_part(self._tril), message)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return matmul(self._read(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        right = adjoint_if(rhs, adjoint_arg)
        return triangular_solve(self._read(), right, lower=True, adjoint=adjoint)

    def _determinant(self) -> Any:
        return reduce_prod(diag_part(self._tril), axis=[-1])

    def _log_abs_determinant(self) -> Any:
        return reduce_sum(log(absolute(diag_part(self._tril))), axis=[-1])

    def _to_dense(self) -> Any:
        return self._read()

    def _eigvals(self) -> Any:
        return diag_part(self._tril)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("tril",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"tril": 2}
