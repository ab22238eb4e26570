"""``LinearOperatorPermutation``: matrices that put rows in another order."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.linear_operators.isometry import IsometricOperator
from tfx.linear_operators.tensors import (
    adjoint_if,
    is_reference,
    joined,
    kept,
    require_rank,
    same_shape_tensor,
)
from tfx.ops.array.gather import gather
from tfx.ops.array.ranges import range as numbers
from tfx.ops.array.reshape import broadcast_to, reshape
from tfx.ops.array.shape import shape
from tfx.ops.array.sort import argsort
from tfx.ops.array.static_value import get_static_value
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import equal


class LinearOperatorPermutation(IsometricOperator):
    """A batch of permutations: row ``i`` of a product is row ``perm[i]`` of the argument.

    Args:
        perm: ``[..., N]``, the numbers from 0 to ``N - 1`` in any order, or such a variable.
        dtype: dtype of the matrices.
        is_non_singular: Hint, see ``LinearOperator``.
        is_self_adjoint: Hint.
        is_positive_definite: Hint.
        is_square: Hint; always True.
        name: A name.

    Raises:
        TypeError: no integers.
        ValueError: no permutation, or hints that cannot be.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.LinearOperatorPermutation([2, 0, 1]).matvec([5.0, 6.0, 7.0]).numpy()
        array([7., 5., 6.], dtype=float32)
    """

    def __init__(
        self,
        perm: Any,
        dtype: DTypeLike = dtypes.float32,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = "LinearOperatorPermutation",
    ) -> None:
        parameters = {**locals()}
        self._perm = kept(perm)
        self._check_perm()
        for hint, said in (("is_non_singular", is_non_singular), ("is_square", is_square)):
            if said is False:
                shown = hint[3:].replace("_", "-")
                raise ValueError(f"A Permutation operator is always {shown}; got {hint}=False.")
        self._set_up(dtype, parameters, is_square=True)

    def _check_perm(self) -> None:
        require_rank(self._perm, 1, "perm")
        if not self._perm.dtype.is_integer:
            raise TypeError(f"Argument `perm` must be integer dtype; got {self._perm}.")
        known = None if is_reference(self._perm) else get_static_value(self._perm)
        if known is not None and np.any(np.sort(known, axis=-1) != np.arange(known.shape[-1])):
            raise ValueError(
                "Argument `perm` must be a vector of unique integers from 0 to "
                f"{known.shape[-1] - 1}; got {known}."
            )

    @property
    def perm(self) -> Any:
        """The permutations, or the variable that holds them."""
        return self._perm

    def _shape(self) -> TensorShape:
        known: TensorShape = self._perm.shape
        return known.concatenate(known[-1:])

    def _shape_tensor(self) -> Tensor:
        known = shape(self._perm)
        return joined(known, known[-1:])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        perm = convert_to_tensor(self._perm)
        if adjoint and not self.is_self_adjoint:
            perm = argsort(perm, axis=-1)
        right = adjoint_if(x, adjoint_arg)
        if perm.shape.rank == 1:
            return gather(right, perm, axis=-2)
        rows = same_shape_tensor(shape(right)[:-1], shape(perm))
        whole = joined(rows, shape(right)[-1:])
        size, columns = rows[-1], whole[-1]
        flat = reshape(broadcast_to(right, whole), [-1, size, columns])
        places = reshape(broadcast_to(perm, rows), [-1, size])
        return reshape(gather(flat, places, axis=-2, batch_dims=1), whole)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _numbers(self, perm: Tensor) -> Tensor:
        return cast(numbers(shape(perm)[-1]), perm.dtype)

    def _to_dense(self) -> Any:
        perm = convert_to_tensor(self._perm)
        return cast(equal(self._numbers(perm), perm[..., None]), self.dtype)

    def _diag_part(self) -> Any:
        perm = convert_to_tensor(self._perm)
        return cast(equal(self._numbers(perm), perm), self.dtype)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("perm", "dtype")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"perm": 1}
