"""Weights of resampling one axis of an image, for the methods that ONNX's ``Resize`` lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Kernel = Callable[[Any], Any]


def _cubic(b: float, c: float) -> Kernel:
    """The family of Mitchell and Netravali."""

    def kernel(x: Any) -> Any:
        x = np.abs(x)
        near = ((12 - 9 * b - 6 * c) * x**3 + (-18 + 12 * b + 6 * c) * x**2 + (6 - 2 * b)) / 6
        far = (
            (-b - 6 * c) * x**3 + (6 * b + 30 * c) * x**2 + (-12 * b - 48 * c) * x + 8 * b + 24 * c
        ) / 6
        return np.where(x < 1, near, np.where(x < 2, far, 0.0))

    return kernel


def _lanczos(radius: int) -> Kernel:
    return lambda x: np.where(np.abs(x) < radius, np.sinc(x) * np.sinc(x / radius), 0.0)


def _gaussian(x: Any) -> Any:
    return np.where(np.abs(x) < 1.5, np.exp(-2.0 * x**2), 0.0)


KERNELS: dict[str, Kernel] = {
    "bilinear": lambda x: np.maximum(0.0, 1 - np.abs(x)),
    "bicubic": _cubic(0.0, 0.5),
    "mitchellcubic": _cubic(1 / 3, 1 / 3),
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "gaussian": _gaussian,
}


def weights(method: str, side: int, target: int, antialias: bool) -> Any:
    """Return the weights of ``side`` pixels in ``target`` resampled ones: ``[target, side]``."""
    scale = side / target
    if method == "area":
        starts = np.arange(target)[:, None] * scale
        pixels = np.arange(side)[None, :]
        overlap = np.minimum(starts + scale, pixels + 1) - np.maximum(starts, pixels)
        return np.maximum(overlap, 0.0) / scale
    centers = (np.arange(target) + 0.5) * scale - 0.5
    width = max(scale, 1.0) if antialias else 1.0
    found = KERNELS[method]((np.arange(side)[None, :] - centers[:, None]) / width)
    return found / found.sum(axis=1, keepdims=True)
