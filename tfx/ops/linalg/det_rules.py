"""The gradient of ``Det``, for imported models.

The derivative of a determinant by an element is its cofactor, the signed determinant of the matrix
without that row and column. That is right for singular matrices too, where the usual form with the
inverse is not, and is differentiable again; it takes ``n ** 2`` determinants of size ``n - 1``.
"""

from __future__ import annotations

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.batching import batching, unchanged
from tfx.ops.common.shapes import dimension, known_rank
from tfx.ops.image.sampling import count_up


@gradient("Det")
def _det_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """``dy`` times the matrix of cofactors."""
    (x,) = op.inputs
    rank = known_rank(x, "The gradient of Det")
    seeds = ox.Unsqueeze(dy, int64_constant([rank - 2, rank - 1]))
    if x.shape[-1] == 1:
        return seeds
    size = dimension(x, -1)
    steps = count_up(size)
    one = int64_constant([1])
    rows = ox.Unsqueeze(steps, one)
    # Row i has all numbers but i.
    fewer = count_up(ox.Sub(size, one))
    behind = cast_to(ox.GreaterOrEqual(fewer, rows), dtypes.int64)
    others = ox.Add(fewer, behind)
    minors = ox.Gather(x, others, axis=rank - 2)
    minors = ox.Gather(minors, others, axis=rank)
    # [..., i, n - 1, j, n - 1] -> [..., i, j, n - 1, n - 1]
    lead = tuple(range(rank - 2))
    perm = (*lead, rank - 2, rank, rank - 1, rank + 1)
    cofactors = ox.Det(ox.Transpose(minors, perm=perm))
    odd = ox.Mod(ox.Add(rows, steps), int64_constant(2))
    odd = cast_to(odd, x.dtype)
    signs = ox.Sub(scalar_like(1, x), ox.Add(odd, odd))
    return ox.Mul(seeds, ox.Mul(cofactors, signs))


batching("Det")(unchanged)
