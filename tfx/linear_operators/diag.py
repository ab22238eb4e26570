"""``LinearOperatorDiag``: diagonal matrices, of which only the diagonal is kept."""

from __future__ import annotations

from typing import Any

from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.linear_operators import hints
from tfx.linear_operators.operator import LinearOperator, ratio_of_sizes
from tfx.linear_operators.tensors import (
    adjoint_if,
    assert_nowhere_zero,
    assert_real,
    joined,
    kept,
    require_rank,
)
from tfx.ops.array.reshape import expand_dims
from tfx.ops.array.shape import shape
from tfx.ops.debugging.assertions import assert_positive
from tfx.ops.linalg.diagonals import diag, diag_part, set_diag
from tfx.ops.math.cast import cast
from tfx.ops.math.complex_parts import conj, real
from tfx.ops.math.elementwise import abs as absolute
from tfx.ops.math.elementwise import log, sqrt
from tfx.ops.math.reduction import reduce_prod, reduce_sum


class LinearOperatorDiag(LinearOperator):
    """A batch of diagonal matrices: products, solutions and determinants take ``O(N)``.

    Args:
        diag: ``[..., N]``, the diagonals, or such a variable.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint; True if the dtype is real.
        is_positive_definite: Hint.
        is_square: Hint; always True.
        name: A name.

    Raises:
        ValueError: a scalar, or hints that cannot be.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorDiag([1.0, -2.0])
        >>> operator.matvec([3.0, 3.0]).numpy()
        array([ 3., -6.], dtype=float32)
        >>> (operator @ operator).diag_part().numpy()
        array([1., 4.], dtype=float32)
    """

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = "LinearOperatorDiag",
    ) -> None:
        parameters = {**locals()}
        self._diag = kept(diag)
        require_rank(self._diag, 1, "diag")
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("Only square diagonal operators are supported; got is_square=False.")
        self._set_up(self._diag.dtype, parameters, is_self_adjoint=is_self_adjoint, is_square=True)

    @property
    def diag(self) -> Any:
        """The diagonals, or the variable that holds them."""
        return self._diag

    def _shape(self) -> TensorShape:
        known: TensorShape = self._diag.shape
        return known.concatenate(known[-1:])

    def _shape_tensor(self) -> Tensor:
        known = shape(self._diag)
        return joined(known, known[-1:])

    def _read(self, adjoint: bool = False) -> Tensor:
        return conj(self._diag) if adjoint else convert_to_tensor(self._diag)

    def _like(self, diag: Any, **known: Any) -> LinearOperatorDiag:
        return LinearOperatorDiag(diag, **{**hints.own(self), **known})

    def _linop_inverse(self) -> Any:
        return self._like(1.0 / self._read())

    def _linop_adjoint(self) -> Any:
        return self._like(self._read(adjoint=True))

    def _linop_cholesky(self) -> Any:
        return self._like(sqrt(self._diag), **dict.fromkeys(hints.own(self), True))

    def _assert_non_singular(self) -> Any:
        message = "Singular operator:  Diagonal contained zero values."
        return assert_nowhere_zero(self._diag, message)

    def _assert_positive_definite(self) -> Any:
        message = (
            "Diagonal operator had diagonal entries with non-positive real part, thus was not "
            "positive definite."
        )
        return assert_positive(real(self._diag), message=message)

    def _assert_self_adjoint(self) -> Any:
        message = (
            "This diagonal operator contained non-zero imaginary values. Thus it was not "
            "self-adjoint."
        )
        return assert_real(self._diag, message)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return expand_dims(self._read(adjoint), -1) * adjoint_if(x, adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._read(adjoint) * x

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return adjoint_if(rhs, adjoint_arg) * expand_dims(1.0 / self._read(adjoint), -1)

    def _determinant(self) -> Any:
        return reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self) -> Any:
        return cast(reduce_sum(log(absolute(self._diag)), axis=[-1]), self.dtype)

    def _to_dense(self) -> Any:
        return diag(self._diag)

    def _diag_part(self) -> Any:
        return self._diag

    def _add_to_tensor(self, x: Any) -> Any:
        return set_diag(x, self._read() + diag_part(x))

    def _eigvals(self) -> Any:
        return self._read()

    def _cond(self) -> Any:
        return ratio_of_sizes(self._diag)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("diag",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"diag": 1}
