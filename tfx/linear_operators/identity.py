"""``LinearOperatorIdentity`` and ``LinearOperatorScaledIdentity``, of which no matrix is kept."""

from __future__ import annotations

import math
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike, as_dtype
from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.linear_operators import hints
from tfx.linear_operators.isometry import IsometricOperator
from tfx.linear_operators.operator import LinearOperator
from tfx.linear_operators.slicing import sliced_batch_shape
from tfx.linear_operators.tensors import (
    adjoint_if,
    joined,
    kept,
    require_compatible,
    size_tensor,
    static_shape,
    static_sizes,
)
from tfx.ops.array.concat import stack
from tfx.ops.array.creation import ones, zeros, zeros_like
from tfx.ops.array.reshape import expand_dims
from tfx.ops.array.shape import shape
from tfx.ops.array.where import where
from tfx.ops.common.broadcast_shapes import broadcast_static_shape
from tfx.ops.debugging.assertions import assert_equal, assert_non_negative, assert_positive
from tfx.ops.debugging.static_assertions import assert_rank
from tfx.ops.linalg.diagonals import diag_part, set_diag
from tfx.ops.math.arithmetic import pow as power
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import equal
from tfx.ops.math.complex_parts import conj, imag, real
from tfx.ops.math.elementwise import abs as absolute
from tfx.ops.math.elementwise import log, sqrt
from tfx.ops.math.reduction import reduce_min


class SizedOperator(LinearOperator):
    """Operators whose size is given as a number.

    Attributes:
        _num_rows: The number of rows, a tensor.
        _assert_proper_shapes: Whether sizes are checked while the program runs.
    """

    _num_rows: Tensor
    _assert_proper_shapes: bool

    def _size(self, value: Any, name: str, rank: int) -> Tensor:
        """A size, checked as far as the user wants it."""
        found = size_tensor(value, name, rank)
        if self._assert_proper_shapes:
            assert_rank(found, rank, message=f"Argument `{name}` must be a {rank}-D Tensor.")
            assert_non_negative(found, message=f"Argument `{name}` must be non-negative.")
        return found

    def _fitting(self, x: Any) -> Any:
        """An argument, checked while the program runs if the user wants it."""
        if self._assert_proper_shapes:
            require_compatible(self, x)
        return x

    def _diagonal_shape(self) -> Any:
        known: Any = self.shape
        if known.is_fully_defined():
            return [*known[:-2], min(known[-2:])]
        whole = self.shape_tensor()
        return joined(whole[:-2], reduce_min(whole[-2:], keepdims=True))


class UniformOperator(SizedOperator):
    """Operators that are the same in the whole batch.

    Attributes:
        _batch_shape_arg: The shape of the batch, a tensor; None: no batch.
    """

    _batch_shape_arg: Tensor | None
    _num_columns: Tensor

    def _set_batch_shape(self, batch_shape: Any) -> None:
        self._batch_shape_arg = (
            None if batch_shape is None else self._size(batch_shape, "batch_shape", 1)
        )

    def _shape(self) -> TensorShape:
        matrix = static_sizes(self._num_rows, self._num_columns)
        if self._batch_shape_arg is None:
            return matrix
        return static_shape(self._batch_shape_arg).concatenate(matrix)

    def _shape_tensor(self) -> Tensor:
        matrix = stack([cast(n, dtypes.int32) for n in (self._num_rows, self._num_columns)])
        if self._batch_shape_arg is None:
            return matrix
        return joined(cast(self._batch_shape_arg, dtypes.int32), matrix)

    def _over_batch(self, x: Any) -> Any:
        """A tensor of matrices, repeated for the batch."""
        if self._batch_shape_arg is None:
            return x
        batch = self.batch_shape.concatenate([1, 1])
        if batch.is_fully_defined() and broadcast_static_shape(x.shape, batch) == x.shape:
            return x
        whole: Any = batch if batch.is_fully_defined() else self._open_batch()
        return x + zeros(whole, self.dtype)

    def _open_batch(self) -> Tensor:
        return joined(self.batch_shape_tensor(), [1, 1])

    def __getitem__(self, slices: Any) -> LinearOperator:
        found = sliced_batch_shape(self._batch_shape_arg, slices)
        return type(self)(**{**self.parameters, "batch_shape": found})


class LinearOperatorIdentity(UniformOperator, IsometricOperator):
    """A batch of identity matrices: products and solutions are the arguments themselves.

    Args:
        num_rows: The size, an integer or a scalar tensor.
        batch_shape: Shape of the batch, an integer vector; None: no batch, and whatever it is
            multiplied by keeps its own.
        dtype: dtype of the matrices; None: float32.
        is_non_singular: Hint, see ``LinearOperator``; always True.
        is_self_adjoint: Hint; always True.
        is_positive_definite: Hint; always True.
        is_square: Hint; always True.
        assert_proper_shapes: Whether sizes of arguments are checked while the program runs, too.
        name: A name.

    Raises:
        TypeError: sizes that are no integers, or variables.
        ValueError: negative sizes, ranks other than 0 and 1, or hints that cannot be.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorIdentity(2, batch_shape=[3])
        >>> operator.shape, operator.trace().numpy()
        (TensorShape([3, 2, 2]), array([2., 2., 2.], dtype=float32))
    """

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str | None = "LinearOperatorIdentity",
    ) -> None:
        parameters = {**locals()}
        for hint in ("is_self_adjoint", "is_non_singular", "is_positive_definite", "is_square"):
            if not parameters[hint]:
                raise ValueError(
                    f"An identity operator is always {hint[3:].replace('_', '-')}; got "
                    f"{hint}={parameters[hint]}."
                )
        self._assert_proper_shapes = assert_proper_shapes
        self._num_rows = self._num_columns = self._size(num_rows, "num_rows", 0)
        self._set_batch_shape(batch_shape)
        self._set_up(as_dtype(dtype or dtypes.float32), parameters)

    def _linop_cholesky(self) -> Any:
        return LinearOperatorIdentity(self._num_rows, self._batch_shape_arg, self.dtype)

    def _linop_inverse(self) -> Any:
        return self

    def _assert_positive_definite(self) -> Any:
        return None

    def _assert_self_adjoint(self) -> Any:
        return None

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._over_batch(self._fitting(adjoint_if(x, adjoint_arg)))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    _determinant = IsometricOperator._cond

    def _trace(self) -> Any:
        return cast(self.domain_dimension_tensor(), self.dtype) * self._ones_of_batch()

    def _diag_part(self) -> Any:
        return ones(self._diagonal_shape(), self.dtype)

    def _add_to_tensor(self, x: Any) -> Any:
        return set_diag(x, 1 + diag_part(x))

    def _eigvals(self) -> Any:
        return self._diag_part()

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("num_rows", "batch_shape", "dtype", "assert_proper_shapes")

    @property
    def _composite_tensor_prefer_static_fields(self) -> tuple[str, ...]:
        return ("num_rows", "batch_shape")


class LinearOperatorScaledIdentity(SizedOperator):
    """A batch of identity matrices, each times a number.

    Args:
        num_rows: The size, an integer or a scalar tensor.
        multiplier: ``[B1, ..., Bb]``, the numbers, or such a variable.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint; True if the dtype is real.
        is_positive_definite: Hint.
        is_square: Hint; always True.
        assert_proper_shapes: Whether sizes of arguments are checked while the program runs, too.
        name: A name.

    Raises:
        TypeError: a size that is no integer, or a variable.
        ValueError: a negative size, or hints that cannot be.

    Example:
        >>> import tfx as tf
        >>> operator = tf.linalg.LinearOperatorScaledIdentity(2, multiplier=3.0)
        >>> operator.to_dense().numpy()
        array([[3., 0.],
               [0., 3.]], dtype=float32)
    """

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str | None = "LinearOperatorScaledIdentity",
    ) -> None:
        parameters = {**locals()}
        self._assert_proper_shapes = assert_proper_shapes
        self._multiplier = kept(multiplier)
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if not is_square:
            raise ValueError(f"A ScaledIdentity operator is always square; got {is_square=}.")
        self._num_rows = self._size(num_rows, "num_rows", 0)
        self._set_up(self._multiplier.dtype, parameters, is_self_adjoint=is_self_adjoint)

    @property
    def multiplier(self) -> Any:
        """The numbers, or the variable that holds them."""
        return self._multiplier

    def _shape(self) -> TensorShape:
        batch: TensorShape = self._multiplier.shape
        return batch.concatenate(static_sizes(self._num_rows, self._num_rows))

    def _shape_tensor(self) -> Tensor:
        size = cast(self._num_rows, dtypes.int32)
        return joined(shape(self._multiplier), stack([size, size]))

    def _like(self, multiplier: Any, **known: Any) -> LinearOperatorScaledIdentity:
        given = {**hints.own(self), **known}
        return LinearOperatorScaledIdentity(self._num_rows, multiplier, **given)

    def _linop_adjoint(self) -> Any:
        return self._like(conj(self._multiplier))

    def _linop_inverse(self) -> Any:
        return self._like(1.0 / convert_to_tensor(self._multiplier), is_self_adjoint=True)

    def _linop_cholesky(self) -> Any:
        return self._like(sqrt(self._multiplier), **dict.fromkeys(hints.own(self), True))

    def _assert_non_singular(self) -> Any:
        return assert_positive(absolute(self._multiplier), message="LinearOperator was singular")

    def _assert_positive_definite(self) -> Any:
        message = "LinearOperator was not positive definite."
        return assert_positive(real(self._multiplier), message=message)

    def _assert_self_adjoint(self) -> Any:
        part = imag(self._multiplier)
        message = "LinearOperator was not self-adjoint"
        return assert_equal(zeros_like(part), part, message=message)

    def _factor(self, adjoint: bool = False) -> Tensor:
        """The numbers as matrices of size 1."""
        found = convert_to_tensor(self._multiplier)[..., None, None]
        return conj(found) if adjoint else found

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._fitting(adjoint_if(x, adjoint_arg)) * self._factor(adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._fitting(adjoint_if(rhs, adjoint_arg)) / self._factor(adjoint)

    def _determinant(self) -> Any:
        return power(self._multiplier, cast(self._num_rows, self.dtype))

    def _log_abs_determinant(self) -> Any:
        rows = cast(self._num_rows, self.dtype.real_dtype)
        return rows * log(absolute(self._multiplier))

    def _trace(self) -> Any:
        return convert_to_tensor(self._multiplier) * cast(self._num_rows, self.dtype)

    def _diag_part(self) -> Any:
        factor = expand_dims(self._multiplier, -1)
        return ones(self._diagonal_shape(), self.dtype) * factor

    def _add_to_tensor(self, x: Any) -> Any:
        return set_diag(x, expand_dims(self._multiplier, -1) + diag_part(x))

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _cond(self) -> Any:
        known = cast([math.nan, 1.0], self.dtype)
        return where(equal(self._multiplier, cast(0.0, self.dtype)), known[0], known[1])

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("num_rows", "multiplier", "assert_proper_shapes")

    @property
    def _composite_tensor_prefer_static_fields(self) -> tuple[str, ...]:
        return ("num_rows",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"multiplier": 0}
