"""``LinearOperatorHouseholder``: reflections, of which only the axis is kept."""

from __future__ import annotations

from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.linear_operators.isometry import IsometricOperator
from tfx.linear_operators.tensors import adjoint_if, joined, kept, require_rank
from tfx.ops.array.concat import concat
from tfx.ops.array.creation import ones
from tfx.ops.array.reshape import expand_dims
from tfx.ops.array.shape import shape
from tfx.ops.linalg.diagonals import diag_part, set_diag
from tfx.ops.linalg.matmul import matmul
from tfx.ops.math.cast import cast
from tfx.ops.math.complex_parts import conj
from tfx.ops.math.statistics import l2_normalize


class LinearOperatorHouseholder(IsometricOperator):
    """A batch of reflections ``I - 2 v v^H`` about hyperplanes, ``v`` being of length 1.

    Args:
        reflection_axis: ``[..., N]``, vectors of any length, or such a variable.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint; always True.
        is_positive_definite: Hint; always False.
        is_square: Hint; always True.
        name: A name.

    Raises:
        ValueError: a scalar, or hints that cannot be.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.LinearOperatorHouseholder([2.0, 0.0]).matvec([3.0, 4.0]).numpy()
        array([-3.,  4.], dtype=float32)
    """

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = "LinearOperatorHouseholder",
    ) -> None:
        parameters = {**locals()}
        self._reflection_axis = kept(reflection_axis)
        require_rank(self._reflection_axis, 1, "reflection_axis")
        if is_self_adjoint is False:
            raise ValueError("A Householder operator is always self adjoint.")
        if is_positive_definite is True:
            raise ValueError("A Householder operator is always non-positive definite.")
        if is_square is False:
            raise ValueError("A Householder operator is always square.")
        self._set_up(
            self._reflection_axis.dtype,
            parameters,
            is_self_adjoint=True,
            is_positive_definite=False,
            is_square=True,
        )

    @property
    def reflection_axis(self) -> Any:
        """The vectors, or the variable that holds them."""
        return self._reflection_axis

    def _shape(self) -> TensorShape:
        known: TensorShape = self._reflection_axis.shape
        return known.concatenate(known[-1:])

    def _shape_tensor(self) -> Tensor:
        known = shape(self._reflection_axis)
        return joined(known, known[-1:])

    def _direction(self) -> Tensor:
        return l2_normalize(convert_to_tensor(self._reflection_axis), axis=-1)

    def _assert_positive_definite(self) -> Any:
        raise InvalidArgumentError("Householder operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Any:
        return None

    def _linop_inverse(self) -> Any:
        return self

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        right = adjoint_if(x, adjoint_arg)
        axis = expand_dims(self._direction(), -1)
        return right - 2 * axis * matmul(axis, right, adjoint_a=True)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _trace(self) -> Any:
        size = self._domain_dimension_tensor() - 2
        return cast(size, self.dtype) * self._ones_of_batch()

    def _determinant(self) -> Any:
        return -self._ones_of_batch()

    def _to_dense(self) -> Any:
        axis = expand_dims(self._direction(), -1)
        matrix = -2 * matmul(axis, axis, adjoint_b=True)
        return set_diag(matrix, 1.0 + diag_part(matrix))

    def _diag_part(self) -> Any:
        axis = self._direction()
        return 1.0 - 2 * axis * conj(axis)

    def _eigvals(self) -> Any:
        known = shape(self._reflection_axis)
        first = -ones(joined(known[:-1], [1]), self.dtype)
        return concat([first, ones(joined(known[:-1], [known[-1] - 1]), self.dtype)], -1)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("reflection_axis",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"reflection_axis": 1}
