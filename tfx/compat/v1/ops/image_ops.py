"""Sizes of images as TensorFlow 1 changes them: pixels are points at their upper left corners.

TensorFlow 2 takes the centers of pixels, so the same methods give other numbers there.
"""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import as_int64, cast_to
from tfx.ops.common.arguments import tensor as as_tensor
from tfx.ops.image.geometry import as_image
from tfx.ops.image.glimpse import extract_glimpse as extract_glimpse_2
from tfx.ops.image.resize import as_floats, resampled, resized, sides_within, target_size


class ResizeMethod:
    """The interpolation methods of ``resize``."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_NAMES = {"bilinear": 0, "nearest": 1, "bicubic": 2, "area": 3}


def resize(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size.

    Args:
        images: ``[height, width, channels]`` or a batch of them.
        size: ``[height, width]``, two integers.
        method: A ``ResizeMethod`` or its number. The size of images must be known for ``AREA``.
        align_corners: Whether the centers of the corners' pixels stay where they are.
        preserve_aspect_ratio: Take the largest size within ``size`` that has the same ratio.
        name: Accepted for compatibility.

    Returns:
        float32; the dtype of ``images`` for ``NEAREST_NEIGHBOR`` and where the size stays.

    Raises:
        ValueError: another method, or sizes that are not known where they must be.
        InvalidArgumentError: images without pixels, or a size below 1.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> tf.image.resize([[[0.0], [1.0]]], [1, 4]).numpy().ravel()
        array([0. , 0.5, 1. , 1. ], dtype=float32)
    """
    x, top = as_image(images)
    how = _NAMES.get(str(method), method)
    if how not in _FUNCTIONS:
        raise ValueError(
            f"Resize method is not implemented: {method!r}; expected one of {sorted(_NAMES)}, or "
            "its number."
        )
    given, targets = target_size(size)
    if preserve_aspect_ratio:
        given, targets = sides_within(x, top, given, targets)
    if targets is not None and x.shape[top : top + 2].as_list() == targets:
        return x
    made: Tensor = _FUNCTIONS[how](x, given if targets is None else targets, align_corners)
    return made


def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images of another size, of float32, by the four nearest pixels.

    Args:
        images: ``[batch, height, width, channels]``.
        size: ``[height, width]``.
        align_corners: Whether the centers of the corners' pixels stay where they are.
        name: Accepted for compatibility.
        half_pixel_centers: Whether pixels are points at their centers, as in TensorFlow 2.
    """
    attrs = {"mode": "linear"}
    return _resized(images, size, attrs, align_corners, half_pixel_centers)


def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images of another size by the nearest pixel, of their own dtype; see ``resize_bilinear``."""
    nearest = "round_prefer_ceil" if align_corners or half_pixel_centers else "floor"
    attrs = {"mode": "nearest", "nearest_mode": nearest}
    return _resized(images, size, attrs, align_corners, half_pixel_centers)


def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images of another size, of float32, by sixteen pixels; see ``resize_bilinear``.

    TensorFlow rounds positions between pixels to 1/1024; they are exact here.
    """
    attrs: dict[str, Any] = {"mode": "cubic", "cubic_coeff_a": -0.75}
    if half_pixel_centers:
        attrs |= {"cubic_coeff_a": -0.5, "exclude_outside": 1}
    return _resized(images, size, attrs, align_corners, half_pixel_centers)


def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Images of another size, of float32, by averages over what a pixel covers.

    Args:
        images: ``[batch, height, width, channels]``.
        size: ``[height, width]``.
        align_corners: Must be False.
        name: Accepted for compatibility.
    """
    x, top = as_image(images)
    given, targets = target_size(size)
    if align_corners:
        raise ValueError(
            f"resize_area takes align_corners=False; got align_corners={align_corners!r}."
        )
    return resampled(x, top, "area", given if targets is None else targets, antialias=False)


_FUNCTIONS: Any = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
}


def _resized(
    images: Any, size: Any, attrs: dict[str, Any], align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    x, top = as_image(images)
    given, targets = target_size(size)
    places = _places(align_corners, half_pixel_centers)
    made = x if attrs["mode"] == "nearest" else as_floats(x)
    return resized(made, top, given if targets is None else targets, attrs | places)


def _places(align_corners: bool, half_pixel_centers: bool) -> dict[str, Any]:
    if align_corners and half_pixel_centers:
        raise ValueError("If half_pixel_centers is True, align_corners must be False; got both.")
    corners = "align_corners" if align_corners else "asymmetric"
    return {"coordinate_transformation_mode": "half_pixel" if half_pixel_centers else corners}


def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """A window of each image, noise where it goes beyond the image.

    Unlike in TensorFlow 2, offsets are always those of the window's middle.

    Args:
        input: ``[batch, height, width, channels]`` of float32.
        size: Height and width of the windows.
        offsets: float32 ``[batch, 2]``: down and across.
        centered: They begin at the image's centre, and are halved; False: at the upper left corner.
        normalized: They are in parts of the image, not in pixels.
        uniform_noise: Noise is uniform; False: normal.
        name: Accepted for compatibility.

    Returns:
        ``[batch, size[0], size[1], channels]``.

    Raises:
        InvalidArgumentError: shapes that do not fit.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> image = [[[[0.0], [1.0], [2.0]], [[3.0], [4.0], [5.0]], [[6.0], [7.0], [8.0]]]]
        >>> tf.image.extract_glimpse(image, [2, 2], [[1, 1]], False, False).numpy()[0, :, :, 0]
        array([[0., 1.],
               [3., 4.]], dtype=float32)
    """
    images, sides = as_tensor(input), as_int64(size)
    place = as_floats(as_tensor(offsets))
    full = cast_to(ox.Shape(images, start=1, end=3), dtypes.float32)
    half = ox.like(0.5, place)
    if normalized:
        place = ox.Mul(place, full)
    if centered:
        place = ox.Mul(ox.Add(place, full), half)
    place = ox.Sub(place, ox.Mul(cast_to(sides, dtypes.float32), half))
    noise = "uniform" if uniform_noise else "gaussian"
    return extract_glimpse_2(images, sides, place, centered=False, normalized=False, noise=noise)
