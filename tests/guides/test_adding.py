"""docs/adding-*.md: the examples run as they stand, and do what the pages say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tfx as tf
from tests import documents
from tfx.framework import rules
from tfx.ops.common import batching


def run(page: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "example"}
    for block in documents.blocks(f"docs/{page}", "python"):
        documents.run(block, names)
    return names


def test_an_operation() -> None:
    names = run("adding-an-operation.md")
    np.testing.assert_array_equal(names["y"].numpy(), [[-1.5, 0.0], [0.25, 2.5]])
    np.testing.assert_array_equal(names["slope"].numpy(), [[1.0, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(names["each"].numpy(), names["y"].numpy())
    with pytest.raises(tf.errors.InvalidArgumentError, match="not allowed by Softshrink"):
        names["softshrink"]([1, 2])


@pytest.fixture
def without_log_softmax() -> Iterator[None]:
    tables: tuple[dict[str, Any], ...] = (rules._rules, rules._forward, batching._rules)
    kept = [table.pop("LogSoftmax") for table in tables]
    yield
    for table, rule in zip(tables, kept, strict=True):
        table["LogSoftmax"] = rule


@pytest.mark.usefixtures("without_log_softmax")
def test_the_rules_of_an_operator() -> None:
    names = run("adding-a-rule.md")
    x = tf.constant([[-2.0, -0.5, 1.5], [0.5, 3.0, 0.0]], tf.float64)
    tf.testing.check_grads(tf.nn.log_softmax, (x,), order=2)
    tangent = tf.constant([[1.0, 0.0, -2.0], [0.5, 0.25, 3.0]], tf.float64)
    with tf.autodiff.ForwardAccumulator(x, tangent) as acc:
        y = tf.nn.log_softmax(x)
    weighted = tf.reduce_sum(tf.exp(y) * tangent, axis=-1, keepdims=True)
    np.testing.assert_array_equal(acc.jvp(y).numpy(), (tangent - weighted).numpy())
    assert rules.forward_rule_of("LogSoftmax") is names["_log_softmax_forward"]
    each = tf.vectorized_map(tf.nn.log_softmax, x)
    np.testing.assert_array_equal(each.numpy(), y.numpy())


def test_the_rules_of_an_operator_stand_in_one_file() -> None:
    def families(op: str) -> set[str]:
        tables: tuple[dict[str, Any], ...] = (rules._rules, rules._forward, batching._rules)
        found = {table[op].__module__ for table in tables if op in table}
        return {m for m in found if not m.startswith("tfx.ops.common.")}

    # What a rule above ops says of control flow stands in files of its own.
    below = [op for op in {*rules._rules, *rules._forward} if op not in rules.ELSEWHERE]
    assert not {op: files for op in below if len(files := families(op)) > 1}


def test_a_pass() -> None:
    found = run("adding-a-pass.md")
    assert found["left"] == found["left_after_all"] == ["Exp"]


def test_a_command(tmp_path: Path) -> None:
    module = tf.Module()
    module.w = tf.Variable(tf.zeros([3, 5]))
    tf.saved_model.save(module, tmp_path / "bundle")
    command = run("adding-a-command.md")["command"]
    plain = CliRunner().invoke(command, [str(tmp_path / "bundle")], standalone_mode=False)
    assert plain.output == "15 numbers\n"
    as_json = CliRunner().invoke(
        command, [str(tmp_path / "bundle"), "--json"], standalone_mode=False
    )
    assert as_json.output == '{"numbers": 15}\n'
