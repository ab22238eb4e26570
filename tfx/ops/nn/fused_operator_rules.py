"""Gradients of the fused operators of ``com.microsoft`` that imported models hold.

The operators run by ONNX Runtime's own kernels. Their gradients are those of the standard operators
that compute the same (``graph.formulas.fused_operators``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.framework.builder import ox
from tfx.framework.rules import OpRecord, formula, gradient
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.fused_operators import FORMULAS, Application, Fused
from tfx.graph.schema import key_of

DOMAIN = "com.microsoft"


def application_of(op: OpRecord, name: str) -> Application[Tensor]:
    """A record as formulas over any builder take it.

    Args:
        op: The record.
        name: The operator, without its domain.
    """
    ranks = [None if x is None else x.shape.rank for x in op.inputs]
    return Application(name, op.inputs, op.attrs, ranks)


def _on_records(name: str, fused: Fused) -> Callable[[OpRecord], Any]:
    def compute(op: OpRecord) -> Any:
        return fused(ox, application_of(op, name))

    return compute


for _name, _fused in FORMULAS.items():
    formula(key_of(DOMAIN, _name))(_on_records(_name, _fused))


@gradient(key_of(DOMAIN, "Inverse"))
def _inverse_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    y = op.outputs[0]
    rank = len(y.shape)
    perm = [*range(rank - 2), rank - 1, rank - 2]
    turned = ox.Transpose(y, perm=perm)
    return [ox.Neg(ox.MatMul(ox.MatMul(turned, dy), turned))]
