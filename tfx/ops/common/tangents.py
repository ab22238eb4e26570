"""What forward rules of several families share: sums of tangents, and slopes of gradient rules.

A forward rule stands beside the operator's gradient rule: see ``framework.rules.forward``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord, rule_of
from tfx.framework.tensor import Tensor


def plus(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    """The sum of two tangents, None being zero."""
    if a is None or b is None:
        return b if a is None else a
    return ox.Add(a, b)


def spread(tangent: Tensor, y: Tensor) -> Tensor:
    """A tangent that broadcasts to the shape of ``y``, in that shape."""
    have, want = tangent.shape, y.shape
    if want.is_fully_defined() and have.is_fully_defined() and have == want:
        return tangent
    known, full = have.symbolic, want.symbolic
    if known is not None and known == full and None not in known:
        return tangent
    return ox.Expand(tangent, ox.Shape(y))


def bilinear(op: OpRecord, tx: Tensor | None, ty: Tensor | None) -> Tensor | None:
    """The tangent of a product of the first two inputs, the operator being linear in each."""
    x, y = op.inputs[:2]
    left = None if tx is None else apply(op.op, (tx, y), op.attrs)
    right = None if ty is None else apply(op.op, (x, ty), op.attrs)
    return plus(left, right)


def gradient_of(op: OpRecord, i: int, dy: Tensor) -> Tensor | None:
    """The gradient of one input of an operation with one result, by the operator's own rule."""
    rule = rule_of(op.op)
    assert rule is not None
    asked = OpRecord(op.op, op.attrs, op.inputs, op.outputs)
    asked.needs = tuple([k == i for k in range(len(op.inputs))])
    found = rule(asked, dy)
    return found if isinstance(found, Tensor) or found is None else found[i]


def broadcasting(op: OpRecord, *tangents: Tensor | None) -> Tensor | None:
    """Forward rule of operators that broadcast: in the result's shape they are elementwise."""
    (z,) = op.outputs
    record = OpRecord(op.op, op.attrs, [spread(x, z) for x in op.inputs], op.outputs)
    total: Tensor | None = None
    for i, tangent in enumerate(tangents):
        if tangent is not None:
            total = plus(total, gradient_of(record, i, spread(tangent, z)))
    return total


def summed(tangents: Sequence[Tensor | None]) -> Tensor:
    """The sum of tangents that broadcast together, of which at least one is not zero."""
    known = [t for t in tangents if t is not None]
    return known[0] if len(known) == 1 else ox.Sum(*known)
