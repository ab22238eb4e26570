"""docs/text-generation.md: its examples run as they stand, with a recorded model."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

from tests import source_tree


def test_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = source_tree.ROOT / "tests" / "unit" / "importing" / "language_models.npz"
    with np.load(records) as loaded:
        (tmp_path / "llama.onnx").write_bytes(loaded["llama/model"].tobytes())
    monkeypatch.chdir(tmp_path)
    text = (source_tree.ROOT / "docs" / "text-generation.md").read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(blocks, {}, "text-generation.md", None, 0)
    runner = doctest.DocTestRunner()
    runner.run(examples)
    assert runner.tries > 10
    assert runner.failures == 0
