"""``LinearOperatorTridiag``: three diagonals; products take linear time."""

from __future__ import annotations

from typing import Any

from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.linalg_ops.tridiagonal import tridiagonal_matmul, tridiagonal_solve
from tfx.linear_operators.operator import LinearOperator
from tfx.linear_operators.tensors import (
    adjoint_if,
    assert_real,
    joined,
    kept,
    same_shape,
    same_shape_tensor,
)
from tfx.ops.array.concat import stack, unstack
from tfx.ops.array.reshape import broadcast_to
from tfx.ops.array.shape import shape
from tfx.ops.array.transpose import roll
from tfx.ops.debugging.assertions import assert_equal
from tfx.ops.linalg.diagonals import diag, diag_part
from tfx.ops.linalg.matmul import adjoint as adjoint_of
from tfx.ops.math.complex_parts import conj

_FORMATS = ("compact", "matrix", "sequence")


class LinearOperatorTridiag(LinearOperator):
    """A batch of square matrices with numbers on three diagonals alone.

    Products take ``O(N)``; solutions are those of ``tf.linalg.tridiagonal_solve``.

    Args:
        diagonals: In the format ``"compact"`` ``[..., 3, N]``: the diagonal above the main one,
            whose last element is not looked at, the main one, and that below, whose first element
            is not looked at. As ``"sequence"`` a list of these three, as ``"matrix"``
            ``[..., N, N]``. They may be variables.
        diagonals_format: The format.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint.
        is_positive_definite: Hint.
        is_square: Hint.
        name: A name.

    Raises:
        ValueError: another format.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorTridiag([[1.0, 0.0], [2.0, 3.0], [0.0, 4.0]])
        >>> operator.to_dense().numpy()
        array([[2., 1.],
               [4., 3.]], dtype=float32)
    """

    def __init__(
        self,
        diagonals: Any,
        diagonals_format: str = "compact",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = "LinearOperatorTridiag",
    ) -> None:
        parameters = {**locals()}
        if diagonals_format not in _FORMATS:
            raise ValueError(
                f"Argument `diagonals_format` must be one of {_FORMATS}; got {diagonals_format!r}."
            )
        self._diagonals_format = diagonals_format
        if diagonals_format == "sequence":
            self._diagonals: Any = [kept(d) for d in diagonals]
            dtype = self._diagonals[0].dtype
        else:
            self._diagonals = kept(diagonals)
            dtype = self._diagonals.dtype
        self._set_up(dtype, parameters)

    @property
    def diagonals(self) -> Any:
        """The diagonals as they were given, or the variables that hold them."""
        return self._diagonals

    @property
    def diagonals_format(self) -> str:
        """The format of ``diagonals``."""
        return self._diagonals_format

    def _three(self) -> list[Tensor]:
        """The diagonals in a list, for the formats that have them."""
        if self._diagonals_format == "sequence":
            return [convert_to_tensor(d) for d in self._diagonals]
        return unstack(convert_to_tensor(self._diagonals), 3, axis=-2)

    def _shape(self) -> TensorShape:
        if self._diagonals_format == "matrix":
            found: TensorShape = self._diagonals.shape
            return found
        if self._diagonals_format == "compact":
            known: TensorShape = self._diagonals.shape
            return known[:-2].concatenate(known[-1:]).concatenate(known[-1:])
        batch = same_shape(*(d.shape[:-1] for d in self._diagonals))
        size = self._diagonals[1].shape[-1:]
        return batch.concatenate(size).concatenate(size)

    def _shape_tensor(self) -> Tensor:
        if self._diagonals_format == "matrix":
            return shape(self._diagonals)
        if self._diagonals_format == "compact":
            known = shape(self._diagonals)
            return joined(known[:-2], known[-1:], known[-1:])
        batch = same_shape_tensor(*(shape(d)[:-1] for d in self._diagonals))
        size = shape(self._diagonals[1])[-1:]
        return joined(batch, size, size)

    def _assert_self_adjoint(self) -> Any:
        if self._diagonals_format == "matrix":
            message = "Matrix was not equal to its adjoint."
            return assert_equal(self._diagonals, adjoint_of(self._diagonals), message=message)
        above, middle, below = self._three()
        assert_real(
            middle,
            "This tridiagonal operator contained non-zero imaginary values on the diagonal.",
        )
        return assert_equal(
            conj(below[..., 1:]),
            above[..., :-1],
            message="This tridiagonal operator has non-conjugate subdiagonal and superdiagonal.",
        )

    def _of(self, adjoint: bool) -> Any:
        """The diagonals of the operator, or of its adjoint, in its format."""
        if not adjoint:
            return self._diagonals
        if self._diagonals_format == "matrix":
            return adjoint_of(self._diagonals)
        above, middle, below = (conj(d) for d in self._three())
        turned = [roll(below, -1, -1), middle, roll(above, 1, -1)]
        return turned if self._diagonals_format == "sequence" else stack(turned, axis=-2)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        right = adjoint_if(x, adjoint_arg)
        return tridiagonal_matmul(self._of(adjoint), right, diagonals_format=self._diagonals_format)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        right = adjoint_if(rhs, adjoint_arg)
        batch = same_shape_tensor(self.batch_shape_tensor(), shape(right)[:-2])
        given = self._of(adjoint)
        if self._diagonals_format == "sequence":
            given = [broadcast_to(d, joined(batch, shape(d)[-1:])) for d in given]
        else:
            given = broadcast_to(given, joined(batch, shape(given)[-2:]))
        right = broadcast_to(right, joined(batch, shape(right)[-2:]))
        return tridiagonal_solve(given, right, diagonals_format=self._diagonals_format)

    def _diag_part(self) -> Any:
        if self._diagonals_format == "matrix":
            return diag_part(self._diagonals)
        middle = self._three()[1]
        if self._diagonals_format == "compact":
            return middle
        return broadcast_to(middle, self.shape_tensor()[:-1])

    def _to_dense(self) -> Any:
        if self._diagonals_format == "matrix":
            return self._diagonals
        three = self._diagonals
        if self._diagonals_format == "sequence":
            whole = self.shape_tensor()[:-1]
            three = stack([broadcast_to(d, whole) for d in self._three()], axis=-2)
        return diag(three, k=(-1, 1), align="LEFT_RIGHT")

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("diagonals", "diagonals_format")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"diagonals": [1, 1, 1] if self._diagonals_format == "sequence" else 2}
