"""``tfx.image``: random parts of images that show enough of an object, for training data.

The decision: all attempts are drawn at once, ``[max_attempts]`` of them, and the first that is good
is taken. So a function with it has no loop, and can be saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tfx.core import dtypes
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import constant, int64_constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.concat import concat, stack, unstack
from tfx.ops.array.where import where
from tfx.ops.common.arguments import cast_to, tensor
from tfx.ops.math.arithmetic import maximum, minimum
from tfx.ops.math.comparison import greater, greater_equal, less, less_equal
from tfx.ops.math.elementwise import floor, round, sqrt
from tfx.ops.random.random import stateless_uniform, uniform

_ATTEMPTS, _ASPECTS, _AREAS = 100, (0.75, 1.33), (0.05, 1.0)
# Objects of a smaller area, in pixels, are not looked at.
_LEAST_AREA = 1.0


class _Parts(NamedTuple):
    """Rectangles in pixels, float64 ``[attempts]`` each."""

    top: Tensor
    left: Tensor
    height: Tensor
    width: Tensor


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = 0,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """A random part of an image that shows enough of one of its objects.

    Args:
        image_size: Integers ``[height, width, channels]``.
        bounding_boxes: float32 ``[batch, n, 4]``: ``[y1, x1, y2, x2]`` as parts of height and
            width, from 0 to 1.
        seed: The operation's own seed; 0 or None: none.
        min_object_covered: How much of an object's area the part must show at least.
        aspect_ratio_range: Width over height of the part; 0.75 to 1.33 by default.
        area_range: Its area as a part of the image's; 0.05 to 1 by default.
        max_attempts: After so many (100) it is the whole image.
        use_image_if_no_bounding_boxes: Without boxes, take the image for the object.
        name: Accepted for compatibility.

    Returns:
        ``begin`` and ``size`` for ``tf.slice``, of the dtype of ``image_size``, and the part as
        float32 ``[1, 1, 4]`` for ``tf.image.draw_bounding_boxes``.

    Raises:
        InvalidArgumentError: another shape, no boxes, or, where they are known, boxes outside of
            the image.
        ValueError: a range that is none, or fewer than one attempt.

    Example:
        >>> import tfx as tf
        >>> image = tf.random.uniform([50, 80, 3])
        >>> begin, size, _ = tf.image.sample_distorted_bounding_box(
        ...     tf.shape(image), [[[0.2, 0.3, 0.7, 0.9]]]
        ... )
        >>> tf.slice(image, begin, size).shape[-1]
        3
    """
    attempts = _ATTEMPTS if max_attempts is None else max_attempts
    chance = uniform([4, attempts], dtype=dtypes.float64, seed=seed or None)
    how = (min_object_covered, aspect_ratio_range, area_range, attempts)
    return _sampled(image_size, bounding_boxes, chance, *how, use_image_if_no_bounding_boxes)


def stateless_sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """``sample_distorted_bounding_box`` by a seed of two integers alone."""
    attempts = _ATTEMPTS if max_attempts is None else max_attempts
    chance = stateless_uniform([4, attempts], seed, dtype=dtypes.float64)
    how = (min_object_covered, aspect_ratio_range, area_range, attempts)
    return _sampled(image_size, bounding_boxes, chance, *how, use_image_if_no_bounding_boxes)


def _sampled(
    image_size: Any,
    bounding_boxes: Any,
    chance: Tensor,
    least: Any,
    aspects: Sequence[float] | None,
    areas: Sequence[float] | None,
    attempts: int,
    use_image: bool | None,
) -> tuple[Tensor, Tensor, Tensor]:
    size, boxes = tensor(image_size), _boxes(bounding_boxes, bool(use_image))
    if attempts < 1:
        raise InvalidArgumentError(f"max_attempts must be at least 1; got {attempts}.")
    if not size.dtype.is_integer:
        raise DTypeMismatchError(f"image_size must be integers; got {size.dtype.name}.")
    if size.shape.as_list() != [3]:
        raise InvalidArgumentError(
            f"image_size must contain 3 elements: height, width, channels; got shape {size.shape}."
        )
    height, width, _ = unstack(cast_to(size, dtypes.float64))
    low, high = _range("aspect_ratio_range", _ASPECTS if aspects is None else aspects)
    small, large = _range("area_range", _AREAS if areas is None else areas)
    shape, lift, *places = unstack(chance)
    aspect = shape * (high - low) + low
    limits = height * width * small, height * width * large
    parts, good = _parts(aspect, lift, places, (height, width), limits)
    shown = _covers(parts, boxes, (height, width), cast_to(tensor(least), dtypes.float64))
    good = ox.And(good, shown)
    first = ox.ArgMax(cast_to(good, dtypes.int32), axis=0, keepdims=0)
    found = ox.ReduceMax(cast_to(good, dtypes.int32), int64_constant([0]), keepdims=0)
    whole = _Parts(height * 0.0, height * 0.0, height, width)
    chosen = [
        where(greater(found, 0), ox.Gather(part, first), instead)
        for part, instead in zip(parts, whole, strict=True)
    ]
    top, left, tall, wide = chosen
    zero = height * 0.0
    begin = cast_to(stack([top, left, zero]), size.dtype)
    extent = cast_to(stack([tall, wide, zero - 1.0]), size.dtype)
    edges = stack([top / height, left / width, (top + tall) / height, (left + wide) / width])
    box = ox.Reshape(cast_to(edges, dtypes.float32), int64_constant([1, 1, 4]))
    return begin, extent, box


def _range(name: str, given: Sequence[float]) -> tuple[float, float]:
    low, high = (float(x) for x in given)
    if not 0 < low <= high:
        raise InvalidArgumentError(
            f"{name} must be two numbers above 0, the larger one last; got {given!r}."
        )
    return low, high


def _boxes(given: Any, use_image: bool) -> Tensor:
    """The boxes, float32 ``[n, 4]``; the whole image may be one."""
    boxes = tensor(given, dtypes.float32)
    if boxes.shape.rank != 3 or boxes.shape[-1] not in (4, None):
        raise InvalidArgumentError(
            f"bounding_boxes must be of shape [batch, n, 4]; got {boxes.shape}."
        )
    if isinstance(boxes, EagerTensor):
        array = boxes.numpy()
        if array.size and not (array.min() >= 0 and array.max() <= 1):
            raise InvalidArgumentError(
                "All bounding box coordinates must be in [0.0, 1.0]; got "
                f"{array.min()} to {array.max()}."
            )
    known = boxes.shape.num_elements()
    if known == 0 and not use_image:
        raise InvalidArgumentError(
            "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes."
        )
    flat = ox.Reshape(boxes, int64_constant([-1, 4]))
    if not use_image or known:
        return flat
    image = constant([[0.0, 0.0, 1.0, 1.0]], dtypes.float32)
    if known == 0:
        return image
    # Where there are boxes it is one without an area, which is not looked at.
    empty = ox.Equal(ox.Size(flat), int64_constant(0))
    return concat([flat, image * cast_to(empty, dtypes.float32)], 0)


def _parts(
    aspect: Tensor,
    lift: Tensor,
    places: Sequence[Tensor],
    sides: tuple[Tensor, Tensor],
    limits: tuple[Tensor, Tensor],
) -> tuple[_Parts, Tensor]:
    """Parts of random aspects, and which of them fit into the image and the limits of area."""
    tall, wide = sides
    least, most = limits
    highest = round(sqrt(most / aspect))
    # Half a pixel more, which is rounded away again.
    fitting = floor((wide + (0.5 - 1e-7)) / aspect)
    highest = where(greater(round(highest * aspect), wide), fitting, highest)
    highest = minimum(highest, tall)
    height = minimum(round(sqrt(least / aspect)), highest)
    height = height + floor(lift * (highest - height + 1.0))
    area = round(height * aspect) * height
    height = where(less(area, least), height + 1.0, height)
    area = round(height * aspect) * height
    height = where(greater(area, most), height - 1.0, height)
    width = round(height * aspect)
    area = height * width
    fits = ox.And(less_equal(height, tall), less_equal(width, wide))
    fits = ox.And(fits, ox.And(greater(height, 0.0), greater(width, 0.0)))
    fits = ox.And(fits, ox.And(greater_equal(area, least), less_equal(area, most)))
    zero = height * 0.0
    top = floor(places[0] * maximum(tall - height, zero))
    left = floor(places[1] * maximum(wide - width, zero))
    return _Parts(top, left, height, width), fits


def _covers(parts: _Parts, boxes: Tensor, sides: tuple[Tensor, Tensor], least: Tensor) -> Tensor:
    """Which parts show enough of at least one object, ``[attempts]``."""
    tall, wide = sides
    # In float32, where 0.7 of 50 rows are 35. Pixels, as integers: [n, 1] beside [attempts].
    edges = floor(boxes * cast_to(stack([tall, wide, tall, wide]), dtypes.float32))
    up, left, down, right = (
        ox.Unsqueeze(cast_to(edge, dtypes.float64), int64_constant([1]))
        for edge in unstack(edges, num=4, axis=1)
    )
    zero = tall * 0.0
    inner_height = minimum(down, parts.top + parts.height) - maximum(up, parts.top)
    inner_width = minimum(right, parts.left + parts.width) - maximum(left, parts.left)
    shown = maximum(inner_height, zero) * maximum(inner_width, zero)
    area = (down - up) * (right - left)
    seen = ox.And(greater_equal(area, _LEAST_AREA), greater_equal(shown, least * area))
    return greater(ox.ReduceMax(cast_to(seen, dtypes.int32), int64_constant([0]), keepdims=0), 0)
