"""Operators beside the standard: those that are a few standard ones, and what to say of others.

ONNX Runtime's optimizer and exporters for it fuse standard operators into ones of its own. The ones
below are written out again, so that such models can be differentiated and saved. All others are
refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.core.errors import UnimplementedError
from tfx.graph.ir import Value
from tfx.graph.onnx_import.import_builder import ImportBuilder, Old, _rules, rank_of, upgrade

_MS = "com.microsoft"
_ANY = 10_000


def is_known(domain: str, op: str) -> bool:
    """True if an operator of another domain can be written out."""
    return bool(domain) and (domain, op) in _rules


def refusal(domain: str, op: str) -> str:
    """Return why an operator is refused, and what to do."""
    advice = "export the model with standard operators"
    if domain in (_MS, "com.microsoft.nchwc"):
        advice = "export the model without ONNX Runtime's own optimizations"
    return (
        f"it uses the operator {domain}::{op}, which is neither of the ONNX standard nor a "
        f"function of the model: {advice}. To run it as it is, without gradients, save it with "
        "tfx.exporters.save_onnx and load it with tfx.loaders.Bundle"
    )


@upgrade("Gelu", until=_ANY, domain=_MS)
def _gelu(e: ImportBuilder, old: Old) -> Value:
    return e.Gelu(old.required(0))


@upgrade("BiasGelu", "FastGelu", until=_ANY, domain=_MS)
def _bias_gelu(e: ImportBuilder, old: Old) -> Value:
    x, bias = old.required(0), old.input(1)
    x = x if bias is None else e.Add(x, bias)
    return e.Gelu(x, approximate="tanh" if old.op == "FastGelu" else "none")


@upgrade("QuickGelu", until=_ANY, domain=_MS)
def _quick_gelu(e: ImportBuilder, old: Old) -> Value:
    x = old.required(0)
    return e.Mul(x, e.Sigmoid(e.Mul(x, e.like(old.attrs.get("alpha", 1.702), x))))


@upgrade("FusedMatMul", until=_ANY, domain=_MS)
def _fused_matmul(e: ImportBuilder, old: Old) -> Value:
    factors = []
    for i, letter in enumerate("AB"):
        x = old.required(i)
        rank = rank_of(x, old.op)
        axes = list(range(rank))
        if old.attrs.get(f"transBatch{letter}"):
            axes = [*axes[1:-1], 0, axes[-1]]
        if old.attrs.get(f"trans{letter}") and rank > 1:
            axes = [*axes[:-2], axes[-1], axes[-2]]
        factors.append(x if axes == list(range(rank)) else e.Transpose(x, perm=axes))
    product = e.MatMul(*factors)
    alpha = old.attrs.get("alpha", 1.0)
    return product if alpha == 1.0 else e.Mul(product, e.like(alpha, product))


_ACTIVATIONS = frozenset(("Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid", "Elu", "Softplus"))


@upgrade("FusedGemm", until=_ANY, domain=_MS)
def _fused_gemm(e: ImportBuilder, old: Old) -> Value:
    attrs = {k: v for k, v in old.attrs.items() if not k.startswith("activation")}
    return _activated(e, old, e.apply("Gemm", old.inputs, attrs))


@upgrade("FusedConv", until=_ANY, domain=_MS)
def _fused_conv(e: ImportBuilder, old: Old) -> Value:
    attrs = {k: v for k, v in old.attrs.items() if not k.startswith("activation")}
    result = e.apply("Conv", old.inputs[:3], attrs)
    extra = old.input(3)
    return _activated(e, old, result if extra is None else e.Add(result, extra))


def _activated(e: ImportBuilder, old: Old, x: Value) -> Value:
    name = old.attrs.get("activation", "")
    if not name:
        return x
    if name not in _ACTIVATIONS:
        raise UnimplementedError(f"{old.op} with the activation {name!r} is not known")
    numbers = {
        k: old.attrs[f"activation_{k}"] for k in ("alpha", "beta") if f"activation_{k}" in old.attrs
    }
    params = old.attrs.get("activation_params", ())
    numbers |= dict(zip(("alpha", "beta"), params, strict=False))
    return e.apply(name, (x,), {**numbers})


@upgrade("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", until=_ANY, domain=_MS)
def _skip_layer_normalization(e: ImportBuilder, old: Old) -> Sequence[Value | None]:
    simplified = old.op == "SkipSimplifiedLayerNormalization"
    total = e.Add(old.required(0), old.required(1))
    bias = old.input(3 if simplified else 4)
    if bias is not None:
        total = e.Add(total, bias)
    attrs = {"axis": -1, "epsilon": old.attrs.get("epsilon", 1e-12)}
    if simplified:
        result = e.RMSNormalization(total, old.required(2), **attrs)
    else:
        result = e.LayerNormalization(total, old.required(2), old.input(3), **attrs)
    return [result, None, None, total]


@upgrade("SimplifiedLayerNormalization", until=_ANY)
@upgrade("SimplifiedLayerNormalization", until=_ANY, domain=_MS)
def _simplified(e: ImportBuilder, old: Old) -> Value:
    """ONNX Runtime has it in the standard's domain, the standard under another name."""
    attrs = {k: v for k, v in old.attrs.items() if k in ("axis", "epsilon", "stash_type")}
    return e.apply("RMSNormalization", old.inputs, attrs)
