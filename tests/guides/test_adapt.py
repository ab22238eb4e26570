"""docs/adapt.md: what it shows runs as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import documents


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "example"}
    blocks = documents.blocks("docs/adapt.md", "python")
    assert len(blocks) == 4
    for block in blocks:
        documents.run(block, names)
    assert {"bundle", "quadrants"} <= {p.name for p in tmp_path.iterdir()}
