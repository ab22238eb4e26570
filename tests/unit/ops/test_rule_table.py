"""Every operator that a public operation emits has a gradient rule or says why not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tfx
from tfx.autodiff import backprop
from tfx.framework import rules
from tfx.graph import schema

# TensorFlow's names in messages; the operations are built from other operators.
NOT_EMITTED = {"LRN", "Scan", "Swish"}
SOURCE = Path(tfx.__file__).parent


def _emitted() -> dict[str, str]:
    """ONNX operators that the operations' source names -> a file."""
    operators = set(schema.operator_names()) - NOT_EMITTED
    found: dict[str, str] = {}
    for folder in ("ops", "optimizers", "framework", "initializers"):
        for path in sorted((SOURCE / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                name = node.attr if isinstance(node, ast.Attribute) else None
                name = node.value if isinstance(node, ast.Constant) else name
                if isinstance(name, str) and name in operators:
                    found.setdefault(name, path.name)
    return found


@pytest.mark.parametrize(("op", "file"), sorted(_emitted().items()))
def test_operator_has_rule_or_reason(op: str, file: str) -> None:
    assert backprop.registration.FAMILIES
    status = rules.status_of(op)
    assert status, f"{op}, used in {file}, has neither a gradient rule nor a declaration"


def test_most_operators_are_differentiable() -> None:
    assert len(_emitted()) >= 90
    assert sum(rules.status_of(op) == "rule" for op in _emitted()) >= 60
