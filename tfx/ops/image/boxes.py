"""``tfx.image``: boxes in images: cutting them out, choosing among them, drawing them.

A box is ``[y1, x1, y2, x2]``, as parts of height and width where 0 and 1 are the middles of the
first and last pixel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import constant, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat, unstack
from tfx.ops.array.gather import gather
from tfx.ops.array.reshape import reshape
from tfx.ops.array.where import where
from tfx.ops.common.arguments import as_int64, cast_to, static_ints, tensor
from tfx.ops.common.counts import counted
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.python_ops import by_python
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    filled,
    product,
    reshape_to,
    shape_vector,
)
from tfx.ops.math.comparison import equal

_METHODS = ("bilinear", "nearest")


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Parts of images, all resized to one size; differentiable in images and boxes.

    Args:
        image: ``[batch, height, width, channels]`` of a number dtype.
        boxes: ``[n, 4]`` float32; a box whose first side is larger is turned over.
        box_indices: ``[n]``: the image that each box belongs to.
        crop_size: ``[height, width]`` of the results, two integers.
        method: ``"bilinear"`` or ``"nearest"``.
        extrapolation_value: What is outside of an image.
        name: Accepted for compatibility.

    Returns:
        float32 ``[n, height, width, channels]``.

    Raises:
        ValueError: another method, rank or size.

    Example:
        >>> import tfx as tf
        >>> image = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
        >>> tf.image.crop_and_resize(image, [[0.0, 0.0, 1.0, 1.0]], [0], [2, 2]).numpy().ravel()
        array([0., 2., 6., 8.], dtype=float32)
    """
    if method not in _METHODS:
        raise InvalidArgumentError(f"method must be 'bilinear' or 'nearest'; got {method!r}.")
    x = of_rank(cast_to(tensor(image), dtypes.float32), 4)
    places = of_rank(cast_to(tensor(boxes), dtypes.float32), 2)
    if x.shape.rank != 4 or places.shape.rank != 2:
        raise InvalidArgumentError(
            f"image must be [batch, height, width, channels] and boxes [n, 4]; got shapes "
            f"{x.shape} and {places.shape}."
        )
    size = static_ints(as_int64(crop_size))
    if size is None or len(size) != 2 or min(size) < 1:
        raise InvalidArgumentError(
            f"crop_size must be two positive integers known now; got {crop_size!r}."
        )
    sides = ox.Shape(x, start=1, end=3)
    top, left, bottom, right = unstack(places, 4, axis=1)
    height, width = [gather(sides, i) for i in (0, 1)]
    rows, inside_rows = _places(top, bottom, height, size[0])
    columns, inside_columns = _places(left, right, width, size[1])
    base = ox.Mul(ox.Mul(as_int64(box_indices), height), width)
    pixels = _Pixels(reshape(x, concat([[-1], ox.Shape(x, start=3)], 0)), base, width)
    found = (
        _nearest(pixels, rows, columns) if method == "nearest" else _mixed(pixels, rows, columns)
    )
    inside = ox.And(inside_rows[:, :, None, None], inside_columns[:, None, :, None])
    return where(inside, found, constant(float(extrapolation_value)))


def _places(low: Tensor, high: Tensor, side: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the rows of each result in its image, ``[n, count]``, and whether they are inside."""
    last = cast_to(side - 1, dtypes.float32)
    if count > 1:
        steps = constant(np.arange(count, dtype=np.float32))
        scale = (high - low) * last / float(count - 1)
        places = low[:, None] * last + steps * scale[:, None]
    else:
        places = (0.5 * (low + high) * last)[:, None]
    inside = ox.And(places >= 0.0, places <= last)
    # What is outside is replaced afterwards, and must not reach outside of the image here.
    return where(inside, places, constant(0.0)), inside


class _Pixels:
    """The pixels of a batch of images as one list."""

    def __init__(self, flat: Tensor, base: Tensor, width: Tensor) -> None:
        self._flat, self._base, self._width = flat, base, width

    def at(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The pixels at ``[n, rows]`` x ``[n, columns]``."""
        index = cast_to(rows, dtypes.int64) * self._width + self._base[:, None]
        return gather(self._flat, index[:, :, None] + cast_to(columns, dtypes.int64)[:, None, :])


def _nearest(pixels: _Pixels, rows: Tensor, columns: Tensor) -> Tensor:
    # Halves go up, unlike ONNX's Round.
    up = constant(0.5)
    return pixels.at(ox.Floor(rows + up), ox.Floor(columns + up))


def _mixed(pixels: _Pixels, rows: Tensor, columns: Tensor) -> Tensor:
    top, left = ox.Floor(rows), ox.Floor(columns)
    bottom, right = ox.Ceil(rows), ox.Ceil(columns)
    down, across = (rows - top)[:, :, None, None], (columns - left)[:, None, :, None]
    first, second = pixels.at(top, left), pixels.at(top, right)
    third, fourth = pixels.at(bottom, left), pixels.at(bottom, right)
    upper = first + (second - first) * across
    return upper + (third + (fourth - third) * across - upper) * down


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The best boxes of those that lie over each other.

    Args:
        boxes: ``[n, 4]`` float32: two opposite corners each, in any unit.
        scores: ``[n]`` float32.
        max_output_size: How many to choose at most.
        iou_threshold: A box is dropped if it shares more than this part with a better one.
        score_threshold: Boxes must be better than this.
        name: Accepted for compatibility.

    Returns:
        int32 ``[m]``: indices, the best first.

    Example:
        >>> import tfx as tf
        >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [0.0, 2.0, 1.0, 3.0]]
        >>> tf.image.non_max_suppression(boxes, [0.5, 0.9, 0.7], 5).numpy()
        array([1, 2], dtype=int32)
    """
    places = cast_to(tensor(boxes), dtypes.float32)
    chances = cast_to(tensor(scores), dtypes.float32)
    least = cast_to(tensor(score_threshold), dtypes.float32)
    found = ox.NonMaxSuppression(
        ox.Unsqueeze(places, int64_constant([0])),
        ox.Unsqueeze(chances, int64_constant([0, 1])),
        reshape(counted(max_output_size, "max_output_size", "NonMaxSuppression"), [1]),
        reshape(cast_to(tensor(iou_threshold), dtypes.float32), [1]),
        reshape(least, [1]),
    )
    return cast_to(gather(found, 2, axis=1), dtypes.int32)


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: float = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The best boxes and their scores; see ``non_max_suppression``.

    Args:
        boxes: See there.
        scores: See there.
        max_output_size: See there.
        iou_threshold: See there; with a sigma it has no effect.
        score_threshold: See there.
        soft_nms_sigma: Above 0, boxes over better ones lose ``exp(-iou**2 / (2 * sigma))`` of their
            score instead of being dropped. Python does that: such a function cannot be saved.
        name: Accepted for compatibility.

    Returns:
        Indices int32 ``[m]`` and scores float32 ``[m]``.

    Example:
        >>> import tfx as tf
        >>> boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 3.0]]
        >>> tf.image.non_max_suppression_with_scores(boxes, [0.5, 0.75], 5)[1].numpy()
        array([0.75, 0.5 ], dtype=float32)
    """
    if not soft_nms_sigma:
        chosen = non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
        return chosen, gather(cast_to(tensor(scores), dtypes.float32), chosen)

    def choose(places: Any, chances: Any, most: Any, least: Any) -> list[Any]:
        return _softly(places, chances, int(most), float(least), float(soft_nms_sigma))

    given = [
        cast_to(tensor(boxes), dtypes.float32),
        cast_to(tensor(scores), dtypes.float32),
        counted(max_output_size, "max_output_size", "NonMaxSuppression"),
        cast_to(tensor(score_threshold), dtypes.float32),
    ]
    outputs = [(dtypes.int32, (None,)), (dtypes.float32, (None,))]
    indices, found = by_python("image.non_max_suppression_with_scores", choose, given, outputs)
    return indices, found


def _softly(places: Any, scores: Any, most: int, least: float, sigma: float) -> list[Any]:
    """The best again and again, while those that lie over it lose score."""
    left = scores.astype(np.float32).copy()
    chosen: list[int] = []
    values: list[float] = []
    open_ = left > least
    while open_.any() and len(chosen) < most:
        best = int(np.argmax(np.where(open_, left, -np.inf)))
        open_[best] = False
        chosen.append(best)
        values.append(float(left[best]))
        shared = _shared(places[best], places)
        left *= np.exp(-0.5 * shared**2 / sigma).astype(np.float32)
        open_ &= left > least
    return [np.array(chosen, np.int32), np.array(values, np.float32)]


def _shared(box: Any, places: Any) -> Any:
    """Intersection over union of one box with all."""
    low = np.minimum(places[:, :2], places[:, 2:])
    high = np.maximum(places[:, :2], places[:, 2:])
    first, last = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    area = np.prod(high - low, axis=1)
    common = np.prod(np.maximum(np.minimum(high, last) - np.maximum(low, first), 0), axis=1)
    union = area + np.prod(last - first) - common
    both = (area > 0) & (np.prod(last - first) > 0)
    return np.where(both, common / np.where(union > 0, union, 1), 0)


def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> tuple[Tensor, Tensor]:
    """The best boxes and how many they are; see ``non_max_suppression``.

    Args:
        boxes: See there: ``[n, 4]``, or with ``pad_to_max_output_size`` ``[..., n, 4]``.
        scores: See there: ``[n]``, or ``[..., n]``.
        max_output_size: See there.
        iou_threshold: See there.
        score_threshold: See there.
        pad_to_max_output_size: Fill up with zeros to that length. So do the arguments below, if
            one is not the default.
        name: Accepted for compatibility.
        sorted_input: Accepted for compatibility: scores may stand in any order.
        canonicalized_coordinates: Accepted for compatibility: corners may stand in any order.
        tile_size: Accepted for compatibility.

    Returns:
        Indices int32 ``[..., m]`` and their number, int32 ``[...]``.

    Raises:
        InvalidArgumentError: several images without ``pad_to_max_output_size``.

    Example:
        >>> import tfx as tf
        >>> indices, count = tf.image.non_max_suppression_padded(
        ...     [[0.0, 0.0, 1.0, 1.0]], [0.5], 3, pad_to_max_output_size=True
        ... )
        >>> indices.numpy(), int(count)
        (array([0, 0, 0], dtype=int32), 1)
    """
    if pad_to_max_output_size or sorted_input or canonicalized_coordinates or tile_size != 512:
        return _padded_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
    chosen = non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
    return chosen, cast_to(ox.Size(chosen), dtypes.int32)


def _padded_suppression(
    boxes: Any, scores: Any, most: Any, iou_threshold: Any, score_threshold: Any
) -> tuple[Tensor, Tensor]:
    places, chances = (cast_to(tensor(x), dtypes.float32) for x in (boxes, scores))
    lead = shape_vector(chances, 0, -1)
    count = reshape(counted(most, "max_output_size", "NonMaxSuppression"), [1])
    batch, last, one = int64_constant([-1]), shape_vector(chances, -1), int64_constant([1])
    found = ox.NonMaxSuppression(
        reshape_to(places, concat_shape(batch, last, int64_constant([4]))),
        reshape_to(chances, concat_shape(batch, one, last)),
        count,
        reshape(cast_to(tensor(iou_threshold), dtypes.float32), [1]),
        reshape(cast_to(tensor(score_threshold), dtypes.float32), [1]),
    )
    # The boxes of an image stand behind one another, the best first.
    image, _, box = (ox.Gather(found, int64_constant([i]), axis=1) for i in range(3))
    images = product(lead)
    numbers = ox.Range(int64_constant(0), reshape(images, []), int64_constant(1))
    mine = cast_to(ox.Equal(ox.Unsqueeze(numbers, int64_constant([0])), image), dtypes.int64)
    counts = ox.ReduceSum(mine, int64_constant([0]), keepdims=0)
    begin = ox.CumSum(counts, int64_constant(0), exclusive=1)
    row = ox.Range(int64_constant(0), ox.Squeeze(dimension(found, 0)), int64_constant(1))
    place = ox.Sub(ox.Unsqueeze(row, one), ox.Gather(begin, image, axis=0))
    empty = filled(concat_shape(images, count), 0, dtypes.int64)
    chosen = ox.ScatterND(empty, ox.Concat(image, place, axis=1), reshape(box, [-1]))
    return (
        cast_to(reshape_to(chosen, concat_shape(lead, count)), dtypes.int32),
        cast_to(reshape_to(counts, lead), dtypes.int32),
    )


# Of boxes without colours: the first has the first, and so on in turn.
_COLOURS = (
    (1.0, 1.0, 0.0, 1.0),
    (0.0, 0.0, 1.0, 1.0),
    (1.0, 0.0, 0.0, 1.0),
    (0.0, 1.0, 0.0, 1.0),
    (0.5, 0.0, 0.5, 1.0),
    (0.5, 0.5, 0.0, 1.0),
    (0.5, 0.0, 0.0, 1.0),
    (0.0, 0.0, 0.5, 1.0),
    (0.0, 1.0, 1.0, 1.0),
    (1.0, 0.0, 1.0, 1.0),
)


def draw_bounding_boxes(images: Any, boxes: Any, colors: Any, name: str | None = None) -> Tensor:
    """Images with the outlines of boxes drawn over them.

    Args:
        images: ``[batch, height, width, channels]`` of a floating dtype.
        boxes: ``[batch, n, 4]`` float32; a box whose first side is larger is left out.
        colors: ``[m, channels or more]``: what boxes are drawn in, in turn; None: some that
            differ.
        name: Accepted for compatibility.

    Returns:
        Images; a later box is drawn over an earlier one.

    Raises:
        ValueError: another rank, other than 1, 3 or 4 channels, or colors of fewer.

    Example:
        >>> import tfx as tf
        >>> box = [[[0.0, 0.0, 1.0, 1.0]]]
        >>> tf.image.draw_bounding_boxes(tf.zeros([1, 3, 3, 1]), box, [[9.0]]).numpy()[0, :, :, 0]
        array([[9., 9., 9.],
               [9., 0., 9.],
               [9., 9., 9.]], dtype=float32)
    """
    x = of_rank(tensor(images), 4)
    places = of_rank(cast_to(tensor(boxes), dtypes.float32), 3)
    if x.shape.rank != 4 or places.shape.rank != 3:
        raise InvalidArgumentError(
            "images must be [batch, height, width, channels] and boxes [batch, n, 4]; got shapes "
            f"{x.shape} and {places.shape}."
        )
    if x.shape[3] not in (None, 1, 3, 4):
        raise InvalidArgumentError(
            "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA); got images of shape "
            f"{x.shape}."
        )
    table = _palette(x, colors)
    sides = ox.Shape(x, start=1, end=3)
    height, width = gather(sides, 0), gather(sides, 1)
    lines = [_lines(places, axis, side) for axis, side in ((0, height), (1, width))]
    (rows, top, bottom), (columns, left, right) = lines
    upright = (left <= right) & (top <= bottom)
    within = (rows >= top) & (rows <= bottom)
    across = (columns >= left) & (columns <= right)
    on_row = ox.Or(equal(rows, top), equal(rows, bottom))[:, :, :, None] & across[:, :, None, :]
    on_column = (
        ox.Or(equal(columns, left), equal(columns, right))[:, :, None, :] & within[:, :, :, None]
    )
    drawn = (on_row | on_column) & upright[:, :, :, None]
    count = gather(ox.Shape(places), 1)
    numbers = ox.Range(int64_constant(0), count, int64_constant(1))[None, :, None, None]
    marked = where(drawn, numbers, int64_constant(-1))
    first = ox.Expand(int64_constant(-1), ox.Shape(marked[:, :1]))
    last = ox.ReduceMax(concat([first, marked], 1), int64_constant([1]), keepdims=0)
    many = gather(ox.Shape(table), 0)
    colour = gather(table, ox.Mod(where(last < 0, int64_constant(0), last), many))
    return where((last < 0)[..., None], x, colour)


def _palette(x: Tensor, colors: Any) -> Tensor:
    given = None if colors is None else tensor(colors)
    if given is not None and given.shape.rank == 2 and given.shape[0] != 0:
        depth, offered = x.shape[3], given.shape[1]
        if depth is not None and offered is not None and offered < depth:
            raise InvalidArgumentError(
                f"colors must have equal or more channels than the image provided: {given.shape} "
                f"for images of shape {x.shape}."
            )
        if offered != depth or depth is None:
            given = given[:, : depth if depth is not None else gather(ox.Shape(x), 3)]
        return cast_to(given, x.dtype)
    depth = x.shape[-1]
    if depth is None or depth > 4:
        raise InvalidArgumentError(f"colors are needed for images of shape {x.shape}.")
    some = np.array(_COLOURS)[:, :depth]
    if depth == 1:
        some[:, 0] = 1.0
    return constant(some, dtype=x.dtype)


def _lines(places: Tensor, axis: int, side: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All rows ``[1, 1, height]``, and the first and last one of each box ``[batch, n, 1]``."""
    last = cast_to(side - 1, dtypes.float32)
    steps = ox.Range(int64_constant(0), side, int64_constant(1))[None, None, :]
    ends = [cast_to(places[:, :, i : i + 1] * last, dtypes.int64) for i in (axis, axis + 2)]
    return steps, ends[0], ends[1]
