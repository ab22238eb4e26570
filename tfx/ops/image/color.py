"""``tfx.image``: colours, brightness and contrast, and conversions of pixels.

Everything is made of differentiable operations, so augmentations and attacks have gradients through
all of it (TensorFlow has none for contrast, saturation and hue).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import constant, convert_to_tensor
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.concat import concat, stack, unstack
from tfx.ops.array.shape import shape
from tfx.ops.array.where import where
from tfx.ops.common.arguments import cast_to, require_dtype, scalar_like, tensor
from tfx.ops.common.traced_once import eagerly_at_once
from tfx.ops.linalg.matmul import matmul
from tfx.ops.math.arithmetic import floordiv, floormod, maximum, minimum
from tfx.ops.math.cast import identity, saturate_cast
from tfx.ops.math.error_functions import divide_no_nan
from tfx.ops.math.reduction import reduce_max, reduce_mean, reduce_min, reduce_sum
from tfx.ops.math.statistics import reduce_std


def convert_image_dtype(
    image: Any, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Pixels in another dtype; floating ones go from 0 to 1, integers to their highest number.

    Args:
        image: Tensor of a floating or integer dtype.
        dtype: The dtype of the result.
        saturate: Clip before a cast, where values that do not fit wrap around otherwise.
        name: Accepted for compatibility.

    Raises:
        AttributeError: a dtype that is neither floating nor integer.

    Example:
        >>> import tfx as tf
        >>> tf.image.convert_image_dtype([0.0, 0.5, 1.0], tf.uint8).numpy()
        array([  0, 127, 255], dtype=uint8)
    """
    x, kind = tensor(image), dtypes.as_dtype(dtype)
    for what, given in (("dtype", kind), ("image dtype", x.dtype)):
        if not given.is_floating and not given.is_integer:
            raise AttributeError(f"{what} must be either floating point or integer; got {given}.")
    if x.dtype is kind:
        return identity(x)
    narrow = saturate_cast if saturate else cast_to
    if x.dtype.is_floating:
        if kind.is_floating:
            return cast_to(x, kind)
        return narrow(x * scalar_like(kind.max + 0.5, x), kind)
    if kind.is_floating:
        wide = cast_to(x, kind)
        return wide * scalar_like(1.0 / x.dtype.max, wide)
    if x.dtype.max > kind.max:
        return narrow(floordiv(x, scalar_like((x.dtype.max + 1) // (kind.max + 1), x)), kind)
    wide = narrow(x, kind)
    return wide * scalar_like((kind.max + 1) // (x.dtype.max + 1), wide)


def _as_float(image: Any) -> tuple[Tensor, DType]:
    """An image as floating numbers, and the dtype to go back to."""
    x = tensor(image)
    if x.dtype in (dtypes.float16, dtypes.float32, dtypes.float64):
        return x, x.dtype
    return convert_image_dtype(x, dtypes.float32), x.dtype


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """``delta`` added to every pixel, where pixels go from 0 to 1.

    Args:
        image: Tensor of a floating or integer dtype.
        delta: Scalar, in ``(-1, 1)``.

    Example:
        >>> import tfx as tf
        >>> tf.image.adjust_brightness([[[0.5, 0.25, 0.0]]], 0.25).numpy()
        array([[[0.75, 0.5 , 0.25]]], dtype=float32)
    """
    x, kind = _as_float(image)
    return convert_image_dtype(x + _like(delta, x), kind, saturate=True)


def _like(value: Any, x: Tensor) -> Tensor:
    given = (
        convert_to_tensor(value) if hasattr(value, "dtype") else convert_to_tensor(value, x.dtype)
    )
    return cast_to(given, x.dtype)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """The distance of each pixel to the mean of its channel times a factor.

    It has a gradient by both arguments. (TensorFlow raises ``LookupError`` there.)

    Args:
        images: ``[..., height, width, channels]`` of a floating or integer dtype.
        contrast_factor: Scalar.

    Example:
        >>> import tfx as tf
        >>> tf.image.adjust_contrast([[[1.0], [3.0]]], 2.0).numpy().ravel()
        array([0., 4.], dtype=float32)
    """
    x, kind = _as_float(images)
    found = _contrasted(x, _like(contrast_factor, x))
    return convert_image_dtype(found, kind, saturate=True)


@eagerly_at_once
def _contrasted(x: Tensor, factor: Tensor) -> Tensor:
    mean = reduce_mean(x, [-3, -2], keepdims=True)
    return (x - mean) * factor + mean


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """``gain * image ** gamma``, where pixels go from 0 to 1.

    Args:
        image: Tensor of a floating or integer dtype.
        gamma: Scalar, not negative: above 1 the image gets darker.
        gain: Scalar.

    Raises:
        ValueError: a negative gamma that is known now.

    Example:
        >>> import tfx as tf
        >>> tf.image.adjust_gamma([[[0.5]]], 2.0).numpy()
        array([[[0.25]]], dtype=float32)
    """
    x, kind = _as_float(image)
    power = _like(gamma, x)
    if isinstance(power, EagerTensor) and bool((power.view() < 0).any()):
        raise InvalidArgumentError(f"Gamma should be a non-negative real number; got {gamma!r}.")
    return convert_image_dtype(_like(gain, x) * x**power, kind, saturate=True)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """The saturation of RGB images times a factor.

    Args:
        image: ``[..., 3]`` of a floating or integer dtype.
        saturation_factor: Scalar, not negative.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.image.adjust_saturation([[[1.0, 0.5, 0.5]]], 0.0).numpy()
        array([[[1., 1., 1.]]], dtype=float32)
    """
    x, kind = _as_float(image)
    hue, saturation, value = unstack(rgb_to_hsv(x), 3, axis=-1)
    one, zero = scalar_like(1, x), scalar_like(0, x)
    saturation = minimum(maximum(saturation * _like(saturation_factor, x), zero), one)
    found = hsv_to_rgb(stack([hue, saturation, value], -1))
    return convert_image_dtype(found, kind, saturate=True)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """The hue of RGB images turned by ``delta``, where 1 is the whole circle.

    Args:
        image: ``[..., 3]`` of a floating or integer dtype.
        delta: Scalar in ``[-1, 1]``.
        name: Accepted for compatibility.

    Raises:
        ValueError: a delta outside of ``[-1, 1]`` that is known now.

    Example:
        >>> import tfx as tf
        >>> tf.image.adjust_hue([[[1.0, 0.0, 0.0]]], 1 / 3).numpy().round(3)
        array([[[0., 1., 0.]]], dtype=float32)
    """
    x, kind = _as_float(image)
    turn = _like(delta, x)
    if isinstance(turn, EagerTensor) and bool((np.abs(turn.view()) > 1).any()):
        raise InvalidArgumentError(f"delta must be in the interval [-1, 1]; got {delta!r}.")
    hue, _, high = unstack(rgb_to_hsv(x), 3, axis=-1)
    # The largest and the smallest channel are handed on as they are: through the saturation they
    # would be rounded, and of small integers another number be left.
    low = reduce_min(x, -1)
    channels = [
        where(share > 0, high - (scalar_like(1, x) - share) * (high - low), low)
        for share in _shares(floormod(hue + turn, scalar_like(1, x)))
    ]
    return convert_image_dtype(stack(channels, -1), kind, saturate=True)


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value of RGB pixels between 0 and 1.

    Args:
        images: ``[..., 3]`` of a floating dtype.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.image.rgb_to_hsv([[0.0, 1.0, 0.0]]).numpy().round(3)
        array([[0.333, 1.   , 1.   ]], dtype=float32)
    """
    return _hues(tensor(images))


@eagerly_at_once
def _hues(x: Tensor) -> Tensor:
    red, green, blue = unstack(x, 3, axis=-1)
    value = reduce_max(x, -1)
    spread = value - reduce_min(x, -1)
    saturation = where(value > 0, divide_no_nan(spread, value), scalar_like(0, x))
    sixth, one = scalar_like(1 / 6, x), scalar_like(1, x)
    from_red = divide_no_nan(green - blue, spread) * sixth
    from_green = divide_no_nan(blue - red, spread) * sixth + scalar_like(2 / 6, x)
    from_blue = divide_no_nan(red - green, spread) * sixth + scalar_like(4 / 6, x)
    hue = where(red == value, from_red, where(green == value, from_green, from_blue))
    hue = where(spread > 0, where(hue < 0, hue + one, hue), scalar_like(0, x))
    return stack([hue, saturation, value], -1)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """RGB pixels between 0 and 1 of hue, saturation and value.

    Args:
        images: ``[..., 3]`` of a floating dtype.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.image.hsv_to_rgb([[1 / 3, 1.0, 1.0]]).numpy().round(3)
        array([[0., 1., 0.]], dtype=float32)
    """
    return _colors_of_hues(tensor(images))


@eagerly_at_once
def _colors_of_hues(x: Tensor) -> Tensor:
    hue, saturation, value = unstack(x, 3, axis=-1)
    one = scalar_like(1, x)
    channels = [((share - one) * saturation + one) * value for share in _shares(hue)]
    return stack(channels, -1)


def _shares(hue: Tensor) -> list[Tensor]:
    """Return the levels of red, green and blue between the smallest (0) and largest channel (1)."""
    six, one, zero = (scalar_like(n, hue) for n in (6, 1, 0))
    shares = []
    for start, sign in ((3, 1), (2, -1), (4, -1)):
        # |6 h - 3| - 1 for red, 2 - |6 h - 2| for green, 2 - |6 h - 4| for blue.
        away = ox.Abs(hue * six - scalar_like(start, hue))
        ramp = away - one if sign > 0 else scalar_like(2, hue) - away
        shares.append(minimum(maximum(ramp, zero), one))
    return shares


_GREY = (0.2989, 0.587, 0.114)
_YIQ = (
    (0.299, 0.59590059, 0.2115),
    (0.587, -0.27455667, -0.52273617),
    (0.114, -0.32134392, 0.31119955),
)
# The way back as TensorFlow rounds it: images are the same to the last bits.
_FROM_YIQ = (
    (1.0, 1.0, 1.0),
    (0.95598634, -0.27201283, -1.10674021),
    (0.6208248, -0.64720424, 1.70423049),
)
_FROM_YUV = ((1.0, 1.0, 1.0), (0.0, -0.394642334, 2.03206185), (1.13988303, -0.58062185, 0.0))
_YUV = (
    (0.299, -0.14714119, 0.61497538),
    (0.587, -0.28886916, -0.51496512),
    (0.114, 0.43601035, -0.10001026),
)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """The brightness of RGB pixels.

    Args:
        images: ``[..., 3]``.
        name: Accepted for compatibility.

    Returns:
        ``[..., 1]`` of the same dtype.

    Example:
        >>> import tfx as tf
        >>> tf.image.rgb_to_grayscale([[1.0, 0.0, 0.0]]).numpy()
        array([[0.2989]], dtype=float32)
    """
    x, kind = _as_float(images)
    return convert_image_dtype(_brightness(x), kind)


@eagerly_at_once
def _brightness(x: Tensor) -> Tensor:
    return reduce_sum(x * constant(_GREY, x.dtype), -1, keepdims=True)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """The one channel of an image three times.

    Args:
        images: ``[..., 1]``.
        name: Accepted for compatibility.

    Raises:
        ValueError: not one channel.

    Example:
        >>> import tfx as tf
        >>> tf.image.grayscale_to_rgb([[0.5]]).numpy()
        array([[0.5, 0.5, 0.5]], dtype=float32)
    """
    x = tensor(images)
    if x.shape.rank == 0 or (x.shape.rank is not None and x.shape[-1] not in (1, None)):
        raise InvalidArgumentError(f"A grayscale image must have one channel; got shape {x.shape}.")
    result = concat([x, x, x], -1)
    if x.shape.rank is not None:
        result.set_shape([*x.shape.as_list()[:-1], 3])
    return result


def rgb_to_yiq(images: Any) -> Tensor:
    """Pixels ``[..., 3]`` in the YIQ space of floating RGB images."""
    return _mixed(images, np.array(_YIQ))


def yiq_to_rgb(images: Any) -> Tensor:
    """RGB pixels of ``[..., 3]`` in the YIQ space."""
    return _mixed(images, np.array(_FROM_YIQ))


def rgb_to_yuv(images: Any) -> Tensor:
    """Pixels ``[..., 3]`` in the YUV space of floating RGB images."""
    return _mixed(images, np.array(_YUV))


def yuv_to_rgb(images: Any) -> Tensor:
    """RGB pixels of ``[..., 3]`` in the YUV space."""
    return _mixed(images, np.array(_FROM_YUV))


def _mixed(images: Any, weights: Any) -> Tensor:
    x = tensor(images)
    require_dtype(x, x.dtype.is_floating, "a conversion between RGB and YIQ or YUV", "floats")
    return matmul(x, constant(weights, x.dtype))


def per_image_standardization(image: Any) -> Tensor:
    """Scale each image to mean 0 and variance 1.

    Args:
        image: ``[..., height, width, channels]``.

    Returns:
        float32; an image of one colour becomes 0.

    Example:
        >>> import tfx as tf
        >>> tf.image.per_image_standardization([[[1.0], [3.0]]]).numpy().ravel()
        array([-1.,  1.], dtype=float32)
    """
    x = tensor(image)
    x = cast_to(x, dtypes.float32)
    axes = [-1, -2, -3]
    count = cast_to(ox.ReduceProd(shape(x)[-3:], keepdims=0), x.dtype)
    spread = reduce_std(x, axes, keepdims=True)
    least = scalar_like(1, x) / ox.Sqrt(count)
    return (x - reduce_mean(x, axes, keepdims=True)) / maximum(spread, least)
