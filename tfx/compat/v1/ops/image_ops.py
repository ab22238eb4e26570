"""Sizes of images as TensorFlow 1 changes them: pixels are points at their upper left corners.

TensorFlow 2 takes the centers of pixels, so the same methods give other numbers there.
"""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.framework.convert import constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, static_ints, tensor
from tfx.ops.image.geometry import as_image, known_sides, resized
from tfx.ops.image.resampling import weights
from tfx.ops.linalg.einsum import einsum


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
    given = cast_to(tensor(size), dtypes.int64)
    targets = static_ints(given)
    if preserve_aspect_ratio:
        if targets is None:
            raise ValueError(f"preserve_aspect_ratio needs a size that is known now; got {size!r}.")
        rows, columns = known_sides(x, top)
        scale = min(targets[0] / rows, targets[1] / columns)
        targets = [max(1, round(s * scale)) for s in (rows, columns)]
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
    x, top = as_image(images)
    x = cast_to(x, dtypes.float32)
    return resized(
        x, top, _size(size), {"mode": "linear", **_places(align_corners, half_pixel_centers)}
    )


def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images of another size by the nearest pixel, of their own dtype; see ``resize_bilinear``."""
    x, top = as_image(images)
    nearest = "round_prefer_ceil" if align_corners or half_pixel_centers else "floor"
    attrs = {"mode": "nearest", "nearest_mode": nearest}
    return resized(x, top, _size(size), attrs | _places(align_corners, half_pixel_centers))


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
    x, top = as_image(images)
    x = cast_to(x, dtypes.float32)
    attrs: dict[str, Any] = {"mode": "cubic", "cubic_coeff_a": -0.75}
    if half_pixel_centers:
        attrs |= {"cubic_coeff_a": -0.5, "exclude_outside": 1}
    return resized(x, top, _size(size), attrs | _places(align_corners, half_pixel_centers))


def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Images of another size, of float32, by averages over what a pixel covers.

    Args:
        images: ``[batch, height, width, channels]`` of known height and width.
        size: ``[height, width]``, known now.
        align_corners: Must be False.
        name: Accepted for compatibility.
    """
    x, top = as_image(images)
    targets = static_ints(_size(size))
    if align_corners or targets is None:
        raise ValueError(
            "resize_area takes align_corners=False and a size that is known now; got "
            f"align_corners={align_corners!r} and {size!r}."
        )
    x = cast_to(x, dtypes.float32)
    rows, columns = (
        constant(weights("area", side, target, False), dtypes.float32)
        for side, target in zip(known_sides(x, top), targets, strict=True)
    )
    return einsum("yh,...hwc,xw->...yxc", rows, x, columns)


_FUNCTIONS: Any = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
}


def _size(size: Any) -> Tensor:
    return cast_to(tensor(size), dtypes.int64)


def _places(align_corners: bool, half_pixel_centers: bool) -> dict[str, Any]:
    if align_corners and half_pixel_centers:
        raise ValueError("If half_pixel_centers is True, align_corners must be False; got both.")
    corners = "align_corners" if align_corners else "asymmetric"
    return {"coordinate_transformation_mode": "half_pixel" if half_pixel_centers else corners}
