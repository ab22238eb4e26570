"""Forward rules of elementwise operators, products and reductions.

The tables of ``framework.rules`` are filled here and in ``forward_moves`` (operators that move
elements, which are linear). An operator that is in neither has its gradient rule used twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.autodiff import forward_moves as forward_moves
from tfx.autodiff.backprop import input_gradients
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, elementwise, forward
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import ones_like, zeros_like
from tfx.ops.common.arguments import cast_to, scalar_like

# By the first input each element of a clipped tensor depends on one element; the derivative of
# softmax is diag(y) - y y^T.
elementwise("Clip", "Softmax")


def add(a: Tensor | None, b: Tensor | None) -> Tensor | None:
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


# Binary operators with broadcasting


@forward("Add", "Sub")
def _add_forward(op: OpRecord, tx: Tensor | None, ty: Tensor | None) -> Tensor:
    (z,) = op.outputs
    if tx is not None and ty is not None:
        return apply(op.op, (tx, ty))
    if tx is not None:
        return spread(tx, z)
    assert ty is not None
    return spread(ty if op.op == "Add" else ox.Neg(ty), z)


@forward("Sum", "Mean")
def _sum_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor:
    known = [t for t in tangents if t is not None]
    total = known[0] if len(known) == 1 else ox.Sum(*known)
    if op.op == "Mean":
        total = ox.Div(total, scalar_like(len(tangents), total))
    return spread(total, op.outputs[0])


@forward("Mul")
def _mul_forward(op: OpRecord, tx: Tensor | None, ty: Tensor | None) -> Tensor | None:
    x, y = op.inputs
    left = None if tx is None else ox.Mul(tx, y)
    right = None if ty is None else ox.Mul(x, ty)
    return add(left, right)


@forward("Div")
def _div_forward(op: OpRecord, tx: Tensor | None, ty: Tensor | None) -> Tensor:
    """``(tx - z ty) / y``."""
    y, z = op.inputs[1], op.outputs[0]
    if ty is None:
        assert tx is not None
        return ox.Div(tx, y)
    part = ox.Mul(z, ty)
    top = ox.Neg(part) if tx is None else ox.Sub(tx, part)
    return ox.Div(top, y)


@forward("Max", "Min", "Mod", "Pow", "PRelu")
def _broadcasting_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor | None:
    """Apply the gradient rule with all inputs in the result's shape, where it is elementwise."""
    (z,) = op.outputs
    record = OpRecord(op.op, op.attrs, [spread(x, z) for x in op.inputs], op.outputs)
    total: Tensor | None = None
    for i, tangent in enumerate(tangents):
        if tangent is not None:
            needs = tuple(k == i for k in range(len(tangents)))
            total = add(total, input_gradients(record, needs, [spread(tangent, z)])[i])
    return total


@forward("Where")
def _where_forward(op: OpRecord, _: None, tx: Tensor | None, ty: Tensor | None) -> Tensor:
    """The same choice among the tangents; the condition has none."""
    condition, x = op.inputs[:2]
    zero = scalar_like(0, x)
    chosen = ox.Where(condition, zero if tx is None else tx, zero if ty is None else ty)
    return spread(chosen, op.outputs[0]) if tx is None or ty is None else chosen


@forward("Cast", "CastLike")
def _cast_forward(op: OpRecord, tangent: Tensor | None, *_: None) -> Tensor | None:
    dtype = op.outputs[0].dtype
    return cast_to(tangent, dtype) if tangent is not None and dtype.is_floating else None


# Products


def _bilinear(op: OpRecord, tx: Tensor | None, ty: Tensor | None, *rest: Tensor) -> Tensor | None:
    x, y = op.inputs[:2]
    left = None if tx is None else apply(op.op, (tx, y, *rest), op.attrs)
    right = None if ty is None else apply(op.op, (x, ty, *rest), op.attrs)
    return add(left, right)


@forward("MatMul")
def _matmul_forward(op: OpRecord, tx: Tensor | None, ty: Tensor | None) -> Tensor | None:
    return _bilinear(op, tx, ty)


@forward("Gemm")
def _gemm_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor | None:
    ta, tb = tangents[:2]
    tc = tangents[2] if len(tangents) > 2 else None
    attrs = {k: v for k, v in op.attrs.items() if k != "beta"}
    record = OpRecord(op.op, attrs, op.inputs, op.outputs)
    total = _bilinear(record, ta, tb)
    if tc is None:
        return total
    beta = op.attrs.get("beta", 1.0)
    tc = tc if beta == 1.0 else ox.Mul(tc, scalar_like(beta, tc))
    return spread(tc, op.outputs[0]) if total is None else ox.Add(total, tc)


@forward("Conv", "ConvTranspose")
def _conv_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor | None:
    total = _bilinear(op, tangents[0], tangents[1])
    bias = tangents[2] if len(tangents) > 2 else None
    if bias is None:
        return total
    rank, one = op.outputs[0].shape.rank, int64_constant(1)
    if rank is None:
        spatial = ox.Sub(ox.Size(ox.Shape(op.outputs[0])), one)
        axes = ox.Range(one, spatial, one)
    else:
        axes = int64_constant(range(1, rank - 1))
    bias = ox.Unsqueeze(bias, axes)
    return spread(bias, op.outputs[0]) if total is None else ox.Add(total, bias)


@forward("Einsum")
def _einsum_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor | None:
    """Linear in each operand."""
    total: Tensor | None = None
    for i, tangent in enumerate(tangents):
        if tangent is not None:
            given = [tangent if k == i else x for k, x in enumerate(op.inputs)]
            total = add(total, ox.Einsum(*given, **op.attrs))
    return total


# Reductions and what looks like them


def _reduced(op: OpRecord, tangent: Tensor, reduction: str) -> Tensor:
    return apply(reduction, (tangent, *op.inputs[1:]), op.attrs)


@forward("ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare")
@forward("ReduceLogSum", "ReduceLogSumExp")
def _reduce_forward(op: OpRecord, tangent: Tensor | None, *_: None) -> Tensor | None:
    """Multiply by each element's slope, which is the gradient for ones, and reduce."""
    if tangent is None:
        return None
    needs = (True, *(False for _ in op.inputs[1:]))
    slopes = input_gradients(op, needs, [ones_like(op.outputs[0])])[0]
    if slopes is None:
        return None
    return _reduced(op, ox.Mul(slopes, tangent), "ReduceSum")


@forward("LogSoftmax")
def _log_softmax_forward(op: OpRecord, tangent: Tensor) -> Tensor:
    axis = int64_constant([op.attrs.get("axis", -1)])
    weighted = ox.Mul(ox.Exp(op.outputs[0]), tangent)
    return ox.Sub(tangent, ox.ReduceSum(weighted, axis, keepdims=1))


@forward("TopK")
def _top_k_forward(op: OpRecord, tangent: Tensor | None, _: None) -> Sequence[Tensor | None]:
    if tangent is None:
        return None, None
    axis = {"axis": op.attrs.get("axis", -1)}
    return ox.GatherElements(tangent, op.outputs[1], **axis), None


@forward("Pad")
def _pad_forward(op: OpRecord, tangent: Tensor | None, *rest: Tensor | None) -> Tensor:
    """The tangent padded; what is constant around it has tangent 0 unless it is a tensor's."""
    border = rest[1] if len(rest) > 1 else None
    x, pads, *others = op.inputs
    tangent = zeros_like(x) if tangent is None else tangent
    axes = others[1:]
    return ox.Pad(tangent, pads, border, *axes, **op.attrs)
