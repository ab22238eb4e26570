"""Sliding windows: layouts, strides and TensorFlow's paddings, for convolutions and pools.

ONNX wants the channels first; TensorFlow puts them last by default. An operation brings its input
to channels first and its result back, and ONNX Runtime's optimizer removes the transpositions
between consecutive layers. Paddings are made explicit numbers wherever the sizes allow it; sizes
that are known only at run time use ``auto_pad`` or a computed ``Pad``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to

_FORMATS = {
    1: ("NWC", "NCW"),
    2: ("NHWC", "NCHW"),
    3: ("NDHWC", "NCDHW"),
}
Pads = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """A data format: the number of spatial axes and the place of the channels.

    Attributes:
        axes: How many spatial axes there are.
        channels_first: ``NCHW`` and not ``NHWC``.
    """

    axes: int
    channels_first: bool

    @classmethod
    def parse(cls, data_format: str | None, axes: int, op: str) -> Layout:
        """Parse TensorFlow's name of a layout; None is channels last.

        Raises:
            ValueError: no such format for this number of spatial axes.
        """
        last, first = _FORMATS[axes]
        if data_format not in (None, last, first):
            raise ValueError(
                f"`data_format` of {op} must be {last!r} or {first!r}; got {data_format!r}."
            )
        return cls(axes, data_format == first)

    def to_first(self, x: Tensor) -> Tensor:
        """``x`` with the channels first."""
        if self.channels_first:
            return x
        last = self.axes + 1
        return ox.Transpose(x, perm=(0, last, *range(1, last)))

    def from_first(self, x: Tensor) -> Tensor:
        """The inverse of ``to_first``."""
        if self.channels_first:
            return x
        return ox.Transpose(x, perm=(0, *range(2, self.axes + 2), 1))

    def spatial(self, value: Sequence[Any]) -> list[Any]:
        """The spatial ones of values that are given for every axis."""
        return list(value[2:] if self.channels_first else value[1:-1])

    def per_axis(self, value: Any, name: str, op: str) -> tuple[int, ...]:
        """One positive number for each spatial axis from 1, n or n + 2 numbers.

        Raises:
            ValueError: another count, numbers below 1, or steps along batch or channels.
        """
        given = value if isinstance(value, Sequence | np.ndarray) else [value]
        items = [int(v) for v in given]
        if len(items) == 1:
            items *= self.axes
        elif len(items) == self.axes + 2:
            outer = items[:2] if self.channels_first else [items[0], items[-1]]
            if outer != [1, 1]:
                raise ValueError(
                    f"{name} of {op} in the batch and channel dimensions must be 1; got {value!r}."
                )
            items = self.spatial(items)
        elif len(items) != self.axes:
            raise ValueError(
                f"{name} of {op} should be of length 1, {self.axes} or {self.axes + 2}; got "
                f"{value!r}."
            )
        if min(items) < 1:
            raise ValueError(f"{name} of {op} must be positive; got {value!r}.")
        return tuple(items)

    def padding(self, padding: Any, op: str) -> str | Pads:
        """``"SAME"``, ``"VALID"`` or the amounts before and after each spatial axis.

        Raises:
            ValueError: anything else.
        """
        if isinstance(padding, str):
            if padding.upper() not in ("SAME", "VALID"):
                raise ValueError(
                    f"`padding` of {op} must be 'SAME', 'VALID' or a list of pairs; got "
                    f"{padding!r}."
                )
            return padding.upper()
        pairs = [tuple(int(v) for v in pair) for pair in padding]
        if len(pairs) != self.axes + 2 or any(len(p) != 2 or min(p) < 0 for p in pairs):
            raise ValueError(
                f"An explicit `padding` of {op} has a pair of non-negative numbers for each of the "
                f"{self.axes + 2} axes; got {padding!r}."
            )
        outer = pairs[:2] if self.channels_first else [pairs[0], pairs[-1]]
        if any(any(p) for p in outer):
            raise ValueError(
                f"`padding` of {op} in the batch and channel dimensions must be 0; got {padding!r}."
            )
        return tuple((p[0], p[1]) for p in self.spatial(pairs))


@dataclass(frozen=True, slots=True)
class Window:
    """A window that slides over the spatial axes; every field has a number for each.

    Attributes:
        kernel: Sizes.
        strides: Steps.
        dilations: Distances between taps.
        padding: See ``Layout.padding``; ``"SAME_LOWER"`` puts the odd element in front.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: str | Pads

    @property
    def extents(self) -> tuple[int, ...]:
        """The number of elements that the window spans along each axis, dilation included."""
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
        """Return the number of positions of the window along each axis, None where unknown.

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

    def computed_pads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """SAME padding before and after the spatial axes of ``x`` as int64 vectors."""
        return self.computed_pads_of(ox.Shape(x, start=2))

    def computed_pads_of(self, sizes: Tensor) -> tuple[Tensor, Tensor]:
        """SAME padding for a vector of spatial sizes."""
        strides, one = int64_constant(self.strides), int64_constant(1)
        counts = ox.Div(ox.Add(sizes, ox.Sub(strides, one)), strides)
        span = ox.Mul(ox.Sub(counts, one), strides)
        total = ox.Sub(ox.Add(span, int64_constant(self.extents)), sizes)
        total = ox.Max(total, int64_constant(0))
        small = ox.Div(total, int64_constant(2))
        large = ox.Sub(total, small)
        return (large, small) if self.padding == "SAME_LOWER" else (small, large)


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


def computable(x: Tensor) -> Tensor:
    """``x`` in a dtype that ONNX has convolutions and pools for: bfloat16 becomes float32."""
    return cast_to(x, dtypes.float32) if x.dtype is dtypes.bfloat16 else x


def pad_spatial(x: Tensor, before: Tensor, after: Tensor, value: float | None = None) -> Tensor:
    """Pad (or, where negative, crop) the spatial axes by int64 vectors."""
    none = int64_constant([0, 0])
    pads = ox.Concat(none, before, none, after, axis=0)
    if value is None:
        return ox.Pad(x, pads)
    return ox.Pad(x, pads, embed(np.array(value, x.dtype.as_numpy_dtype)))


def sizes_of(x: Tensor, axes: int) -> tuple[int | None, ...]:
    """Spatial sizes of a tensor whose channels are first."""
    return tuple(x.shape.as_list()[2:]) if x.shape.rank is not None else (None,) * axes
