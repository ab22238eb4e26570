"""Shapes and the order of elements: joined, split, turned, repeated, cut and padded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tfx as tf
import tfx.experimental.numpy as tnp
from tfx.keras_backend import sparse_shapes
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.numpy.promotion import kind_of, result_type, tensor
from tfx.keras_backend.sparse import dense, is_sparse


def size(x: Any) -> Any:
    """The number of elements."""
    return tf.size(tensor(x))


def ndim(x: Any) -> Any:
    """The number of axes."""
    return tf.rank(tensor(x))


def reshape(x: Any, newshape: Any) -> Any:
    """The same elements in another shape, one size of which may be -1."""
    x = tensor(x)
    if isinstance(newshape, list | tuple) and any(tf.is_tensor(d) for d in newshape):
        newshape = tf.stack([tf.cast(d, tf.int32) for d in newshape])
    if isinstance(newshape, int):
        newshape = [newshape]
    return sparse_shapes.reshape(x, newshape) if is_sparse(x) else tf.reshape(x, newshape)


def ravel(x: Any) -> Any:
    """All elements in one axis."""
    return tf.reshape(tensor(x), [-1])


def transpose(x: Any, axes: Any = None) -> Any:
    """The axes in another order; None: reversed."""
    x = tensor(x)
    return tf.sparse.transpose(x, axes) if is_sparse(x) else tf.transpose(x, axes)


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Axes at other places, the rest in their order."""
    x = tensor(x)
    rank = x.shape.rank
    sources, targets = (
        [a % rank for a in ([axis] if isinstance(axis, int) else axis)]
        for axis in (source, destination)
    )
    if sources == targets:
        return x
    order = [a for a in range(rank) if a not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return tf.transpose(x, order)


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    x = tensor(x)
    order = list(range(x.shape.rank))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return tf.transpose(x, order)


def expand_dims(x: Any, axis: Any) -> Any:
    """With axes of size 1."""
    x = tensor(x)
    axes = [axis] if isinstance(axis, int) else list(axis)
    rank = x.shape.rank + len(axes)
    for place in sorted(_place(a, rank) for a in axes):
        x = tf.sparse.expand_dims(x, place) if is_sparse(x) else tf.expand_dims(x, place)
    return x


def _place(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}.")
    return axis % rank


def squeeze(x: Any, axis: Any = None) -> Any:
    """Without axes of size 1."""
    x = tensor(x)
    if is_sparse(x):
        return sparse_shapes.squeeze(x, axis)
    return tf.squeeze(x, list(axis) if isinstance(axis, tuple) else axis)


def broadcast_to(x: Any, shape: Any) -> Any:
    """Repeated to a shape."""
    return tf.broadcast_to(tensor(x), shape)


def _alike(xs: Any) -> list[Any]:
    """Tensors of the dtype that holds them all."""
    if tf.is_tensor(xs):
        xs = tf.unstack(xs)
    dtype = result_type(*[kind_of(x) for x in xs])
    return [convert_to_tensor(x, dtype) for x in xs]


def concatenate(xs: Any, axis: Any = 0) -> Any:
    """Tensors one after the other along an axis; None: of all elements."""
    xs = _alike(xs)
    if any(is_sparse(x) for x in xs):
        if axis is not None and all(is_sparse(x) for x in xs):
            return tf.sparse.concat(axis, xs)
        xs = [dense(x) for x in xs]
    if axis is None:
        return tf.concat([tf.reshape(x, [-1]) for x in xs], 0)
    return tf.concat(xs, axis)


def stack(x: Any, axis: int = 0) -> Any:
    """Tensors along a new axis."""
    return tf.stack(_alike(x), axis)


def hstack(xs: Any) -> Any:
    """Tensors side by side: along the second axis, vectors along the first."""
    xs = [tf.reshape(x, [1]) if x.shape.rank == 0 else x for x in _alike(xs)]
    return tf.concat(xs, 0 if xs[0].shape.rank == 1 else 1)


def vstack(xs: Any) -> Any:
    """Tensors below each other, vectors as rows."""
    xs = [tf.reshape(x, [1, -1]) if x.shape.rank < 2 else x for x in _alike(xs)]
    return tf.concat(xs, 0)


def dstack(xs: Any) -> Any:
    """Tensors along the third axis."""
    return tf.concat([_three(x) for x in _alike(xs)], 2)


def _three(x: Any) -> Any:
    if x.shape.rank < 2:
        return tf.reshape(x, [1, -1, 1])
    return x[..., None] if x.shape.rank == 2 else x


def append(x1: Any, x2: Any, axis: int | None = None) -> Any:
    """The second behind the first; without an axis all their elements."""
    return concatenate([x1, x2], axis)


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts: that many equal ones, or cut at places.

    Raises:
        ValueError: the size cannot be divided equally.
    """
    x = tensor(x)
    if isinstance(indices_or_sections, int):
        known = x.shape[axis]
        if known is not None and known % indices_or_sections:
            raise ValueError(
                f"Array split does not result in an equal division: axis {axis} of shape "
                f"{tuple(x.shape)} in {indices_or_sections} parts."
            )
        return list(tf.split(x, indices_or_sections, axis))
    return _cut(x, indices_or_sections, axis)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts of nearly one size: that many, or cut at places."""
    x = tensor(x)
    if not isinstance(indices_or_sections, int):
        return _cut(x, indices_or_sections, axis)
    each, more = divmod(x.shape[axis], indices_or_sections)
    sizes = [each + 1] * more + [each] * (indices_or_sections - more)
    return list(tf.split(x, sizes, axis))


def _cut(x: Any, places: Any, axis: int) -> list[Any]:
    """Parts between places: numbers, or a tensor of a known count that only a run tells."""
    traced = tf.is_tensor(places) and not tf.executing_eagerly()
    places = tf.unstack(places) if traced else [int(i) for i in places]
    before = (slice(None),) * (axis % x.shape.rank)
    starts, ends = [0, *places], [*places, None]
    return [x[(*before, slice(a, b))] for a, b in zip(starts, ends, strict=True)]


def hsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the second axis, of vectors along the first."""
    x = tensor(x)
    return split(x, indices_or_sections, 0 if x.shape.rank == 1 else 1)


def vsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the first axis."""
    return split(x, indices_or_sections, 0)


def dsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the third axis."""
    return split(x, indices_or_sections, 2)


def tile(x: Any, repeats: Any) -> Any:
    """Repeated as a whole along each axis."""
    x = tensor(x)
    counts: Any = [repeats] if isinstance(repeats, int) else repeats
    if tf.is_tensor(counts) and counts.shape.rank == 0:
        counts = tf.reshape(counts, [1])
    length = counts.shape[0] if tf.is_tensor(counts) else len(counts)
    missing = x.shape.rank - length
    if missing > 0:
        counts = tf.concat([[1] * missing, tf.cast(counts, tf.int32)], 0)
    return tf.tile(x[(None,) * -missing] if missing < 0 else x, counts)


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element repeated along an axis, or of all elements."""
    x = tensor(x)
    return tf.repeat(x, repeats if isinstance(repeats, int) else convert_to_tensor(repeats), axis)


def flip(x: Any, axis: Any = None) -> Any:
    """Elements in reverse order along axes."""
    x = tensor(x)
    if axis is None:
        return tf.reverse(x, list(range(x.shape.rank)))
    return tf.reverse(x, [axis] if isinstance(axis, int) else list(axis))


def fliplr(x: Any) -> Any:
    """Columns in reverse order."""
    return flip(x, 1)


def flipud(x: Any) -> Any:
    """Rows in reverse order."""
    return flip(x, 0)


def rot90(array: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turned by right angles in the plane of two axes."""
    x = tensor(array)
    rank = x.shape.rank
    if rank < 2:
        raise ValueError(
            f"Input array must have at least 2 dimensions. Received: array.ndim={rank}"
        )
    if len(axes) != 2 or axes[0] % rank == axes[1] % rank:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    return tnp.rot90(x, k % 4, tuple(a % rank for a in axes))


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """Shifted around along axes, or as a whole."""
    x = tensor(x)
    if axis is not None:
        return tf.roll(x, shift, axis)
    return tf.reshape(tf.roll(tf.reshape(x, [-1]), shift, 0), tf.shape(x))


_MODES = {"constant": "CONSTANT", "reflect": "REFLECT", "symmetric": "SYMMETRIC"}


def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> Any:
    """With more elements around.

    Raises:
        ValueError: an unknown mode, or a value for a mode that takes none.
    """
    x = tensor(x)
    if constant_values is not None and mode != "constant":
        raise ValueError(
            "Argument `constant_values` can only be provided when `mode == 'constant'`. "
            f"Received: mode={mode}"
        )
    if mode not in _MODES and mode not in ("edge", "wrap", "empty"):
        raise ValueError(f"Unsupported padding mode: {mode}")
    widths = _widths(pad_width, x.shape.rank)
    if mode in _MODES or mode == "empty":
        value = 0 if constant_values is None else constant_values
        truth = x.dtype == tf.bool
        if truth:
            x = tf.cast(x, tf.int32)
        found = tf.pad(x, widths, _MODES.get(mode, "CONSTANT"), constant_values=value)
        return tf.cast(found, tf.bool) if truth else found
    return tnp.pad(x, widths, mode)


def _widths(pad_width: Any, rank: int) -> Any:
    if isinstance(pad_width, int):
        return [[pad_width, pad_width]] * rank
    if len(pad_width) == 2 and all(isinstance(w, int) for w in pad_width):
        return [list(pad_width)] * rank
    if len(pad_width) == 1 and rank != 1:
        (only,) = pad_width
        return [[only, only] if isinstance(only, int) else list(only)] * rank
    return [[w, w] if isinstance(w, int) else list(w) for w in pad_width]


def diag(x: Any, k: int = 0) -> Any:
    """A diagonal of a matrix, or a matrix with that diagonal."""
    x = tensor(x)
    if x.shape.rank not in (1, 2):
        raise ValueError(f"`x` must be 1d or 2d. Received: x.shape={tuple(x.shape)}")
    return _of_numbers(x, lambda x: tnp.diag(x, k))


def diagflat(x: Any, k: int = 0) -> Any:
    """A matrix with the elements on a diagonal."""
    return _of_numbers(tensor(x), lambda x: tnp.diagflat(x, k))


def _of_numbers(x: Any, compute: Callable[[Any], Any]) -> Any:
    """A function that truth values go through as integers."""
    if x.dtype != tf.bool:
        return compute(x)
    return tf.cast(compute(tf.cast(x, tf.int32)), tf.bool)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A diagonal of two axes as the last one."""
    x = tensor(x)
    if x.shape.rank < 2:
        raise ValueError(
            "`diagonal` requires an array of at least two dimensions, but `x` is of shape "
            f"{tuple(x.shape)}."
        )
    return tnp.diagonal(x, offset, axis1, axis2)


def tril(x: Any, k: int = 0) -> Any:
    """Zeros above a diagonal."""
    return tnp.tril(tensor(x), k)


def triu(x: Any, k: int = 0) -> Any:
    """Zeros below a diagonal."""
    return tnp.triu(tensor(x), k)
