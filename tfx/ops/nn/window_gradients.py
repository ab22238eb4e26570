"""Gradients of ``Col2Im`` and ``MaxUnpool``, for imported models."""

from __future__ import annotations

from tfx.core.errors import UnimplementedError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.shapes import dimension, reshape_to, shape_vector
from tfx.ops.image.sampling import count_up


@gradient("Col2Im")
def _col2im_grad(op: OpRecord, dy: Tensor) -> tuple[Tensor | None, None, None]:
    """The patches of ``dy``: each axis is read at the places of each tap."""
    columns, image_shape, block_shape = op.inputs
    axes = image_shape.shape[0] or block_shape.shape[0]
    if axes is None:
        raise UnimplementedError(
            f"The gradient of Col2Im needs to know the number of axes; got {image_shape!r}.",
            op="Col2Im",
        )
    pads = tuple(op.attrs.get("pads") or (0,) * (2 * axes))
    if any(pads):
        flat = (0, 0, *pads[:axes], 0, 0, *pads[axes:])
        dy = ox.Pad(dy, int64_constant(flat))
    for i in range(axes):
        places = _places(op, i, block_shape, dimension(dy, 2 + 2 * i))
        dy = ox.Gather(dy, places, axis=2 + 2 * i)
    # [n, c, k1, l1, k2, l2] -> [n, c, k1, k2, l1, l2]
    perm = (0, 1, *range(2, 2 + 2 * axes, 2), *range(3, 2 + 2 * axes, 2))
    turned = ox.Transpose(dy, perm=perm)
    return reshape_to(turned, shape_vector(columns)), None, None


def _places(op: OpRecord, i: int, block_shape: Tensor, size: Tensor) -> Tensor:
    """Where each tap of a block lies at each position along axis ``i``: ``[taps, positions]``."""
    attrs, one = op.attrs, int64_constant([1])
    stride = int64_constant([attrs["strides"][i] if attrs.get("strides") else 1])
    dilation = int64_constant([attrs["dilations"][i] if attrs.get("dilations") else 1])
    block = ox.Gather(block_shape, int64_constant([i]))
    reach = ox.Mul(ox.Sub(block, one), dilation)
    room = ox.Sub(ox.Sub(size, reach), one)
    count = ox.Add(ox.Div(room, stride), one)
    taps = ox.Mul(count_up(block), dilation)
    starts = ox.Mul(count_up(count), stride)
    return ox.Add(ox.Unsqueeze(taps, one), starts)


@gradient("MaxUnpool")
def _max_unpool_grad(op: OpRecord, dy: Tensor) -> tuple[Tensor | None, ...]:
    """Every element takes the gradient of the place that it was put to."""
    places = op.inputs[1]
    flat = ox.Reshape(dy, int64_constant([-1]))
    return ox.Gather(flat, places), *(None for _ in op.inputs[1:])
