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
from tfx.graph.formulas.shapes import reversed_along
from tfx.graph.formulas.windows import Pads, Window, flat_pads, pad_spatial, window_of
from tfx.graph.ir import Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder


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
    window = window_of(node.attrs, kernel)
    y = _correlate(write, _padded(write, x, window), w, window, node.attrs.get("group", 1))
    _add_bias(write, y, bias, len(kernel))
    return True


def conv_transpose(write: ReplacementBuilder, node: Node) -> bool:
    """``ConvTranspose``: zeros between the elements, then a convolution with the filter turned."""
    x, w, *bias = node.inputs
    kernel = _kernel(node, w)
    if kernel is None or x is None or w is None or node.attrs.get("output_shape"):
        return False
    window = window_of(node.attrs, kernel)
    if window.padding in ("SAME", "SAME_LOWER"):
        return False
    axes = len(kernel)
    extra = node.attrs.get("output_padding") or (0,) * axes
    group = node.attrs.get("group", 1)
    around = zip(
        window.pads([None] * axes) or (), extra, window.extents, window.strides, strict=True
    )
    pads = tuple((e - 1 - b, e - a + o - s) for (b, a), o, e, s in around)
    spread = write.Pad(_dilate(write, x, window), _around(write, pads))
    unit = Window(kernel, (1,) * axes, window.dilations, "VALID")
    y = _correlate(write, spread, _flip_kernel(write, w, window, group), unit, group)
    _add_bias(write, y, bias, axes)
    return True


def average_pool(write: ReplacementBuilder, node: Node) -> bool:
    """``AveragePool``; False: it rounds up, which casts take care of."""
    (x,) = node.inputs
    if x is None or node.attrs.get("ceil_mode"):
        return False
    window = window_of(node.attrs, node.attrs["kernel_shape"])
    padded = _padded(write, x, window)
    total = _window_sum(write, padded, window)
    if node.attrs.get("count_include_pad") or padded is x:
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


def _spatial(window: Window) -> range:
    """The axes that the window slides along."""
    return range(2, len(window.kernel) + 2)


def _add_bias(write: ReplacementBuilder, y: Value, bias: list[Value | None], axes: int) -> None:
    if bias and bias[0] is not None:
        column = write.Reshape(bias[0], write.ints([-1, *([1] * axes)]))
        write.Add(y, column)


def _padded(write: ReplacementBuilder, x: Value, window: Window) -> Value:
    pads = window.pads([None] * len(window.kernel))
    if pads is None:
        return pad_spatial(write, x, *window.same_padding(write, write.Shape(x, start=2)))
    return write.Pad(x, _around(write, pads)) if any(map(any, pads)) else x


def _around(write: ReplacementBuilder, pads: Pads) -> Value:
    """Amounts of padding for an operand with batch and channels in front."""
    return write.ints(flat_pads(((0, 0), (0, 0), *pads)))


def _counts(write: ReplacementBuilder, x: Value, window: Window) -> Value:
    """How many positions the window has."""
    sizes = write.Shape(x, start=2)
    room = write.Sub(sizes, write.ints(window.extents))
    steps = write.Div(room, write.ints(window.strides))
    return write.Add(steps, write.ints([1]))


def _slices(write: ReplacementBuilder, x: Value, window: Window, counts: Value) -> list[Value]:
    """What each tap of the window sees."""
    strides, axes = write.ints(window.strides), write.ints(_spatial(window))
    less = write.Sub(counts, write.ints([1]))
    span = write.Add(write.Mul(less, strides), write.ints([1]))
    slices = []
    for tap in itertools.product(*map(range, window.kernel)):
        start = write.ints([t * d for t, d in zip(tap, window.dilations, strict=True)])
        end = write.Add(start, span)
        slices.append(write.Slice(x, start, end, axes, strides))
    return slices


def _window_sum(write: ReplacementBuilder, x: Value, window: Window) -> Value:
    slices = _slices(write, x, window, _counts(write, x, window))
    return write.Sum(*tuple(slices))


def _correlate(write: ReplacementBuilder, x: Value, w: Value, window: Window, group: int) -> Value:
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


def _dilate(write: ReplacementBuilder, x: Value, window: Window) -> Value:
    """Every element followed by ``stride - 1`` zeros along each axis."""
    if max(window.strides) == 1:
        return x
    axes = len(window.kernel)
    apart = write.Unsqueeze(x, write.ints([3 + 2 * i for i in range(axes)]))
    after = [0, 0]
    for s in window.strides:
        after += [0, s - 1]
    padded = write.Pad(apart, write.ints([*([0] * len(after)), *after]))
    sizes = write.Shape(x, start=2)
    wide = write.Mul(sizes, write.ints(window.strides))
    target = write.Concat(write.ints([0, 0]), wide, axis=0)
    return write.Reshape(padded, target)


def _flip_kernel(write: ReplacementBuilder, w: Value, window: Window, group: int) -> Value:
    """``[c, o / group, *kernel]`` as ``[o, c / group, *kernel]``, reversed along the kernel."""
    flipped = reversed_along(write, w, _spatial(window))
    outs = write.Shape(w, start=1, end=2)
    kernel = write.ints(window.kernel)
    split = write.Concat(write.ints([group, -1]), outs, kernel, axis=0)
    grouped = write.Reshape(flipped, split)
    swapped = write.Transpose(grouped, perm=(0, 2, 1, *range(3, len(window.kernel) + 3)))
    ins = write.Div(write.Shape(w, start=0, end=1), write.ints([group]))
    target = write.Concat(write.ints([-1]), ins, kernel, axis=0)
    return write.Reshape(swapped, target)
