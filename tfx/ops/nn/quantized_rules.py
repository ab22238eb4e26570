"""Gradients of products and sums of quantized numbers, by straight-through estimates.

Each operator is written with the numbers that its integers stand for, and without the rounding of
the result; what lies outside of the result's range is cut off, and gets no gradient.
"""

from __future__ import annotations

from collections.abc import Callable

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import UnimplementedError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, rounded_formula
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.shapes import known_rank

_MS = "com.microsoft::"


def _along(x: Tensor | None, axis: int, rank: int, kind: DType) -> Tensor | None:
    """Scales or zero points of an axis in a form that broadcasts; others as they are."""
    if x is None:
        return None
    x = cast_to(x, kind)
    if x.shape.rank != 1 or x.shape[0] == 1:
        return x if x.shape.rank == 0 else ox.Reshape(x, int64_constant([-1] if rank else []))
    form = [1] * rank
    form[axis] = -1
    return ox.Reshape(x, int64_constant(form))


def real(
    x: Tensor, scale: Tensor | None, zero: Tensor | None, axis: int = -1, kind: DType | None = None
) -> Tensor:
    """The numbers that quantized ones stand for.

    Args:
        x: Quantized numbers, or what stands for them.
        scale: Theirs; None: 1.
        zero: Their zero point; None: 0.
        axis: What scales and zero points belong to, where they are vectors.
        kind: The dtype of the numbers; None: the scale's.
    """
    kind = kind or (scale.dtype if scale is not None else dtypes.float32)
    rank = known_rank(x, "The gradient of a quantized operator")
    y = cast_to(x, kind)
    zero, scale = _along(zero, axis, rank, kind), _along(scale, axis, rank, kind)
    y = y if zero is None else ox.Sub(y, zero)
    return y if scale is None else ox.Mul(y, scale)


def _quantized(op: OpRecord, y: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    """Numbers as quantized ones that were not rounded, within the range of the result."""
    kind = op.outputs[0].dtype
    y = ox.Div(y, cast_to(scale, y.dtype))
    if zero is not None:
        y = ox.Add(y, cast_to(zero, y.dtype))
    low, high = (scalar_like(float(bound), y) for bound in (kind.min, kind.max))
    return ox.Clip(y, low, high)


@rounded_formula("MatMulInteger")
def _matmul_integer(op: OpRecord) -> Tensor:
    a, b = op.inputs[:2]
    a = real(a, None, op.given(2), axis=-2)
    return ox.MatMul(a, real(b, None, op.given(3)))


@rounded_formula("ConvInteger")
def _conv_integer(op: OpRecord) -> Tensor:
    x, w = op.inputs[:2]
    return ox.Conv(real(x, None, op.given(2)), real(w, None, op.given(3), axis=0), **op.attrs)


@rounded_formula("QLinearMatMul")
def _qlinear_matmul(op: OpRecord) -> Tensor:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = op.inputs
    product = ox.MatMul(real(a, a_scale, a_zero, axis=-2), real(b, b_scale, b_zero))
    return _quantized(op, product, y_scale, y_zero)


@rounded_formula("QLinearConv")
def _qlinear_conv(op: OpRecord) -> Tensor:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = op.inputs[:8]
    bias = op.given(8)
    if bias is not None:
        bias = ox.Mul(cast_to(bias, x_scale.dtype), ox.Mul(x_scale, w_scale))
    weights = real(w, w_scale, w_zero, axis=0)
    y = ox.Conv(real(x, x_scale, x_zero), weights, bias, **op.attrs)
    return _quantized(op, y, y_scale, y_zero)


def _binary(apply: Callable[[Tensor, Tensor], Tensor]) -> Callable[[OpRecord], Tensor]:
    def compute(op: OpRecord) -> Tensor:
        a, b = real(*op.inputs[:3]), real(*op.inputs[3:6])
        return _quantized(op, apply(a, b), op.inputs[6], op.given(7))

    return compute


rounded_formula(_MS + "QLinearAdd")(_binary(lambda a, b: ox.Add(a, b)))
rounded_formula(_MS + "QLinearMul")(_binary(lambda a, b: ox.Mul(a, b)))


def _unary(apply: Callable[[Tensor, OpRecord], Tensor]) -> Callable[[OpRecord], Tensor]:
    def compute(op: OpRecord) -> Tensor:
        return _quantized(op, apply(real(*op.inputs[:3]), op), op.inputs[3], op.given(4))

    return compute


rounded_formula(_MS + "QLinearSigmoid")(_unary(lambda x, _: ox.Sigmoid(x)))
rounded_formula(_MS + "QLinearLeakyRelu")(
    _unary(lambda x, op: ox.LeakyRelu(x, alpha=op.attrs.get("alpha", 0.01)))
)
rounded_formula(_MS + "QLinearSoftmax")(
    _unary(lambda x, op: ox.Softmax(x, axis=op.attrs.get("axis", -1)))
)


def _first_channels(op: OpRecord) -> None:
    if op.attrs.get("channels_last"):
        raise UnimplementedError(f"{op.op} with the channels last has no gradient", op=op.op)


@rounded_formula(_MS + "QLinearAveragePool")
def _qlinear_average_pool(op: OpRecord) -> Tensor:
    _first_channels(op)
    attrs = {k: v for k, v in op.attrs.items() if k != "channels_last"}
    return _unary(lambda x, _: ox.AveragePool(x, **attrs))(op)


@rounded_formula(_MS + "QLinearGlobalAveragePool")
def _qlinear_global_average_pool(op: OpRecord) -> Tensor:
    _first_channels(op)
    return _unary(lambda x, _: ox.GlobalAveragePool(x))(op)


@rounded_formula(_MS + "QLinearConcat")
def _qlinear_concat(op: OpRecord) -> Tensor:
    y_scale, y_zero, *rest = op.inputs
    parts = [real(*rest[i : i + 3]) for i in range(0, len(rest), 3)]
    return _quantized(op, ox.Concat(*parts, axis=op.attrs["axis"]), y_scale, y_zero)


@rounded_formula(_MS + "QLinearWhere")
def _qlinear_where(op: OpRecord) -> Tensor:
    condition = op.inputs[0]
    y = ox.Where(condition, real(*op.inputs[1:4]), real(*op.inputs[4:7]))
    return _quantized(op, y, op.inputs[7], op.given(8))


@rounded_formula(_MS + "QGemm")
def _qgemm(op: OpRecord) -> Tensor:
    b, b_scale, b_zero = op.inputs[3:6]
    a = real(*op.inputs[:3])
    b = real(b, b_scale, b_zero, axis=0 if op.attrs.get("transB") else -1)
    bias = op.given(6)
    attrs = {k: v for k, v in op.attrs.items() if k in ("alpha", "transA", "transB")}
    y = ox.Gemm(a, b, **attrs)
    if bias is not None:
        unit = ox.Mul(op.inputs[1], op.inputs[4])
        alpha = float(op.attrs.get("alpha", 1.0))
        y = ox.Add(y, ox.Mul(cast_to(bias, y.dtype), ox.Mul(unit, scalar_like(alpha, unit))))
    scale = op.given(7)
    return y if scale is None else _quantized(op, y, scale, op.given(8))


@rounded_formula(_MS + "DynamicQuantizeMatMul")
def _dynamic_quantize_matmul(op: OpRecord) -> Tensor:
    a, b, scale, zero, bias = [*op.inputs, None, None][:5]
    y = ox.MatMul(a, real(b, scale, zero))
    return y if bias is None else ox.Add(y, bias)


@rounded_formula(_MS + "MatMulIntegerToFloat")
def _matmul_integer_to_float(op: OpRecord) -> Tensor:
    a, b, a_scale, b_scale, a_zero, b_zero, bias = [*op.inputs, *(None,) * 3][:7]
    y = ox.MatMul(real(a, a_scale, a_zero, axis=-2), real(b, b_scale, b_zero))
    return y if bias is None else ox.Add(y, bias)
