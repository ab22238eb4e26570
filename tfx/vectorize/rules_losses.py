"""Batching rules of losses: those of all rows at once, reduced for each element afterwards."""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.shapes import filled, shape_vector
from tfx.vectorize.merged_axes import known_rank
from tfx.vectorize.rules import BatchedOp, Results, batching


@batching("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def _loss(op: BatchedOp) -> Results:
    """``[n, classes, ...]`` and ``[n, ...]``; weights of the classes are the same for all."""
    op.only(0, 1)
    scores, labels = op.merged(0), op.merged(1)
    given = op.attrs.get("reduction", "mean")
    reduction = given.decode() if isinstance(given, bytes) else given
    attrs = {**op.attrs, "reduction": "none"}
    found, *rest = op.apply((scores, labels, *op.inputs[2:]), attrs)
    losses = op.split(found)
    others = [op.split(y) for y in rest]
    if reduction == "none":
        return [losses, *others]
    total = _over_all(losses)
    if reduction == "mean":
        total = ox.Div(total, _over_all(_weights(op, scores, labels)))
    return [total, *others]


def _over_all(x: Tensor) -> Tensor:
    """The sum over all but the batch."""
    axes = int64_constant(range(1, known_rank(x)))
    return ox.ReduceSum(x, axes, keepdims=0)


def _weights(op: BatchedOp, scores: Tensor, labels: Tensor) -> Tensor:
    """What each row counts: its class's weight, nothing where the label is to be ignored."""
    known = {k: v for k, v in op.attrs.items() if k == "ignore_index"}
    ones = filled(shape_vector(scores), -1, scores.dtype)
    found = ox.NegativeLogLikelihoodLoss(
        ones, labels, *op.inputs[2:], **{**known, "reduction": "none"}
    )
    return op.split(found)
