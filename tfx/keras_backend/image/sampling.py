"""Values of arrays at coordinates between their elements."""

from __future__ import annotations

import itertools
from typing import Any

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor, shape
from tfx.keras_backend.image.layout import as_dtype, computed_dtype, is_integer, require_one_of

FILL_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")

# Beyond this coordinates are as good as infinite; they still fit int32.
_FAR = 2.0**30

# An index along one axis, how much it counts (None: fully), and whether it is inside (None: yes).
Neighbour = tuple[Any, Any, Any]


def map_coordinates(
    inputs: Any, coordinates: Any, order: int, fill_mode: str = "constant", fill_value: Any = 0.0
) -> Any:
    """The elements at coordinates, one row of coordinates for each axis of the inputs.

    Raises:
        ValueError: coordinates that do not fit the inputs, or another fill mode.
        NotImplementedError: an order above 1.
    """
    inputs = convert_to_tensor(inputs)
    coordinates = convert_to_tensor(coordinates)
    if coordinates.shape[0] != inputs.shape.rank:
        raise ValueError(
            "First dim of `coordinates` must be the same as the rank of `inputs`. "
            f"Received inputs with shape: {inputs.shape} and coordinate leading dim of "
            f"{coordinates.shape[0]}"
        )
    if coordinates.shape.rank < 2:
        raise ValueError(
            "Invalid coordinates rank: expected at least rank 2. "
            f"Received input with shape: {coordinates.shape}"
        )
    require_one_of("fill_mode", fill_mode, FILL_MODES)
    if order not in (0, 1):
        raise NotImplementedError("map_coordinates currently requires order<=1")
    dtype = computed_dtype(inputs, coordinates)
    if not is_integer(coordinates):
        coordinates = tf.cast(coordinates, dtype)
    sizes = shape(inputs)
    flat = tf.reshape(inputs, (-1,))
    around = neighbours if order == 1 else nearest
    axes = [
        around(row, size, fill_mode)
        for row, size in zip(tf.unstack(coordinates), sizes, strict=True)
    ]
    return blended(lambda index: tf.gather(flat, index), axes, sizes, inputs, fill_value, dtype)


def nearest(coordinate: Any, size: Any, fill_mode: str) -> list[Neighbour]:
    """The one neighbour of coordinates along one axis: the even one of two as near."""
    if not is_integer(coordinate):
        coordinate = tf.round(_bounded(coordinate, size, fill_mode))
    index = tf.cast(coordinate, "int32")
    return [(_inside(index, size, fill_mode), None, _valid(index, size, fill_mode))]


def neighbours(coordinate: Any, size: Any, fill_mode: str) -> list[Neighbour]:
    """The two neighbours of coordinates along one axis; one for those that are integers."""
    if is_integer(coordinate):
        return nearest(coordinate, size, fill_mode)
    coordinate = _bounded(coordinate, size, fill_mode)
    lower = tf.floor(coordinate)
    upper_weight = coordinate - lower
    index = tf.cast(lower, "int32")
    return [
        (_inside(at, size, fill_mode), weight, _valid(at, size, fill_mode))
        for at, weight in ((index, 1 - upper_weight), (index + 1, upper_weight))
    ]


def _bounded(coordinate: Any, size: Any, fill_mode: str) -> Any:
    """Coordinates that can be converted to integers; what is far outside stays outside."""
    ends = (-_FAR, _FAR)
    if fill_mode == "constant":
        ends = (-2, size + 1)
    elif fill_mode == "nearest":
        ends = (0, size - 1)
    low, high = (tf.cast(end, coordinate.dtype) for end in ends)
    known = tf.where(tf.math.is_nan(coordinate), low, coordinate)
    return tf.minimum(tf.maximum(known, low), high)


def _inside(index: Any, size: Any, fill_mode: str) -> Any:
    """The elements that stand for those of the indices that are outside."""
    if fill_mode in ("constant", "nearest"):
        return tf.minimum(tf.maximum(index, 0), size - 1)
    if fill_mode == "wrap":
        return tf.math.floormod(index, size)
    if fill_mode == "reflect":
        index = tf.math.floormod(index, 2 * size)
        return tf.minimum(index, 2 * size - 1 - index)
    turn = 2 * size - 2
    index = tf.math.floormod(index, tf.maximum(turn, 1))
    return tf.minimum(index, turn - index)


def _valid(index: Any, size: Any, fill_mode: str) -> Any:
    """Whether the indices are inside; None where all indices have an element."""
    return (index >= 0) & (index < size) if fill_mode == "constant" else None


def blended(
    read: Any, axes: list[list[Neighbour]], sizes: tuple[Any, ...], x: Any, fill: Any, dtype: Any
) -> Any:
    """The weighted sum of the neighbours of each point.

    Args:
        read: The elements of ``x`` at indices into its flattened axes.
        axes: The neighbours along each axis.
        sizes: The sizes of the axes.
        x: What is read: its dtype is that of the result.
        fill: What neighbours outside count as.
        dtype: The dtype of the sum.
    """
    total: Any = None
    for corner in itertools.product(*axes):
        index, weight, valid = corner[0]
        for size, (at, more, ok) in zip(sizes[1:], corner[1:], strict=True):
            index = index * size + at
            weight = more if weight is None else weight if more is None else weight * more
            valid = ok if valid is None else valid if ok is None else valid & ok
        found = read(index)
        extra = [1] * (found.shape.rank - index.shape.rank)
        if valid is not None:
            found = tf.where(_widened(valid, extra), found, convert_to_tensor(fill, x.dtype))
        if weight is not None:
            found = tf.cast(found, dtype) * _widened(weight, extra)
        total = found if total is None else total + found
    return as_dtype(total, x.dtype)


def _widened(x: Any, extra: list[int]) -> Any:
    """The same with axes of size one at the end."""
    for _ in extra:
        x = tf.expand_dims(x, -1)
    return x
