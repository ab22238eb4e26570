"""Gradients through quantized numbers, which are integers: straight-through estimates.

Training that is aware of quantization takes rounding for the identity: the gradient of a quantized
tensor is a floating-point tensor of its shape, that of the number before it was rounded. It begins
at an operator that dequantizes, passes those that only rearrange or multiply integers, and ends at
the one that rounded: there it is zero for what lay outside of the range and was cut off.

Integers that no rounding made carry nothing: an index has no gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import Tensor
from tfx.graph.quantized_operators import ARITHMETIC, ROUNDING

Y = TypeVar("Y")

_MS = "com.microsoft::"
# Operators that are the same on integers as on other numbers.
_SAME = frozenset(
    (
        *("Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Concat"),
        *("Split", "Gather", "GatherND", "GatherElements", "Expand", "Tile", "Pad", "MaxPool"),
        *("DepthToSpace", "SpaceToDepth", "Relu", "Clip", "Max", "Min", "Where", "Resize"),
        *("Cast", "Add", "Sub"),
    )
)
_EACH = frozenset(("Split",))
# Operators on several tensors of one type.
_ALIKE = frozenset(("Add", "Clip", "Concat", "Max", "Min", "Sub"))
# Rules that take integers as they are.
_KNOW_INTEGERS = ARITHMETIC | ROUNDING | {"DequantizeLinear", _MS + "DequantizeLinear"}
_CARRYING = ROUNDING | ARITHMETIC | _SAME


def carrying(op: str, outputs: Sequence[Y], *, integers: bool) -> Sequence[Y]:
    """The integer results of an operator that a gradient comes back through.

    Args:
        op: The operator.
        outputs: Its results.
        integers: Whether one of its inputs is an integer that carries a gradient.
    """
    if op not in _CARRYING or not (integers or op in ROUNDING):
        return ()
    return outputs if op in _EACH else outputs[:1]


def dependent(
    op: str, inputs: Sequence[Tensor | None], outputs: Sequence[Y], known: object
) -> Iterator[Y]:
    """See ``carrying``, for tensors of which some are known to depend on a source.

    Args:
        op: The operator.
        inputs: What it was applied to.
        outputs: Its results.
        known: A container of the ``id`` of what depends on a source.
    """
    if op in _CARRYING:
        integers = op not in ROUNDING and any(
            x is not None and id(x) in known and x.dtype.is_integer  # type: ignore[operator]
            for x in inputs
        )
        yield from carrying(op, outputs, integers=integers)


def of_floats(op: OpRecord, dys: Sequence[Tensor | None]) -> OpRecord:
    """A record whose rule sees numbers in place of the integers that carry a gradient.

    Args:
        op: An operation; ``needs`` says which inputs carry one.
        dys: The gradients of its results, of which the numbers are.
    """
    kind = next((dy.dtype for dy in dys if dy is not None), None)
    if op.op in _KNOW_INTEGERS or kind is None:
        return op

    def number(x: Tensor | None) -> Tensor | None:
        return ox.Cast(x, to=kind.onnx) if x is not None and x.dtype.is_integer else x

    inputs = [number(x) if n else x for x, n in zip(op.inputs, op.needs, strict=True)]
    if op.op in _ALIKE:  # all of one type
        inputs = [number(x) for x in op.inputs]
    outputs = [op.outputs[0] if op.op == "Cast" else number(op.outputs[0]), *op.outputs[1:]]
    made = OpRecord(op.op, op.attrs, inputs, [y for y in outputs if y is not None])
    made.needs = op.needs
    made.source = op.source
    return made
