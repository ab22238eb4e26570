"""Operators of other domains: those that are kept, those written out, and what to say of others.

An operator that the installed ONNX Runtime has a kernel for is kept: such a model came with it, and
runs as it did. One that lacks a kernel for its types is written with standard operators where a
formula for it is known. All others are refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.graph import schema
from tfx.graph.formulas.fused_operators import FORMULAS, Application, Fused
from tfx.graph.ir import Value
from tfx.graph.onnx_import.import_builder import ImportBuilder, Old, Rule, _rules, upgrade
from tfx.graph.other_domains import is_kept
from tfx.runtime.kernels import cpu_kernels

_MS = "com.microsoft"
_ANY = 10_000


def is_known(domain: str, op: str) -> bool:
    """True if an operator of another domain can be written out, or kept."""
    return (domain, op) in _rules or is_kept(domain, op)


def runs_as_it_is(op: str, inputs: Sequence[Value | None]) -> bool:
    """True if the runtime has a kernel for an operator of Microsoft's and these very inputs.

    Such an operator is kept. Where there is none for a type it is written out.
    """
    domain, name = schema.split_key(op)
    if domain != _MS or not is_kept(domain, name):
        return False
    operator = schema.operator(op)
    given: dict[str, int] = {}
    for i, value in enumerate(inputs):
        if value is not None:
            parameter = operator.schema.inputs[min(i, len(operator.inputs) - 1)]
            given.setdefault(parameter.type_str, value.dtype)
    return any(
        all(given.get(name, min(codes, default=0)) in codes for name, codes in kernel.items())
        for kernel in cpu_kernels(op, operator.version)
    )


def refusal(domain: str, op: str) -> str:
    """Return why an operator is refused, and what to do."""
    advice = "export the model with standard operators"
    if domain in (_MS, "com.microsoft.nchwc"):
        advice = "export the model without ONNX Runtime's own optimizations"
    return (
        f"it uses the operator {domain}::{op}, which is neither of the ONNX standard nor a "
        "function of the model, and the installed ONNX Runtime has no kernel for it that takes and "
        f"gives tensors on the CPU: {advice}. To keep it as it is, without gradients, save it with "
        "tfx.exporters.save_onnx and load it with tfx.loaders.Bundle"
    )


def _written_out(formula: Fused) -> Rule:
    def rule(e: ImportBuilder, old: Old) -> Value | Sequence[Value | None]:
        ranks = [None if v is None or v.shape is None else len(v.shape) for v in old.inputs]
        found: Value | Sequence[Value | None] = formula(
            e, Application(old.op, old.inputs, old.attrs, ranks)
        )
        return found

    return rule


for _name, _formula in FORMULAS.items():
    upgrade(_name, until=_ANY, domain=_MS)(_written_out(_formula))
# ONNX Runtime has it in the standard's domain, the standard under another name.
upgrade("SimplifiedLayerNormalization", until=_ANY)(
    _written_out(FORMULAS["SimplifiedLayerNormalization"])
)
