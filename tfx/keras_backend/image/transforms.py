"""Images moved, turned, tilted and bent: each pixel is read where it comes from."""

from __future__ import annotations

from typing import Any

from keras.src.random.seed_generator import draw_seed

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor, shape
from tfx.keras_backend.image.filters import gaussian_blur
from tfx.keras_backend.image.layout import (
    channels_to_first,
    channels_to_last,
    computed_dtype,
    images_tensor,
    is_channels_first,
    require_one_of,
)
from tfx.keras_backend.image.sampling import FILL_MODES, blended, nearest, neighbours

_INTERPOLATIONS = ("nearest", "bilinear")


def affine_transform(
    images: Any,
    transform: Any,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: Any = 0,
    data_format: Any = None,
) -> Any:
    """Images whose pixels are read at linear functions of their places.

    Raises:
        ValueError: another rank, interpolation or fill mode.
    """
    require_one_of("interpolation", interpolation, _INTERPOLATIONS)
    require_one_of("fill_mode", fill_mode, FILL_MODES)
    images = images_tensor(images)
    transform = convert_to_tensor(transform)
    if transform.shape.rank not in (1, 2):
        raise ValueError(
            "Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of "
            f"transforms). Received input with shape: transform.shape={transform.shape}"
        )
    transform = tf.reshape(transform, (-1, 8)) if transform.shape.rank == 1 else transform
    return _projected(images, transform, interpolation, fill_mode, fill_value, data_format)


def perspective_transform(
    images: Any,
    start_points: Any,
    end_points: Any,
    interpolation: str = "bilinear",
    fill_value: Any = 0,
    data_format: Any = None,
) -> Any:
    """Images tilted so that four points of each get to four others.

    Raises:
        ValueError: another rank or interpolation, or other than four points each.
    """
    require_one_of("interpolation", interpolation, _INTERPOLATIONS)
    images = images_tensor(images)
    start = _points("start_points", start_points)
    end = _points("end_points", end_points)
    if start.shape.as_list() != end.shape.as_list():
        raise ValueError(
            "start_points and end_points must have the same shape. Received "
            f"start_points.shape={start.shape}, end_points.shape={end.shape}"
        )
    if start.shape.rank == 2:
        start, end = tf.expand_dims(start, 0), tf.expand_dims(end, 0)
    transform = compute_homography_matrix(start, end)
    return _projected(images, transform, interpolation, "constant", fill_value, data_format)


def _points(name: str, points: Any) -> Any:
    """Four points, or a batch of four, in float32."""
    points = convert_to_tensor(points, "float32")
    if points.shape.rank not in (2, 3) or points.shape[-2:].as_list() != [4, 2]:
        raise ValueError(
            f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
            f"Received shape: {points.shape}"
        )
    return points


def compute_homography_matrix(start_points: Any, end_points: Any) -> Any:
    """The eight numbers of the projections that take end points to start points."""
    start = convert_to_tensor(start_points)
    end = tf.cast(convert_to_tensor(end_points), start.dtype)
    dtype = computed_dtype(start)
    x, y = tf.split(tf.cast(start, dtype), 2, axis=-1)
    end = tf.cast(end, dtype)
    one, three = tf.ones_like(x), tf.zeros_like(tf.concat([x, x, x], axis=-1))
    # For each point an equation of its x and one of its y, in the eight unknown numbers.
    of_x = tf.concat([end, one, three, -x * end], axis=-1)
    of_y = tf.concat([three, end, one, -y * end], axis=-1)
    equations = tf.concat([of_x, of_y], axis=-2)
    solved = tf.linalg.solve(equations, tf.concat([x, y], axis=-2))
    return tf.cast(tf.reshape(solved, (-1, 8)), start.dtype)


def _projected(
    images: Any, transform: Any, interpolation: str, fill_mode: str, fill: Any, data_format: Any
) -> Any:
    """Read images at projections of their places, one for each image or one for all."""
    first = is_channels_first(data_format)
    x = channels_to_last(images, first)
    height, width = shape(x)[-3:-1]
    dtype = computed_dtype(images, transform)
    columns, rows = _grid(height, width, dtype)
    numbers = tf.cast(transform, dtype)[:, :, tf.newaxis, tf.newaxis]
    a0, a1, a2, b0, b1, b2, c0, c1 = (numbers[:, place] for place in range(8))
    depth = c0 * columns + c1 * rows + 1
    # What is at no distance is nowhere: no number is a coordinate outside.
    depth = tf.where(depth == 0, tf.constant(float("nan"), dtype), depth)
    from_x = (a0 * columns + a1 * rows + a2) / depth
    from_y = (b0 * columns + b1 * rows + b2) / depth
    found = _read(x, from_y, from_x, interpolation, fill_mode, fill)
    return tf.ensure_shape(channels_to_first(found, first), images.shape)


def _grid(height: Any, width: Any, dtype: Any) -> tuple[Any, Any]:
    """The column of each pixel in a row, and the row of each in a column."""
    columns = tf.cast(tf.range(width), dtype)
    rows = tf.cast(tf.range(height), dtype)
    return columns[tf.newaxis, :], rows[:, tf.newaxis]


def _read(x: Any, rows: Any, columns: Any, interpolation: str, fill_mode: str, fill: Any) -> Any:
    """Read images at coordinates, given for each image or for all at once."""
    sizes = shape(x)[-3:-1]
    if interpolation == "nearest":
        rows, columns = _half_away(rows), _half_away(columns)
    around = neighbours if interpolation == "bilinear" else nearest
    axes = [
        around(coordinate, size, fill_mode)
        for coordinate, size in zip((rows, columns), sizes, strict=True)
    ]
    single = x.shape.rank == 3
    pixels = tf.reshape(x, (-1, sizes[0] * sizes[1], shape(x)[-1]))
    shared = single or rows.shape[0] == 1

    def pixels_at(index: Any) -> Any:
        """The pixels at indices into the flattened rows and columns."""
        if shared:
            return tf.gather(pixels, index[0], axis=1)
        places = (shape(pixels)[0], *sizes)
        return tf.gather(pixels, tf.broadcast_to(index, places), batch_dims=1)

    found = blended(pixels_at, axes, sizes, x, fill, computed_dtype(x, rows))
    return tf.squeeze(found, 0) if single else found


def _half_away(x: Any) -> Any:
    """The nearest whole numbers: of two as near the one farther from zero."""
    return tf.sign(x) * tf.floor(tf.abs(x) + 0.5)


def elastic_transform(
    images: Any,
    alpha: Any = 20.0,
    sigma: Any = 5.0,
    interpolation: str = "bilinear",
    fill_mode: str = "reflect",
    fill_value: Any = 0.0,
    seed: Any = None,
    data_format: Any = None,
) -> Any:
    """Images bent by smooth random displacements.

    Raises:
        ValueError: another rank, interpolation or fill mode.
    """
    require_one_of("interpolation", interpolation, _INTERPOLATIONS)
    require_one_of("fill_mode", fill_mode, FILL_MODES)
    images = images_tensor(images)
    first = is_channels_first(data_format)
    x = channels_to_last(images, first)
    sizes = shape(x)[-3:-1]
    batch = shape(x)[0] if x.shape.rank == 4 else 1
    dtype = computed_dtype(images)
    strength = sigma if isinstance(sigma, int | float) else convert_to_tensor(sigma, dtype)
    whole = tf.cast(strength, "int32") if tf.is_tensor(strength) else int(strength)
    side = 6 * whole + 1
    noise = tf.random.stateless_normal((batch, *sizes, 2), draw_seed(seed), dtype=dtype)
    moves = gaussian_blur(
        noise * strength, (side, side), (strength, strength), data_format="channels_last"
    )
    moves = moves * tf.cast(alpha, dtype)
    columns, rows = _grid(sizes[0], sizes[1], dtype)
    found = _read(
        x, rows + moves[..., 1], columns + moves[..., 0], interpolation, fill_mode, fill_value
    )
    return tf.ensure_shape(channels_to_first(found, first), images.shape)
