"""Gradients of ``DFT`` and ``STFT``, for imported models.

A discrete Fourier transform is linear; its transpose is the transform the other way, without the
inverse's factor. Complex numbers are pairs along the last axis; a real signal has one element.
"""

from __future__ import annotations

from tfx.core import dtypes
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, formula, gradient, linear
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.batching import BatchedOp, Results, as_one_batch, batching, shifted_axes
from tfx.ops.common.shapes import dimension, reshape_to, shape_vector
from tfx.ops.image.sampling import count_up
from tfx.ops.signal.dft_by_numpy import dft


@gradient("DFT")
def _dft_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """The transform the other way, cut or filled up to the input's length."""
    x = op.inputs[0]
    given = [*op.inputs[1:], None, None]
    axis = int64_constant(-2) if given[1] is None else cast_to(given[1], dtypes.int64)
    inverse, onesided = bool(op.attrs.get("inverse", 0)), bool(op.attrs.get("onesided", 0))
    length = _length(x, given[0], axis, doubled=inverse and onesided)
    if inverse and onesided:
        dx = _half_spectrum(dy, length, axis)
    else:
        dx = dft(_fitted(dy, length, axis), axis, inverse=int(not inverse))
        size = cast_to(length, x.dtype)
        dx = apply("Div" if inverse else "Mul", (dx, size))
    dx = _fitted(dx, _at(shape_vector(x), axis), axis)
    parts = _last(dx, dimension(x, -1))
    return [parts, *(None for _ in op.inputs[1:])]


linear("DFT", inputs=(0,))


def _at(shape: Tensor, axis: Tensor) -> Tensor:
    """One dimension as a scalar."""
    return reshape_to(ox.Gather(shape, axis), int64_constant([]))


def _length(x: Tensor, given: Tensor | None, axis: Tensor, *, doubled: bool) -> Tensor:
    """The transform's length, an int64 scalar."""
    if given is not None:
        return reshape_to(cast_to(given, dtypes.int64), int64_constant([]))
    size = _at(shape_vector(x), axis)
    if not doubled:
        return size
    return ox.Mul(ox.Sub(size, int64_constant(1)), int64_constant(2))


def _fitted(x: Tensor, length: Tensor, axis: Tensor) -> Tensor:
    """Zeros added at the end of an axis, or what is too much cut off."""
    missing = ox.Sub(length, _at(shape_vector(x), axis))
    zero, vector = int64_constant([0]), int64_constant([1])
    pads = ox.Concat(zero, reshape_to(missing, vector), axis=0)
    return ox.Pad(x, pads, None, reshape_to(axis, vector))


def _last(x: Tensor, count: Tensor) -> Tensor:
    """The first one or two elements of the last axis."""
    return ox.Slice(x, int64_constant([0]), count, int64_constant([-1]))


def _half_spectrum(dy: Tensor, length: Tensor, axis: Tensor) -> Tensor:
    """The transpose of a real inverse: frequencies that stand for two of them count twice."""
    found = dft(dy, axis, onesided=1)
    rank = dy.shape.rank
    assert rank is not None
    count = count_up(_at(shape_vector(found), axis))
    two, one = scalar_like(2, dy), scalar_like(1, dy)
    mirrored = ox.Mod(ox.Add(count, count), length)
    alone = ox.Equal(mirrored, int64_constant(0))
    counts = ox.Where(alone, one, two)
    # One number for each frequency, along the axis.
    places = ox.Mod(ox.Add(axis, int64_constant(rank)), int64_constant(rank))
    here = ox.Equal(count_up(int64_constant([rank])), places)
    shape = ox.Where(here, int64_constant(-1), int64_constant(1))
    counts = ox.Reshape(counts, shape)
    return ox.Div(ox.Mul(found, counts), cast_to(length, dy.dtype))


@formula("STFT")
def _stft(op: OpRecord) -> Tensor:
    """The transform of overlapping frames, each multiplied by the window."""
    signal, step, *rest = op.inputs
    window = rest[0] if rest else None
    given = rest[1] if len(rest) > 1 else None
    scalar, one = int64_constant([]), int64_constant(1)
    whole = reshape_to(dimension(signal, 1), scalar)
    if given is not None:
        length = reshape_to(cast_to(given, dtypes.int64), scalar)
    else:
        length = whole if window is None else reshape_to(dimension(window, 0), scalar)
    hop = reshape_to(cast_to(step, dtypes.int64), scalar)
    frames = ox.Add(ox.Div(ox.Sub(whole, length), hop), one)
    starts = ox.Unsqueeze(ox.Mul(count_up(frames), hop), int64_constant([1]))
    seen = ox.Gather(signal, ox.Add(starts, count_up(length)), axis=1)
    if window is not None:
        seen = ox.Mul(seen, ox.Unsqueeze(window, int64_constant([1])))
    attrs = {"onesided": int(op.attrs.get("onesided", 1))}
    return ox.DFT(seen, None, int64_constant(2), **attrs)


@batching("DFT")
def _dft_batching(op: BatchedOp) -> Results:
    """The same axis, one further back."""
    op.only(0)
    given = [*op.inputs[1:], None, None]
    axis = int64_constant(-2) if given[1] is None else shifted_axes(given[1])
    return op.apply((op.input(0), given[0], axis))


batching("STFT")(as_one_batch)
