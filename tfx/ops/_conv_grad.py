"""Gradients of convolutions: with respect to the input, and to the filter.

The input's is a transposed convolution. The filter's is one matrix product of the input's patches
with the output's gradient; patches are strided slices laid one after the other, several times
faster than a convolution with batch and channels exchanged. All tensors have the channels first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from tfx.core.errors import UnimplementedError
from tfx.framework.apply import apply
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.ops._support import int64_vector
from tfx.ops._windows import Pads, Window, flat_pads, pad_spatial, sizes_of, window_of


@gradient("Conv")
def _conv_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, w, *bias = op.inputs
    kernel = static_kernel(w, "Conv")
    window = window_of(op.attrs, kernel)
    group = op.attrs.get("group", 1)
    dx = input_gradient(dy, w, x, window, group) if op.needs[0] else None
    dw = filter_gradient(x, dy, w, window, group) if op.needs[1] else None
    return dx, dw, *(_bias_gradient(dy) if op.needs[2] else None for _ in bias)


@gradient("ConvTranspose")
def _conv_transpose_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """A ConvTranspose is a Conv's input gradient: its input plays the part of ``dy``."""
    x, w, *bias = op.inputs
    kernel = static_kernel(w, "ConvTranspose")
    window = _transposed_window(op, window_of(op.attrs, kernel))
    group = op.attrs.get("group", 1)
    dx = convolve(dy, w, window, group) if op.needs[0] else None
    dw = filter_gradient(dy, x, w, window, group) if op.needs[1] else None
    return dx, dw, *(_bias_gradient(dy) if op.needs[2] else None for _ in bias)


def _transposed_window(op: OpRecord, window: Window) -> Window:
    """The window with explicit padding, which ``auto_pad`` and ``output_shape`` leave open."""
    automatic = window.padding in ("SAME", "SAME_LOWER")
    if not automatic and not op.attrs.get("output_shape"):
        return window
    axes = len(window.kernel)
    ins, outs = sizes_of(op.inputs[0], axes), sizes_of(op.outputs[0], axes)
    extra = op.attrs.get("output_padding") or (0,) * axes
    pads: list[tuple[int, int]] = []
    for i in range(axes):
        size, made = ins[i], outs[i]
        if size is None or made is None:
            raise UnimplementedError(
                "The gradient of ConvTranspose with auto_pad or output_shape needs static sizes; "
                f"got {op.inputs[0].shape}. Use explicit pads.",
                op="ConvTranspose",
            )
        total = window.strides[i] * (size - 1) + extra[i] + window.extents[i] - made
        half = total // 2
        # ONNX: only SAME_UPPER puts the odd element at the end.
        pads.append((half, total - half) if window.padding == "SAME" else (total - half, half))
    return Window(window.kernel, window.strides, window.dilations, tuple(pads))


def _bias_gradient(dy: Tensor) -> Tensor:
    rank = dy.shape.rank
    assert rank is not None
    return apply("ReduceSum", (dy, int64_constant([0, *range(2, rank)])), {"keepdims": 0})


def static_kernel(w: Tensor, op: str) -> tuple[int, ...]:
    """The spatial sizes of a filter ``[o, i, *kernel]``.

    Raises:
        UnimplementedError: not known while tracing.
    """
    kernel = w.shape.as_list()[2:] if w.shape.rank is not None else [None]
    if None in kernel:
        raise UnimplementedError(
            f"The spatial size of the filter of {op} must be static; got {w.shape}.", op=op
        )
    return tuple(kernel)  # type: ignore[arg-type]


def convolve(x: Tensor, w: Tensor, window: Window, group: int) -> Tensor:
    """ONNX Conv: ``x`` ``[n, c, *sizes]``, ``w`` ``[o, c / group, *kernel]``."""
    attrs = window.attributes(sizes_of(x, len(window.kernel)))
    if attrs is None:
        x = pad_spatial(x, *window.computed_pads(x))
        window = Window(window.kernel, window.strides, window.dilations, "VALID")
        attrs = window.attributes(sizes_of(x, len(window.kernel)))
        assert attrs is not None
    if group != 1:
        attrs["group"] = group
    return apply("Conv", (x, w), attrs)


def input_gradient(dy: Tensor, w: Tensor, x: Tensor, window: Window, group: int) -> Tensor:
    """The gradient of ``convolve(x, w)`` with respect to ``x``, of which only the shape is used."""
    sizes = sizes_of(x, len(window.kernel))
    static = sizes if None not in sizes else None
    target = None if static is not None else apply("Shape", (x,), {"start": 2})
    pads = window.pads(sizes)
    computed = window.computed_pads(x) if pads is None else None
    return transpose_convolve(dy, w, window, group, static, target, pads, computed)


def transpose_convolve(
    dy: Tensor,
    w: Tensor,
    window: Window,
    group: int,
    sizes: Sequence[int | None] | None,
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
    attrs = {"kernel_shape": window.kernel, "strides": window.strides}
    if max(window.dilations) > 1:
        attrs["dilations"] = window.dilations
    if group != 1:
        attrs["group"] = group  # type: ignore[assignment]
    counts = sizes_of(dy, axes)
    if sizes is not None and pads is not None and None not in counts:
        pointwise = window.kernel == window.strides == (1,) * axes
        if pointwise and group == 1 and not any(map(any, pads)):
            return apply("Conv", (dy, _exchanged(w)), {"kernel_shape": window.kernel})
        full = [(c - 1) * s + e  # type: ignore[operator]
                for c, s, e in zip(counts, window.strides, window.extents, strict=True)]
        missing = [size - f + sum(p)  # type: ignore[operator]
                   for size, f, p in zip(sizes, full, pads, strict=True)]
        if all(m < max(s, 1) for m, s in zip(missing, window.strides, strict=True)):
            if any(map(any, pads)):
                attrs["pads"] = flat_pads(pads)
            if any(missing):
                attrs["output_padding"] = tuple(missing)
            return apply("ConvTranspose", (dy, w), attrs)
    return _fitted(apply("ConvTranspose", (dy, w), attrs), sizes, target, pads, computed)


def _fitted(
    full: Tensor,
    sizes: Sequence[int | None] | None,
    target: Tensor | None,
    pads: Pads | None,
    computed: tuple[Tensor, Tensor] | None,
) -> Tensor:
    """Cut the padding off and fill up what no window reached; sizes are found at run time."""
    if target is None:
        assert sizes is not None
        target = int64_constant([s for s in sizes if s is not None])
    if computed is not None:
        before = computed[0]
    else:
        assert pads is not None
        before = int64_constant([p[0] for p in pads])
    after = apply("Sub", (apply("Add", (before, target)), apply("Shape", (full,), {"start": 2})))
    return pad_spatial(full, apply("Neg", (before,)), after)


def _exchanged(w: Tensor) -> Tensor:
    """A filter with input and output channels exchanged."""
    return apply("Transpose", (w,), {"perm": (1, 0, *range(2, len(w.shape)))})


def filter_gradient(x: Tensor, dy: Tensor, w: Tensor, window: Window, group: int) -> Tensor:
    """The gradient of ``convolve(x, w)`` with respect to ``w``, of which only the shape is used."""
    axes = len(window.kernel)
    depth = w.shape[1]
    columns = _patches(x, dy, window, group, depth)
    rows = _rows(dy, group)
    product = apply("MatMul", (columns, rows))
    # [group, kernel * depth, o / group] -> [group, *kernel, depth, o / group]
    # -> [o, depth, *kernel]
    inner = apply("Shape", (w,), {"start": 1, "end": 2}) if depth is None else depth
    shaped = apply("Reshape", (product, int64_vector([group, *window.kernel, inner, -1])))
    moved = apply("Transpose", (shaped,), {"perm": (0, axes + 2, axes + 1, *range(1, axes + 1))})
    return apply("Reshape", (moved, int64_vector([-1, inner, *window.kernel])))


def _rows(dy: Tensor, group: int) -> Tensor:
    """``[n, o, *counts]`` as ``[group, n * counts, o / group]``."""
    rank, outs = dy.shape.rank, dy.shape[1]
    assert rank is not None
    if group == 1:
        last = apply("Transpose", (dy,), {"perm": (0, *range(2, rank), 1)})
        inner = apply("Shape", (dy,), {"start": 1, "end": 2}) if outs is None else outs
        return apply("Reshape", (last, int64_vector([1, -1, inner])))
    assert outs is not None, "groups are found from static channel counts"
    first = apply("Transpose", (dy,), {"perm": (1, 0, *range(2, rank))})
    split = apply("Reshape", (first, int64_constant([group, outs // group, -1])))
    return apply("Transpose", (split,), {"perm": (0, 2, 1)})


def _known(sizes: Sequence[int | None]) -> list[int]:
    return [s for s in sizes if s is not None]


def _patches(
    x: Tensor, dy: Tensor, window: Window, group: int, depth: int | None
) -> Tensor:
    """What each tap of the window sees: ``[group, kernel * depth, n * counts]``."""
    axes = len(window.kernel)
    pads = window.pads(sizes_of(x, axes))
    if pads is None:
        x = pad_spatial(x, *window.computed_pads(x))
    elif any(map(any, pads)):
        x = apply("Pad", (x, int64_constant([0, 0, *flat_pads(pads)[:axes],
                                             0, 0, *flat_pads(pads)[axes:]])))
    x = apply("Transpose", (x,), {"perm": (1, 0, *range(2, axes + 2))})
    slices = _slices(x, dy, window)
    if group == 1:
        joined = slices[0] if len(slices) == 1 else apply("Concat", slices, {"axis": 0})
        inner = depth if depth is not None else apply("Shape", (x,), {"start": 0, "end": 1})
        count = (
            inner * math.prod(window.kernel) if isinstance(inner, int)
            else apply("Mul", (inner, int64_constant(math.prod(window.kernel))))
        )
        return apply("Reshape", (joined, int64_vector([1, count, -1])))
    assert depth is not None, "groups are found from static channel counts"
    split = [apply("Reshape", (s, int64_constant([group, depth, -1]))) for s in slices]
    return split[0] if len(split) == 1 else apply("Concat", split, {"axis": 1})


def _slices(x: Tensor, dy: Tensor, window: Window) -> list[Tensor]:
    """One strided slice for each tap, each with the spatial sizes of ``dy``."""
    axes = len(window.kernel)
    if window.kernel == window.strides == (1,) * axes:
        return [x]
    counts = sizes_of(dy, axes)
    where = int64_constant(list(range(2, axes + 2)))
    steps = int64_constant(window.strides)
    span: Tensor | list[int]
    if None in counts:
        less = apply("Sub", (apply("Shape", (dy,), {"start": 2}), int64_constant(1)))
        span = apply("Add", (apply("Mul", (less, steps)), int64_constant(1)))
    else:
        span = [(c - 1) * s + 1 for c, s in zip(_known(counts), window.strides, strict=True)]
    slices = []
    for tap in itertools.product(*map(range, window.kernel)):
        start = [t * d for t, d in zip(tap, window.dilations, strict=True)]
        if isinstance(span, Tensor):
            end = apply("Add", (span, int64_constant(start)))
        else:
            end = int64_constant([a + b for a, b in zip(start, span, strict=True)])
        slices.append(apply("Slice", (x, int64_constant(start), end, where, steps)))
    return slices
