"""Operators that round to quantized numbers, which are integers, and that compute with such."""

from __future__ import annotations

from tfx.graph.traits import traits

_MS = "com.microsoft::"
ROUNDING = frozenset(("QuantizeLinear", "DynamicQuantizeLinear", _MS + "QuantizeLinear"))
"""What makes quantized numbers of floating-point ones: its first result."""

ARITHMETIC = frozenset(
    (
        *("MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"),
        *(_MS + op for op in ("QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu")),
        *(_MS + op for op in ("QLinearSoftmax", "QLinearAveragePool", "QLinearConcat")),
        *(_MS + op for op in ("QLinearGlobalAveragePool", "QLinearWhere", "QGemm")),
    )
)
"""Operators on quantized numbers that give such."""

# They quantize within: numbers in, numbers out.
INSIDE = frozenset(
    _MS + op for op in ("DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "QAttention")
)
"""Operators on numbers that quantize within."""


def rounds(op: str) -> bool:
    """True if an operator rounds numbers to quantized ones, or computes with such."""
    return traits(op).quantized or op in ROUNDING or op in ARITHMETIC or op in INSIDE
