"""Forward rules of operators that move, add or drop elements: they are linear.

The tangent of the result is the operator applied to the tangent. Operators on sequences are among
them: the tangent of a sequence is a sequence of the same length.
"""

from __future__ import annotations

from tfx.autodiff.jvp import twice_transposed
from tfx.control_flow import sequences
from tfx.control_flow.sequence_gradients import is_write
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, forward, linear
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import zeros_like
from tfx.ops.common.shapes import reshape_to, shape_vector

linear("Identity", "Neg", "Transpose", "Flatten", "Concat", "SequenceConstruct")
# What comes after the first input says where, and is no number to differentiate by.
linear(
    *("Reshape", "Squeeze", "Unsqueeze", "Expand", "Tile", "Split"),
    *("Slice", "Gather", "GatherND", "GatherElements", "Compress", "ReverseSequence"),
    *("ReduceSum", "ReduceMean", "CumSum", "Trilu", "CenterCropPad"),
    *("AveragePool", "GlobalAveragePool", "DepthToSpace", "SpaceToDepth", "Col2Im"),
    *("MaxUnpool", "AffineGrid", "DFT"),
    *("SequenceAt", "SequenceErase", "ConcatFromSequence", "SplitToSequence"),
    inputs=(0,),
)
linear("OneHot", inputs=(2,))


@forward("MaxPool")
def _max_pool_forward(op: OpRecord, tangent: Tensor) -> list[Tensor | None]:
    """Return the tangent at the positions of the maxima."""
    (x,) = op.inputs
    attrs = {k: v for k, v in op.attrs.items() if k != "storage_order"}
    found = (
        op.outputs[1]
        if len(op.outputs) > 1 and not op.attrs.get("storage_order")
        else ox.MaxPool(x, **attrs, outputs=2)[1]
    )
    flat = int64_constant([-1])
    taken = ox.Gather(ox.Reshape(tangent, flat), ox.Reshape(found, flat))
    moved = reshape_to(taken, shape_vector(op.outputs[0]))
    return [moved, *[None] * (len(op.outputs) - 1)]


@forward("ScatterND", "ScatterElements")
def _scatter_forward(op: OpRecord, tx: Tensor | None, _: None, tu: Tensor | None) -> Tensor | None:
    """Linear where it replaces or adds."""
    x, indices, updates = op.inputs
    if op.attrs.get("reduction", "none") in ("none", "add"):
        left = zeros_like(x) if tx is None else tx
        right = zeros_like(updates) if tu is None else tu
        return apply(op.op, (left, indices, right), op.attrs)
    return twice_transposed(op, (tx, None, tu))[0]


@forward("SequenceInsert")
def _insert_forward(
    op: OpRecord, sequence: Tensor | None, element: Tensor | None, *_: None
) -> Tensor:
    before, x, *place = op.inputs
    left = sequences.zeros_like(before) if sequence is None else sequence
    right = zeros_like(x) if element is None else element
    return ox.SequenceInsert(left, right, *place)


@forward("SequenceMap")
def _map_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor | None:
    """Return the tangent of a sum of sequences; other mapped bodies have none."""
    if op.attrs["body"].name != sequences.SUM:
        return None
    a, b = tangents
    if a is None or b is None:
        return b if a is None else a
    return sequences.add(a, b)


def write_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor:
    """Tangent of a write into a sequence: the same write of the tangent."""
    sequence, index, value = op.inputs
    ts, _, tv = tangents
    return sequences.write(
        sequences.zeros_like(sequence) if ts is None else ts,
        index,
        zeros_like(value) if tv is None else tv,
        grows=op.attrs["graph"].name.startswith(f"{sequences.WRITER}_growing"),
    )


__all__ = ["is_write", "write_forward"]
