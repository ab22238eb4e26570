"""Gradients through quantized numbers, which are integers: straight-through estimates.

Training that is aware of quantization takes rounding for the identity: the gradient of a quantized
tensor is a floating-point tensor of its shape, that of the number before it was rounded. It begins
at an operator that dequantizes, passes those that only rearrange or multiply integers, and ends at
the one that rounded: there it is zero for what lay outside of the range and was cut off.

Integers that no rounding made carry nothing: an index has no gradient.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TypeVar

from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import Tensor
from tfx.graph.quantized_operators import carries, computes, makes_integers
from tfx.graph.traits import traits

Y = TypeVar("Y")


def carrying(op: str, outputs: Sequence[Y], *, integers: bool) -> Sequence[Y]:
    """The integer results of an operator that a gradient comes back through.

    Args:
        op: The operator.
        outputs: Its results.
        integers: Whether one of its inputs is an integer that carries a gradient.
    """
    if not (makes_integers(op) or (integers and carries(op))):
        return ()
    return outputs if op == "Split" else outputs[:1]


def dependent(
    op: str, inputs: Sequence[Tensor | None], outputs: Sequence[Y], known: Container[int]
) -> Sequence[Y]:
    """See ``carrying``, for tensors of which some are known to depend on a source.

    Args:
        op: The operator.
        inputs: What it was applied to.
        outputs: Its results.
        known: The ``id`` of what depends on a source.
    """
    if makes_integers(op):
        return outputs[:1]
    if not carries(op):
        return ()
    integers = any(x is not None and id(x) in known and x.dtype.is_integer for x in inputs)
    return carrying(op, outputs, integers=integers)


def of_floats(op: OpRecord, dys: Sequence[Tensor | None]) -> OpRecord:
    """A record whose rule sees numbers in place of the integers that carry a gradient.

    Args:
        op: An operation; ``needs`` says which inputs carry one.
        dys: The gradients of its results, of which the numbers are.
    """
    kind = next((dy.dtype for dy in dys if dy is not None), None)
    if kind is None or computes(op.op):
        return op
    row = traits(op.op)
    alike = bool(row.elementwise or row.masks or row.moves == "several")  # all of one type
    kinds = {x.dtype for x, n in zip(op.inputs, op.needs, strict=True) if n}

    def number(x: Tensor | None, *, needed: bool) -> Tensor | None:
        if x is None or not x.dtype.is_integer:
            return x
        return ox.Cast(x, to=kind.onnx) if needed or (alike and x.dtype in kinds) else x

    inputs = [number(x, needed=n) for x, n in zip(op.inputs, op.needs, strict=True)]
    outputs = [number(y, needed=True) for y in op.outputs]
    made = OpRecord(op.op, op.attrs, inputs, [y for y in outputs if y is not None])
    made.needs, made.source = op.needs, op.source
    return made
