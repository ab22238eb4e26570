"""``tfx.image.resize``: images of another size, in TensorFlow 1's and 2's ways."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import constant, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.transpose import transpose
from tfx.ops.common.arguments import (
    cast_to,
    numpy_as_integers,
    static_ints,
    tensor,
)
from tfx.ops.common.shapes import concat_shape, product, reshape_to, shape_vector
from tfx.ops.image.geometry import as_image, known_sides
from tfx.ops.image.interpolation import cubic
from tfx.ops.image.resampling import open_weights, weights
from tfx.ops.linalg.einsum import einsum


class ResizeMethod(StrEnum):
    """The interpolation methods of ``resize``."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def resize(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size.

    Args:
        images: ``[height, width, channels]`` or a batch of them.
        size: ``[height, width]``, two integers.
        method: A ``ResizeMethod`` or its value.
        preserve_aspect_ratio: Take the largest size within ``size`` that has the same ratio.
        antialias: Average over what is passed over when an image gets smaller.
        name: Accepted for compatibility.

    Returns:
        float32; the dtype of ``images`` for ``"nearest"``.

    Raises:
        ValueError: another method or rank.
        InvalidArgumentError: images without pixels, or a size below 1.
        TypeError: images of strings.

    Example:
        >>> import tfx as tf
        >>> tf.image.resize([[[0.0], [1.0]]], [1, 4]).numpy().ravel()
        array([0.  , 0.25, 0.75, 1.  ], dtype=float32)
    """
    x, top = as_image(images)
    try:
        how = ResizeMethod(method)
    except ValueError:
        raise InvalidArgumentError(
            f"Resize method is not implemented: {method!r}; expected one of "
            f"{', '.join(repr(str(m)) for m in ResizeMethod)}."
        ) from None
    given, targets = target_size(size)
    if preserve_aspect_ratio:
        given, targets = sides_within(x, top, given, targets)
    wanted = given if targets is None else targets
    if _plain(how, antialias) or 0 in (targets or ()):
        made = x if how is ResizeMethod.NEAREST_NEIGHBOR else as_floats(x)
        if targets is not None and x.shape[top : top + 2].as_list() == targets:
            return made
        return resized(made, top, wanted, _MODES.get(how, {}))
    return resampled(x, top, str(how), wanted, antialias)


def target_size(size: Any) -> tuple[Tensor, list[int] | None]:
    """Height and width that were asked for, as a vector, and as numbers if they are known now.

    Raises:
        ValueError: what cannot be two integers.
    """
    given = tensor(numpy_as_integers(size))
    if not (given.dtype.is_integer and given.shape.is_compatible_with([2])):
        raise InvalidArgumentError(f"'size' must be two integers, height and width; got {size!r}.")
    if given.shape.num_elements() is None:
        given.set_shape([2])
    given = cast_to(given, dtypes.int64)
    return given, static_ints(given)


def sides_within(
    x: Tensor, top: int, size: Tensor, targets: list[int] | None
) -> tuple[Tensor, list[int] | None]:
    """The largest height and width within a size with the ratio of the images ``x``.

    Args:
        x: The images.
        top: The axis of the rows.
        size: Height and width, an int64 vector.
        targets: The same numbers, if they are known now.

    Returns:
        As ``target_size``.
    """
    sides = x.shape[top : top + 2].as_list()
    _refuse_empty(sides)
    if targets is None or None in sides:
        given = cast_to(shape_vector(x, top, top + 2), dtypes.float64)
        ratios = cast_to(size, dtypes.float64) / given
        exact = ox.Round(given * ox.ReduceMin(ratios, keepdims=0))
        return ox.Max(cast_to(exact, dtypes.int64), int64_constant(1)), None
    known = known_sides(x, top)
    scale = min(target / side for target, side in zip(targets, known, strict=True))
    found = [max(1, round(side * scale)) for side in known]
    return int64_constant(found), found


def _refuse_empty(sides: list[int | None] | list[int]) -> None:
    if 0 in sides:
        raise InvalidArgumentError(
            f"input image must be of non-zero size; got height and width {sides}."
        )


def _check_sides(x: Tensor, top: int, targets: Any) -> None:
    """Refuse images without pixels, and sizes below 1."""
    if isinstance(targets, list) and min(targets) < 1:
        raise InvalidArgumentError(f"output dimensions must be positive; got 'size' {targets}.")
    _refuse_empty(x.shape[top : top + 2].as_list())


def as_floats(images: Tensor) -> Tensor:
    """Images as float32, to interpolate between their pixels."""
    if images.dtype == dtypes.string:
        raise TypeError("Images of numbers were expected; got dtype string.")
    return cast_to(images, dtypes.float32)


def _plain(how: ResizeMethod, antialias: bool) -> bool:
    """Return whether ONNX's operator supports a method for all sizes."""
    return how is ResizeMethod.NEAREST_NEIGHBOR or (how in _MODES and not antialias)


def resized(made: Tensor, top: int, size: Tensor | list[int], mode: dict[str, Any]) -> Tensor:
    """Images of another size, by ONNX's operator.

    Args:
        made: The images.
        top: The axis of the rows.
        size: Height and width: numbers, or an int64 vector.
        mode: Attributes of ``Resize``.

    Raises:
        InvalidArgumentError: images without pixels, or a size below 1.
    """
    _check_sides(made, top, size)
    targets = int64_constant(size) if isinstance(size, list) else size
    batch = made if top else ox.Unsqueeze(made, int64_constant([0]))
    sides = [side for side in batch.shape[1:3].as_list() if side is not None]
    if mode == _MODES[ResizeMethod.BICUBIC] and isinstance(size, list) and len(sides) == 2:
        found = cubic(batch, sides, size)
        return found if top else ox.Squeeze(found, int64_constant([0]))
    # Channels first: the kernels are made for that layout.
    batch = transpose(batch, [0, 3, 1, 2])
    lead = shape_vector(batch, 0, 2)
    if mode["mode"] == "cubic":
        # ONNX Runtime 1.31 moves the transpose behind the operator, whose kernel refuses that
        # layout; through a reshape it does not.
        flat = reshape_to(
            batch, concat_shape(int64_constant([1]), product(lead), shape_vector(batch, 2))
        )
        sizes = concat_shape(shape_vector(flat, 0, 2), targets)
        found = ox.Resize(flat, None, None, sizes, **mode)
        found = reshape_to(found, concat_shape(lead, targets))
    else:
        found = ox.Resize(batch, None, None, concat_shape(lead, targets), **mode)
    found = transpose(found, [0, 2, 3, 1])
    return found if top else ox.Squeeze(found, int64_constant([0]))


def resampled(
    images: Tensor, top: int, method: str, size: Tensor | list[int], antialias: bool
) -> Tensor:
    """Images of another size, of float32, by a matrix of weights for each axis.

    Args:
        images: The images.
        top: The axis of the rows.
        method: A method that ``resampling.weights`` knows.
        size: Height and width: numbers, or an int64 vector.
        antialias: Average over what is passed over when an image gets smaller.

    Raises:
        InvalidArgumentError: images without pixels, or a size below 1.
    """
    _check_sides(images, top, size)
    x = as_floats(images)
    sides = images.shape[top : top + 2].as_list()
    targets = size if isinstance(size, list) else [None, None]
    rows, columns = (
        constant(weights(method, side, target, antialias), x.dtype)
        if side is not None and target is not None
        else cast_to(_open_weights(images, top, i, method, size, antialias), x.dtype)
        for i, (side, target) in enumerate(zip(sides, targets, strict=True))
    )
    return einsum("yh,...hwc,xw->...yxc", rows, x, columns)


def _open_weights(
    images: Tensor, top: int, i: int, method: str, size: Tensor | list[int], antialias: bool
) -> Tensor:
    """The matrix of the axis ``i`` of two, whose sizes are not both known."""
    side = shape_vector(images, top + i, top + i + 1)
    if isinstance(size, list):
        return open_weights(method, side, int64_constant([size[i]]), antialias)
    target = ox.Slice(size, int64_constant([i]), int64_constant([i + 1]))
    return open_weights(method, side, target, antialias)


_MODES: dict[ResizeMethod, dict[str, Any]] = {
    ResizeMethod.BILINEAR: {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    ResizeMethod.NEAREST_NEIGHBOR: {
        "mode": "nearest",
        "coordinate_transformation_mode": "half_pixel",
        "nearest_mode": "round_prefer_ceil",
    },
    ResizeMethod.BICUBIC: {
        "mode": "cubic",
        "coordinate_transformation_mode": "half_pixel",
        "cubic_coeff_a": -0.5,
        "exclude_outside": 1,
    },
}
