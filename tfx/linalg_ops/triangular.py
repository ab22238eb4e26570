"""Triangular systems and Cholesky's decomposition, and what is solved with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.core.log import LOGGER
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.kernels.programs import MatrixOperation
from tfx.linalg_ops import lapack
from tfx.linalg_ops.complex_matrices import columns, embedded, of_columns, of_embedded
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
from tfx.ops.common.arguments import same_dtype, scalar_like
from tfx.ops.common.complex_parts import conjugate
from tfx.ops.common.open_ranks import over_batches, rank_is_open
from tfx.ops.common.shapes import concat_shape, known_rank, product, reshape_to, shape_vector
from tfx.ops.common.traced_once import Composite
from tfx.ops.linalg.bands import numbers
from tfx.ops.linalg.diagonals import diag_part
from tfx.ops.linalg.matmul import adjoint as flipped
from tfx.ops.linalg.matmul import matmul, swap_last_two


def triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """The solution ``x`` of the systems ``matrix @ x = rhs`` with triangular matrices.

    Args:
        matrix: ``[..., n, n]`` of a floating or complex dtype; the other triangle is not read.
        rhs: ``[..., n, k]`` of the same dtype; batches broadcast.
        lower: The lower triangle counts, and not the upper one.
        adjoint: Solve with the adjoint matrix.
        name: Accepted for compatibility.

    Returns:
        ``[..., n, k]``.

    Raises:
        InvalidArgumentError: shapes or dtypes that do not fit, or (eagerly) a zero on the diagonal.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.triangular_solve([[2.0, 0.0], [1.0, 4.0]], [[4.0], [10.0]]).numpy()
        array([[2.],
               [2.]], dtype=float32)
    """
    if rank_is_open(matrix, rhs):
        whole: Tensor = over_batches(
            lambda a, b: triangular_solve(a, b, lower, adjoint), (matrix, 2), (rhs, 2)
        )
        return whole
    op = "MatrixTriangularSolve"
    a, b = same_dtype(matrix, rhs, op)
    a = matrices(a, op, square=True, complex_too=True)
    b = matrices(b, op, complex_too=True)
    if not a.shape[-1:].is_compatible_with(b.shape[-2:-1]):
        raise InvalidArgumentError(
            f"{op}: expected as many rows in rhs as in the matrix; got {a.shape} and {b.shape}.",
            op=op,
        )
    if isinstance(a, EagerTensor) and (np.diagonal(a.view(), axis1=-2, axis2=-1) == 0).any():
        raise InvalidArgumentError(
            f"Input matrix is not invertible: {op} got a zero on the diagonal.", op=op
        )
    extra = known_rank(b, op) - known_rank(a, op)
    if extra > 0:
        return _with_more_columns(a, b, extra, lower, adjoint)
    if a.shape[:-2] != b.shape[:-2] or not a.shape.is_fully_defined():
        a, b = _of_one_batch(a, b)
    if a.dtype.is_complex:
        return _solved_complex(a, b, lower, adjoint)
    if adjoint:
        a = swap_last_two(a)
    found: Tensor = _Triangle(lower != adjoint).solved(a, b)
    return found


def _with_more_columns(a: Tensor, b: Tensor, extra: int, lower: bool, adjoint: bool) -> Tensor:
    """Solve where right-hand sides have more axes than matrices: what lies along these is columns.

    A product of one matrix with many columns takes a fraction of the time of many products.
    """
    rank = known_rank(b, "MatrixTriangularSolve")
    perm = [*range(extra, rank), *range(extra)]
    at_end = ox.Transpose(b, perm=perm)
    rows, columns = (shape_vector(at_end, *ends) for ends in ((0, -extra - 1), (-extra - 1,)))
    found = triangular_solve(
        a, reshape_to(at_end, concat_shape(rows, product(columns))), lower, adjoint
    )
    back = reshape_to(found, concat_shape(shape_vector(found, 0, -1), columns))
    return ox.Transpose(back, perm=np.argsort(perm).tolist())


def banded_triangular_solve(
    bands: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """The solution ``x`` of ``matrix @ x = rhs`` for triangular matrices of a few diagonals.

    Args:
        bands: ``[..., k, n]`` of a floating or complex dtype: the diagonals, from the upper to the
            lower one. The main one is the first of a lower triangle, and the last of an upper one.
            Element ``j`` of a diagonal is in row ``j``; elements beyond the matrix are not read.
        rhs: ``[..., n, m]`` of the same dtype; batches broadcast.
        lower: The triangle is the lower one.
        adjoint: Solve with the adjoint matrix.
        name: Accepted for compatibility.

    Returns:
        ``[..., n, m]``.

    Raises:
        InvalidArgumentError: shapes or dtypes that do not fit, an unknown number of diagonals, or
            (eagerly) a zero on the main one.

    Example:
        >>> import tfx as tf
        >>> bands = [[2.0, 4.0], [0.0, 1.0]]
        >>> tf.linalg.banded_triangular_solve(bands, [[4.0], [10.0]]).numpy()
        array([[2.],
               [2.]], dtype=float32)
    """
    op = "BandedTriangularSolve"
    a, b = same_dtype(bands, rhs, op)
    a, b = matrices(a, op, complex_too=True), matrices(b, op, complex_too=True)
    width = a.shape[-2]
    if width is None:
        raise InvalidArgumentError(
            f"{op}: the number of diagonals must be known; got bands of shape {a.shape}.", op=op
        )
    if not a.shape[-1:].is_compatible_with(b.shape[-2:-1]):
        raise InvalidArgumentError(
            f"{op}: expected as many rows in rhs as the bands have columns; got {a.shape} and "
            f"{b.shape}.",
            op=op,
        )
    columns = numbers(count(a, -1))
    rows = ox.Unsqueeze(columns, int64_constant([1]))
    dense = scalar_like(0, a)
    for i in range(width):
        offset = -i if lower else width - 1 - i
        there = ox.Equal(ox.Sub(columns, rows), int64_constant(offset))
        diagonal = ox.Gather(a, int64_constant(i), axis=-2)
        diagonal = ox.Unsqueeze(diagonal, int64_constant([-1]))
        dense = ox.Where(there, diagonal, dense)
    return triangular_solve(dense, b, lower, adjoint)


def _solved_complex(a: Tensor, b: Tensor, lower: bool, adjoint: bool) -> Tensor:
    """The same of complex numbers: with ones on the diagonal the embedded matrix is a triangle."""
    rows = diag_part(a)[..., None]
    unit = embedded(a / rows)
    if adjoint:
        return of_columns(triangular_solve(unit, columns(b), lower, True), b) / conjugate(rows)
    return of_columns(triangular_solve(unit, columns(b / rows), lower), b)


def _of_one_batch(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return both, expanded to their common batch."""
    lead_a = ox.Shape(a, end=-2)
    lead_b = ox.Shape(b, end=-2)
    ones = int64_constant([1, 1])
    shapes = [ox.Concat(lead, ones, axis=0) for lead in (lead_a, lead_b)]
    return ox.Expand(a, shapes[1]), ox.Expand(b, shapes[0])


class _Triangle:
    """Solving with one of the triangles; two instances, so that gradients are named functions."""

    def __init__(self, lower: bool) -> None:
        self._lower = lower
        self.solved = custom_gradient(self._solved)

    def _solved(self, a: Tensor, b: Tensor) -> Any:
        x = substituted(a, b, self._lower)

        def grad(dx: Tensor) -> Any:
            other = _Triangle(not self._lower).solved
            turned = either(other, lambda a, b: substituted(a, b, not self._lower))
            again = either(self.solved, lambda a, b: substituted(a, b, self._lower))
            db = turned(flipped(a), dx)
            da: Any = -matmul(db, again(a, b), adjoint_b=True)
            return _triangle(da, self._lower), db

        return x, grad


def _triangle(x: Tensor, lower: bool) -> Tensor:
    return lower_part(x) if lower else swap_last_two(lower_part(swap_last_two(x)))


def substituted(a: Tensor, b: Tensor, lower: bool) -> Tensor:
    """The solution row by row, through which no eager tape sees."""
    return run(_substitution, a, b, sizes=[b.shape[-2:].as_list()], lower=lower)[0]


def _substitute(a: Tensor, b: Tensor, *, lower: bool) -> Sequence[Tensor]:
    size = count(a, 1)
    rows = ox.Reshape(numbers(size), int64_constant([1, -1, 1]))
    columns = ox.Reshape(numbers(size), int64_constant([1, 1, -1]))
    last = ox.Sub(size, int64_constant(1))
    zero = scalar_like(0, a)
    # What is not read may be anything: NaN times zero is not zero.
    others = ox.Where(apply("Greater" if lower else "Less", (rows, columns)), a, zero)

    def body(i: Tensor, x: Tensor) -> list[Tensor]:
        j = i if lower else ox.Sub(last, i)
        # Rows of x that are not known yet are zeros.
        rest = ox.Sub(row(b, j), ox.MatMul(row(others, j), x))
        found = ox.Div(rest, column(row(a, j), j))
        return [ox.Where(ox.Equal(rows, j), found, x)]

    return loop(size, body, ox.Expand(zero, ox.Shape(b)))


_substitution = Composite(
    _substitute,
    "triangular_solve",
    routine=lapack.triangular_solve,
    kernel=lambda lower: MatrixOperation.LOWER_SOLVE if lower else MatrixOperation.UPPER_SOLVE,
)


def cholesky(input: Any, name: str | None = None) -> Tensor:
    """Lower triangular matrices ``l`` with ``l @ adjoint(l) = input``.

    Args:
        input: ``[..., n, n]`` of a floating or complex dtype, self-adjoint and positive definite;
            only the lower triangle is read.
        name: Accepted for compatibility.

    Returns:
        ``[..., n, n]``. A matrix that is not positive definite gives NaN; eagerly, with a line in
        the log. ``tf.debugging.check_numerics`` raises where that must not be.

    Raises:
        InvalidArgumentError: no square matrices.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).numpy()
        array([[2., 0.],
               [1., 2.]], dtype=float32)
    """
    if rank_is_open(input):
        whole: Tensor = over_batches(cholesky, (input, 2))
        return whole
    a = matrices(input, "Cholesky", square=True, complex_too=True)
    if a.dtype.is_complex:
        return of_embedded(cholesky(embedded(a)), a)
    found: Tensor = _factored(a)
    return found


@custom_gradient
def _factored(a: Tensor) -> Any:
    found = factored(a)
    if isinstance(found, EagerTensor) and not np.isfinite(found.view()).all():
        LOGGER.warning(
            "Cholesky decomposition was not successful, its result has NaN: expected symmetric "
            "positive definite matrices; got one or more of shape %s that are not.",
            a.shape,
        )

    def grad(dl: Tensor) -> Any:
        factor = either(cholesky, factored)(a)
        middle = lower_part(matmul(factor, dl, transpose_a=True), 0.5)
        turned = either(
            lambda m, b: triangular_solve(m, b, lower=False),
            lambda m, b: substituted(m, b, False),
        )
        upper = swap_last_two(factor)
        # l^-T middle l^-1, by two systems with the same matrix.
        left = turned(upper, middle)
        da = swap_last_two(turned(upper, swap_last_two(left)))
        return (da + swap_last_two(da)) * 0.5

    return found, grad


def factored(a: Tensor) -> Tensor:
    """The decomposition column by column, through which no eager tape sees."""
    return run(_factoring, a, sizes=[a.shape[-2:].as_list()])[0]


def _factor(a: Tensor) -> Sequence[Tensor]:
    size = count(a, 1)
    rows = ox.Reshape(numbers(size), int64_constant([1, -1, 1]))
    columns = ox.Reshape(numbers(size), int64_constant([1, 1, -1]))

    def body(j: Tensor, x: Tensor) -> list[Tensor]:
        known = swap_last_two(row(x, j))
        rest = ox.Sub(column(a, j), ox.MatMul(x, known))
        found = ox.Div(rest, ox.Sqrt(row(rest, j)))
        found = ox.Where(ox.Less(rows, j), scalar_like(0, found), found)
        return [ox.Where(ox.Equal(columns, j), found, x)]

    return loop(size, body, ox.Expand(scalar_like(0, a), ox.Shape(a)))


_factoring = Composite(
    _factor, "cholesky", routine=lapack.cholesky, kernel=lambda: MatrixOperation.CHOLESKY
)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """The solution ``x`` of ``a @ x = rhs`` given ``chol = cholesky(a)``.

    Args:
        chol: ``[..., n, n]``, what ``cholesky`` returns.
        rhs: ``[..., n, k]`` of the same dtype.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: shapes or dtypes that do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.cholesky_solve([[2.0, 0.0], [1.0, 2.0]], [[6.0], [7.0]]).numpy()
        array([[1.],
               [1.]], dtype=float32)
    """
    half = triangular_solve(chol, rhs)
    return triangular_solve(chol, half, adjoint=True)
