"""Weights of resampling one axis of an image, for the methods that ONNX's ``Resize`` lacks.

The formulas are written once, over NumPy or over tensors: sizes that only a run tells make the
weights a part of the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.where import where
from tfx.ops.common.arguments import cast_to
from tfx.ops.math.arithmetic import maximum, minimum
from tfx.ops.math.elementwise import abs, exp
from tfx.ops.math.reduction import reduce_sum
from tfx.ops.math.trigonometry import sin

# Of the functions that formulas need, those of NumPy and those of tensors.
_NUMPY: Any = np
_TENSORS: Any = SimpleNamespace(
    abs=abs, exp=exp, maximum=maximum, minimum=minimum, sin=sin, where=where
)
Kernel = Callable[[Any, Any], Any]


def _cubic(b: float, c: float) -> Kernel:
    """The family of Mitchell and Netravali."""

    def kernel(m: Any, x: Any) -> Any:
        x = m.abs(x)
        square = x * x
        near = ((12 - 9 * b - 6 * c) * x * square + (-18 + 12 * b + 6 * c) * square) / 6
        far = ((-b - 6 * c) * x * square + (6 * b + 30 * c) * square) / 6
        far = far + (-2 * b - 8 * c) * x + (8 * b + 24 * c) / 6
        return m.where(x < 1, near + (6 - 2 * b) / 6, m.where(x < 2, far, 0.0 * x))

    return kernel


def _lanczos(radius: int) -> Kernel:
    def kernel(m: Any, x: Any) -> Any:
        # At 0 the quotient is 1, and elsewhere no denominator is 0.
        close = m.abs(x) < 1e-9
        angle = math.pi * m.where(close, 0.0 * x + 1.0, x)
        waves = radius * m.sin(angle) * m.sin(angle / radius) / (angle * angle)
        inside = m.where(m.abs(x) < radius, waves, 0.0 * x)
        return m.where(close, 0.0 * x + 1.0, inside)

    return kernel


def _gaussian(m: Any, x: Any) -> Any:
    return m.where(m.abs(x) < 1.5, m.exp(-2.0 * x * x), 0.0 * x)


KERNELS: dict[str, Kernel] = {
    "bilinear": lambda m, x: m.maximum(1.0 - m.abs(x), 0.0 * x),
    "bicubic": _cubic(0.0, 0.5),
    "mitchellcubic": _cubic(1 / 3, 1 / 3),
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "gaussian": _gaussian,
}


def weights(method: str, side: int, target: int, antialias: bool) -> Any:
    """Return the weights of ``side`` pixels in ``target`` resampled ones: ``[target, side]``."""
    pixels, places = np.arange(float(side)), np.arange(float(target))
    found = _unscaled(_NUMPY, method, side / target, pixels, places[:, None], antialias)
    return found / found.sum(axis=1, keepdims=True)


def open_weights(method: str, side: Tensor, target: Tensor, antialias: bool) -> Tensor:
    """``weights`` for numbers of pixels that only a run tells, int64 vectors of length 1."""
    scale = cast_to(side, dtypes.float64) / cast_to(target, dtypes.float64)
    pixels, places = _numbers(side), ox.Unsqueeze(_numbers(target), int64_constant([1]))
    found = _unscaled(_TENSORS, method, scale, pixels, places, antialias)
    return ox.Div(found, reduce_sum(found, 1, keepdims=True))


def _numbers(count: Tensor) -> Tensor:
    limit = ox.Squeeze(count, int64_constant([0]))
    return cast_to(ox.Range(int64_constant(0), limit, int64_constant(1)), dtypes.float64)


def _unscaled(m: Any, method: str, scale: Any, pixels: Any, places: Any, antialias: bool) -> Any:
    """Weights that do not add up to 1 yet.

    Args:
        m: The functions of the numbers.
        method: A key of ``KERNELS``, or ``"area"``.
        scale: Pixels for each resampled one.
        pixels: The pixels' numbers, ``[side]``.
        places: Those of the resampled ones, ``[target, 1]``.
        antialias: Average over what is passed over when an image gets smaller.
    """
    if method == "area":
        starts = places * scale
        overlap = m.minimum(starts + scale, pixels + 1.0) - m.maximum(starts, pixels)
        return m.maximum(overlap, 0.0 * overlap)
    distances = pixels - ((places + 0.5) * scale - 0.5)
    if antialias:
        distances = distances / m.maximum(scale, 0.0 * scale + 1.0)
    return KERNELS[method](m, distances)
