"""Gradients of ``Col2Im`` and ``MaxUnpool``, for imported models."""

from __future__ import annotations

from tfx.core.errors import UnimplementedError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient, linear
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ops.common.batching import BatchedOp, Results, as_one_batch, batching
from tfx.ops.common.shapes import concat_shape, dimension, product, reshape_to, shape_vector
from tfx.ops.image.sampling import count_up
from tfx.ops.nn.pooling import _starts


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


linear("Col2Im", inputs=(0,))


def _places(op: OpRecord, i: int, block_shape: Tensor, size: Tensor) -> Tensor:
    """Return positions of a block's taps along axis ``i``: ``[taps, positions]``."""
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


linear("MaxUnpool", inputs=(0,))


@batching("MaxUnpool")
def _max_unpool_batching(op: BatchedOp) -> Results:
    """Places are moved behind the images of the elements before."""
    op.only(0, 1)
    x, places = op.full(0), op.full(1)
    if op.given(2):
        shape = cast_to(op.input(2), places.dtype)
        first = ox.Slice(shape, int64_constant([0]), int64_constant([1]))
        rest = ox.Slice(shape, int64_constant([1]), int64_constant([2**62]))
        target = ox.Concat(ox.Mul(first, op.lead()), rest, axis=0)
        length = product(shape)
    else:
        target = None
        length = product(concat_shape(shape_vector(x, 1, 3), _unpooled(op, x)))
    moved = ox.Add(places, _starts(op, places, length))
    lead = int64_constant([-1])
    given = [ox.Reshape(v, concat_shape(lead, shape_vector(v, 2))) for v in (x, moved)]
    return op.split(op.apply((*given, target) if target is not None else given)[0])


def _unpooled(op: BatchedOp, x: Tensor) -> Tensor:
    """The spatial sizes of the result."""
    kernel = op.attrs["kernel_shape"]
    axes = len(kernel)
    strides = op.attrs.get("strides") or (1,) * axes
    pads = op.attrs.get("pads") or (0,) * (2 * axes)
    steps = ox.Sub(shape_vector(x, 3), int64_constant([1]))
    ends = [k - pads[i] - pads[axes + i] for i, k in enumerate(kernel)]
    return ox.Add(ox.Mul(steps, int64_constant(strides)), int64_constant(ends))


batching("Col2Im")(as_one_batch)
