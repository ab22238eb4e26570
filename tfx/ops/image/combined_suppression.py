"""``combined_non_max_suppression``: the best boxes of all classes, for batches of images."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.where import where
from tfx.ops.common.arguments import as_int64, cast_to, scalar_like, static_int, tensor
from tfx.ops.common.shapes import concat_shape, dimension


class CombinedNonMaxSuppression(NamedTuple):
    """What is found in each image, padded with zeros.

    Attributes:
        nmsed_boxes: ``[batch, most, 4]`` float32.
        nmsed_scores: ``[batch, most]`` float32, the best first.
        nmsed_classes: ``[batch, most]`` float32.
        valid_detections: ``[batch]`` int32: how many of them there are.
    """

    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor


def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: float = 0.5,
    score_threshold: float = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """The best boxes of those that lie over each other, class by class, and of these the best.

    Args:
        boxes: ``[batch, n, q, 4]`` float32; ``q`` is 1, or a box for each class.
        scores: ``[batch, n, classes]`` float32.
        max_output_size_per_class: How many to choose of a class at most.
        max_total_size: How many to choose at most; an integer that is known now.
        iou_threshold: A box is dropped if it shares more than this part with a better one.
        score_threshold: Boxes must be better than this.
        pad_per_class: Return no more than ``max_output_size_per_class * classes``.
        clip_boxes: Cut boxes to the image, from 0 to 1.
        name: Accepted for compatibility.

    Returns:
        A ``CombinedNonMaxSuppression``.

    Raises:
        InvalidArgumentError: shapes that do not fit, a size that is not positive, or a threshold
            outside of [0, 1].

    Example:
        >>> import tfx as tf
        >>> boxes = [[[[0.0, 0.0, 1.0, 1.0]], [[0.0, 0.0, 1.0, 0.9]], [[0.0, 0.5, 0.2, 1.0]]]]
        >>> scores = [[[0.5, 0.1], [0.9, 0.2], [0.3, 0.8]]]
        >>> found = tf.image.combined_non_max_suppression(boxes, scores, 2, 3)
        >>> found.nmsed_classes.numpy(), found.nmsed_scores.numpy()
        (array([[0., 1., 0.]], dtype=float32), array([[0.9, 0.8, 0.3]], dtype=float32))
    """
    places, chances = (cast_to(tensor(x), dtypes.float32) for x in (boxes, scores))
    count, per_box = _checked(places, chances)
    per_class = as_int64(max_output_size_per_class)
    most, each = static_int(as_int64(max_total_size)), static_int(per_class)
    if most is None or most <= 0:
        raise InvalidArgumentError(
            f"max_total_size must be > 0 and known now; got {max_total_size!r}."
        )
    if each is not None and each <= 0:
        raise InvalidArgumentError(f"max_output_size_per_class must be positive; got {each}.")
    if not 0 <= iou_threshold <= 1:
        raise InvalidArgumentError(f"iou_threshold must be in [0, 1]; got {iou_threshold}.")
    if pad_per_class and each is not None:
        most = min(most, each * count)
    batch, n = dimension(chances, 0), dimension(chances, 1)
    # One box of each class and place, [batch, classes, n, 4], and its score, [batch, classes, n].
    by_class = ox.Transpose(places, perm=(0, 2, 1, 3))
    if per_box != count:
        shape = concat_shape(batch, int64_constant([count]), n, int64_constant([4]))
        by_class = ox.Expand(by_class, shape)
    chances = ox.Transpose(chances, perm=(0, 2, 1))
    total = ox.Mul(n, int64_constant([count]))
    flat_boxes = ox.Reshape(by_class, concat_shape(batch, total, int64_constant([4])), allowzero=1)
    # A box for what is not found, also where there are none.
    flat_boxes = ox.Pad(flat_boxes, int64_constant([0, 0, 0, 0, 1, 0]))
    chosen = _chosen(by_class, chances, per_class, iou_threshold)
    chosen = ox.And(chosen, ox.Greater(chances, scalar_like(score_threshold, chances)))
    nothing = scalar_like(float("-inf"), chances)
    # Places for all that are asked for, where there are fewer.
    kept = ox.Reshape(where(chosen, chances, nothing), concat_shape(batch, total), allowzero=1)
    kept = ox.Pad(kept, int64_constant([0, 0, 0, most]), nothing)
    best, at = ox.TopK(kept, int64_constant([most]), axis=1)
    found = ox.Greater(best, nothing)
    at = where(found, at, as_int64(0))
    number = cast_to(found, dtypes.int64)
    picked = ox.GatherND(flat_boxes, ox.Unsqueeze(at, int64_constant([2])), batch_dims=1)
    if clip_boxes:
        picked = ox.Clip(picked, scalar_like(0, picked), scalar_like(1, picked))
    real = cast_to(found, dtypes.float32)
    return CombinedNonMaxSuppression(
        picked * ox.Unsqueeze(real, int64_constant([2])),
        where(found, best, scalar_like(0, best)),
        cast_to(ox.Div(at, ox.Max(n, int64_constant([1]))), dtypes.float32) * real,
        cast_to(ox.ReduceSum(number, int64_constant([1]), keepdims=0), dtypes.int32),
    )


def _checked(places: Tensor, chances: Tensor) -> tuple[int, int]:
    """The number of classes, and of boxes at one place."""
    if places.shape.rank != 4 or chances.shape.rank != 3 or places.shape[-1] not in (4, None):
        raise InvalidArgumentError(
            "boxes must be [batch, n, q, 4] and scores [batch, n, classes]; got shapes "
            f"{places.shape} and {chances.shape}."
        )
    for axis, what in ((0, "batch size"), (1, "number of boxes")):
        if not places.shape[axis : axis + 1].is_compatible_with(chances.shape[axis : axis + 1]):
            raise InvalidArgumentError(
                f"boxes and scores must have the same {what}; got shapes {places.shape} and "
                f"{chances.shape}."
            )
    count, per_box = chances.shape[-1], places.shape[2]
    if count is None or per_box not in (1, count):
        raise InvalidArgumentError(
            "third dimension of boxes must be 1 or the number of classes, which must be known; got "
            f"shapes {places.shape} and {chances.shape}."
        )
    return int(count), int(per_box or 1)


def _chosen(by_class: Tensor, chances: Tensor, each: Tensor, threshold: float) -> Tensor:
    """Which boxes are left of each class, bool ``[batch, classes, n]``."""
    count = ox.Mul(dimension(chances, 0), dimension(chances, 1))
    n = dimension(chances, 2)
    rows = ox.Reshape(chances, concat_shape(count, int64_constant([1]), n), allowzero=1)
    boxes = ox.Reshape(by_class, concat_shape(count, n, int64_constant([4])), allowzero=1)
    found = ox.NonMaxSuppression(
        boxes,
        rows,
        ox.Reshape(each, int64_constant([1])),
        ox.Reshape(tensor([threshold], dtypes.float32), int64_constant([1])),
    )
    none = ox.Less(rows, rows)
    ones = ox.Expand(tensor([True]), dimension(found, 0))
    return ox.Reshape(ox.ScatterND(none, found, ones), ox.Shape(chances), allowzero=1)
