"""Sliding windows: what the attributes of convolutions and pools mean, and SAME padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tfx.core.errors import InvalidArgumentError
from tfx.graph.ops import Ops

V = TypeVar("V")
Pads: TypeAlias = "tuple[tuple[int, int], ...]"


@dataclass(frozen=True, slots=True)
class Window:
    """A window that slides over the spatial axes; every field has a number for each.

    Attributes:
        kernel: Sizes.
        strides: Steps.
        dilations: Distances between taps.
        padding: ``"SAME"``, ``"SAME_LOWER"`` (which puts the odd element in front), ``"VALID"``,
            or the amounts before and after each axis.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: str | Pads

    @property
    def extents(self) -> tuple[int, ...]:
        """How many elements the window spans, dilation included."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilations, strict=True))

    def pads(self, sizes: Sequence[int | None]) -> Pads | None:
        """The padding of an input of these spatial sizes; None where an unknown size decides."""
        if self.padding == "VALID":
            return ((0, 0),) * len(self.kernel)
        if not isinstance(self.padding, str):
            return self.padding
        pads: list[tuple[int, int]] = []
        for size, stride, extent in zip(sizes, self.strides, self.extents, strict=True):
            if stride == 1:
                total = extent - 1
            elif size is None:
                return None
            else:
                total = max((math.ceil(size / stride) - 1) * stride + extent - size, 0)
            small, large = total // 2, total - total // 2
            pads.append((large, small) if self.padding == "SAME_LOWER" else (small, large))
        return tuple(pads)

    def outputs(self, sizes: Sequence[int | None], op: str) -> list[int | None]:
        """How many positions the window has along each axis.

        Raises:
            InvalidArgumentError: the window does not fit.
        """
        counts: list[int | None] = []
        pads = self.pads(sizes)
        for i, size in enumerate(sizes):
            if size is None or pads is None:
                counts.append(None)
                continue
            room = size + sum(pads[i]) - self.extents[i]
            count = room // self.strides[i] + 1
            if count < 0:
                raise InvalidArgumentError(
                    f"Computed output size would be negative: {count} in {op} [input_size: {size}, "
                    f"effective_filter_size: {self.extents[i]}, stride: {self.strides[i]}]; use a "
                    "smaller window or more padding.",
                    op=op,
                )
            counts.append(count)
        return counts

    def attributes(self, sizes: Sequence[int | None]) -> dict[str, Any] | None:
        """ONNX attributes of the window; None where only a computed ``Pad`` gives the padding."""
        attrs: dict[str, Any] = {"kernel_shape": self.kernel, "strides": self.strides}
        if max(self.dilations) > 1:
            attrs["dilations"] = self.dilations
        pads = self.pads(sizes)
        if pads is not None:
            if any(map(any, pads)):
                attrs["pads"] = flat_pads(pads)
            return attrs
        # ONNX Runtime refuses auto_pad with dilation, and lets it crop where steps skip elements.
        if max(self.dilations) > 1 or any(
            s > k for s, k in zip(self.strides, self.kernel, strict=True)
        ):
            return None
        assert isinstance(self.padding, str)
        attrs["auto_pad"] = "SAME_LOWER" if self.padding == "SAME_LOWER" else "SAME_UPPER"
        return attrs

    def same_padding(self, f: Ops[V], sizes: V) -> tuple[V, V]:
        """SAME padding before and after, int64 vectors like the input's spatial ``sizes``."""
        strides, one = f.ints(self.strides), f.ints(1)
        counts = f.Div(f.Add(sizes, f.Sub(strides, one)), strides)
        span = f.Mul(f.Sub(counts, one), strides)
        total = f.Sub(f.Add(span, f.ints(self.extents)), sizes)
        total = f.Max(total, f.ints(0))
        small = f.Div(total, f.ints(2))
        large = f.Sub(total, small)
        return (large, small) if self.padding == "SAME_LOWER" else (small, large)


def pad_spatial(f: Ops[V], x: V, before: V, after: V, value: V | None = None) -> V:
    """Pad (or, where negative, crop) the axes behind the first two by int64 vectors.

    Args:
        f: The builder.
        x: ``[n, c, *sizes]``.
        before: How much to put in front of each spatial axis.
        after: How much behind.
        value: What to pad with, a scalar; None: zeros.
    """
    none = f.ints([0, 0])
    pads = f.Concat(none, before, none, after, axis=0)
    return f.Pad(x, pads) if value is None else f.Pad(x, pads, value)


def flat_pads(pads: Pads) -> tuple[int, ...]:
    """ONNX's order: all beginnings, then all ends."""
    return (*(p[0] for p in pads), *(p[1] for p in pads))


def window_of(attrs: dict[str, Any], kernel: Sequence[int]) -> Window:
    """The window of an ONNX Conv or pool node."""
    axes = len(kernel)
    auto = attrs.get("auto_pad", "NOTSET")
    auto = auto.decode() if isinstance(auto, bytes) else auto
    padding: str | Pads
    if auto == "NOTSET":
        flat = attrs.get("pads") or (0,) * (2 * axes)
        padding = tuple((flat[i], flat[axes + i]) for i in range(axes))
    else:
        padding = {"SAME_UPPER": "SAME"}.get(auto, auto)
    ones = (1,) * axes
    return Window(
        tuple(kernel),
        tuple(attrs.get("strides") or ones),
        tuple(attrs.get("dilations") or ones),
        padding,
    )
