"""``tfx.image``: resizing with borders, and turns and crops whose chance is a seed's alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import unstack
from tfx.ops.array.where import where
from tfx.ops.common.arguments import as_int64, cast_to, static_ints, tensor
from tfx.ops.image.geometry import flip_left_right, flip_up_down, pad_to_bounding_box
from tfx.ops.image.resize import resize
from tfx.ops.random.random import stateless_uniform


def resize_with_pad(
    image: Any,
    target_height: int,
    target_width: int,
    method: Any = "bilinear",
    antialias: bool = False,
) -> Tensor:
    """Images of another size with the same ratio of sides, with zeros around them.

    Args:
        image: ``[height, width, channels]`` or a batch of them.
        target_height: Height of the results.
        target_width: Width of the results.
        method: See ``resize``.
        antialias: See ``resize``.

    Returns:
        As ``resize``.

    Raises:
        ValueError: a target below 1, or one that is not known now.

    Example:
        >>> import tfx as tf
        >>> tf.image.resize_with_pad(tf.ones([2, 2, 1]), 2, 4).numpy()[:, :, 0]
        array([[0., 1., 1., 0.],
               [0., 1., 1., 0.]], dtype=float32)
    """
    x = tensor(image)
    target = static_ints(as_int64([target_height, target_width]))
    if x.shape.rank not in (3, 4) or target is None or min(target) < 1:
        raise InvalidArgumentError(
            "resize_with_pad needs images [height, width, channels] (or a batch) and a target of "
            f"at least 1; got {x.shape} and {[target_height, target_width]}."
        )
    sides = x.shape.as_list()[-3:-1]
    if None in sides:
        resized, before = _within(x, target, method, antialias)
        return pad_to_bounding_box(resized, before[0], before[1], target[0], target[1])
    have, want = np.array(sides, np.float32), np.array(target, np.float32)
    exact = have / max(have / want)
    size = np.floor(exact).astype(int)
    front = np.maximum(np.floor((want - exact) / np.float32(2)), 0).astype(int)
    resized = resize(x, size.tolist(), method, antialias=antialias)
    return pad_to_bounding_box(resized, int(front[0]), int(front[1]), target[0], target[1])


def _within(
    x: Tensor, target: list[int], method: Any, antialias: bool
) -> tuple[Tensor, list[Tensor]]:
    """Images of a size that only a run tells, and the zeros above and on the left."""
    rank = x.shape.rank or 3
    have = cast_to(ox.Shape(x, start=rank - 3, end=rank - 1), dtypes.float32)
    want = embed(np.array(target, np.float32))
    exact = have / ox.ReduceMax(have / want, keepdims=0)
    front = ox.Floor(ox.Max((want - exact) / 2.0, embed(np.array(0, np.float32))))
    resized = resize(x, cast_to(ox.Floor(exact), dtypes.int32), method, antialias=antialias)
    return resized, unstack(cast_to(front, dtypes.int64))


def stateless_random_flip_left_right(image: Any, seed: Any) -> Tensor:
    """Mirror each image with probability 1/2, decided by a seed of two integers alone.

    Example:
        >>> import tfx as tf
        >>> tf.image.stateless_random_flip_left_right(tf.zeros([2, 2, 3]), [1, 2]).shape
        TensorShape([2, 2, 3])
    """
    x = tensor(image)
    return _by_seed(x, flip_left_right(x), seed)


def stateless_random_flip_up_down(image: Any, seed: Any) -> Tensor:
    """Flip each image vertically with probability 1/2, decided by a seed of two integers alone."""
    x = tensor(image)
    return _by_seed(x, flip_up_down(x), seed)


def _by_seed(x: Tensor, turned: Tensor, seed: Any) -> Tensor:
    count = ox.Shape(x, end=(x.shape.rank or 3) - 3)
    shape = ox.Concat(count, int64_constant([1, 1, 1]), axis=0)
    return where(stateless_uniform(shape, seed) < 0.5, turned, x)


def stateless_random_crop(value: Any, size: Any, seed: Any, name: str | None = None) -> Tensor:
    """A part of a tensor at a random place, by a seed of two integers alone.

    Args:
        value: Tensor.
        size: The size of the part along each axis, as Python integers.
        seed: Two integers.
        name: Accepted for compatibility.

    Raises:
        ValueError: a part that is larger than the tensor.

    Example:
        >>> import tfx as tf
        >>> tf.image.stateless_random_crop(tf.zeros([8, 8, 3]), [4, 4, 3], [1, 2]).shape
        TensorShape([4, 4, 3])
    """
    x = tensor(value)
    wanted = static_ints(as_int64(size))
    if wanted is None or len(wanted) != (x.shape.rank or len(wanted)):
        raise InvalidArgumentError(
            f"size must name each axis of {x.shape} and be known now; got {size!r}."
        )
    for have, part in zip(x.shape.as_list(), wanted, strict=True):
        if have is not None and part > have:
            raise InvalidArgumentError(
                f"Need value.shape >= size, got {x.shape.as_list()} and {wanted}."
            )
    room = ox.Shape(x) - int64_constant(wanted) + int64_constant([1] * len(wanted))
    chance = stateless_uniform([len(wanted)], seed, dtype=dtypes.float64)
    starts = cast_to(ox.Floor(chance * cast_to(room, dtypes.float64)), dtypes.int64)
    ends = starts + int64_constant(wanted)
    part_of = ox.Slice(x, starts, ends, int64_constant(range(len(wanted))))
    if hasattr(part_of, "set_shape"):
        part_of.set_shape(wanted)
    return part_of
