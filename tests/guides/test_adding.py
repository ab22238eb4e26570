"""docs/adding-*.md: the examples run as they stand, and do what the pages say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tfx as tf
from tests import source_tree
from tfx.framework import rules
from tfx.ops.common import batching


def run(page: str) -> dict[str, Any]:
    text = (source_tree.ROOT / "docs" / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "example"}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, page, "exec"), names)
    return names


def test_an_operation() -> None:
    names = run("adding-an-operation.md")
    np.testing.assert_array_equal(names["y"].numpy(), [[-1.5, 0.0], [0.25, 2.5]])
    np.testing.assert_array_equal(names["slope"].numpy(), [[1.0, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(names["each"].numpy(), names["y"].numpy())
    with pytest.raises(tf.errors.InvalidArgumentError, match="not allowed by Softshrink"):
        names["softshrink"]([1, 2])


@pytest.fixture
def without_softsign() -> Iterator[None]:
    gradient, batched = rules._rules.pop("Softsign"), batching._rules.pop("Softsign")
    yield
    rules._rules["Softsign"], batching._rules["Softsign"] = gradient, batched


@pytest.mark.usefixtures("without_softsign")
def test_a_rule() -> None:
    run("adding-a-rule.md")
    x = tf.constant([-2.0, -0.5, 0.5, 3.0], tf.float64)
    tf.testing.check_grads(tf.nn.softsign, (x,), order=2)
    each = tf.vectorized_map(tf.nn.softsign, x)
    np.testing.assert_array_equal(each.numpy(), tf.nn.softsign(x).numpy())


def test_a_pass() -> None:
    assert run("adding-a-pass.md")["left"] == ["Exp"]


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
