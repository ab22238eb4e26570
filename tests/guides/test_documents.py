"""What the documents show at Python's prompt runs as it stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests import documents, source_tree
from tfx.kernels.library import usable_library

# docs/keras.md needs Keras on this backend, which tests/unit/keras_backend sets.
ELSEWHERE = {"docs/keras.md"}
DOCUMENTS = sorted(
    {
        name
        for path in source_tree.ROOT.glob("docs/*.md")
        if documents.blocks(name := f"docs/{path.name}", "pycon")
    }
    - ELSEWHERE
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Move to a folder with the files that documents read."""
    records = source_tree.ROOT / "tests" / "unit" / "importing" / "language_models.npz"
    with np.load(records) as loaded:
        (tmp_path / "llama.onnx").write_bytes(loaded["llama/model"].tobytes())
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_examples(document: str) -> None:
    if document == "docs/fused-plans.md" and usable_library(True) is None:
        pytest.skip("there are no fused kernels")
    assert documents.run_examples(document) >= 4


def test_examples_stand_in_blocks_that_are_run() -> None:
    for path in source_tree.ROOT.glob("docs/*.md"):
        name = f"docs/{path.name}"
        shown = "\n".join(["", *documents.blocks(name, "pycon")])
        assert shown.count("\n>>> ") == documents.text_of(name).count("\n>>> "), name
