"""``raw_ops.ImageProjectiveTransformV3``; its gradient goes back by the inverse transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.linalg_ops.solve import inv
from tfx.ops.common.arguments import as_int64, static_ints, tensor
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.shapes import describe, filled, known_rank, reshape_to, shape_vector
from tfx.ops.image.projective_transform import FILL_MODES, INTERPOLATIONS, projected

_DTYPES = ("uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")
_OP = "ImageProjectiveTransformV3"


def image_projective_transform(
    images: Any,
    transforms: Any,
    output_shape: Any,
    fill_value: Any,
    interpolation: str,
    fill_mode: str = "CONSTANT",
) -> Tensor:
    """Images whose pixels are read where projective transforms say.

    The gradient by the images is, as in TensorFlow, that of the result seen through the inverse
    transforms, which is near the exact one where a transform changes areas little. The transforms
    have none.

    Args:
        images: ``[n, height, width, channels]`` of uint8, int32, int64 or a floating dtype.
        transforms: float32 ``[n, 8]`` or ``[1, 8]``: ``a0, a1, a2, b0, b1, b2, c0, c1``; the pixel
            ``(x, y)`` is read at ``(a0 x + a1 y + a2, b0 x + b1 y + b2) / (c0 x + c1 y + 1)``.
        output_shape: The new height and width.
        fill_value: What is read outside of the images.
        interpolation: ``"NEAREST"`` or ``"BILINEAR"``.
        fill_mode: ``"CONSTANT"``, or how coordinates outside are brought into the image:
            ``"REFLECT"``, ``"WRAP"`` or ``"NEAREST"``.

    Raises:
        InvalidArgumentError: a dtype, a shape or a mode that it does not have.
    """
    x, t = of_rank(tensor(images), 4), tensor(transforms, dtypes.float32)
    size, fill = as_int64(output_shape), tensor(fill_value, dtypes.float32)
    _check(x, t, size)
    _check_name("interpolation", interpolation, INTERPOLATIONS)
    _check_name("fill_mode", fill_mode, FILL_MODES)

    def transformed(x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        def gradient(dy: Tensor) -> Tensor:
            nothing = tensor(np.float32(0))
            here = shape_vector(x, 1, 3)
            return projected(dy, _inverse(t), here, nothing, interpolation, fill_mode)

        return projected(x, t, size, fill, interpolation, fill_mode), gradient

    result: Tensor = custom_gradient(transformed)(x)
    return result


def _inverse(transforms: Tensor) -> Tensor:
    """The transforms that go back."""
    lead = shape_vector(transforms, 0, 1)
    ones = filled(ox.Concat(lead, int64_constant([1]), axis=0), 1, dtypes.float32)
    whole = ox.Concat(transforms, ones, axis=1)
    back = reshape_to(inv(reshape_to(whole, int64_constant([-1, 3, 3]))), int64_constant([-1, 9]))
    eight, nine, axis = (int64_constant([i]) for i in (8, 9, 1))
    last = ox.Slice(back, eight, nine, axis)
    return ox.Div(ox.Slice(back, int64_constant([0]), eight, axis), last)


def _check(x: Tensor, transforms: Tensor, size: Tensor) -> None:
    if x.dtype.name not in _DTYPES:
        raise InvalidArgumentError(
            f"images of {_OP} have the dtype {x.dtype.name}, expected one of {', '.join(_DTYPES)}"
        )
    if known_rank(x, _OP) != len("NHWC"):
        raise InvalidArgumentError(
            f"images of {_OP} have the shape {describe(x)}, expected [n, height, width, channels]"
        )
    if not transforms.shape.is_compatible_with([None, 8]) or not _are_as_many(transforms, x):
        raise InvalidArgumentError(
            f"transforms of {_OP} have the shape {describe(transforms)}, expected [1, 8], or a row "
            f"for each image of {describe(x)}"
        )
    if not size.shape.is_compatible_with([2]):
        raise InvalidArgumentError(
            f"output_shape of {_OP} has the shape {describe(size)}, expected a height and a width"
        )
    known = static_ints(size)
    if known is not None and min(known) <= 0:
        raise InvalidArgumentError(
            f"output_shape of {_OP} is {known}, expected a height and a width above 0"
        )


def _are_as_many(transforms: Tensor, images: Tensor) -> bool:
    have, images_are = (x.shape[0] if x.shape.rank else None for x in (transforms, images))
    return have in (None, 1) or images_are in (None, have)


def _check_name(what: str, given: str, names: tuple[str, ...]) -> None:
    if given not in names:
        raise InvalidArgumentError(
            f"{what} of {_OP} is {given!r}, expected one of {', '.join(names)}"
        )
