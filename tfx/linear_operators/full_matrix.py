"""``LinearOperatorFullMatrix``: matrices of which no structure is known."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor
from tfx.linear_operators.operator import LinearOperator
from tfx.linear_operators.tensors import kept, require_rank
from tfx.ops.array.shape import shape
from tfx.ops.linalg.matmul import matmul

_DTYPES = (
    dtypes.float16,
    dtypes.float32,
    dtypes.float64,
    dtypes.complex64,
    dtypes.complex128,
)


class LinearOperatorFullMatrix(LinearOperator):
    """A batch of dense matrices as an operator.

    With the hints self-adjoint and positive definite it is solved by Cholesky decompositions.

    Args:
        matrix: ``[..., M, N]`` of a floating or complex dtype, or such a variable.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint.
        is_positive_definite: Hint.
        is_square: Hint.
        name: A name.

    Raises:
        TypeError: another dtype.
        ValueError: no matrix.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorFullMatrix([[2.0, 0.0], [0.0, 4.0]])
        >>> operator.solvevec([2.0, 2.0]).numpy()
        array([1. , 0.5], dtype=float32)
    """

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = "LinearOperatorFullMatrix",
    ) -> None:
        parameters = {**locals()}
        self._matrix = kept(matrix)
        if self._matrix.dtype not in _DTYPES:
            raise TypeError(
                f"Argument `matrix` must have dtype in {list(_DTYPES)}; got {self._matrix.dtype!r}."
            )
        require_rank(self._matrix, 2, "matrix")
        self._set_up(self._matrix.dtype, parameters)

    @property
    def matrix(self) -> Any:
        """The matrices, or the variable that holds them."""
        return self._matrix

    def _shape(self) -> TensorShape:
        found: TensorShape = self._matrix.shape
        return found

    def _shape_tensor(self) -> Tensor:
        return shape(self._matrix)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Any:
        return self._matrix

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("matrix",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"matrix": 2}
