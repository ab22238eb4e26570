"""docs/operators.md is what the tables say."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.source_tree import ROOT
from tfx.graph import schema

TOOL = ROOT / "tools" / "gen_operators.py"
DOCUMENT = ROOT / "docs" / "operators.md"


def test_document_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), "--check"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "ORT_DISABLE_TELEMETRY": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _rows() -> dict[str, list[str]]:
    found = re.findall(r"^\| (\w+) \| (.*) \| (.*) \| (.*) \| (.*) \|$", DOCUMENT.read_text(), re.M)
    return {name: rest for name, *rest in found if name != "Operator"}


def test_every_operator_has_a_row_with_a_gradient_or_a_reason() -> None:
    rows = _rows()
    assert list(rows) == list(schema.operator_names())
    for name, (_, gradient, _, _) in rows.items():
        assert gradient == "rule" or "Loop" in gradient or gradient.startswith("no: "), name
        assert "None" not in gradient, f"{name} has neither a rule nor a reason"


def test_operators_with_a_differentiable_input_have_all_three() -> None:
    rows = _rows()
    for name in schema.operator_names():
        parameters = schema.operator(name).schema.inputs
        if any(p.differentiation_category.name == "Differentiable" for p in parameters):
            _, gradient, forward, batching = rows[name]
            if gradient != "rule":
                assert "piecewise constant" in gradient, name
                continue
            assert forward != "-", name
            assert batching != "loop", name
