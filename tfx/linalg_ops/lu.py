"""LU decompositions with pivots, and the determinants that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.kernels.programs import MatrixOperation
from tfx.linalg_ops import lapack
from tfx.linalg_ops.complex_determinant import determinant, phase_and_size
from tfx.linalg_ops.complex_matrices import embedded
from tfx.linalg_ops.row_loops import (
    column,
    count,
    either,
    loop,
    lower_part,
    matrices,
    row,
    run,
)
from tfx.linalg_ops.solve import best_pivot
from tfx.linalg_ops.triangular import cholesky, substituted, triangular_solve
from tfx.ops.array.gather import gather
from tfx.ops.array.sort import argsort
from tfx.ops.common.arguments import cast_to, scalar_like, tensor
from tfx.ops.common.open_ranks import over_batches, rank_is_open
from tfx.ops.common.traced_once import Composite
from tfx.ops.linalg.bands import numbers
from tfx.ops.linalg.diagonals import diag_part
from tfx.ops.linalg.matmul import adjoint, matmul
from tfx.ops.math.complex_parts import real
from tfx.ops.math.elementwise import abs, log, sign
from tfx.ops.math.reduction import reduce_prod, reduce_sum


class Lu(NamedTuple):
    """The results of ``lu``."""

    lu: Tensor
    p: Tensor


class LogMatrixDeterminant(NamedTuple):
    """The results of ``slogdet``."""

    sign: Tensor
    log_abs_determinant: Tensor


def lu(input: Any, output_idx_type: DTypeLike = dtypes.int32, name: str | None = None) -> Lu:
    """The LU decomposition with exchanged rows: ``input[p] = l @ u``.

    Args:
        input: ``[..., n, n]`` of a floating or complex dtype.
        output_idx_type: int32 or int64, the dtype of ``p``.
        name: Accepted for compatibility.

    Returns:
        ``(lu, p)``: both factors in one matrix, without the ones on the diagonal of ``l``, and
        the numbers of the rows, ``[..., n]``.

    Raises:
        InvalidArgumentError: no square matrices, or (eagerly) one that is not invertible.

    Example:
        >>> import tfx as tf
        >>> factors, p = tf.linalg.lu([[1.0, 2.0], [2.0, 6.0]])
        >>> factors.numpy(), p.numpy()
        (array([[ 2. ,  6. ],
               [ 0.5, -1. ]], dtype=float32), array([1, 0], dtype=int32))
    """
    if rank_is_open(input):
        return Lu(*over_batches(lambda x: lu(x, output_idx_type), (input, 2)))
    a = matrices(input, "Lu", square=True, complex_too=True)
    factors, order, _ = _eliminated(a)
    if isinstance(factors, EagerTensor):
        _require_pivots(factors, "Lu")
    return Lu(factors, cast_to(order, dtypes.as_dtype(output_idx_type)))


def _require_pivots(factors: EagerTensor, op: str) -> None:
    pivots = np.diagonal(factors.view(), axis1=-2, axis2=-1)
    if (pivots == 0).any() or not np.isfinite(pivots).all():
        raise InvalidArgumentError(f"Input is not invertible: {op} got a singular matrix.", op=op)


@custom_gradient
def _eliminated(a: Tensor) -> Any:
    factors, order, swaps = eliminated(a)

    def grad(dlu: Tensor, *_: Tensor) -> Tensor:
        found, rows = either(lambda x: _eliminated(x)[:2], lambda x: eliminated(x)[:2])(a)
        solve = either(triangular_solve, lambda m, b, lower: substituted(m, b, lower))
        unit = lower_part(found, 0.0)
        unit = unit + _identity(unit)
        upper = found - lower_part(found, 0.0)
        strict = lower_part(dlu, 0.0)
        # l^-H (tril(l^H dl, -1) + triu(du u^H)) u^-H, and the rows put back.
        below = lower_part(matmul(unit, strict, adjoint_a=True), 0.0)
        above = matmul(dlu - strict, upper, adjoint_b=True)
        middle = below + above - lower_part(above, 0.0)
        left = solve(adjoint(unit), middle, lower=False)
        turned = solve(upper, adjoint(left), lower=False)
        # turned = u^-1 (l^-H middle)^H is the adjoint of what is wanted.
        found_rows = adjoint(turned)
        back = argsort(rows, axis=-1)
        return gather(found_rows, back, batch_dims=len(a.shape) - 2, axis=-2)

    return (factors, order, swaps), grad


def _identity(like: Tensor) -> Tensor:
    size = count(like, -1)
    rows = ox.Unsqueeze(numbers(size), int64_constant([1]))
    return cast_to(ox.Equal(rows, numbers(size)), like.dtype)


def eliminated(a: Tensor) -> list[Tensor]:
    """Factors, order of the rows and the sign of that order; no eager tape sees how."""
    size = a.shape[-1]
    found = run(_elimination, a, sizes=[[size, size], [size], []])
    return found


def _eliminate(a: Tensor) -> Sequence[Tensor]:
    size = count(a, 1)
    steps = numbers(size)
    rows = ox.Reshape(steps, int64_constant([1, -1, 1]))
    columns = ox.Reshape(steps, int64_constant([1, 1, -1]))
    batch = ox.Shape(a, end=2)
    order = ox.Expand(steps, batch)
    one = ox.Expand(scalar_like(1, a), ox.Shape(a, end=1))

    def body(j: Tensor, m: Tensor, order: Tensor, swaps: Tensor) -> list[Tensor]:
        below = ox.GreaterOrEqual(steps, j)
        best = best_pivot(ox.Gather(m, j, axis=2), below)
        other = ox.Where(ox.Equal(steps, best), j, steps)
        places = ox.Where(ox.Equal(steps, j), best, other)
        order = ox.GatherElements(order, places, axis=1)
        wide = ox.Unsqueeze(places, int64_constant([2]))
        wide = ox.Expand(wide, ox.Shape(m))
        m = ox.GatherElements(m, wide, axis=1)
        moved = ox.Not(ox.Equal(ox.Squeeze(best, int64_constant([1])), j))
        swaps = ox.Where(moved, ox.Neg(swaps), swaps)
        line = row(m, j)
        pivot = column(line, j)
        # A column of zeros needs no elimination; the zero stays on the diagonal.
        none = ox.Equal(pivot, scalar_like(0, m))
        factor = ox.Div(column(m, j), ox.Where(none, scalar_like(1, m), pivot))
        under, right = ox.Greater(rows, j), ox.Greater(columns, j)
        rest = ox.Sub(m, ox.Mul(factor, line))
        m = ox.Where(ox.And(under, right), rest, m)
        here = ox.And(under, ox.Equal(columns, j))
        return [ox.Where(here, factor, m), order, swaps]

    return loop(size, body, a, order, one)


_elimination = Composite(
    _eliminate, "lu", routine=lapack.lu, kernel=lambda: MatrixOperation.LU_FACTORS
)


def lu_reconstruct(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The matrix that ``lu`` decomposed.

    Args:
        lower_upper: The factors, ``[..., n, n]``.
        perm: The order of the rows, ``[..., n]``.
        validate_args: Accepted for compatibility.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.lu_reconstruct(*tf.linalg.lu([[1.0, 2.0], [2.0, 6.0]])).numpy()
        array([[1., 2.],
               [2., 6.]], dtype=float32)
    """
    factors = matrices(lower_upper, "lu_reconstruct", square=True, complex_too=True)
    strict = lower_part(factors, 0.0)
    found = matmul(strict + _identity(factors), factors - strict)
    return gather(found, argsort(perm, axis=-1), batch_dims=len(factors.shape) - 2, axis=-2)


def lu_solve(
    lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The solution of ``a @ x = rhs`` given ``lu(a)``.

    Args:
        lower_upper: The factors, ``[..., n, n]``.
        perm: The order of the rows, ``[..., n]``.
        rhs: ``[..., n, k]``.
        validate_args: Accepted for compatibility.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.lu_solve(*tf.linalg.lu([[0.0, 2.0], [1.0, 0.0]]), [[4.0], [3.0]]).numpy()
        array([[3.],
               [2.]], dtype=float32)
    """
    factors = matrices(lower_upper, "lu_solve", square=True, complex_too=True)
    b = gather(tensor(rhs, factors.dtype), perm, batch_dims=len(factors.shape) - 2, axis=-2)
    unit = lower_part(factors, 0.0) + _identity(factors)
    return triangular_solve(factors, triangular_solve(unit, b), lower=False)


def lu_matrix_inverse(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The inverse of the matrix that ``lu`` decomposed; see ``lu_solve``.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.lu_matrix_inverse(*tf.linalg.lu([[0.0, 2.0], [1.0, 0.0]])).numpy()
        array([[0. , 1. ],
               [0.5, 0. ]], dtype=float32)
    """
    factors = matrices(lower_upper, "lu_matrix_inverse", square=True, complex_too=True)
    one = ox.Expand(_identity(factors), ox.Shape(factors))
    return lu_solve(factors, perm, one)


def slogdet(input: Any, name: str | None = None) -> LogMatrixDeterminant:
    """The sign of determinants and the logarithm of their absolute value.

    Args:
        input: ``[..., n, n]`` of a floating or complex dtype.
        name: Accepted for compatibility.

    Returns:
        ``(sign, log_abs_determinant)``; 0 and minus infinity for a singular matrix.

    Raises:
        InvalidArgumentError: no square matrices.

    Example:
        >>> import tfx as tf
        >>> found = tf.linalg.slogdet([[0.0, 2.0], [1.0, 0.0]])
        >>> found.sign.numpy(), found.log_abs_determinant.numpy()
        (np.float32(-1.0), np.float32(0.6931472))
    """
    if rank_is_open(input):
        return LogMatrixDeterminant(*over_batches(slogdet, (input, 2)))
    a = matrices(input, "LogMatrixDeterminant", square=True, complex_too=True)
    if a.dtype.is_complex:
        phase, _ = phase_and_size(a)
        # The real matrix has the determinant of the adjoint, too.
        double = slogdet(embedded(a)).log_abs_determinant
        return LogMatrixDeterminant(phase, cast_to(double * 0.5, a.dtype))
    factors, _, swaps = _eliminated(a)
    pivots = diagonal(factors)
    signs = reduce_prod(sign(pivots), -1) * swaps
    return LogMatrixDeterminant(signs, reduce_sum(log(abs(pivots)), -1))


def det(input: Any, name: str | None = None) -> Tensor:
    """The determinants of square matrices.

    Args:
        input: ``[..., n, n]`` of a floating or complex dtype.
        name: Accepted for compatibility.

    Returns:
        ``[...]``. Its gradient needs an invertible matrix, as TensorFlow's does.

    Raises:
        InvalidArgumentError: no square matrices.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.det([[1.0, 2.0], [3.0, 4.0]]).numpy().round(4)
        np.float32(-2.0)
    """
    if rank_is_open(input):
        whole: Tensor = over_batches(det, (input, 2))
        return whole
    a = matrices(input, "MatrixDeterminant", square=True, complex_too=True)
    if a.dtype.is_complex:
        of_complex: Tensor = determinant(a)
        return of_complex
    factors, _, swaps = _eliminated(a)
    found: Tensor = reduce_prod(diagonal(factors), -1) * swaps
    return found


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithm of the determinants of self-adjoint positive definite matrices.

    Args:
        matrix: ``[..., n, n]`` of a floating or complex dtype.
        name: Accepted for compatibility.

    Returns:
        ``[...]``, real numbers; NaN for a matrix that is not positive definite.

    Raises:
        InvalidArgumentError: no square matrices.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.logdet([[1.0, 0.0], [0.0, 1.0]]).numpy()
        np.float32(0.0)
    """
    logs = log(real(diagonal(cholesky(matrix))))
    return reduce_sum(logs, -1) * scalar_like(2, logs)


def diagonal(x: Tensor) -> Tensor:
    """The main diagonal, whatever is known of the size."""
    if x.shape[-2:].is_fully_defined():
        return diag_part(x)
    found: Tensor = reduce_sum(x * _identity(x), -1)
    return found
