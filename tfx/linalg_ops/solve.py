"""``linalg.solve`` and ``linalg.inv``: elimination with pivots, as one loop.

ONNX has no such operator. The loop is traced once for each dtype; its gradient is not the loop's
but two more systems with the same matrix.
"""

from __future__ import annotations

import math
from typing import Any

from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.context import executing_eagerly, using
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.kernels.programs import MatrixOperation
from tfx.linalg_ops import lapack
from tfx.linalg_ops.complex_matrices import columns, embedded, of_columns
from tfx.ops.array.creation import eye
from tfx.ops.common.arguments import require_dtype, same_dtype, scalar_like, tensor
from tfx.ops.common.open_ranks import over_batches, rank_is_open
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    known_rank,
    product,
    reshape_to,
    shape_vector,
)
from tfx.ops.common.traced_once import Composite
from tfx.ops.linalg.matmul import matmul, swap_last_two

_KINDS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The solution ``x`` of the systems ``matrix @ x = rhs``.

    Args:
        matrix: ``[..., n, n]`` of a floating or complex dtype.
        rhs: ``[..., n, k]`` of the same dtype and the same batch.
        adjoint: Solve with the adjoint matrix.
        name: Accepted for compatibility.

    Returns:
        ``[..., n, k]``. While a function is traced a matrix that is not invertible gives numbers
        that are not finite.

    Raises:
        InvalidArgumentError: shapes or dtypes that do not fit, or (eagerly) a matrix that is not
            invertible.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.solve([[2.0, 1.0], [0.0, 4.0]], [[4.0], [8.0]]).numpy()
        array([[1.],
               [2.]], dtype=float32)
    """
    if rank_is_open(matrix, rhs):
        whole: Tensor = over_batches(lambda a, b: solve(a, b, adjoint), (matrix, 2), (rhs, 2))
        return whole
    a, b = same_dtype(matrix, rhs, "MatrixSolve")
    known = a.dtype in _KINDS or a.dtype.is_complex
    require_dtype(a, known, "MatrixSolve", "a floating or complex dtype")
    _check(a, b)
    if a.dtype.is_complex:
        return of_columns(solve(embedded(a), columns(b), adjoint), b)
    found: Tensor = _solved(swap_last_two(a) if adjoint else a, b)
    return found


def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of square matrices.

    Args:
        input: ``[..., n, n]`` of a floating or complex dtype.
        adjoint: Of the adjoint matrix.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: no square matrices, or (eagerly) one that is not invertible.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy()
        array([[0.5 , 0.  ],
               [0.  , 0.25]], dtype=float32)
    """
    if rank_is_open(input):
        whole: Tensor = over_batches(lambda x: inv(x, adjoint), (input, 2))
        return whole
    a = tensor(input)
    if known_rank(a, "MatrixInverse") < 2:
        raise InvalidArgumentError(f"Input must be a batch of square matrices; got {a.shape}.")
    size = a.shape[-1]
    rows = eye(ox.Squeeze(dimension(a, -1)) if size is None else size, dtype=a.dtype)
    return solve(a, ox.Expand(rows, shape_vector(a)), adjoint)


def _check(a: Tensor, b: Tensor) -> None:
    rank = known_rank(a, "MatrixSolve")
    if rank < 2 or known_rank(b, "MatrixSolve") != rank:
        raise InvalidArgumentError(
            f"linalg.solve takes matrices [..., n, n] and right-hand sides [..., n, k]; got "
            f"{a.shape} and {b.shape}."
        )
    square = a.shape[-1:].is_compatible_with(a.shape[-2:-1])
    if not square or not a.shape[:-1].is_compatible_with(b.shape[:-1]):
        raise InvalidArgumentError(
            f"linalg.solve takes square matrices and right-hand sides with as many rows, and "
            f"batches of one shape; got {a.shape} and {b.shape}."
        )


@custom_gradient
def _solved(a: Tensor, b: Tensor) -> Any:
    with using(tapes=()):
        x = _found(a, b)

    def grad(dx: Tensor) -> Any:
        # A graph of a gradient is built at once: with such gradients in it, it would be infinite.
        again = solve if executing_eagerly() else _found
        db = again(swap_last_two(a), dx)
        # Solved again, so that it depends on the matrix for further derivatives.
        da: Any = matmul(db, again(a, b), transpose_b=True)
        return -da, db

    return x, grad


def _found(a: Tensor, b: Tensor) -> Tensor:
    """The solution by elimination, through which no eager tape sees."""
    batch = product(shape_vector(a, 0, -2))
    flat = reshape_to(a, concat_shape(batch, shape_vector(a, -2)))
    right = reshape_to(b, concat_shape(batch, shape_vector(b, -2)))
    x, singular = _eliminated(flat, right, shapes=[right.shape.symbolic, ()])
    if executing_eagerly() and bool(singular):
        raise InvalidArgumentError("Input matrix is not invertible.", op="MatrixSolve")
    return reshape_to(x, shape_vector(b))


def _elimination(a: Tensor, b: Tensor) -> list[Tensor]:
    """Solutions of ``[batch, n, n]`` and ``[batch, n, k]``, and whether a pivot was zero."""
    start, one = int64_constant(0), int64_constant(1)
    size = ox.Squeeze(dimension(a, 1))
    rows = ox.Range(start, size, one)
    whole = ox.Concat(a, b, axis=2)

    def step(j: Tensor, m: Tensor, singular: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        m = _with_pivot(m, rows, j)
        row = ox.Gather(m, j, axis=1)
        pivot = ox.Gather(row, j, axis=1)
        zero = ox.Equal(pivot, scalar_like(0, pivot))
        flags = ox.Cast(zero, to=dtypes.int64.onnx)
        found = ox.Cast(ox.ReduceSum(flags, keepdims=0), **_BOOL)
        row = ox.Div(row, ox.Unsqueeze(pivot, int64_constant([1])))
        row = ox.Unsqueeze(row, int64_constant([1]))
        factor = ox.Gather(m, ox.Reshape(j, int64_constant([1])), axis=2)
        here = ox.Equal(rows, j)
        here = ox.Reshape(here, int64_constant([1, -1, 1]))
        rest = ox.Sub(m, ox.Mul(factor, row))
        return (
            ox.Add(j, one),
            ox.Where(here, row, rest),
            ox.Or(singular, found),
        )

    never = ox.Cast(start, **_BOOL)
    _, done, singular = while_loop(
        lambda j, m, singular: ox.Less(j, size), step, [start, whole, never]
    )
    ends = (dimension(a, 1), int64_constant([2**62]), int64_constant([2]))
    return [ox.Slice(done, *ends), singular]


_BOOL = {"to": dtypes.bool.onnx}


def best_pivot(x: Tensor, below: Tensor) -> Tensor:
    """The number of the row with the largest element; NaN counts most, so that it is not left out.

    Args:
        x: A column of each matrix, ``[batch, n]``.
        below: Which rows may be chosen.
    """
    size = ox.Abs(x)
    size = ox.Where(below, size, scalar_like(-1, size))
    size = ox.Where(ox.IsNaN(size), scalar_like(math.inf, size), size)
    return ox.ArgMax(size, axis=1, keepdims=1)


def _with_pivot(m: Tensor, rows: Tensor, j: Tensor) -> Tensor:
    """Exchange row ``j`` with the one below it that has the largest element in column ``j``."""
    below = ox.GreaterOrEqual(rows, j)
    best = best_pivot(ox.Gather(m, j, axis=2), below)
    other = ox.Where(ox.Equal(rows, best), j, rows)
    order = ox.Where(ox.Equal(rows, j), best, other)
    order = ox.Expand(ox.Unsqueeze(order, int64_constant([2])), ox.Shape(m))
    return ox.GatherElements(m, order, axis=1)


_eliminated = Composite(
    _elimination, "matrix_solve", routine=lapack.solve, kernel=lambda: MatrixOperation.SOLVE
)
