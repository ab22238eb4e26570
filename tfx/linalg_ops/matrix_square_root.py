"""The square root of matrices: a product iteration that uses inverses alone."""

from __future__ import annotations

from typing import Any

from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.linalg_ops.complex_matrices import embedded, of_embedded
from tfx.linalg_ops.row_loops import either, matrices, places
from tfx.linalg_ops.solve import inv, solve
from tfx.ops.array.reshape import reshape
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.open_ranks import over_batches, rank_is_open
from tfx.ops.linalg.matmul import matmul, matrix_transpose
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.reduction import reduce_max

_STEPS = 40
# The iteration has converged when a step changes nothing beyond this.
_SMALL = {dtypes.float64: 1e-15, dtypes.float32: 1e-7}


def sqrtm(input: Any, name: str | None = None) -> Tensor:
    """The principal square roots of square matrices: those whose eigenvalues have positive parts.

    Args:
        input: ``[..., n, n]`` of a floating or complex dtype, invertible, without negative
            eigenvalues.
        name: Accepted for compatibility.

    Returns:
        ``[..., n, n]`` with ``matmul(result, result)`` equal to ``input``; NaN where there is none.

    Raises:
        InvalidArgumentError: no square matrices, or one without inverse.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]).numpy().round(4)
        array([[2., 0.],
               [0., 3.]], dtype=float32)
    """
    if rank_is_open(input):
        whole: Tensor = over_batches(sqrtm, (input, 2))
        return whole
    given = matrices(input, "sqrtm", square=True, complex_too=True)
    if given.dtype.is_complex:
        return of_embedded(sqrtm(embedded(given)), given)
    a = given if given.dtype.size >= 4 else cast_to(given, dtypes.float32)
    return cast_to(_differentiable(a), given.dtype)


matrix_square_root = sqrtm


@custom_gradient
def _differentiable(a: Tensor) -> tuple[Tensor, Any]:
    root = iterated_root(stop_gradient(a))

    def gradient(dy: Tensor) -> Tensor:
        found = either(_differentiable, iterated_root)(a)
        return _sylvester(matrix_transpose(found), dy)

    return root, gradient


def iterated_root(a: Tensor) -> Tensor:
    """The roots of real matrices, for tapes that need not see how.

    Denman and Beavers' iteration in its product form: ``x`` goes to the root, ``m`` to 1.
    """
    rows, columns = places(a)
    one = cast_to(ox.Equal(rows, columns), a.dtype)
    half, quarter = scalar_like(0.5, a), scalar_like(0.25, a)

    def more(i: Tensor, x: Tensor, m: Tensor, error: Tensor) -> Tensor:
        wanted = ox.Greater(error, scalar_like(_SMALL[a.dtype], a))
        return ox.And(ox.Less(i, int64_constant(_STEPS)), wanted)

    def step(i: Tensor, x: Tensor, m: Tensor, error: Tensor) -> tuple[Tensor, ...]:
        inverse = inv(m)
        nearer = matmul(x, one + inverse) * half
        rest = half * (one + half * (m + inverse))
        change = reduce_max(ox.Abs(rest - one))
        # A step that no longer improves on rounding ends the loop.
        settled = ox.GreaterOrEqual(change, error * quarter)
        small = ox.Less(change, scalar_like(_SMALL[a.dtype] * 1e3, a))
        done = ox.And(settled, small)
        return i + 1, nearer, rest, ox.Where(done, scalar_like(0, a), change)

    start = scalar_like(1e30, a)
    found: list[Tensor] = while_loop(more, step, [int64_constant(0), a, a, start])
    return found[1]


def _sylvester(s: Tensor, dy: Tensor) -> Tensor:
    """The ``x`` of ``s x + x s = dy``, as one system of equations for all its elements."""
    rows, columns = places(s)
    one = cast_to(ox.Equal(rows, columns), s.dtype)
    # Row by row: (s x) is kron(s, 1), (x s) is kron(1, transposed s).
    turned = matrix_transpose(s)
    left = s[..., :, None, :, None] * one[:, None, :]
    right = one[:, None, :, None] * turned[..., None, :, None, :]
    size = ox.Shape(s, start=-1)
    many = ox.Mul(size, size)
    lead = ox.Shape(s, end=-2)
    square = ox.Concat(lead, many, many, axis=0)
    flat = ox.Concat(lead, many, int64_constant([1]), axis=0)
    found = solve(reshape(left + right, square), reshape(dy, flat))
    return reshape(found, ox.Shape(s))
