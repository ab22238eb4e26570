"""Every gradient rule, to second order, on the floating cases of onnx's own node tests."""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.ops.backend_cases import Case, cases
from tests.ops.derivatives import Derivatives, Problem, floating_inputs, floating_outputs
from tests.ops.overrides import REFUSED
from tests.ops.underivable import CONSTANT_INPUTS, LEFT_OUT
from tests.source_tree import ROOT
from tfx.autodiff import backprop
from tfx.framework import rules
from tfx.function.gradients import recurrent_rules
from tfx.graph import schema

assert backprop.registration.FAMILIES  # the table is full
assert recurrent_rules

# The reference walks over windows in Python: a few seconds for each of these operators.
_SLOW = ("AveragePool", "LpPool")
_SMALL = 1000


def _by_operator() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = defaultdict(list)
    for case in cases(training=True):
        if rules.status_of(case.op) != "rule" or case.name in REFUSED:
            continue
        if floating_inputs(case) and floating_outputs(case):
            found[case.op].append(case)
    return found


BY_OPERATOR = _by_operator()


def _mismatch(case: Case) -> str | None:
    """What is wrong with the derivatives of a case."""
    problem = Problem(case)
    ours = problem.by_rules()
    found: list[Derivatives] = []
    first = second = False
    for theirs in problem.by_differences():
        found.append(theirs)
        first |= _close(ours.first, theirs.first, 1e-5, theirs.first_noise)
        second |= _close(ours.second, theirs.second, 1e-4, theirs.second_noise)
        if first and second:
            return None
    return f"{case.name}: {ours} by rules, {found} by differences"


def _close(a: float, b: float, rtol: float, atol: float) -> bool:
    return abs(a - b) <= rtol * abs(b) + atol


def _is_large(case: Case) -> bool:
    return case.op in _SLOW and sum(y.size for y in case.outputs if y is not None) > _SMALL


def _check(op: str, large: bool) -> None:
    wrong = [
        found
        for case in BY_OPERATOR[op]
        if case.name not in LEFT_OUT and _is_large(case) is large
        for found in [_mismatch(case)]
        if found is not None
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("op", sorted(BY_OPERATOR))
def test_rule_agrees_with_differences(op: str) -> None:
    _check(op, large=False)


@pytest.mark.proof
@pytest.mark.parametrize("op", _SLOW)
def test_rule_agrees_with_differences_on_large_cases(op: str) -> None:
    _check(op, large=True)


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_what_is_left_out_would_fail(name: str) -> None:
    (case,) = (c for group in BY_OPERATOR.values() for c in group if c.name == name)
    assert _mismatch(case), f"{name} passes: take it from the table"


def test_constant_inputs_exist() -> None:
    for op, numbers in CONSTANT_INPUTS.items():
        assert max(numbers) < len(schema.operator(op).inputs)


# Operators with a rule that have no floating case of one node: the tests of their rule.
_SEQUENCES = "unit/control_flow/test_sequence_gradients.py"
_CONTROL = "unit/control_flow/test_gradients.py"
_ROUNDED = "unit/autodiff/test_straight_through.py"
ELSEWHERE = {
    **dict.fromkeys(("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"), _ROUNDED),
    "QuantizeLinear": _ROUNDED,
    "ConcatFromSequence": _SEQUENCES,
    "GlobalLpPool": "unit/ops/test_imported_rules.py",
    "If": _CONTROL,
    "Loop": _CONTROL,
    "MaxRoiPool": "unit/ops/image/test_roi_align.py",
    "Optional": "unit/importing/test_optionals.py",
    "OptionalGetElement": "unit/importing/test_optionals.py",
    "SequenceAt": _SEQUENCES,
    "SequenceConstruct": _SEQUENCES,
    "SequenceErase": _SEQUENCES,
    "SequenceInsert": _SEQUENCES,
    "SequenceMap": "unit/importing/test_sequence_map.py",
    "SplitToSequence": _SEQUENCES,
    "Trilu": "unit/ops/test_imported_rules.py",
}
# Known when functions are imported.
_BODIES = {"If", "Loop"}


def test_rules_without_a_case_are_checked_elsewhere() -> None:
    ruled = {n for n in schema.operator_names() if rules.status_of(n) == "rule"}
    assert ruled - set(BY_OPERATOR) - _BODIES == set(ELSEWHERE) - _BODIES
    for op, file in ELSEWHERE.items():
        path = ROOT / "tests" / file
        assert path.exists(), f"{op} is to be checked by {path}"


def test_cases_are_many() -> None:
    assert sum(map(len, BY_OPERATOR.values())) >= 700
