"""docs/adapt.md: what it shows runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import source_tree


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (source_tree.ROOT / "docs" / "adapt.md").read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "example"}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, "adapt.md", "exec"), names)
    assert {"bundle", "quadrants"} <= {p.name for p in tmp_path.iterdir()}
