"""``LinearOperatorAdjoint`` and ``LinearOperatorInversion``: operators of another one's methods."""

from __future__ import annotations

from typing import Any

from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor
from tfx.linear_operators import hints
from tfx.linear_operators.operator import LinearOperator
from tfx.linear_operators.tensors import joined
from tfx.ops.linalg.matmul import adjoint as adjoint_of
from tfx.ops.math.complex_parts import conj


class DerivedOperator(LinearOperator):
    """An operator that shares the hints of the one that it is made of."""

    _operator: LinearOperator

    def _derive(self, operator: Any, parameters: dict[str, Any], what: str, end: str) -> None:
        """The constructor's work.

        Args:
            operator: The other operator.
            parameters: The constructor's locals.
            what: What this one is of the other, for messages.
            end: What a name made of the other's ends with.
        """
        self._operator = operator
        known = hints.agreed(operator, {n: parameters[n] for n in hints.own(operator)}, what)
        self._set_up(operator.dtype, parameters, **known)
        if parameters["name"] is None:
            self._name = f"{operator.name}{end}"

    @property
    def operator(self) -> LinearOperator:
        """The operator that this one is made of."""
        return self._operator

    def _assert_non_singular(self) -> Any:
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        return self._operator.assert_self_adjoint()

    def _cond(self) -> Any:
        return self._operator.cond()

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operator",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"operator": 0}


class LinearOperatorAdjoint(DerivedOperator):
    """The adjoint of an operator: its transposed conjugates, by the operator's own methods.

    ``operator.adjoint()`` makes it, unless the operator's structure knows better.

    Args:
        operator: The operator.
        is_non_singular: Hint, see ``LinearOperator``; that of the operator.
        is_self_adjoint: Hint; that of the operator.
        is_positive_definite: Hint; that of the operator.
        is_square: Hint; that of the operator.
        name: A name; None: made of the operator's.

    Raises:
        ValueError: a hint that contradicts the operator's.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
        >>> operator.adjoint().to_dense().numpy()
        array([[1., 3.],
               [2., 4.]], dtype=float32)
    """

    def __init__(
        self,
        operator: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._derive(operator, {**locals()}, "adjoint", "_adjoint")

    def _linop_adjoint(self) -> Any:
        return self._operator

    def _shape(self) -> TensorShape:
        known = self._operator.shape
        return known[:-2].concatenate(known[-1:]).concatenate(known[-2:-1])

    def _shape_tensor(self) -> Tensor:
        known = self._operator.shape_tensor()
        return joined(known[:-2], known[-1:], known[-2:-1])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._operator.solvevec(rhs, adjoint=not adjoint)

    def _turned(self, x: Tensor) -> Tensor:
        return x if self.is_self_adjoint else conj(x)

    def _determinant(self) -> Any:
        return self._turned(self._operator.determinant())

    def _log_abs_determinant(self) -> Any:
        return self._operator.log_abs_determinant()

    def _trace(self) -> Any:
        return self._turned(self._operator.trace())

    def _to_dense(self) -> Any:
        dense = self._operator.to_dense()
        return dense if self.is_self_adjoint else adjoint_of(dense)

    def _eigvals(self) -> Any:
        return self._turned(self._operator.eigvals())


class LinearOperatorInversion(DerivedOperator):
    """The inverse of an operator, by the operator's own methods: products are its solutions.

    ``operator.inverse()`` makes it, unless the operator's structure knows better.

    Args:
        operator: The operator.
        is_non_singular: Hint, see ``LinearOperator``; that of the operator.
        is_self_adjoint: Hint; that of the operator.
        is_positive_definite: Hint; that of the operator.
        is_square: Hint; that of the operator.
        name: A name; None: made of the operator's.

    Raises:
        ValueError: an operator that is known to be singular, or not to be square, or a hint that
            contradicts the operator's.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorFullMatrix([[2.0, 0.0], [0.0, 4.0]])
        >>> operator.inverse().matvec([2.0, 2.0]).numpy()
        array([1. , 0.5], dtype=float32)
    """

    def __init__(
        self,
        operator: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        parameters = {**locals()}
        for hint in ("is_non_singular", "is_square"):
            if False in (getattr(operator, hint), parameters[hint]):
                raise ValueError(
                    f"An inverse needs an operator that may have {hint}=True; got an operator with "
                    f"{hint}={getattr(operator, hint)}, and {hint}={parameters[hint]}."
                )
        self._derive(operator, parameters, "inverse", "_inv")

    def _linop_inverse(self) -> Any:
        return self._operator

    def _shape(self) -> TensorShape:
        return self._operator.shape

    def _shape_tensor(self) -> Tensor:
        return self._operator.shape_tensor()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Any:
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self) -> Any:
        return -1.0 * self._operator.log_abs_determinant()

    def _eigvals(self) -> Any:
        return 1.0 / self._operator.eigvals()
