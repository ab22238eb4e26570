"""Rules of ``Conv`` and ``ConvTranspose``: gradients, tangents, batches.

Each is linear in the input and in the filter, and the gradient by the one is the other operator.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.core.errors import UnimplementedError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, forward, gradient
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.windows import Window, window_of
from tfx.ops.common.batching import (
    BatchedOp,
    Results,
    batching,
    folded,
    known_size,
    per_channel,
    unfolded,
)
from tfx.ops.common.shapes import (
    zeros_if_mismatched,
)
from tfx.ops.common.tangents import bilinear, spread
from tfx.ops.nn.convolution_gradient import convolve, filter_gradient, input_gradient, static_kernel
from tfx.ops.nn.windows import sizes_of


@gradient("Conv")
def _conv_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, w, *bias = op.inputs
    kernel = _kernel_of(op, w)
    window = window_of(op.attrs, kernel)
    group = op.attrs.get("group", 1)
    dx = input_gradient(dy, w, x, window, group) if op.needs[0] else None
    dw = filter_gradient(x, dy, w, window, group) if op.needs[1] else None
    return dx, dw, *(_bias_gradient(dy) if op.needs[2] else None for _ in bias)


@gradient("ConvTranspose")
def _conv_transpose_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """A ConvTranspose is a Conv's input gradient: its input plays the part of ``dy``."""
    x, w, *bias = op.inputs
    kernel = _kernel_of(op, w)
    window = _transposed_window(op, window_of(op.attrs, kernel))
    group = op.attrs.get("group", 1)
    dx = zeros_if_mismatched(convolve(dy, w, window, group), x) if op.needs[0] else None
    dw = zeros_if_mismatched(filter_gradient(dy, x, w, window, group), w) if op.needs[1] else None
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
    return ox.ReduceSum(dy, int64_constant([0, *range(2, rank)]), keepdims=0)


def _kernel_of(op: OpRecord, w: Tensor) -> tuple[int, ...]:
    """From the attribute, where an imported model gives it, or from the filter."""
    return tuple(op.attrs.get("kernel_shape") or ()) or static_kernel(w, op.op)


@forward("Conv", "ConvTranspose")
def _conv_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor | None:
    total = bilinear(op, tangents[0], tangents[1])
    bias = tangents[2] if len(tangents) > 2 else None
    if bias is None:
        return total
    rank, one = op.outputs[0].shape.rank, int64_constant(1)
    if rank is None:
        spatial = ox.Sub(ox.Size(ox.Shape(op.outputs[0])), one)
        axes = ox.Range(one, spatial, one)
    else:
        axes = int64_constant(range(1, rank - 1))
    bias = ox.Unsqueeze(bias, axes)
    return spread(bias, op.outputs[0]) if total is None else ox.Add(total, bias)


@batching("Conv", "ConvTranspose")
def _conv_batching(op: BatchedOp) -> Results:
    """``[n, c, *sizes]`` with ``[o, c / groups, *kernel]``, transposed ``[c, o / groups, ...]``."""
    group = int(op.attrs.get("group", 1))
    rank, transposed = op.rank(0), op.op == "ConvTranspose"
    inside = op.input(2) if op.given(2) and not op.batched[2] and not op.batched[1] else None
    if not op.batched[1]:
        y = op.split(op.apply((op.merged(0), op.input(1), inside))[0])
    elif not op.batched[0]:
        filters = folded(op.input(1), 1) if transposed else folded(op.input(1), 0, group)
        y = unfolded(op, op.apply((op.input(0), filters))[0], 1, group)
    else:
        attrs = {**op.attrs, "group": group * known_size(op)}
        images, filters = folded(op.input(0), 1), folded(op.input(1), 0)
        y = unfolded(op, op.apply((images, filters), attrs)[0], 1)
    return _with_bias(op, y, rank) if inside is None else y


def _with_bias(op: BatchedOp, y: Tensor, rank: int) -> Tensor:
    if not op.given(2):
        return y
    bias = op.input(2)
    if not op.batched[2]:
        return ox.Add(y, ox.Reshape(bias, int64_constant([-1, *([1] * (rank - 2))])))
    return ox.Add(y, per_channel(bias, rank))
