"""Gradient rules of operators that move, drop or average elements, which imported models have.

All of them are linear: the gradient moves elements back to where they came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like, static_int, unbroadcast
from tfx.ops.common.batching import BatchedOp, Results, batching
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    filled,
    known_rank,
    reshape_to,
    shape_vector,
)
from tfx.ops.math.arithmetic import divide, multiply, subtract


@gradient("Mean")
def _mean_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    share = divide(dy, float(len(op.inputs)))
    return [
        unbroadcast(share, x) if need else None for x, need in zip(op.inputs, op.needs, strict=True)
    ]


@gradient("CastLike")
def _cast_like_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    return cast_to(dy, op.inputs[0].dtype), None


@gradient("Trilu")
def _trilu_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """The same triangle of the gradient."""
    rest = op.inputs[1:]
    return ox.Trilu(dy, *rest, **op.attrs), *(None for _ in rest)


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


@gradient("Dropout")
def _dropout_grad(op: OpRecord, dy: Tensor | None, *_: Any) -> Sequence[Tensor | None]:
    """Return the gradient of kept elements, scaled like the result, and 0 for dropped ones.

    Where the mask is not a result of the operator it is read off the result. An element that was 0
    before does not tell; it gets what it would get on average.
    """
    x, *options = op.inputs
    training = options[1] if len(options) > 1 else None
    none = (None,) * len(options)
    if dy is None or training is None or static_int(training) == 0:
        return dy, *none
    ratio = options[0]
    if len(op.outputs) > 1:
        return dropped(dy, ratio, training, op.outputs[1]), *none
    zero = scalar_like(0, dy)
    scaled = multiply(dy, _dropout_scale(dy, ratio))
    gone = ox.Equal(op.outputs[0], zero)
    dx = ox.Where(gone, zero, scaled)
    dx = ox.Where(ox.Equal(x, zero), dy, dx)
    if static_int(training) is None:
        dx = ox.Where(cast_to(training, dtypes.bool), dx, dy)
    return dx, *none


def dropped(x: Tensor, ratio: Tensor | None, training: Tensor, mask: Tensor) -> Tensor:
    """Return the result of ``Dropout`` for ``x`` and a given mask.

    Args:
        x: Tensor of a floating dtype.
        ratio: The operator's second input; None: its default.
        training: The third one.
        mask: What is kept.
    """
    y = ox.Where(mask, multiply(x, _dropout_scale(x, ratio)), scalar_like(0, x))
    if static_int(training) is None:
        y = ox.Where(cast_to(training, dtypes.bool), y, x)
    return y


def _dropout_scale(x: Tensor, ratio: Tensor | None) -> Tensor:
    rate = scalar_like(0.5, x) if ratio is None else cast_to(ratio, x.dtype)
    kept = subtract(1.0, rate)
    nobody = ox.Equal(kept, scalar_like(0, x))
    return divide(1.0, ox.Where(nobody, scalar_like(1, x), kept))


@batching("DepthToSpace", "SpaceToDepth")
def _depth_to_space_batching(op: BatchedOp) -> Results:
    return op.split(op.apply((op.merged(0),))[0])
