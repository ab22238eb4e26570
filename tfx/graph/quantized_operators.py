"""Operators that round to quantized numbers, which are integers, and that compute with such."""

from __future__ import annotations

from tfx.graph.traits import traits

_MS = "com.microsoft::"
_ROUNDING = _MS + "QuantizeLinear"
_COMPUTING = frozenset(
    _MS + op
    for op in (
        *("QGemm", "QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearGlobalAveragePool"),
        *("QLinearLeakyRelu", "QLinearMul", "QLinearSigmoid", "QLinearSoftmax", "QLinearWhere"),
        "MatMulIntegerToFloat",
    )
)
# They quantize within: numbers in, numbers out.
_WITHIN = frozenset(
    _MS + op for op in ("DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "QAttention")
)


def makes_integers(op: str) -> bool:
    """True if an operator makes quantized numbers of others: its first result."""
    return op == _ROUNDING or traits(op).quantized == "rounds"


def computes(op: str) -> bool:
    """True if an operator's own rules know what quantized numbers stand for."""
    return op.endswith("DequantizeLinear") or rounds(op)


def carries(op: str) -> bool:
    """True if an operator on quantized numbers gives such."""
    row = traits(op)
    return row.of_integers or row.quantized == "computes" or op in _COMPUTING


def rounds(op: str) -> bool:
    """True if an operator rounds numbers to quantized ones, or computes with such."""
    return bool(traits(op).quantized) or op == _ROUNDING or op in _COMPUTING or op in _WITHIN
