"""``LinearOperatorToeplitz``: constant along diagonals, multiplied by Fourier transforms."""

from __future__ import annotations

from typing import Any

from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.linear_operators.circulant import LinearOperatorCirculant
from tfx.linear_operators.operator import LinearOperator
from tfx.linear_operators.tensors import (
    adjoint_if,
    joined,
    kept,
    require_rank,
    same_shape,
    same_shape_tensor,
    to_complex,
)
from tfx.ops.array.concat import concat
from tfx.ops.array.creation import ones, zeros_like
from tfx.ops.array.gather import gather
from tfx.ops.array.ranges import range as numbers
from tfx.ops.array.reshape import broadcast_to
from tfx.ops.array.shape import shape
from tfx.ops.array.transpose import reverse
from tfx.ops.debugging.assertions import assert_equal
from tfx.ops.math.cast import cast
from tfx.ops.signal.fourier import fft


class LinearOperatorToeplitz(LinearOperator):
    """A batch of square matrices whose diagonals are constant, given by a column and a row.

    Products take ``O(N log N)``; solutions and determinants are those of the dense matrix.

    Args:
        col: ``[..., N]``, the first column, or such a variable.
        row: ``[..., N]``, the first row; its first element is not looked at in products.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint.
        is_positive_definite: Hint.
        is_square: Hint; always True.
        name: A name.

    Raises:
        ValueError: scalars, sizes that differ, or ``is_square=False``.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorToeplitz([1.0, 2.0, 3.0], [1.0, 4.0, 5.0])
        >>> operator.to_dense().numpy()
        array([[1., 4., 5.],
               [2., 1., 4.],
               [3., 2., 1.]], dtype=float32)
    """

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = "LinearOperatorToeplitz",
    ) -> None:
        parameters = {**locals()}
        self._row, self._col = kept(row), kept(col)
        require_rank(self._row, 1, "row")
        require_rank(self._col, 1, "col")
        if not self._row.shape[-1:].is_compatible_with(self._col.shape[-1:]):
            raise ValueError(
                "Expected square matrix, got row and col with mismatched dimensions: "
                f"{self._row.shape} and {self._col.shape}."
            )
        if is_square is False:
            raise ValueError("Only square Toeplitz operators are supported; got is_square=False.")
        self._set_up(self._row.dtype, parameters, is_square=True)

    @property
    def col(self) -> Any:
        """The first columns, or the variable that holds them."""
        return self._col

    @property
    def row(self) -> Any:
        """The first rows, or the variable that holds them."""
        return self._row

    def _shape(self) -> TensorShape:
        known = same_shape(self._row.shape, self._col.shape)
        return known.concatenate(known[-1:])

    def _shape_tensor(self) -> Tensor:
        known = same_shape_tensor(shape(self._row), shape(self._col))
        return joined(known, known[-1:])

    def _assert_self_adjoint(self) -> Any:
        message = "row and col are not the same, and so this operator is not self-adjoint."
        return assert_equal(self._row, self._col, message=message)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        # The matrix is a corner of a circulant one of twice the size.
        right = adjoint_if(x, adjoint_arg)
        col, row = convert_to_tensor(self._col), convert_to_tensor(self._row)
        if None not in (row.shape.rank, col.shape.rank) and row.shape[:-1] != col.shape[:-1]:
            whole = same_shape_tensor(shape(row), shape(col))
            row, col = broadcast_to(row, whole), broadcast_to(col, whole)
        first = concat([col, zeros_like(col[..., :1]), reverse(row[..., 1:], [-1])], -1)
        circulant = LinearOperatorCirculant(fft(to_complex(first)), input_output_dtype=self.dtype)
        found = circulant.matmul(concat([right, zeros_like(right)], -2), adjoint=adjoint)
        return found[..., : self._static_or_tensor_dimension(), :]

    def _trace(self) -> Any:
        size = cast(self.domain_dimension_tensor(), self.dtype)
        return size * convert_to_tensor(self._col)[..., 0]

    def _diag_part(self) -> Any:
        entry = convert_to_tensor(self._col)[..., :1]
        return entry * ones([self._static_or_tensor_dimension()], self.dtype)

    def _to_dense(self) -> Any:
        col, row = convert_to_tensor(self._col), convert_to_tensor(self._row)
        whole = same_shape_tensor(shape(row), shape(col))
        size = whole[-1]
        row, col = broadcast_to(row, whole), broadcast_to(col, whole)
        elements = concat([reverse(col, [-1]), row[..., 1:]], -1)
        places = numbers(size) + numbers(size - 1, -1, -1)[:, None]
        return gather(elements, places, axis=-1)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("col", "row")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"col": 1, "row": 1}
