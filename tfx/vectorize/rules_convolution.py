"""Batching rules of convolutions.

Images of all elements are more images; filters of all elements are more channels of the result.
Where both differ, every element is a group of its own: that is one grouped convolution.
"""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.vectorize.merged_axes import folded, known_size, per_channel, unfolded
from tfx.vectorize.rules import BatchedOp, Results, batching


@batching("Conv")
def _conv(op: BatchedOp) -> Results:
    """``[n, c, *sizes]`` with ``[o, c / groups, *kernel]``."""
    group = int(op.attrs.get("group", 1))
    rank = op.rank(0)
    inside = op.input(2) if op.given(2) and not op.batched[2] and not op.batched[1] else None
    if not op.batched[1]:
        y = op.split(op.apply((op.merged(0), op.input(1), inside))[0])
    elif not op.batched[0]:
        filters = folded(op.input(1), 0, group)
        y = unfolded(op, op.apply((op.input(0), filters))[0], 1, group)
    else:
        attrs = {**op.attrs, "group": group * known_size(op)}
        images, filters = folded(op.input(0), 1), folded(op.input(1), 0)
        y = unfolded(op, op.apply((images, filters), attrs)[0], 1)
    return _with_bias(op, y, rank) if inside is None else y


@batching("ConvTranspose")
def _conv_transpose(op: BatchedOp) -> Results:
    """``[n, c, *sizes]`` with ``[c, o / groups, *kernel]``."""
    group = int(op.attrs.get("group", 1))
    rank = op.rank(0)
    inside = op.input(2) if op.given(2) and not op.batched[2] and not op.batched[1] else None
    if not op.batched[1]:
        y = op.split(op.apply((op.merged(0), op.input(1), inside))[0])
    elif not op.batched[0]:
        filters = folded(op.input(1), 1)
        y = unfolded(op, op.apply((op.input(0), filters))[0], 1, group)
    else:
        attrs = {**op.attrs, "group": group * known_size(op)}
        images, filters = folded(op.input(0), 1), folded(op.input(1), 0)
        y = unfolded(op, op.apply((images, filters), attrs)[0], 1)
    return _with_bias(op, y, rank) if inside is None else y


def _with_bias(op: BatchedOp, y: Tensor, rank: int) -> Tensor:
    if not op.given(2):
        return y
    bias = op.input(2)
    if not op.batched[2]:
        return ox.Add(y, ox.Reshape(bias, int64_constant([-1, *([1] * (rank - 2))])))
    return ox.Add(y, per_channel(bias, rank))


@batching("DeformConv")
def _deform_conv(op: BatchedOp) -> Results:
    """Images, offsets and masks of all elements together; the filter is one."""
    op.only(0, 2, 4)
    given = [
        op.merged(i) if i in (0, 2, 4) and x is not None else x for i, x in enumerate(op.inputs)
    ]
    return op.split(op.apply(given)[0])
