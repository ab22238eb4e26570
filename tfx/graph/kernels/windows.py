"""Convolutions and average pools in float64, from slices and a matrix product.

ONNX Runtime's CPU provider computes them in float32 only, which is not enough to check a gradient
by differences. Nothing is assumed of the shapes but the window's own sizes: a compiled operator
knows no others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from tfx.core.dims import is_static
from tfx.graph.ir import Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder

_INT64_MIN = -(2**63)


class _Window:
    """The sizes in a node's attributes, with their defaults filled in."""

    def __init__(self, node: Node, kernel: tuple[int, ...]) -> None:
        attrs = node.attrs
        self.axes = len(kernel)
        ones = (1,) * self.axes
        self.kernel = kernel
        self.strides: tuple[int, ...] = tuple(attrs.get("strides") or ones)
        self.dilations: tuple[int, ...] = tuple(attrs.get("dilations") or ones)
        self.extents = tuple(d * (k - 1) + 1 for k, d in zip(kernel, self.dilations, strict=True))
        pads = tuple(attrs.get("pads") or (0,) * (2 * self.axes))
        self.before, self.after = pads[: self.axes], pads[self.axes :]
        auto = attrs.get("auto_pad", "NOTSET")
        self.auto: str = auto.decode() if isinstance(auto, bytes) else auto

    def spatial(self) -> list[int]:
        return list(range(2, self.axes + 2))


def _kernel(node: Node, w: Value | None) -> tuple[int, ...] | None:
    kernel = node.attrs.get("kernel_shape")
    if kernel:
        return tuple(kernel)
    shape = None if w is None else w.shape
    sizes = None if shape is None else shape[2:]
    return sizes if is_static(sizes) else None


def conv(write: ReplacementBuilder, node: Node) -> bool:
    """``Conv``; False: the window's size is not known."""
    x, w, *bias = node.inputs
    kernel = _kernel(node, w)
    if kernel is None or x is None or w is None:
        return False
    window = _Window(node, kernel)
    y = _correlate(write, _padded(write, x, window), w, window, node.attrs.get("group", 1))
    _add_bias(write, y, bias, window.axes)
    return True


def conv_transpose(write: ReplacementBuilder, node: Node) -> bool:
    """``ConvTranspose``: zeros between the elements, then a convolution with the filter turned."""
    x, w, *bias = node.inputs
    kernel = _kernel(node, w)
    if kernel is None or x is None or w is None or node.attrs.get("output_shape"):
        return False
    window = _Window(node, kernel)
    if window.auto not in ("NOTSET", "VALID"):
        return False
    extra = node.attrs.get("output_padding") or (0,) * window.axes
    group = node.attrs.get("group", 1)
    spread = _dilate(write, x, window)
    before = [e - 1 - p for e, p in zip(window.extents, window.before, strict=True)]
    after = [
        e - 1 - p + o - (s - 1)
        for e, p, o, s in zip(window.extents, window.after, extra, window.strides, strict=True)
    ]
    padded = write.Pad(spread, write.ints([0, 0, *before, 0, 0, *after]))
    unit = _Window(Node("Conv", (), {"dilations": window.dilations}, "", None), kernel)
    y = _correlate(write, padded, _flip_kernel(write, w, window, group), unit, group)
    _add_bias(write, y, bias, window.axes)
    return True


def average_pool(write: ReplacementBuilder, node: Node) -> bool:
    """``AveragePool``; False: it rounds up, which casts take care of."""
    (x,) = node.inputs
    if x is None or node.attrs.get("ceil_mode"):
        return False
    window = _Window(node, tuple(node.attrs["kernel_shape"]))
    total = _window_sum(write, _padded(write, x, window), window)
    padded = any((*window.before, *window.after)) or window.auto.startswith("SAME")
    if node.attrs.get("count_include_pad") or not padded:
        count = write.number(float(math.prod(window.kernel)))
    else:
        ones = write.Expand(write.number(1.0), write.Shape(x))
        count = _window_sum(write, _padded(write, ones, window), window)
    write.Div(total, count)
    return True


FORMULAS: dict[str, Callable[[ReplacementBuilder, Node], bool]] = {
    "AveragePool": average_pool,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
}


def _add_bias(write: ReplacementBuilder, y: Value, bias: list[Value | None], axes: int) -> None:
    if bias and bias[0] is not None:
        column = write.Reshape(bias[0], write.ints([-1, *([1] * axes)]))
        write.Add(y, column)


def _padded(write: ReplacementBuilder, x: Value, window: _Window) -> Value:
    if window.auto in ("NOTSET", "VALID"):
        if not any((*window.before, *window.after)):
            return x
        return write.Pad(x, write.ints([0, 0, *window.before, 0, 0, *window.after]))
    sizes = write.Shape(x, start=2)
    strides, one = write.ints(window.strides), write.ints([1])
    less = write.Div(write.Sub(sizes, one), strides)
    need = write.Add(write.Mul(less, strides), write.ints(window.extents))
    total = write.Max(write.Sub(need, sizes), write.ints([0]))
    small = write.Div(total, write.ints([2]))
    large = write.Sub(total, small)
    before, after = (large, small) if window.auto == "SAME_LOWER" else (small, large)
    none = write.ints([0, 0])
    pads = write.Concat(none, before, none, after, axis=0)
    return write.Pad(x, pads)


def _counts(write: ReplacementBuilder, x: Value, window: _Window) -> Value:
    """Return the number of positions of the window along each spatial axis."""
    sizes = write.Shape(x, start=2)
    room = write.Sub(sizes, write.ints(window.extents))
    steps = write.Div(room, write.ints(window.strides))
    return write.Add(steps, write.ints([1]))


def _slices(write: ReplacementBuilder, x: Value, window: _Window, counts: Value) -> list[Value]:
    """Return the elements of `x` under each tap of the window, one strided slice a tap."""
    strides, axes = write.ints(window.strides), write.ints(window.spatial())
    less = write.Sub(counts, write.ints([1]))
    span = write.Add(write.Mul(less, strides), write.ints([1]))
    slices = []
    for tap in itertools.product(*map(range, window.kernel)):
        start = write.ints([t * d for t, d in zip(tap, window.dilations, strict=True)])
        end = write.Add(start, span)
        slices.append(write.Slice(x, start, end, axes, strides))
    return slices


def _window_sum(write: ReplacementBuilder, x: Value, window: _Window) -> Value:
    slices = _slices(write, x, window, _counts(write, x, window))
    return write.Sum(*tuple(slices))


def _correlate(write: ReplacementBuilder, x: Value, w: Value, window: _Window, group: int) -> Value:
    """The convolution without padding: ``[n, o, *counts]``."""
    counts = _counts(write, x, window)
    length = write.ReduceProd(counts, keepdims=1)
    depth = write.Shape(w, start=1, end=2)
    split = write.Concat(write.ints([0, group]), depth, length, axis=0)
    seen = [write.Reshape(s, split) for s in _slices(write, x, window, counts)]
    columns = write.Concat(*tuple(seen), axis=2)
    # [o, depth, *kernel] -> [group, o / group, kernel * depth]
    parts = (write.ints([group, -1]), depth, write.ints([math.prod(window.kernel)]))
    shaped = write.Reshape(w, write.Concat(*parts, axis=0))
    turned = write.Transpose(shaped, perm=(0, 1, 3, 2))
    rows = write.Reshape(turned, write.ints([0, 0, -1]))
    product = write.MatMul(rows, columns)
    outs = write.Shape(w, start=0, end=1)
    target = write.Concat(write.ints([0]), outs, counts, axis=0)
    return write.Reshape(product, target)


def _dilate(write: ReplacementBuilder, x: Value, window: _Window) -> Value:
    """Insert ``stride - 1`` zeros after every element along each axis."""
    if max(window.strides) == 1:
        return x
    axes = window.axes
    apart = write.Unsqueeze(x, write.ints([3 + 2 * i for i in range(axes)]))
    after = [0, 0]
    for s in window.strides:
        after += [0, s - 1]
    padded = write.Pad(apart, write.ints([*([0] * len(after)), *after]))
    sizes = write.Shape(x, start=2)
    wide = write.Mul(sizes, write.ints(window.strides))
    target = write.Concat(write.ints([0, 0]), wide, axis=0)
    return write.Reshape(padded, target)


def _flip_kernel(write: ReplacementBuilder, w: Value, window: _Window, group: int) -> Value:
    """``[c, o / group, *kernel]`` as ``[o, c / group, *kernel]``, reversed along the kernel."""
    axes = window.axes
    back = write.ints([-1] * axes)
    ends = write.ints([_INT64_MIN] * axes)
    flipped = write.Slice(w, back, ends, write.ints(window.spatial()), back)
    outs = write.Shape(w, start=1, end=2)
    kernel = write.ints(window.kernel)
    split = write.Concat(write.ints([group, -1]), outs, kernel, axis=0)
    grouped = write.Reshape(flipped, split)
    swapped = write.Transpose(grouped, perm=(0, 2, 1, *range(3, axes + 3)))
    ins = write.Div(write.Shape(w, start=0, end=1), write.ints([group]))
    target = write.Concat(write.ints([-1]), ins, kernel, axis=0)
    return write.Reshape(swapped, target)
