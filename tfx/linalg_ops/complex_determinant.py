"""Determinants of complex matrices: elimination with pivots on their real and imaginary parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.context import executing_eagerly, using
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.linalg_ops import lapack
from tfx.linalg_ops.row_loops import count, loop
from tfx.linalg_ops.solve import best_pivot, inv
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.complex_parts import conjugate, halves, whole
from tfx.ops.common.shapes import concat_shape, product, reshape_to, shape_vector
from tfx.ops.common.traced_once import Composite
from tfx.ops.linalg.bands import numbers
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.elementwise import abs as absolute
from tfx.ops.math.elementwise import sign
from tfx.ops.math.reduction import reduce_prod


@custom_gradient
def determinant(a: Tensor) -> Any:
    """The determinants of ``[..., n, n]``."""
    phase, size = phase_and_size(a)
    found = phase * size

    def grad(dy: Tensor) -> Tensor:
        factor: Tensor = dy * conjugate(found)
        return factor[..., None, None] * inv(a, adjoint=True)

    return found, grad


def phase_and_size(a: Tensor) -> tuple[Tensor, Tensor]:
    """The factors of determinants, of magnitude 1 and real; no tape sees how."""
    with using(tapes=()) if executing_eagerly() else using():
        lead = shape_vector(a, 0, -2)
        sizes = concat_shape(product(lead), shape_vector(a, -2))
        real, imag = (ox.Unsqueeze(reshape_to(x, sizes), _second()) for x in halves(a))
        found, swaps = _elimination(ox.Concat(real, imag, axis=1))
        real, imag = (ox.Squeeze(x, _second()) for x in _parted(found))
        pivots = reshape_to(whole(real, imag), shape_vector(a, 0, -1))
        swaps = cast_to(reshape_to(swaps, lead), a.dtype)
        phase = reduce_prod(sign(pivots), -1) * swaps
        size = cast_to(reduce_prod(absolute(pivots), -1), a.dtype)
        return stop_gradient(phase), stop_gradient(size)


def _second() -> Tensor:
    """The axis that parts stand along."""
    return int64_constant([1])


def _parted(x: Tensor) -> Sequence[Tensor]:
    """Real and imaginary parts, which stand one after the other along the second axis."""
    return ox.Split(x, axis=1, num_outputs=2, outputs=2)


def _eliminate(x: Tensor) -> Sequence[Tensor]:
    """The pivots of ``[batch, 2, n, n]``, and the sign of the order of rows."""
    size = count(x, 2)
    steps = numbers(size)
    rows = ox.Reshape(steps, int64_constant([1, 1, -1, 1]))
    columns = ox.Reshape(steps, int64_constant([1, 1, 1, -1]))
    one = ox.Expand(scalar_like(1, x), ox.Shape(x, end=1))

    def body(j: Tensor, x: Tensor, swaps: Tensor) -> list[Tensor]:
        here = ox.Reshape(j, int64_constant([1]))
        magnitude = ox.ReduceSumSquare(ox.Gather(x, j, axis=3), _second(), keepdims=0)
        best = best_pivot(magnitude, ox.GreaterOrEqual(steps, j))
        other = ox.Where(ox.Equal(steps, best), j, steps)
        places = ox.Where(ox.Equal(steps, j), best, other)
        places = ox.Expand(ox.Unsqueeze(places, int64_constant([1, 3])), ox.Shape(x))
        x = ox.GatherElements(x, places, axis=2)
        moved = ox.Not(ox.Equal(ox.Squeeze(best, _second()), j))
        line = ox.Gather(x, here, axis=2)
        factor = _quotient(ox.Gather(x, here, axis=3), ox.Gather(line, here, axis=3))
        rest = ox.Sub(x, _product(factor, line))
        inner = ox.And(ox.Greater(rows, j), ox.Greater(columns, j))
        return [ox.Where(inner, rest, x), ox.Where(moved, ox.Neg(swaps), swaps)]

    found, swaps = loop(size, body, x, one)
    on_diagonal = ox.Where(ox.Equal(rows, columns), found, scalar_like(0, x))
    return [ox.ReduceSum(on_diagonal, int64_constant([3]), keepdims=0), swaps]


def _product(x: Tensor, y: Tensor) -> Tensor:
    (a, b), (c, d) = _parted(x), _parted(y)
    real = ox.Sub(ox.Mul(a, c), ox.Mul(b, d))
    return ox.Concat(real, ox.Add(ox.Mul(a, d), ox.Mul(b, c)), axis=1)


def _quotient(x: Tensor, y: Tensor) -> Tensor:
    """``x / y``, and ``x`` where ``y`` is 0: then it is 0, too."""
    largest = ox.ReduceMax(ox.Abs(y), _second(), keepdims=1)
    scale = ox.Where(ox.Equal(largest, scalar_like(0, y)), scalar_like(1, y), largest)
    y = ox.Div(y, scale)
    length = ox.ReduceSumSquare(y, _second(), keepdims=1)
    length = ox.Where(ox.Equal(length, scalar_like(0, y)), scalar_like(1, y), length)
    c, d = _parted(y)
    return ox.Div(ox.Div(_product(x, ox.Concat(c, ox.Neg(d), axis=1)), length), scale)


_elimination = Composite(_eliminate, "complex_pivots", routine=lapack.complex_pivots)
