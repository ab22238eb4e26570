"""Complex matrices as real ones of twice the size, which the decompositions of real ones take.

A number ``a + ib`` becomes ``[[a, -b], [b, a]]`` in its place. Products, inverses and adjoints of
such matrices are such matrices again, and triangles with real diagonals stay triangles: what is
found of the real matrix is what is looked for, or has it twice.
"""

from __future__ import annotations

from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat, stack
from tfx.ops.array.reshape import reshape
from tfx.ops.array.shape import shape
from tfx.ops.common.complex_parts import halves, whole


def embedded(a: Tensor) -> Tensor:
    """``[..., m, n]`` as real matrices ``[..., 2m, 2n]``."""
    real, imag = halves(a)
    rows = stack([stack([real, -imag], axis=-1), stack([imag, real], axis=-1)], axis=-3)
    return _reshaped(rows, a, 2, 2)


def columns(b: Tensor) -> Tensor:
    """``[..., m, n]`` as real columns ``[..., 2m, n]``: what an embedded matrix is applied to."""
    return _reshaped(stack(halves(b), axis=-2), b, 2, 1)


def of_columns(x: Tensor, like: Tensor) -> Tensor:
    """The complex matrices of real columns, of the shape of others."""
    parted = reshape(x, concat([shape(like)[:-1], [2], shape(like)[-1:]], 0))
    return whole(parted[..., 0, :], parted[..., 1, :])


def of_embedded(x: Tensor, like: Tensor) -> Tensor:
    """The complex matrices of embedded ones, of the shape of others."""
    known = shape(like)
    parted = reshape(x, concat([known[:-1], [2], known[-1:], [2]], 0))
    return whole(parted[..., 0, :, 0], parted[..., 1, :, 0])


def _reshaped(x: Tensor, like: Tensor, rows: int, across: int) -> Tensor:
    known = shape(like)
    sizes = [known[:-2], known[-2:-1] * rows, known[-1:] * across]
    return reshape(x, concat(sizes, 0))
