"""Equations of matrices with three diagonals, row by row: no matrix is made of the diagonals.

Elimination exchanges neighbouring rows where that makes the pivot larger, so a row has up to three
numbers afterwards. The loop is traced once for each dtype; its gradient is not the loop's but two
more systems with the same diagonals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.linalg_ops import lapack
from tfx.linalg_ops.row_loops import count, either, loop, row, run
from tfx.ops.array.concat import stack, unstack
from tfx.ops.array.pad import pad
from tfx.ops.common.arguments import scalar_like
from tfx.ops.common.traced_once import Composite
from tfx.ops.linalg.bands import numbers
from tfx.ops.linalg.matmul import swap_last_two
from tfx.ops.math.reduction import reduce_sum


@custom_gradient
def solved(diagonals: Tensor, rhs: Tensor) -> Any:
    """The solutions.

    Args:
        diagonals: ``[..., 3, n]``: above, in and below the middle.
        rhs: ``[..., n, k]`` of the same batch.

    Raises:
        InvalidArgumentError: eagerly, a matrix without inverse.
    """
    x, pivots = _both(diagonals, rhs)
    if isinstance(pivots, EagerTensor) and not np.all(pivots.view()):
        raise InvalidArgumentError("Input matrix is not invertible.", op="TridiagonalSolve")

    def grad(dx: Tensor) -> Any:
        again = either(solved, lambda *given: _both(*given)[0])
        db = again(_adjoint(diagonals), dx)
        x = again(diagonals, rhs)
        above = -reduce_sum(db[..., :-1, :] * x[..., 1:, :], -1)
        below = -reduce_sum(db[..., 1:, :] * x[..., :-1, :], -1)
        middle = -reduce_sum(db * x, -1)
        return stack([with_end(above), middle, with_start(below)], axis=-2), db

    return x, grad


def with_end(x: Tensor) -> Tensor:
    """Vectors with a 0 behind them."""
    return pad(x, [*[[0, 0]] * ((x.shape.rank or 1) - 1), [0, 1]])


def with_start(x: Tensor) -> Tensor:
    """Vectors with a 0 in front of them."""
    return pad(x, [*[[0, 0]] * ((x.shape.rank or 1) - 1), [1, 0]])


def _adjoint(diagonals: Tensor) -> Tensor:
    above, middle, below = unstack(diagonals, 3, axis=-2)
    turned = [with_end(below[..., 1:]), middle, with_start(above[..., :-1])]
    return stack(turned, axis=-2)


def _both(diagonals: Tensor, rhs: Tensor) -> Sequence[Tensor]:
    """Solutions and pivots, through which no eager tape sees."""
    n, k = rhs.shape[-2:].as_list()
    return run(_elimination, diagonals, rhs, sizes=[[n, k], [n, 1]])


def _columns(x: Tensor, start: int, end: int = 2**62) -> Tensor:
    """Some of the last axis."""
    return ox.Slice(x, int64_constant([start]), int64_constant([end]), int64_constant([2]))


def _eliminate(diagonals: Tensor, rhs: Tensor) -> Sequence[Tensor]:
    size = count(rhs, 1)
    steps = ox.Reshape(numbers(size), int64_constant([1, -1, 1]))
    zero = scalar_like(0, rhs)
    above, middle, below = (
        swap_last_two(ox.Gather(diagonals, int64_constant([i]), axis=1)) for i in range(3)
    )
    # The number above the diagonal of the last row means nothing.
    above = ox.Where(ox.Equal(steps, ox.Sub(size, int64_constant(1))), zero, above)
    whole = ox.Concat(below, middle, above, rhs, axis=2)
    rows = ox.Pad(whole, int64_constant([0, 1]), None, int64_constant([1]))

    def forward(i: Tensor, kept: Tensor, done: Tensor) -> list[Tensor]:
        # The row that is left, from its diagonal on, and the next one.
        none = ox.Expand(zero, ox.Shape(_columns(kept, 0, 1)))
        left = ox.Concat(_columns(kept, 0, 2), none, _columns(kept, 2), axis=2)
        following = row(rows, ox.Add(i, int64_constant(1)))
        swap = ox.Greater(ox.Abs(_columns(following, 0, 1)), ox.Abs(_columns(left, 0, 1)))
        top, bottom = ox.Where(swap, following, left), ox.Where(swap, left, following)
        pivot = _columns(top, 0, 1)
        regular = ox.Where(ox.Equal(pivot, zero), scalar_like(1, rhs), pivot)
        rest = ox.Sub(bottom, ox.Mul(ox.Div(_columns(bottom, 0, 1), regular), top))
        return [_columns(rest, 1), ox.Where(ox.Equal(steps, i), top, done)]

    first = _columns(row(rows, int64_constant(0)), 1)
    _, done = loop(size, forward, first, ox.Expand(zero, ox.Shape(whole)))
    empty = ox.Expand(zero, ox.Shape(rhs))
    longer = ox.Pad(empty, int64_constant([0, 2]), None, int64_constant([1]))
    places = ox.Reshape(numbers(count(longer, 1)), int64_constant([1, -1, 1]))

    def back(i: Tensor, x: Tensor) -> list[Tensor]:
        j = ox.Sub(ox.Sub(size, int64_constant(1)), i)
        here = row(done, j)
        rest = _columns(here, 3)
        for n in (1, 2):
            known = row(x, ox.Add(j, int64_constant(n)))
            rest = ox.Sub(rest, ox.Mul(_columns(here, n, n + 1), known))
        found = ox.Div(rest, _columns(here, 0, 1))
        return [ox.Where(ox.Equal(places, j), found, x)]

    (x,) = loop(size, back, longer)
    ends = int64_constant([0]), int64_constant([-2]), int64_constant([1])
    return [ox.Slice(x, *ends), _columns(done, 0, 1)]


_elimination = Composite(_eliminate, "tridiagonal_solve", routine=lapack.tridiagonal_solve)
