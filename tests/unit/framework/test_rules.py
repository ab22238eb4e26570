"""The table of gradient rules: one entry for an operator, or a reason for none."""

from __future__ import annotations

import pytest

from tfx.core.errors import NotFoundError
from tfx.framework import rules


@pytest.fixture(autouse=True)
def table(monkeypatch):
    monkeypatch.setattr(rules, "_rules", {})
    monkeypatch.setattr(rules, "_without", {})


def test_rules_and_declarations():
    @rules.gradient("A", "B")
    def rule(op, dy):
        return dy

    rules.no_gradient("C", why="integer output")
    assert rules.rule_of("A") is rules.rule_of("B") is rule
    assert rules.rule_of("C") is None
    assert rules.status_of("A") == "rule"
    assert rules.status_of("C") == "integer output"
    assert rules.status_of("D") is None


def test_unknown_operators():
    with pytest.raises(NotFoundError, match=r"No gradient defined for operator 'D'.*stop_gradient"):
        rules.rule_of("D")


def test_an_operator_is_decided_once():
    rules.gradient("A")(lambda op, dy: dy)
    rules.no_gradient("B", why="x")
    for name in ("A", "B"):
        with pytest.raises(ValueError, match=f"{name} already has"):
            rules.gradient(name)(lambda op, dy: dy)
        with pytest.raises(ValueError, match=f"{name} already has"):
            rules.no_gradient(name, why="y")
