"""Gradients of convolutions: with respect to the input, and to the filter.

The input's is a convolution with the filter turned around, or a transposed convolution where the
window moves by more than one. The filter's is one matrix product of the input's patches
with the output's gradient, several times faster than a convolution with batch and channels
exchanged. Tensors have the channels first, as ONNX wants them; patches have them last, where a
patch is a few runs of memory and where the layer's own transpositions cancel out.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core.dims import is_static
from tfx.core.errors import UnimplementedError
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.shapes import reversed_along
from tfx.graph.formulas.windows import Pads, Window, flat_pads, pad_spatial
from tfx.ops.common.arguments import int64_vector, transposed
from tfx.ops.nn.windows import sizes_of

# For dimensions that are not known while tracing.
_USUAL_BATCH, _USUAL_SIZE = 8, 8
_ENOUGH_POSITIONS = 512


def static_kernel(w: Tensor, op: str) -> tuple[int, ...]:
    """The spatial sizes of a filter ``[o, i, *kernel]``.

    Raises:
        UnimplementedError: not known while tracing.
    """
    kernel = None if w.shape.rank is None else tuple(w.shape.as_list()[2:])
    if not is_static(kernel):
        raise UnimplementedError(
            f"The spatial size of the filter of {op} must be static; got {w.shape}.", op=op
        )
    return kernel


def convolve(x: Tensor, w: Tensor, window: Window, group: int) -> Tensor:
    """ONNX Conv: ``x`` ``[n, c, *sizes]``, ``w`` ``[o, c / group, *kernel]``."""
    sizes = sizes_of(x, len(window.kernel))
    counts = window.outputs(sizes, "Conv")
    if 0 in counts and 0 not in sizes:
        return _without_positions(x, w, window, group, counts)
    attrs = window.attributes(sizes)
    if attrs is None or min(attrs.get("pads", (0,))) < 0:
        x = pad_spatial(ox, x, *_amounts(x, window))
        window = Window(window.kernel, window.strides, window.dilations, "VALID")
        attrs = window.attributes(sizes_of(x, len(window.kernel)))
        assert attrs is not None
    if group != 1:
        attrs["group"] = group
    return ox.Conv(x, w, **attrs)


def _without_positions(
    x: Tensor, w: Tensor, window: Window, group: int, counts: Sequence[int | None]
) -> Tensor:
    """Nothing, of a window that just does not fit: ONNX's operator refuses it.

    What is left of the result of a larger input depends on ``x`` and ``w``, as gradients need it.
    """
    none = [i for i, count in enumerate(counts) if count == 0]
    more = [e if i in none else 0 for i, e in enumerate(window.extents)]
    wide = pad_spatial(ox, x, int64_constant([0] * len(more)), int64_constant(more))
    y = convolve(wide, w, window, group)
    start = int64_constant([0] * len(none))
    return ox.Slice(y, start, start, int64_constant([i + 2 for i in none]))


def _amounts(x: Tensor, window: Window) -> tuple[Tensor, Tensor]:
    """The padding of ``x``; negative where an output was made larger than the window reaches."""
    if isinstance(window.padding, str):
        return window.same_padding(ox, ox.Shape(x, start=2))
    before, after = zip(*window.padding, strict=True)
    return int64_constant(before), int64_constant(after)


def input_gradient(dy: Tensor, w: Tensor, x: Tensor, window: Window, group: int) -> Tensor:
    """The gradient of ``convolve(x, w)`` with respect to ``x``, of which only the shape is used."""
    sizes = sizes_of(x, len(window.kernel))
    static = sizes if is_static(sizes) else None
    target = None if static is not None else ox.Shape(x, start=2)
    pads = window.pads(sizes)
    if group == 1 and pads is not None and _pays_to_turn(dy, window):
        turned = _convolve_turned(dy, w, window, pads)
        if turned is not None:
            return turned
    computed = window.same_padding(ox, ox.Shape(x, start=2)) if pads is None else None
    return transpose_convolve(dy, w, window, group, static, target, pads, computed)


def _pays_to_turn(dy: Tensor, window: Window) -> bool:
    """True if turning the filter around costs little beside the convolution."""
    counts = [dy.shape[0] or _USUAL_BATCH, *(c or _USUAL_SIZE for c in dy.shape[2:])]
    return math.prod(window.kernel) > 1 and math.prod(counts) >= _ENOUGH_POSITIONS


def _convolve_turned(dy: Tensor, w: Tensor, window: Window, pads: Pads) -> Tensor | None:
    """The input's gradient as a convolution, if the window moves by one.

    ONNX Runtime runs it faster than ConvTranspose, which uses one thread for a part of the work.
    """
    reach = [e - 1 for e in window.extents]
    around = tuple((r - before, r - after) for r, (before, after) in zip(reach, pads, strict=True))
    if max(window.strides) > 1 or min(map(min, around)) < 0:
        return None
    attrs: dict[str, Any] = {"kernel_shape": window.kernel}
    if max(window.dilations) > 1:
        attrs["dilations"] = window.dilations
    if any(map(any, around)):
        attrs["pads"] = flat_pads(around)
    return ox.Conv(dy, _flip_kernel(w), **attrs)


def _flip_kernel(w: Tensor) -> Tensor:
    """A filter turned around, with input and output channels exchanged.

    Whole matrices of channels are moved: single elements take ten times longer.
    """
    axes = len(w.shape) - 2
    first = transposed(w, (*range(2, axes + 2), 1, 0))
    flipped = reversed_along(ox, first, range(axes))
    return ox.Transpose(flipped, perm=(axes, axes + 1, *range(axes)))


def transpose_convolve(
    dy: Tensor,
    w: Tensor,
    window: Window,
    group: int,
    sizes: Sequence[int] | None,
    target: Tensor | None,
    pads: Pads | None,
    computed: tuple[Tensor, Tensor] | None,
) -> Tensor:
    """Spread every element of ``dy`` over the window it was computed from.

    Args:
        dy: ``[n, o, *counts]``.
        w: ``[o, c / group, *kernel]``.
        window: The window; its padding is not used.
        group: Number of groups of channels.
        sizes: Spatial sizes of the result, if known now.
        target: The same as an int64 vector, otherwise.
        pads: Padding of the result, if known now.
        computed: The same as vectors, otherwise.
    """
    axes = len(window.kernel)
    attrs: dict[str, Any] = {"kernel_shape": window.kernel, "strides": window.strides}
    if max(window.dilations) > 1:
        attrs["dilations"] = window.dilations
    if group != 1:
        attrs["group"] = group
    counts = sizes_of(dy, axes)
    if sizes is not None and pads is not None and is_static(counts):
        pointwise = window.kernel == window.strides == (1,) * axes
        if pointwise and group == 1 and not any(map(any, pads)):
            return ox.Conv(dy, _exchanged(w), kernel_shape=window.kernel)
        full = [
            (c - 1) * s + e for c, s, e in zip(counts, window.strides, window.extents, strict=True)
        ]
        missing = [size - f + sum(p) for size, f, p in zip(sizes, full, pads, strict=True)]
        if all(0 <= m < s for m, s in zip(missing, window.strides, strict=True)):
            if any(map(any, pads)):
                attrs["pads"] = flat_pads(pads)
            if any(missing):
                attrs["output_padding"] = tuple(missing)
            return ox.ConvTranspose(dy, w, **attrs)
    return _fitted(ox.ConvTranspose(dy, w, **attrs), sizes, target, pads, computed)


def _fitted(
    full: Tensor,
    sizes: Sequence[int] | None,
    target: Tensor | None,
    pads: Pads | None,
    computed: tuple[Tensor, Tensor] | None,
) -> Tensor:
    """Cut the padding off and fill up what no window reached; sizes are found at run time."""
    if target is None:
        assert sizes is not None
        target = int64_constant(list(sizes))
    if computed is not None:
        before = computed[0]
    else:
        assert pads is not None
        before = int64_constant([p[0] for p in pads])
    after = ox.Sub(ox.Add(before, target), ox.Shape(full, start=2))
    return pad_spatial(ox, full, ox.Neg(before), after)


def _exchanged(w: Tensor) -> Tensor:
    """A filter with input and output channels exchanged."""
    return ox.Transpose(w, perm=(1, 0, *range(2, len(w.shape))))


def filter_gradient(x: Tensor, dy: Tensor, w: Tensor, window: Window, group: int) -> Tensor:
    """The gradient of ``convolve(x, w)`` with respect to ``w``, of which only the shape is used."""
    axes = len(window.kernel)
    depth = w.shape[1]
    if group != 1 and (depth is None or dy.shape[1] is None):
        raise UnimplementedError(
            f"The gradient of a convolution with groups needs static channel counts; got {w.shape} "
            f"and {dy.shape}.",
            op="Conv",
        )
    columns = _patches(x, dy, window)
    rows = ox.Flatten(_channels_last(dy), axis=axes + 1)
    if group == 1:
        flat = ox.Flatten(columns, axis=2)
        product = ox.Gemm(flat, rows, transA=1)
        inner = ox.Shape(w, start=1, end=2) if depth is None else depth
        shaped = ox.Reshape(product, int64_vector([*window.kernel, inner, -1]))
        return ox.Transpose(shaped, perm=(axes + 1, axes, *range(axes)))
    return _grouped_product(columns, rows, w, window, group)


def _grouped_product(
    columns: Tensor, rows: Tensor, w: Tensor, window: Window, group: int
) -> Tensor:
    """One product for each group: ``columns`` ``[n, counts, kernel, c]``, ``rows`` ``[.., o]``."""
    depth, outs, taps = w.shape[1], rows.shape[1], math.prod(window.kernel)
    assert depth is not None
    assert outs is not None
    per_group = outs // group
    if depth == 1:  # depthwise: nothing to sum but the positions
        seen = ox.Reshape(columns, int64_constant([-1, taps, group, 1]))
        grads = ox.Reshape(rows, int64_constant([-1, 1, group, per_group]))
        summed = ox.ReduceSum(ox.Mul(seen, grads), int64_constant([0]), keepdims=0)
        product = ox.Transpose(summed, perm=(1, 2, 0))
    else:
        seen = ox.Reshape(columns, int64_constant([-1, taps, group, depth]))
        seen = ox.Transpose(seen, perm=(2, 3, 1, 0))
        seen = ox.Reshape(seen, int64_constant([group, depth * taps, -1]))
        grads = ox.Reshape(rows, int64_constant([-1, group, per_group]))
        grads = ox.Transpose(grads, perm=(1, 0, 2))
        product = ox.Transpose(ox.MatMul(seen, grads), perm=(0, 2, 1))
    return ox.Reshape(product, int64_constant([outs, depth, *window.kernel]))


def _channels_last(x: Tensor) -> Tensor:
    rank = x.shape.rank
    assert rank is not None
    return transposed(x, (0, *range(2, rank), 1))


def _patches(x: Tensor, dy: Tensor, window: Window) -> Tensor:
    """Return the elements in the window at each position: ``[n, positions, taps, c]``.

    One ``Gather`` of whole runs of channels, which is much faster than a slice for each tap.
    """
    axes = len(window.kernel)
    pads = window.pads(sizes_of(x, axes))
    if pads is None:
        x = pad_spatial(ox, x, *window.same_padding(ox, ox.Shape(x, start=2)))
    last = _channels_last(x)
    if pads is not None and any(map(any, pads)):
        flat = flat_pads(pads)
        amounts = int64_constant([0, *flat[:axes], 0, 0, *flat[axes:], 0])
        last = ox.Pad(last, amounts)
    if window.kernel == window.strides == (1,) * axes:
        return ox.Unsqueeze(_flat_positions(last), int64_constant([2]))
    places = _places(last, dy, window)
    return ox.Gather(_flat_positions(last), places, axis=1)


def _flat_positions(x: Tensor) -> Tensor:
    """``[n, *sizes, c]`` as ``[n, positions, c]``; no -1, which an empty batch leaves open."""
    sizes, channels = x.shape.as_list()[1:-1], x.shape[-1]
    if None not in sizes and channels:
        return ox.Reshape(x, int64_constant([0, math.prod(_known(sizes)), channels]))
    inner = ox.Shape(x, start=1, end=-1)
    parts = (
        ox.Shape(x, start=0, end=1),
        ox.ReduceProd(inner, keepdims=1),
        ox.Shape(x, start=-1),
    )
    return ox.Reshape(x, ox.Concat(*parts, axis=0), allowzero=1)


def _known(sizes: Sequence[int | None]) -> list[int]:
    return [s for s in sizes if s is not None]


def _taps(window: Window) -> np.ndarray[Any, Any]:
    """Return the positions of a window's taps: ``[taps, axes]``."""
    axes = len(window.kernel)
    grid = np.stack(np.meshgrid(*(np.arange(k) for k in window.kernel), indexing="ij"), -1)
    taps: np.ndarray[Any, Any] = (grid * np.array(window.dilations)).reshape(-1, axes)
    return taps


@functools.lru_cache(maxsize=256)
def _static_places(
    sizes: tuple[int, ...], counts: tuple[int, ...], window: Window
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Flat index of each position ``[positions, 1]``, and what each tap adds ``[1, taps]``."""
    steps = np.array([math.prod(sizes[i + 1 :]) for i in range(len(sizes))])
    grid = np.stack(np.meshgrid(*(np.arange(c) for c in counts), indexing="ij"), -1)
    starts = (grid * np.array(window.strides)).reshape(-1, len(sizes)) @ steps
    found = starts[:, None], (_taps(window) @ steps)[None, :]
    for array in found:
        array.flags.writeable = False
    return found


def _places(x: Tensor, dy: Tensor, window: Window) -> Tensor:
    """Flat index of each tap at each position: ``[positions, taps]``; ``x`` has channels last."""
    axes = len(window.kernel)
    sizes, counts = x.shape.as_list()[1:-1], sizes_of(dy, axes)
    if None not in sizes and None not in counts:
        found = _static_places(tuple(_known(sizes)), tuple(_known(counts)), window)
        # A sum of two short vectors, which ONNX Runtime folds: the model stays small.
        return ox.Add(*[embed(part) for part in found])
    taps = _taps(window)
    shape = ox.Shape(x, start=1, end=axes + 1)
    counted = ox.Shape(dy, start=2)
    step = int64_constant(1)
    total: Tensor | None = None
    parts: list[Tensor] = []
    for i in reversed(range(axes)):
        parts.insert(0, ox.Reshape(step, int64_constant([1])))
        count = ox.Gather(counted, int64_constant(i))
        run = ox.Range(int64_constant(0), count, int64_constant(1))
        run = ox.Mul(run, ox.Mul(step, int64_constant(window.strides[i])))
        run = ox.Reshape(run, int64_constant([-1, *([1] * (axes - 1 - i))]))
        total = run if total is None else ox.Add(run, total)
        step = ox.Mul(step, ox.Gather(shape, int64_constant(i)))
    assert total is not None
    starts_ = ox.Reshape(total, int64_constant([-1, 1]))
    column = ox.Unsqueeze(ox.Concat(*parts, axis=0), int64_constant([1]))
    offsets = ox.MatMul(embed(taps.astype(np.int64)), column)
    return ox.Add(starts_, ox.Reshape(offsets, int64_constant([1, -1])))
