"""``LinearOperatorZeros``: matrices of zeros, of which only the shape is kept."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.linear_operators.identity import UniformOperator
from tfx.linear_operators.tensors import joined, require_compatible, static_sizes
from tfx.ops.array.creation import zeros
from tfx.ops.array.shape import shape
from tfx.ops.linalg.matmul import adjoint as adjoint_of


class LinearOperatorZeros(UniformOperator):
    """A batch of matrices of zeros.

    Args:
        num_rows: The number of rows, an integer or a scalar tensor.
        num_columns: The number of columns; None: that of rows.
        batch_shape: Shape of the batch, an integer vector; None: no batch.
        dtype: dtype of the matrices; None: float32.
        is_non_singular: Hint, see ``LinearOperator``; always False.
        is_self_adjoint: Hint; True for square ones.
        is_positive_definite: Hint; always False.
        is_square: Hint; must be False for other matrices.
        assert_proper_shapes: Whether sizes of arguments are checked while the program runs, too.
        name: A name.

    Raises:
        TypeError: sizes that are no integers, or variables.
        ValueError: negative sizes, ranks other than 0 and 1, or hints that cannot be.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorZeros(2, 3, is_square=False, is_self_adjoint=False)
        >>> operator.matvec([1.0, 2.0, 3.0]).numpy()
        array([0., 0.], dtype=float32)
    """

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str | None = "LinearOperatorZeros",
    ) -> None:
        parameters = {**locals()}
        if not is_self_adjoint and is_square:
            raise ValueError(f"A zero operator is always self adjoint; got {is_self_adjoint=}.")
        if is_non_singular:
            raise ValueError(f"A zero operator is always singular; got {is_non_singular=}.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        self._assert_proper_shapes = assert_proper_shapes
        self._set_up(as_dtype(dtype or dtypes.float32), parameters)
        self._num_rows = self._size(num_rows, "num_rows", 0)
        columns = num_rows if num_columns is None else num_columns
        self._num_columns = self._size(columns, "num_columns", 0)
        rows, wide = static_sizes(self._num_rows, self._num_columns)
        if is_square and None not in (rows, wide) and rows != wide:
            raise ValueError(
                f"A LinearOperatorZeros with is_square=True has as many rows as columns; got "
                f"{rows} rows and {wide} columns."
            )
        self._set_batch_shape(batch_shape)

    def _assert_non_singular(self) -> Any:
        raise InvalidArgumentError("Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Any:
        raise InvalidArgumentError("Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Any:
        return None

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        if self._assert_proper_shapes:
            x, adjoint_arg = adjoint_of(x) if adjoint_arg else x, False
            require_compatible(self, x)
        given = shape(x)
        its_rows, columns = (
            (given[-1:], given[-2:-1]) if adjoint_arg else (given[-2:-1], given[-1:])
        )
        if self.is_square:
            rows: Any = its_rows
        else:
            rows = [self._num_columns if adjoint else self._num_rows]
        return self._over_batch(zeros(joined(given[:-2], rows, columns), x.dtype))

    _determinant = _trace = UniformOperator._zeros_of_batch

    def _diag_part(self) -> Any:
        return zeros(self._diagonal_shape(), self.dtype)

    def _add_to_tensor(self, x: Any) -> Any:
        return self._over_batch(x)

    def _eigvals(self) -> Any:
        return self._diag_part()

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("num_rows", "num_columns", "batch_shape", "dtype", "assert_proper_shapes")

    @property
    def _composite_tensor_prefer_static_fields(self) -> tuple[str, ...]:
        return ("num_rows", "num_columns", "batch_shape")
