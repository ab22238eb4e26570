"""Batching rules of operators that arrange elements: shapes, joining, cutting, filling."""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import static_ints
from tfx.vectorize.rules import BatchedOp, CannotBatchError, Results, batching, concat_shapes, tiled
from tfx.vectorize.rules_axes import shifted, shifted_axes


@batching("Reshape")
def _reshape(op: BatchedOp) -> Results:
    """The batch in front of the shape. A 0 copies the dimension at its place, also then."""
    op.only(0)
    known = op.static_shape()
    if known is not None:
        shape = concat_shapes(op.lead(), int64_constant(known)) if known else op.lead()
        if op.static_size is not None:
            shape = int64_constant([op.static_size, *known])
        return ox.Reshape(op.input(0), shape, allowzero=1)
    return op.apply((op.input(0), concat_shapes(op.lead(), op.input(1))))


@batching("Flatten")
def _flatten(op: BatchedOp) -> Results:
    """Two products of dimensions."""
    x, axis = op.input(0), op.attrs.get("axis", 1)
    axis = axis % max(op.rank(0), 1) if axis < 0 else axis
    known = op.static_shape()
    if known is not None:
        parts = [op.lead(), int64_constant(known)]
    else:
        parts = [op.lead(), _product(x, 1, axis + 1), _product(x, axis + 1, 2**62)]
    return ox.Reshape(x, concat_shapes(*parts), allowzero=1)


def _product(x: Tensor, start: int, end: int) -> Tensor:
    dims = ox.Shape(x, start=start, end=end)
    return ox.ReduceProd(dims, keepdims=1)


@batching("Transpose")
def _transpose(op: BatchedOp) -> Results:
    perm = op.attrs.get("perm")
    if perm is None:
        perm = range(op.rank(0))[::-1]
    return op.apply(op.inputs, {"perm": (0, *(p + 1 for p in perm))})


@batching("Expand")
def _expand(op: BatchedOp) -> Results:
    """Elements get as many axes as the result has."""
    op.only(0)
    length = op.input(1).shape[0] if op.input(1).shape.rank else None
    if length is None:
        raise CannotBatchError("the rank of the result is unknown")
    rank = max(op.rank(0), length)
    known = op.static_shape()
    if known is not None and op.static_size is not None:
        shape = int64_constant([op.static_size, *known])
    else:
        shape = concat_shapes(op.lead(), int64_constant([1] * (rank - length)), op.input(1))
    return ox.Expand(op.aligned(0, rank), shape)


@batching("Tile")
def _tile(op: BatchedOp) -> Results:
    op.only(0)
    return op.apply((op.input(0), concat_shapes(int64_constant([1]), op.input(1))))


@batching("Squeeze")
def _squeeze(op: BatchedOp) -> Results:
    op.only(0)
    if op.given(1):
        return op.apply((op.input(0), shifted_axes(op.input(1))))
    shape = op.input(0).shape
    if shape.rank is None or None in shape[1:].as_list():
        raise CannotBatchError("which axes have size 1 is known at run time only")
    axes = [i for i, d in enumerate(shape.as_list()) if i and d == 1]
    return op.apply((op.input(0), int64_constant(axes))) if axes else op.input(0)


@batching("Unsqueeze")
def _unsqueeze(op: BatchedOp) -> Results:
    op.only(0)
    return op.apply((op.input(0), shifted_axes(op.input(1))))


@batching("Concat")
def _concat(op: BatchedOp) -> Results:
    inputs = [op.full(i) for i in range(len(op.inputs))]
    return op.apply(inputs, {"axis": shifted(op.attrs["axis"])})


@batching("Split")
def _split(op: BatchedOp) -> Results:
    op.only(0)
    return op.apply(op.inputs, {**op.attrs, "axis": shifted(op.attrs.get("axis", 0))})


@batching("Pad")
def _pad(op: BatchedOp) -> Results:
    """Nothing is added to the batch."""
    op.only(0)
    x, pads = op.input(0), op.input(1)
    value = op.inputs[2] if op.given(2) else None
    if op.given(3):
        return op.apply((x, pads, value, shifted_axes(op.input(3))))
    rank = op.rank(0)
    known = static_ints(pads)
    if known is not None:
        whole = int64_constant([0, *known[:rank], 0, *known[rank:]])
    else:
        halves = _halves(pads, rank)
        zero = int64_constant([0])
        whole = concat_shapes(zero, halves[0], zero, halves[1])
    return op.apply((x, whole) if value is None else (x, whole, value))


def _halves(pads: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    zero, middle, end = (int64_constant([i]) for i in (0, rank, 2 * rank))
    return ox.Slice(pads, zero, middle), ox.Slice(pads, middle, end)


@batching("Trilu")
def _trilu(op: BatchedOp) -> Results:
    op.only(0)
    return op.apply(op.inputs)


@batching("DepthToSpace", "SpaceToDepth")
def _depth_to_space(op: BatchedOp) -> Results:
    return op.split(op.apply((op.merged(0),))[0])


@batching("EyeLike")
def _eye_like(op: BatchedOp) -> Results:
    """Only the shape counts, which is the same for all elements."""
    x = op.input(0)
    zero = ox.Cast(int64_constant(0), to=x.dtype.onnx)
    element = ox.Expand(zero, ox.Shape(x, start=1))
    return tiled(op.apply((element,))[0], op.size)


@batching("OneHot")
def _one_hot(op: BatchedOp) -> Results:
    """The new axis among those of the result; values of their own come last."""
    if op.batched[1]:
        op.only(0)
    axis = op.attrs.get("axis", -1)
    if not op.batched[2]:
        return op.apply(op.inputs, {"axis": shifted(axis)})
    rank = op.rank(0) + 1
    kind = op.input(2).dtype
    zero_one = ox.Cast(int64_constant([0, 1]), to=kind.onnx)
    at = shifted(axis) if op.batched[0] else axis
    hot = op.apply((op.input(0), op.input(1), zero_one), {"axis": at})[0]
    chosen = ox.Cast(hot, to=_BOOL)
    off, on = (ox.Slice(op.input(2), *(int64_constant([i]) for i in (k, k + 1, 1))) for k in (0, 1))
    shape = concat_shapes(op.lead(), int64_constant([1] * rank))
    off, on = (ox.Reshape(v, shape) for v in (off, on))
    return ox.Where(chosen, on, off)


_BOOL = 9
