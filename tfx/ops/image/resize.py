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
from tfx.ops.image.resampling import weights
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
        size: ``[height, width]``, two integers. What only a run tells serves for the first three
            methods without ``antialias``.
        method: A ``ResizeMethod`` or its value. For all but the first three, and with
            ``antialias``, the size of the images must be known.
        preserve_aspect_ratio: Take the largest size within ``size`` that has the same ratio.
        antialias: Average over what is passed over when an image gets smaller.
        name: Accepted for compatibility.

    Returns:
        float32; the dtype of ``images`` for ``"nearest"``.

    Raises:
        ValueError: another method or rank, or sizes that are not known now.
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
        targets = sides_within(x, top, targets)
    if targets is None and not _plain(how, antialias):
        raise InvalidArgumentError(
            f"'size' must be known now for {method!r} with antialias={antialias}; got {size!r}."
        )
    if targets is None or _plain(how, antialias) or 0 in targets:
        made = x if how is ResizeMethod.NEAREST_NEIGHBOR else as_floats(x)
        if x.shape[top : top + 2].as_list() == targets:
            return made
        return resized(made, top, given if targets is None else targets, _MODES.get(how, {}))
    return resampled(x, top, str(how), targets, antialias)


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


def sides_within(x: Tensor, top: int, targets: list[int] | None) -> list[int]:
    """The largest height and width within ``targets`` with the ratio of the images ``x``."""
    if targets is None:
        raise InvalidArgumentError("preserve_aspect_ratio needs a size that is known now.")
    sides = known_sides(x, top)
    _refuse_empty(sides)
    scale = min(target / side for target, side in zip(targets, sides, strict=True))
    return [max(1, round(side * scale)) for side in sides]


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


def resampled(images: Tensor, top: int, method: str, targets: list[int], antialias: bool) -> Tensor:
    """Images of another size, of float32, by a matrix of weights for each axis.

    Args:
        images: Their height and width must be known.
        top: The axis of the rows.
        method: A method that ``resampling.weights`` knows.
        targets: Height and width.
        antialias: Average over what is passed over when an image gets smaller.

    Raises:
        InvalidArgumentError: images without pixels, or a size below 1.
    """
    sides = known_sides(images, top)
    _check_sides(images, top, targets)
    x = as_floats(images)
    rows, columns = (
        constant(weights(method, side, target, antialias), x.dtype)
        for side, target in zip(sides, targets, strict=True)
    )
    return einsum("yh,...hwc,xw->...yxc", rows, x, columns)


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
