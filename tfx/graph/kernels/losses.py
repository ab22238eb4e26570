"""Losses of many targets: the loss of each, and their sum or mean as reductions of their own.

Seen in ONNX Runtime 1.31: ``NegativeLogLikelihoodLoss`` and ``SoftmaxCrossEntropyLoss`` add the
weights of the targets one after the other, so that a weighted mean over a million is off by 2e-4,
over ten million by 4e-3. Sums are off by 6e-6 there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tfx.core import dtypes
from tfx.graph.ir import Attributes, Graph, Node, RawDim, Value
from tfx.graph.kernels.accurate_sums import Correction
from tfx.graph.replacement_builder import ReplacementBuilder

_FLOAT, _FLOAT16, _DOUBLE, _BFLOAT16 = 1, 10, 11, 16
_REAL = (_FLOAT, _FLOAT16, _DOUBLE, _BFLOAT16)
# As many targets are summed as accurately as in pairs.
_LIMIT = 1024


def is_long(op: str, shape: Sequence[RawDim], attrs: Attributes) -> bool:
    """Return whether a loss reduces over more targets than its kernel sums accurately.

    Args:
        op: The operator.
        shape: The shape of its scores, with classes on axis 1. Of unknown sizes it is not long.
        attrs: Its attributes.
    """
    sizes = [d for a, d in enumerate(shape) if a != 1 and isinstance(d, int)]
    return _reduces(attrs) and len(sizes) == len(shape) - 1 > 0 and math.prod(sizes) > _LIMIT


def _reduces(attrs: Attributes) -> bool:
    return _reduction_of(attrs) != "none"


def _reduction_of(attrs: Attributes) -> str:
    given = attrs.get("reduction", "mean")
    return given.decode() if isinstance(given, bytes) else str(given)


def _loss(out: Graph, node: Node, asks: bool) -> bool:
    """Each target's loss, then a sum; in narrow types both in float32.

    On unknown sizes, too: the reduction asks for them.
    """
    x, target = node.inputs[:2]
    if node.tag is not None or x is None or target is None or not x.shape or x.dtype not in _REAL:
        return False
    known = all(isinstance(d, int) for a, d in enumerate(x.shape) if a != 1)
    if not _reduces(node.attrs) or (known and not is_long(node.op, x.shape, node.attrs)):
        return False
    write = ReplacementBuilder(out, node)
    weights = node.inputs[2] if len(node.inputs) > 2 else None
    narrow = x.dtype in (_FLOAT16, _BFLOAT16)
    if narrow:
        x = write.Cast(x, to=_FLOAT)
        weights = None if weights is None else write.Cast(weights, to=_FLOAT)
    attrs = {**node.attrs, "reduction": "none"}
    given = (x, target) if weights is None else (x, target, weights)
    types = [(x.dtype, target.shape), *((x.dtype, v.shape) for v in node.outputs[1:])]
    each = out.add_node(node.op, given, attrs, types, name=f"{node.name}_each", source=node.source)
    loss = each.outputs[0]
    total = (
        _mean(write, node, loss, target, weights)
        if _reduction_of(node.attrs) == "mean"
        else (write.ReduceSum(loss, keepdims=0))
    )
    made = [total, *each.outputs[1:]]
    if len(made) == 1 and not narrow:
        return write.finish()
    for value, output in zip(made, node.outputs, strict=True):
        op, kept = ("Cast", {"to": output.dtype}) if narrow else ("Identity", {})
        name = node.name if output is node.outputs[0] else out.unique_name(node.name)
        copy = Node(op, (value,), kept, name, node.source, outputs=(output,))
        out.nodes.append(copy)
    return True


def _mean(
    write: ReplacementBuilder, node: Node, loss: Value, target: Value, weights: Value | None
) -> Value:
    """The sum of what counts over the sum of its weights."""
    ignored = node.attrs.get("ignore_index")
    if weights is None and ignored is None:
        return write.ReduceMean(loss, keepdims=0)
    dropped = (
        None if ignored is None else write.Equal(target, write.constant(int(ignored), target.dtype))
    )
    if weights is None:
        assert dropped is not None
        factors = write.Cast(write.Not(dropped), to=loss.dtype)
    else:
        classes = target
        if dropped is not None:
            classes = write.Where(dropped, write.constant(0, target.dtype), target)
        factors = write.Gather(weights, classes)
        if dropped is not None:
            kind = dtypes.from_onnx(loss.dtype).as_numpy_dtype
            zero = write.graph.add_constant(np.array(0, kind), loss.dtype)
            factors = write.Where(dropped, zero, factors)
    total = write.ReduceSum(loss, keepdims=0)
    return write.Div(total, write.ReduceSum(factors, keepdims=0))


CORRECTIONS: dict[str, Correction] = {
    "NegativeLogLikelihoodLoss": _loss,
    "SoftmaxCrossEntropyLoss": _loss,
}
LOSSES = frozenset(CORRECTIONS)
