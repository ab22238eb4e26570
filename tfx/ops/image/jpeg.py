"""``tfx.image``: images as JPEG files of some quality show them.

Pillow does it; functions with these cannot be saved.
"""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import as_int64, tensor
from tfx.ops.common.python_ops import by_python
from tfx.ops.image.color import convert_image_dtype
from tfx.ops.io import pictures
from tfx.ops.random.random import stateless_uniform, uniform


def adjust_jpeg_quality(
    image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None
) -> Tensor:
    """An image as a JPEG file of a quality shows it.

    Args:
        image: ``[height, width, channels]``, 1 or 3 channels; integers, or floats from 0 to 1.
        jpeg_quality: 0 to 100; a Python integer or a scalar tensor.
        dct_method: Accepted for compatibility.
        name: Accepted for compatibility.

    Returns:
        The image, of the same dtype and shape.

    Raises:
        InvalidArgumentError: another quality or shape.
        ImportError: Pillow is not installed.

    Example:
        >>> import tfx as tf
        >>> tf.image.adjust_jpeg_quality(tf.fill([8, 8, 3], 0.5), 75).shape
        TensorShape([8, 8, 3])
    """
    x = tensor(image)
    pixels = convert_image_dtype(x, dtypes.uint8, saturate=True)
    quality = as_int64(jpeg_quality)

    def seen(pixels: Any, quality: Any) -> list[Any]:
        return [pictures.as_jpeg(pixels, int(quality))]

    shape = x.shape.symbolic
    outputs = [(dtypes.uint8, shape)]
    found = by_python("image.adjust_jpeg_quality", seen, [pixels, quality], outputs)[0]
    return convert_image_dtype(found, x.dtype, saturate=True)


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """``adjust_jpeg_quality`` by a quality of ``[min_jpeg_quality, max_jpeg_quality)``.

    Raises:
        ValueError: not ``0 <= min_jpeg_quality < max_jpeg_quality <= 100``.

    Example:
        >>> import tfx as tf
        >>> tf.image.random_jpeg_quality(tf.zeros([8, 8, 3], tf.uint8), 75, 95).dtype
        tf.uint8
    """
    _check(min_jpeg_quality, max_jpeg_quality)
    chosen = uniform([], min_jpeg_quality, max_jpeg_quality, dtypes.int32, seed=seed)
    return adjust_jpeg_quality(image, chosen)


def stateless_random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any
) -> Tensor:
    """``random_jpeg_quality`` by a seed of two integers alone."""
    _check(min_jpeg_quality, max_jpeg_quality)
    chosen = stateless_uniform([], seed, min_jpeg_quality, max_jpeg_quality, dtypes.int32)
    return adjust_jpeg_quality(image, chosen)


def _check(low: int, high: int) -> None:
    if not 0 <= low <= 100 or not 0 <= high <= 100:
        raise InvalidArgumentError(
            f"jpeg encoding range must be between 0 and 100; got {low} and {high}."
        )
    if low >= high:
        raise InvalidArgumentError(
            f"min_jpeg_quality must be less than max_jpeg_quality; got {low} and {high}."
        )
