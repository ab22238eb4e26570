"""Gradient rules of the loss operators, which imported models and ``raw`` have.

Both losses weigh the log-probability of each target: one number for each target, times the class's
weight, 0 for targets to ignore, and for a mean divided by the sum of these factors.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.batching import BatchedOp, Results, batching, known_rank
from tfx.ops.common.shapes import filled, shape_vector
from tfx.ops.math.arithmetic import add, divide, multiply, subtract
from tfx.ops.math.elementwise import exp

_CLASS_AXIS = 1


@gradient("NegativeLogLikelihoodLoss")
def _nll_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    return _gradient_of_log_probabilities(op, dy), *(None for _ in op.inputs[1:])


def _gradient_of_log_probabilities(op: OpRecord, dy: Tensor) -> Tensor:
    """The weight of each target stands at its class, everything else is 0."""
    x, target = op.inputs[0], cast_to(op.inputs[1], dtypes.int64)
    classes, factors = _factors(op, x, target)
    reduction = op.attrs.get("reduction", "mean")
    if reduction in ("mean", b"mean"):
        total = ox.ReduceSum(factors, keepdims=0)
        factors = divide(factors, total)
    share = multiply(multiply(factors, dy), -1.0)
    axis = int64_constant([_CLASS_AXIS])
    return ox.ScatterElements(
        filled(shape_vector(x), 0, x.dtype),
        ox.Unsqueeze(classes, axis),
        ox.Unsqueeze(share, axis),
        axis=_CLASS_AXIS,
    )


def _factors(op: OpRecord, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The classes, with class 0 for what is ignored, and the factor of each target."""
    weight = op.inputs[2] if len(op.inputs) > 2 else None
    ignored = op.attrs.get("ignore_index")
    classes, counts = target, None
    if ignored is not None:
        dropped = ox.Equal(target, int64_constant(ignored))
        classes = ox.Where(dropped, int64_constant(0), target)
        counts = ox.Not(dropped)
    if weight is None:
        if counts is None:
            return classes, filled(shape_vector(target), 1, x.dtype)
        return classes, cast_to(counts, x.dtype)
    factors = ox.Gather(weight, classes)
    if counts is None:
        return classes, factors
    return classes, ox.Where(counts, factors, scalar_like(0, factors))


@gradient("SoftmaxCrossEntropyLoss")
def _cross_entropy_grad(
    op: OpRecord, dy: Tensor | None, dlog: Tensor | None = None
) -> Sequence[Tensor | None]:
    """Through the logarithm of the softmax, the second output."""
    x = op.inputs[0]
    logged = len(op.outputs) > 1
    probabilities = exp(op.outputs[1]) if logged else ox.Softmax(x, axis=_CLASS_AXIS)
    if dy is not None:
        found = _gradient_of_log_probabilities(op, dy)
        dlog = found if dlog is None else add(found, dlog)
    assert dlog is not None
    total = ox.ReduceSum(dlog, int64_constant([_CLASS_AXIS]), keepdims=1)
    dx = subtract(dlog, multiply(probabilities, total))
    return dx, *(None for _ in op.inputs[1:])


@batching("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def _loss_batching(op: BatchedOp) -> Results:
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
    """Return the weight of each row: that of its class, or 0 where the label is ignored."""
    known = {k: v for k, v in op.attrs.items() if k == "ignore_index"}
    ones = filled(shape_vector(scores), -1, scores.dtype)
    found = ox.NegativeLogLikelihoodLoss(
        ones, labels, *op.inputs[2:], **{**known, "reduction": "none"}
    )
    return op.split(found)
