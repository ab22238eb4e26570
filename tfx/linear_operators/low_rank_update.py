"""``LinearOperatorLowRankUpdate``: an operator plus a product of thin matrices."""

from __future__ import annotations

from typing import Any

from tfx.core.dimension import Dimension
from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.linalg_ops.lu import det
from tfx.linalg_ops.triangular import cholesky, cholesky_solve
from tfx.linear_operators.diag import LinearOperatorDiag
from tfx.linear_operators.identity import LinearOperatorIdentity
from tfx.linear_operators.operator import LinearOperator
from tfx.linear_operators.tensors import (
    joined,
    kept,
    same_shape,
    same_shape_tensor,
    solve_broadcast,
)
from tfx.ops.array.reshape import expand_dims
from tfx.ops.array.shape import shape
from tfx.ops.linalg.diagonals import diag_part
from tfx.ops.linalg.matmul import matmul
from tfx.ops.math.cast import cast
from tfx.ops.math.complex_parts import conj
from tfx.ops.math.elementwise import abs as absolute
from tfx.ops.math.elementwise import exp, log
from tfx.ops.math.reduction import reduce_sum


class LinearOperatorLowRankUpdate(LinearOperator):
    """A perturbation ``L + U D V^H`` of an operator ``L`` by thin matrices.

    Solutions and determinants are those of ``L`` and of matrices of size ``K``, by the Woodbury
    formula and the matrix determinant lemma.

    Args:
        base_operator: ``L``, a ``LinearOperator``.
        u: ``[..., M, K]``, or such a variable.
        diag_update: ``[..., K]``, the diagonal ``D``; None: ones.
        v: ``[..., N, K]``; None: ``u``.
        is_diag_update_positive: Hint: whether ``diag_update`` is positive.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint; True if ``L`` is real and self-adjoint, and ``v`` is ``u``.
        is_positive_definite: Hint; True if ``L`` is, too, and ``D`` is positive.
        is_square: Hint.
        name: A name.

    Raises:
        ValueError: sizes that do not fit, or hints that cannot be.

    Example:
        >>> import tfx as tf
        >>> base = tf.linalg.LinearOperatorDiag([1.0, 2.0, 3.0], is_positive_definite=True)
        >>> operator = tf.linalg.LinearOperatorLowRankUpdate(base, tf.ones([3, 1]))
        >>> operator.determinant().numpy().round(3)
        np.float32(17.0)
    """

    def __init__(
        self,
        base_operator: Any,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = "LinearOperatorLowRankUpdate",
    ) -> None:
        parameters = {**locals()}
        dtype = base_operator.dtype
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError(
                    "Default diagonal is the identity, which is positive; got "
                    "is_diag_update_positive=False."
                )
            is_diag_update_positive = True
        self._is_diag_update_positive = is_diag_update_positive
        known = {n: parameters[n] for n in ("is_self_adjoint", "is_positive_definite")}
        symmetric = base_operator.is_self_adjoint and v is None
        self._use_cholesky = bool(
            symmetric and base_operator.is_positive_definite and is_diag_update_positive
        )
        if symmetric and not dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError(
                    "L + U D U^H with a self-adjoint L and a real D is self-adjoint; got "
                    "is_self_adjoint=False."
                )
            known["is_self_adjoint"] = True
        if self._use_cholesky:
            if False in (is_positive_definite, is_self_adjoint, is_non_singular):
                raise ValueError(
                    "Arguments imply this is self-adjoint positive-definite operator; got "
                    f"{is_positive_definite=}, {is_self_adjoint=}, {is_non_singular=}."
                )
            known = dict.fromkeys(known, True)
        self._base_operator = base_operator
        self._u = kept(u)
        self._v = None if v is None else kept(v)
        self._diag_update = kept(diag_update)
        self._set_up(dtype, parameters, **known)
        self._check_shapes()

    def _check_shapes(self) -> None:
        thin = same_shape(self.u.shape, self.v.shape)
        batch = same_shape(self._base_operator.batch_shape, thin[:-2])
        if thin.rank is not None:
            self._base_operator.domain_dimension.assert_is_compatible_with(thin[-2])
        if self._diag_update is not None and self._diag_update.shape.rank is not None:
            size = None if thin.rank is None else thin[-1]
            Dimension(size).assert_is_compatible_with(self._diag_update.shape[-1])
            same_shape(batch, self._diag_update.shape[:-1])

    @property
    def base_operator(self) -> LinearOperator:
        """``L``."""
        found: LinearOperator = self._base_operator
        return found

    @property
    def u(self) -> Any:
        """``U``, or the variable that holds it."""
        return self._u

    @property
    def v(self) -> Any:
        """``V``, or the variable that holds it; ``u`` if it was not given."""
        return self._u if self._v is None else self._v

    @property
    def diag_update(self) -> Any:
        """The diagonal of ``D``; None if it was not given."""
        return self._diag_update

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether ``D`` is positive, as far as it was said."""
        return self._is_diag_update_positive

    @property
    def diag_operator(self) -> LinearOperator:
        """``D``."""
        if self._diag_update is not None:
            positive = self._is_diag_update_positive
            return LinearOperatorDiag(self._diag_update, is_positive_definite=positive)
        known = None if self._u.shape.rank is None else self._u.shape[-1]
        size = shape(self._u)[-1] if known is None else known
        return LinearOperatorIdentity(size, dtype=self.dtype)

    def _shape(self) -> TensorShape:
        base = self._base_operator
        diagonal = TensorShape([]) if self._diag_update is None else self._diag_update.shape[:-1]
        batch = same_shape(base.batch_shape, diagonal, self.u.shape[:-2], self.v.shape[:-2])
        return batch.concatenate(base.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        base = self._base_operator
        batches = [base.batch_shape_tensor(), self.diag_operator.batch_shape_tensor()]
        batches += [shape(x)[:-2] for x in (self.u, self.v)]
        return joined(same_shape_tensor(*batches), base.shape_tensor()[-2:])

    def _assert_self_adjoint(self) -> Any:
        if self._v is None and self._diag_update is None:
            return self._base_operator.assert_self_adjoint()
        return super()._assert_self_adjoint()

    def _read(self) -> tuple[Tensor, Tensor]:
        u = convert_to_tensor(self._u)
        return u, u if self._v is None else convert_to_tensor(self._v)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        u, v = self._read()
        left, right = (v, u) if adjoint else (u, v)
        whole = self._base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        thin = matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        return whole + matmul(left, self.diag_operator.matmul(thin, adjoint=adjoint))

    def _capacitance(self, u: Tensor, v: Tensor) -> Tensor:
        """``D^-1 + V^H L^-1 U``."""
        found = matmul(v, self._base_operator.solve(u), adjoint_a=True)
        return self.diag_operator.inverse().add_to_tensor(found)

    def _determinant(self) -> Any:
        if self.is_positive_definite and not self.dtype.is_complex:
            return exp(self.log_abs_determinant())
        found = det(self._capacitance(*self._read()))
        return found * self.diag_operator.determinant() * self._base_operator.determinant()

    def _log_abs_determinant(self) -> Any:
        inner = self._capacitance(*self._read())
        if self._use_cholesky:
            found = 2 * reduce_sum(log(diag_part(cholesky(inner))), axis=[-1])
        else:
            found = cast(log(absolute(det(inner))), self.dtype)
        outer = self.diag_operator.log_abs_determinant()
        return found + outer + self._base_operator.log_abs_determinant()

    def _diag_part(self) -> Any:
        u, v = self._read()
        product = u * conj(v)
        if self._diag_update is not None:
            product = product * expand_dims(self._diag_update, -2)
        return reduce_sum(product, axis=-1) + self._base_operator.diag_part()

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        base = self._base_operator
        if base.is_non_singular is False:
            raise ValueError(
                "Solve not implemented unless this is a perturbation of a non-singular "
                f"LinearOperator; got {base!r}."
            )
        u, v = self._read()
        inner = self._capacitance(u, v)
        left, right = (v, u) if adjoint else (u, v)
        whole = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        thin = matmul(right, whole, adjoint_a=True)
        if self._use_cholesky:
            found = cholesky_solve(cholesky(inner), thin)
        else:
            found = solve_broadcast(inner, thin, adjoint=adjoint)
        return whole - base.solve(matmul(left, found), adjoint=adjoint)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        # Without `v` it stays known that it is `u`.
        fields = ("base_operator", "u", "diag_update", "is_diag_update_positive")
        return fields if self._v is None else (*fields, "v")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        fields = {"base_operator": 0, "u": 2, "diag_update": 1}
        return fields if self._v is None else {**fields, "v": 2}
