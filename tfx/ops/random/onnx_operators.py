"""Batching rules of ONNX's own random operators: numbers of their own for each element."""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.ops.common.batching import BatchedOp, Results, as_one_batch, batching, concat_shapes

_FLOAT = 1


@batching("RandomNormalLike", "RandomUniformLike", "Bernoulli")
def _like_batching(op: BatchedOp) -> Results:
    return op.apply((op.full(0),))


@batching("RandomNormal", "RandomUniform")
def _of_shape_batching(op: BatchedOp) -> Results:
    """Batch by the operator that takes a tensor's shape: the number of elements may be unknown."""
    attrs = {k: v for k, v in op.attrs.items() if k != "shape"}
    attrs.setdefault("dtype", _FLOAT)
    whole = concat_shapes(op.lead(), int64_constant(list(op.attrs["shape"])))
    return op.apply((ox.ConstantOfShape(whole),), attrs, op=f"{op.op}Like")


batching("Multinomial")(as_one_batch)
