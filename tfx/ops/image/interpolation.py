"""Cubic interpolation of images of known sizes, by four rows and four columns for each pixel.

ONNX Runtime's kernel of ``Resize`` takes 100 ns for each number in this mode, gathered rows and
their weights 5 ns. A product with a matrix of weights would make NaN of all the rows and columns of
a pixel that is not finite; here such a pixel acts on those alone that it counts for.
"""

from __future__ import annotations

import functools

import numpy as np

from tfx.framework.builder import ox
from tfx.framework.tensor import EagerTensor, Tensor, from_array
from tfx.ops.array.transpose import transpose
from tfx.ops.image.resampling import KERNELS

_TAPS = 4


def cubic(images: Tensor, sides: list[int], targets: list[int]) -> Tensor:
    """Images of another size, of which each pixel counts for those near it.

    Args:
        images: float32 ``[batch, height, width, channels]``.
        sides: Height and width.
        targets: The height and width of the result.
    """
    # Rows of each channel, then columns as rows: what is gathered is long.
    x = _along_rows(transpose(images, [0, 3, 1, 2]), sides[0], targets[0])
    x = _along_rows(transpose(x, [0, 1, 3, 2]), sides[1], targets[1])
    # In two steps, each of which has a quick kernel.
    return transpose(transpose(x, [0, 1, 3, 2]), [0, 2, 3, 1])


def _along_rows(x: Tensor, side: int, target: int) -> Tensor:
    """``[n, channels, side, m]`` to ``[n, channels, target, m]``."""
    total: Tensor | None = None
    for places, weights in _taps(side, target):
        part = ox.Mul(ox.Gather(x, places, axis=2), weights)
        total = part if total is None else ox.Add(total, part)
    assert total is not None
    return total


@functools.lru_cache(maxsize=64)
def _taps(side: int, target: int) -> list[tuple[EagerTensor, EagerTensor]]:
    """For each of four numbers, which row every row of the result takes, and how much of it.

    A row that would count nothing, or that is outside of the image, is the one that counts most,
    whose weight is divided among its places.
    """
    centers = (np.arange(target) + 0.5) * (side / target) - 0.5
    places = np.floor(centers).astype(np.int64)[:, None] + np.arange(_TAPS) - 1
    inside = (places >= 0) & (places < side)
    weights = KERNELS["bicubic"](np, places - centers[:, None]) * inside
    weights /= weights.sum(axis=1, keepdims=True)
    rows = np.arange(target)
    most = np.abs(weights).argmax(axis=1)
    idle = weights == 0
    count = idle.sum(axis=1) + 1
    shared = weights[rows, most] / count
    weights = np.where(idle, shared[:, None], weights)
    weights[rows, most] = shared
    places = np.where(idle, places[rows, most][:, None], places)
    return [
        (from_array(places[:, k]), from_array(weights[:, k, None].astype(np.float32)))
        for k in range(_TAPS)
    ]
