"""Gradient rules of operators that move, drop or average elements, which imported models have.

All of them are linear: the gradient moves elements back to where they came from.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, forward, gradient, linear
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import scalar_like, unbroadcast
from tfx.ops.common.batching import BatchedOp, CannotBatchError, Results, as_one_batch, batching
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    filled,
    known_rank,
    reshape_to,
    shape_vector,
)
from tfx.ops.common.tangents import spread, summed
from tfx.ops.math.arithmetic import divide


@gradient("Mean")
def _mean_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    share = divide(dy, float(len(op.inputs)))
    return [
        unbroadcast(share, x) if need else None for x, need in zip(op.inputs, op.needs, strict=True)
    ]


@forward("Mean")
def _mean_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor:
    total = summed(tangents)
    return spread(ox.Div(total, scalar_like(len(tangents), total)), op.outputs[0])


@gradient("DepthToSpace")
def _depth_to_space_grad(op: OpRecord, dy: Tensor) -> Tensor:
    block = op.attrs["blocksize"]
    if op.attrs.get("mode", "DCR") in ("DCR", b"DCR"):
        return ox.SpaceToDepth(dy, blocksize=block)
    # [n, c, h * b, w * b] -> [n, c, h, b, w, b] -> [n, c, b, b, h, w] -> [n, c * b * b, h, w]
    x = op.inputs[0]
    sides = [concat_shape(dimension(x, i), int64_constant([block])) for i in (2, 3)]
    parts = reshape_to(dy, concat_shape(shape_vector(dy, 0, 2), *sides))
    return reshape_to(ox.Transpose(parts, perm=(0, 1, 3, 5, 2, 4)), shape_vector(x))


@gradient("SpaceToDepth")
def _space_to_depth_grad(op: OpRecord, dy: Tensor) -> Tensor:
    return ox.DepthToSpace(dy, blocksize=op.attrs["blocksize"])


@gradient("CenterCropPad")
def _center_crop_pad_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """Return the gradient with cropped axes padded and padded axes cropped, around the middle."""
    x = op.inputs[0]
    sizes, axes = shape_vector(x), op.attrs.get("axes")
    if axes:
        rank = known_rank(x, op.op)
        sizes = ox.Gather(sizes, int64_constant([a % rank for a in axes]))
    return ox.CenterCropPad(dy, sizes, **op.attrs), None


linear("DepthToSpace", "SpaceToDepth", "CenterCropPad", inputs=(0,))


@gradient("TensorScatter")
def _tensor_scatter_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """Return zeros for overwritten elements of the cache, and the update's gathered gradient."""
    cache, update, *starts = op.inputs
    rank = known_rank(cache, op.op)
    axis = op.attrs.get("axis", -2) % rank
    length = ox.Squeeze(dimension(update, axis))
    places = ox.Range(int64_constant(0), length, int64_constant(1))
    places = ox.Reshape(places, int64_constant([-1] + [1] * (rank - 1 - axis)))
    if starts and starts[0] is not None:
        first = int64_constant([-1] + [1] * (rank - 1))
        places = ox.Add(places, ox.Reshape(starts[0], first))
    if op.attrs.get("mode", "linear") in ("circular", b"circular"):
        places = ox.Mod(places, ox.Squeeze(dimension(cache, axis)))
    places = ox.Expand(places, shape_vector(update))
    dcache = dupdate = None
    if op.needs[0]:
        nothing = filled(shape_vector(update), 0, dy.dtype)
        dcache = ox.ScatterElements(dy, places, nothing, axis=axis)
    if op.needs[1]:
        dupdate = ox.GatherElements(dy, places, axis=axis)
    return dcache, dupdate, *(None for _ in starts)


batching("DepthToSpace", "SpaceToDepth")(as_one_batch)


@batching("CenterCropPad")
def _center_crop_pad_batching(op: BatchedOp) -> Results:
    """The same axes, one further back."""
    op.only(0)
    axes = op.attrs.get("axes") or range(op.rank(0))
    moved = tuple(a + 1 if a >= 0 else a for a in axes)
    if not moved:
        raise CannotBatchError("there are no axes")
    return op.apply(op.inputs, {**op.attrs, "axes": moved})


@batching("TensorScatter")
def _tensor_scatter_batching(op: BatchedOp) -> Results:
    inputs = [None if x is None else op.merged(i) for i, x in enumerate(op.inputs)]
    return op.split(op.apply(inputs)[0])
