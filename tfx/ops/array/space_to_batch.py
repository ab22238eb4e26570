"""Space to depth, space to batch, and back: blocks of neighbours moved to another axis.

All of it is reshaping and transposing, so gradients come for nothing.
"""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.guards import not_negative, refused_unless
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import stack, unstack
from tfx.ops.array.creation import zeros, zeros_like
from tfx.ops.array.pad import pad
from tfx.ops.common.arguments import INT64_MAX, cast_to, static_int, static_ints, tensor
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.shapes import (
    concat_shape,
    describe,
    known_rank,
    product,
    raw_shape,
    reshape_to,
    shape_argument,
    shape_vector,
)


def space_to_depth(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Blocks of ``block_size`` by ``block_size`` pixels laid behind each other as channels.

    Args:
        input: ``[batch, height, width, channels]``, or for ``"NCHW"`` with the channels second.
        block_size: Length of a block's side, 2 or more.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        name: Accepted for compatibility.

    Returns:
        An image of a ``block_size``-th of the height and width.

    Example:
        >>> import tfx as tf
        >>> tf.nn.space_to_depth([[[[1], [2]], [[3], [4]]]], 2).numpy()
        array([[[[1, 2, 3, 4]]]], dtype=int32)
    """
    x = _image(input, block_size, data_format)
    height, width, channels = _places(data_format)
    b = block_size
    _divides(x, (height, width), b)
    batch, depth = shape_vector(x, 0, 1), shape_vector(x, channels, channels + 1)
    rows, columns = (_divided(shape_vector(x, a, a + 1), b) for a in (height, width))
    side = int64_constant([b])
    if data_format == "NCHW":
        apart = reshape_to(x, concat_shape(batch, depth, rows, side, columns, side))
        order: tuple[int, ...] = (0, 3, 5, 1, 2, 4)
        shape = concat_shape(batch, product(concat_shape(depth, side, side)), rows, columns)
    else:
        apart = reshape_to(x, concat_shape(batch, rows, side, columns, side, depth))
        order = (0, 1, 3, 2, 4, 5)
        shape = concat_shape(batch, rows, columns, product(concat_shape(depth, side, side)))
    return reshape_to(ox.Transpose(apart, perm=order), shape)


def depth_to_space(
    input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The inverse of ``space_to_depth``: channels spread over blocks of pixels.

    Example:
        >>> import tfx as tf
        >>> tf.nn.depth_to_space([[[[1, 2, 3, 4]]]], 2).numpy()[0, :, :, 0]
        array([[1, 2],
               [3, 4]], dtype=int32)
    """
    x = _image(input, block_size, data_format)
    height, width, channels = _places(data_format)
    b = block_size
    _divides(x, (channels,), b * b)
    batch = shape_vector(x, 0, 1)
    rows, columns = shape_vector(x, height, height + 1), shape_vector(x, width, width + 1)
    depth = _divided(shape_vector(x, channels, channels + 1), b * b)
    side = int64_constant([b])
    tall, wide = product(concat_shape(rows, side)), product(concat_shape(columns, side))
    if data_format == "NCHW":
        apart = reshape_to(x, concat_shape(batch, side, side, depth, rows, columns))
        order: tuple[int, ...] = (0, 3, 4, 1, 5, 2)
        shape = concat_shape(batch, depth, tall, wide)
    else:
        apart = reshape_to(x, concat_shape(batch, rows, columns, side, side, depth))
        order = (0, 1, 3, 2, 4, 5)
        shape = concat_shape(batch, tall, wide, depth)
    return reshape_to(ox.Transpose(apart, perm=order), shape)


def _image(input: Any, block_size: int, data_format: str) -> Tensor:
    if data_format not in ("NHWC", "NCHW"):
        raise InvalidArgumentError(f"data_format must be 'NHWC' or 'NCHW'; got {data_format!r}.")
    x = of_rank(tensor(input), 4)
    if block_size < 2:
        raise InvalidArgumentError(
            f"Value for attr 'block_size' of {block_size} must be at least minimum 2"
        )
    if known_rank(x, "space_to_depth and depth_to_space") != 4:
        raise InvalidArgumentError(f"Input rank should be 4; got shape {describe(x)}.")
    return x


def _places(data_format: str) -> tuple[int, int, int]:
    return (1, 2, 3) if data_format == "NHWC" else (2, 3, 1)


def _divides(x: Tensor, axes: tuple[int, ...], by: int) -> None:
    shape = raw_shape(x)
    for a in axes:
        dim = None if shape is None else shape[a]
        if isinstance(dim, int) and dim % by:
            raise InvalidArgumentError(
                f"Dimension {a} of shape {describe(x)} must be divisible by {by}."
            )


def _divided(vector: Tensor, by: int) -> Tensor:
    known = static_ints(vector)
    if known is not None:
        return int64_constant([d // by for d in known])
    return ox.Div(vector, int64_constant(by))


def space_to_batch(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """Blocks of the axes behind the first laid behind each other as batch entries.

    Args:
        input: ``[batch, *space, ...]``.
        block_shape: Length of a block along each axis of ``space``.
        paddings: Zeros in front of and behind each axis of ``space``, ``[len(block_shape), 2]``.
        name: Accepted for compatibility.

    Returns:
        ``[batch * prod(block_shape), *(padded space / block_shape), ...]``.

    Example:
        >>> import tfx as tf
        >>> tf.space_to_batch([[[[1], [2]], [[3], [4]]]], [2, 2], [[0, 0], [0, 0]]).shape
        TensorShape([4, 1, 1, 1])
    """
    x = tensor(input)
    blocks, borders = _block_lengths(block_shape, paddings)
    rank, count = known_rank(x, "space_to_batch"), len(blocks)
    x = pad(x, [[0, 0], *borders, *[[0, 0]] * (rank - count - 1)])
    batch, behind = shape_vector(x, 0, 1), shape_vector(x, count + 1)
    shape = [batch]
    sizes = []
    for i, b in enumerate(blocks):
        _divides(x, (i + 1,), b)
        sizes.append(_divided(shape_vector(x, i + 1, i + 2), b))
        shape += [sizes[-1], int64_constant([b])]
    apart = reshape_to(x, concat_shape(*shape, behind))
    order = (
        *(2 * i + 2 for i in range(count)),
        0,
        *(2 * i + 1 for i in range(count)),
        *range(2 * count + 1, rank + count),
    )
    entries = product(concat_shape(batch, int64_constant(blocks)))
    moved = ox.Transpose(apart, perm=order)
    return reshape_to(moved, concat_shape(entries, *sizes, behind))


# TensorFlow's other name.
space_to_batch_nd = space_to_batch


def batch_to_space(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """The inverse of ``space_to_batch``: batch entries spread over blocks, borders cut off.

    Args:
        input: ``[batch, *space, ...]``.
        block_shape: Length of a block along each axis of ``space``; a single number: of two axes.
        crops: What to cut off in front of and behind each axis of ``space``.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> x = tf.reshape(tf.range(4), [4, 1, 1, 1])
        >>> tf.batch_to_space(x, [2, 2], [[0, 0], [0, 1]]).shape
        TensorShape([1, 2, 1, 1])
    """
    x = tensor(input)
    if isinstance(block_shape, int):
        block_shape = [block_shape] * 2
    blocks, borders = _block_lengths(block_shape, crops)
    rank, count = known_rank(x, "batch_to_space"), len(blocks)
    if rank < count + 1:
        raise InvalidArgumentError(
            f"input rank should be >= {count + 1} in batch_to_space; got shape {describe(x)}."
        )
    whole = 1
    for b in blocks:
        whole *= b
    _divides(x, (0,), whole)
    batch = _divided(shape_vector(x, 0, 1), whole)
    space = [shape_vector(x, i + 1, i + 2) for i in range(count)]
    behind = shape_vector(x, count + 1)
    apart = reshape_to(x, concat_shape(int64_constant(blocks), batch, *space, behind))
    pairs = [axis for i in range(count) for axis in (count + 1 + i, i)]
    order = (count, *pairs, *range(2 * count + 1, rank + count))
    moved = ox.Transpose(apart, perm=order)
    wide = [
        product(concat_shape(s, int64_constant([b]))) for s, b in zip(space, blocks, strict=True)
    ]
    result = reshape_to(moved, concat_shape(batch, *wide, behind))
    starts = int64_constant([c[0] for c in borders])
    ends = [-c[1] if c[1] else INT64_MAX for c in borders]
    if not any(map(any, borders)):
        return result
    starts = _inside(starts, borders, wide)
    axes = int64_constant(range(1, count + 1))
    return ox.Slice(result, starts, int64_constant(ends), axes)


def _inside(starts: Tensor, borders: list[list[int]], wide: list[Tensor]) -> Tensor:
    """The starts of what is left, refused if a border is wider than there is room for."""
    lengths = [static_int(w) for w in wide]
    for i, (crops, length) in enumerate(zip(borders, lengths, strict=True)):
        if min(crops) < 0 or (length is not None and sum(crops) > length):
            raise InvalidArgumentError(
                f"crops[{i}] of batch_to_space must be two numbers of 0 or more whose sum is at "
                f"most the size {'' if length is None else f'{length} '}of the axis; got {crops}.",
                op="BatchToSpaceND",
            )
    if None not in lengths:
        return starts
    room = ox.Sub(ox.Concat(*wide, axis=0), int64_constant([sum(crops) for crops in borders]))
    return refused_unless(not_negative(room), starts, Refusal.SLICED)


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The paddings with which blocks fit into a shape, and the crops that take them off again.

    Args:
        input_shape: int32 sizes, ``[axes]``.
        block_shape: Length of a block along each axis.
        base_paddings: Paddings that there have to be at least, ``[axes, 2]``; None: none.
        name: Accepted for compatibility.

    Returns:
        Paddings and crops, int32, ``[axes, 2]``.

    Example:
        >>> import tfx as tf
        >>> paddings, crops = tf.required_space_to_batch_paddings([5, 11], [3, 2])
        >>> paddings.numpy().tolist(), crops.numpy().tolist()
        ([[0, 1], [0, 1]], [[0, 1], [0, 1]])
    """
    sizes, blocks = (cast_to(tensor(x), dtypes.int32) for x in (input_shape, block_shape))
    least = zeros([blocks.shape[0] or 0, 2], dtypes.int32) if base_paddings is None else None
    base = cast_to(tensor(base_paddings), dtypes.int32) if least is None else least
    starts, ends = unstack(base, axis=1)
    # Python's remainder, which is never negative: what is missing to the next multiple.
    missing = ox.Mod(ox.Neg(ox.Add(ox.Add(sizes, starts), ends)), blocks)
    paddings = stack([starts, ox.Add(ends, missing)], axis=1)
    return paddings, stack([zeros_like(missing), missing], axis=1)


def _block_lengths(block_shape: Any, amounts: Any) -> tuple[list[int], list[list[int]]]:
    """The lengths of blocks, and what is around them."""
    borders = _pairs(amounts)
    known = static_ints(shape_argument(block_shape, "block_shape"))
    if known is None or min(known, default=1) < 1:
        raise InvalidArgumentError(
            f"block_shape must be numbers of 1 or more, known while tracing; got {block_shape!r}."
        )
    if raw_shape(tensor(block_shape)) == () or len(known) != len(borders):
        raise InvalidArgumentError(
            f"block_shape must have a number for each of the {len(borders)} pairs of paddings or "
            f"crops; got {block_shape!r}."
        )
    return known, borders


def _pairs(amounts: Any) -> list[list[int]]:
    known = static_ints(tensor(amounts))
    if known is None or len(known) % 2:
        raise InvalidArgumentError(
            f"Paddings and crops must be pairs of numbers known while tracing; got {amounts!r}."
        )
    return [known[i : i + 2] for i in range(0, len(known), 2)]
