"""``tfx.image``: differences of neighbouring pixels, and measures of their similarity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat, stack
from tfx.ops.array.pad import pad
from tfx.ops.common.arguments import scalar_like, tensor
from tfx.ops.image.color import convert_image_dtype
from tfx.ops.math.arithmetic import pow
from tfx.ops.math.elementwise import abs, square
from tfx.ops.math.reduction import reduce_mean, reduce_prod, reduce_sum
from tfx.ops.nn.activations import relu
from tfx.ops.nn.convolution import depthwise_conv2d
from tfx.ops.nn.pooling import avg_pool2d


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """The differences to the next row and to the next column, 0 in the last ones.

    Args:
        image: ``[batch, height, width, channels]``.

    Returns:
        ``(dy, dx)`` of the same shape.

    Raises:
        ValueError: another rank.

    Example:
        >>> import tfx as tf
        >>> dy, dx = tf.image.image_gradients([[[[1.0], [3.0]]]])
        >>> dx.numpy().ravel()
        array([2., 0.], dtype=float32)
    """
    x = tensor(image)
    if x.shape.rank != 4:
        raise InvalidArgumentError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {x.shape}."
        )
    dy, dx = x[:, 1:] - x[:, :-1], x[:, :, 1:] - x[:, :, :-1]
    return pad(dy, [[0, 0], [0, 1], [0, 0], [0, 0]]), pad(dx, [[0, 0], [0, 0], [0, 1], [0, 0]])


def sobel_edges(image: Any) -> Tensor:
    """Sobel's filters, by rows and by columns.

    Args:
        image: ``[batch, height, width, channels]`` of a floating dtype.

    Returns:
        ``[batch, height, width, channels, 2]``: differences along the rows and along the columns.

    Raises:
        ValueError: another rank.

    Example:
        >>> import tfx as tf
        >>> tf.image.sobel_edges(tf.zeros([1, 4, 4, 3])).shape
        TensorShape([1, 4, 4, 3, 2])
    """
    x = tensor(image)
    if x.shape.rank != 4:
        raise InvalidArgumentError(f"sobel_edges expects [batch_size, h, w, d], not {x.shape}.")
    wide = pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    two = scalar_like(2, x)

    def smooth(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return a + two * b + c

    down = wide[:, 2:] - wide[:, :-2]
    right = wide[:, :, 2:] - wide[:, :, :-2]
    dy = smooth(down[:, :, :-2], down[:, :, 1:-1], down[:, :, 2:])
    dx = smooth(right[:, :-2], right[:, 1:-1], right[:, 2:])
    return stack([dy, dx], -1)


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of the absolute differences of neighbouring pixels.

    Args:
        images: ``[height, width, channels]`` or a batch of them.
        name: Accepted for compatibility.

    Returns:
        A scalar, or one for each image.

    Raises:
        ValueError: another rank.

    Example:
        >>> import tfx as tf
        >>> tf.image.total_variation([[[1.0], [3.0]]]).numpy()
        np.float32(2.0)
    """
    x = tensor(images)
    if x.shape.rank not in (3, 4):
        raise InvalidArgumentError(
            f"'images' must be either 3 or 4-dimensional; got shape {x.shape}."
        )
    down = x[..., 1:, :, :] - x[..., :-1, :, :]
    right = x[..., 1:, :] - x[..., :-1, :]
    axes = [-3, -2, -1]
    return reduce_sum(abs(down), axes) + reduce_sum(abs(right), axes)


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of images, in decibels.

    Args:
        a: ``[..., height, width, channels]``.
        b: Images of the same shape.
        max_val: The highest value of a pixel less the lowest.
        name: Accepted for compatibility.

    Returns:
        A number for each image.

    Example:
        >>> import tfx as tf
        >>> tf.image.psnr(tf.zeros([2, 2, 1]), tf.ones([2, 2, 1]), 10.0).numpy().round(3)
        np.float32(20.0)
    """
    x, y, peak = _compared(a, b, max_val)
    error = reduce_mean(square(x - y), [-3, -2, -1])
    ten = scalar_like(10 / math.log(10), x)
    return ten * ox.Log(peak * peak / error)


def _compared(a: Any, b: Any, max_val: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Both images in float32, and the range of their pixels."""
    x, y = tensor(a), tensor(b)
    if not x.shape.is_compatible_with(y.shape):
        raise InvalidArgumentError(f"Shapes {x.shape} and {y.shape} are incompatible.")
    peak = convert_image_dtype(tensor(max_val, x.dtype), dtypes.float32)
    return (
        convert_image_dtype(x, dtypes.float32),
        convert_image_dtype(y, dtypes.float32),
        peak,
    )


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """The structural similarity of images: 1 for equal ones.

    Args:
        img1: ``[..., height, width, channels]``, at least ``filter_size`` high and wide.
        img2: Images of the same shape.
        max_val: The highest value of a pixel less the lowest.
        filter_size: Width of the Gaussian window.
        filter_sigma: Its standard deviation.
        k1: Stabilizes the comparison of means.
        k2: Stabilizes the comparison of variances.
        return_index_map: Return the similarity of each place and not their mean.

    Returns:
        A number for each image.

    Raises:
        ValueError: shapes that do not fit, or images that are smaller than the window.

    Example:
        >>> import tfx as tf
        >>> tf.image.ssim(tf.ones([16, 16, 1]), tf.ones([16, 16, 1]), 1.0).numpy()
        np.float32(1.0)
    """
    x, y, peak = _compared(img1, img2, max_val)
    lead = ox.Shape(x, end=-3)
    x, y = _images("ssim", x, y, filter_size)
    luminance, contrast = _similar(x, y, peak, filter_size, filter_sigma, k1, k2)
    found = reduce_mean(luminance * contrast, [-1] if return_index_map else [-3, -2, -1])
    return ox.Reshape(found, concat([lead, ox.Shape(found, start=1)], 0))


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of images at several scales, each half of the one before.

    Args:
        img1: ``[..., height, width, channels]``; the smallest scale is at least ``filter_size``
            high and wide.
        img2: Images of the same shape.
        max_val: The highest value of a pixel less the lowest.
        power_factors: The weight of each scale; so many there are.
        filter_size: Width of the Gaussian window.
        filter_sigma: Its standard deviation.
        k1: Stabilizes the comparison of means.
        k2: Stabilizes the comparison of variances.

    Returns:
        A number for each image, 1 for equal ones.

    Raises:
        ValueError: shapes that do not fit, or images that are smaller than the window.

    Example:
        >>> import tfx as tf
        >>> x = tf.random.uniform([2, 192, 192, 3])
        >>> tf.image.ssim_multiscale(x, x, 1.0).numpy()
        array([1., 1.], dtype=float32)
    """
    if not power_factors:
        raise InvalidArgumentError(
            "ssim_multiscale needs the weight of at least one scale; got none."
        )
    x, y, peak = _compared(img1, img2, max_val)
    lead = ox.Shape(x, end=-3)
    scales = []
    for scale in range(len(power_factors)):
        if scale:
            x, y = _halved(x), _halved(y)
        x, y = _images("ssim_multiscale", x, y, filter_size)
        luminance, contrast = _similar(x, y, peak, filter_size, filter_sigma, k1, k2)
        last = scale == len(power_factors) - 1
        # Negative similarities have no powers.
        scales.append(relu(reduce_mean(luminance * contrast if last else contrast, [-3, -2])))
    powers = constant(list(power_factors), x.dtype)
    found = reduce_mean(reduce_prod(pow(stack(scales, -1), powers), -1), -1)
    return ox.Reshape(found, lead)


def _halved(x: Tensor) -> Tensor:
    """Images of half the size; a last row or column without a partner is its own."""
    odd = [int(side or 0) % 2 for side in x.shape[-3:-1].as_list()]
    if any(odd):
        x = pad(x, [[0, 0], [0, odd[0]], [0, odd[1]], [0, 0]], "SYMMETRIC")
    return avg_pool2d(x, 2, 2, "VALID")


def _images(op: str, x: Tensor, y: Tensor, filter_size: int) -> tuple[Tensor, Tensor]:
    """Both as one batch of images, of known size."""
    sides = x.shape[-3:-1].as_list()
    if any(s is not None and s < filter_size for s in sides):
        raise InvalidArgumentError(
            f"{op} needs images of at least {filter_size} by {filter_size} (filter_size); got "
            f"shape {x.shape}."
        )
    flat = [-1, *x.shape[-3:].as_list()]
    if None in flat[1:]:
        raise InvalidArgumentError(f"{op} needs images of known size; got {x.shape}.")
    shape = constant(flat, dtypes.int64)
    return ox.Reshape(x, shape), ox.Reshape(y, shape)


def _similar(
    x: Tensor, y: Tensor, peak: Tensor, size: int, sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """How alike the means are around each place, and how alike contrast and structure are."""
    places = np.arange(size) - (size - 1) / 2
    weights = np.exp(-(places**2) / (2 * sigma**2))
    window = np.outer(weights, weights) / weights.sum() ** 2
    kernel = constant(np.tile(window[:, :, None, None], (1, 1, int(x.shape[-1] or 1), 1)), x.dtype)

    def blur(v: Tensor) -> Tensor:
        return depthwise_conv2d(v, kernel, [1, 1, 1, 1], "VALID")

    c1, c2 = (scalar_like(k, x) * peak for k in (k1, k2))
    c1, c2 = c1 * c1, c2 * c2
    two = scalar_like(2, x)
    mean_x, mean_y = blur(x), blur(y)
    both, each = mean_x * mean_y * two, square(mean_x) + square(mean_y)
    mixed = blur(x * y) * two - both
    spread = blur(square(x) + square(y)) - each
    return (both + c1) / (each + c1), (mixed + c2) / (spread + c2)
