"""Convolutions and pools by loops over the window's taps, channels last, in NumPy float64."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def paddings(
    sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int],
    padding: Any,
) -> list[tuple[int, int]]:  # fmt: skip
    """TensorFlow's padding of each spatial axis."""
    if padding == "VALID":
        return [(0, 0)] * len(sizes)
    if padding != "SAME":
        return [tuple(p) for p in padding[1:-1]]
    pads = []
    for n, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        pads.append((total // 2, total - total // 2))
    return pads


class Windows:
    """Every tap of the window with the slice of the padded input that it sees."""

    def __init__(
        self, shape: Sequence[int], kernel: Sequence[int], strides: Sequence[int],
        dilations: Sequence[int], padding: Any,
    ) -> None:  # fmt: skip
        sizes = shape[1:-1]
        self.kernel, self.strides, self.dilations = kernel, strides, dilations
        self.pads = [(0, 0), *paddings(sizes, kernel, strides, dilations, padding), (0, 0)]
        each = zip(sizes, self.pads[1:-1], kernel, strides, dilations, strict=True)
        self.counts = [(n + sum(p) - (k - 1) * d - 1) // s + 1 for n, p, k, s, d in each]

    def padded(self, x: Array, value: float = 0.0) -> Array:
        return np.pad(x, self.pads, constant_values=value)

    def taps(self) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
        for tap in itertools.product(*map(range, self.kernel)):
            begins = [t * d for t, d in zip(tap, self.dilations, strict=True)]
            cut = tuple(
                slice(b, b + (c - 1) * s + 1, s)
                for b, c, s in zip(begins, self.counts, self.strides, strict=True)
            )
            yield tap, (slice(None), *cut)


def per_axis(value: Any, axes: int) -> list[int]:
    items = [value] if isinstance(value, int) else list(value)
    return items * axes if len(items) == 1 else items[1:-1] if len(items) == axes + 2 else items


def conv(x: Array, w: Array, strides: Any, padding: Any, dilations: Any = 1) -> Array:
    """``[n, *sizes, c]`` with ``[*kernel, c / groups, o]``."""
    axes = w.ndim - 2
    windows = Windows(
        x.shape, w.shape[:-2], per_axis(strides, axes), per_axis(dilations, axes), padding
    )
    padded = windows.padded(x)
    depth, outs = w.shape[-2:]
    groups = x.shape[-1] // depth
    y = np.zeros((x.shape[0], *windows.counts, outs))
    for tap, cut in windows.taps():
        for g in range(groups):
            seen = padded[cut][..., g * depth : (g + 1) * depth]
            part = slice(g * (outs // groups), (g + 1) * (outs // groups))
            y[..., part] += seen @ w[tap][:, part]
    return y


def conv_transpose(
    y: Array, w: Array, shape: Sequence[int], strides: Any, padding: Any, dilations: Any = 1
) -> Array:
    """What ``conv`` of an input of ``shape`` would send back: ``w`` is ``[*kernel, out, in]``."""
    axes = w.ndim - 2
    windows = Windows(
        shape, w.shape[:-2], per_axis(strides, axes), per_axis(dilations, axes), padding
    )
    padded = windows.padded(np.zeros(shape))
    for tap, cut in windows.taps():
        padded[cut] += y @ w[tap].T
    inner = tuple(slice(p[0], p[0] + n) for p, n in zip(windows.pads, shape, strict=True))
    return padded[inner]


def depthwise(x: Array, w: Array, strides: Any, padding: Any, dilations: Any = 1) -> Array:
    """``w`` is ``[h, w, c, multiplier]``."""
    per_channel = [
        conv(x[..., c : c + 1], w[:, :, c : c + 1], strides, padding, dilations)
        for c in range(x.shape[-1])
    ]
    return np.concatenate(per_channel, -1)


def pool(kind: str, x: Array, ksize: Any, strides: Any, padding: Any, dilations: Any = 1) -> Array:
    """``"MAX"`` or ``"AVG"``, which leaves the padding out."""
    axes = x.ndim - 2
    windows = Windows(
        x.shape, per_axis(ksize, axes), per_axis(strides, axes), per_axis(dilations, axes), padding
    )
    if kind == "MAX":
        padded = windows.padded(x, -np.inf)
        return np.max([padded[cut] for _, cut in windows.taps()], axis=0)
    padded, ones = windows.padded(x), windows.padded(np.ones_like(x))
    total = np.sum([padded[cut] for _, cut in windows.taps()], axis=0)
    return total / np.sum([ones[cut] for _, cut in windows.taps()], axis=0)
