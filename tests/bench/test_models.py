"""The matrix of models of others: rows that were measured elsewhere stay in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import report as documents
from bench.models import kept_rows, report, results
from bench.models.catalog import CATALOG

OLD = """# Models

<!-- begin: python -m bench.models --write -->
2026-01-02, x86_64, some processor, 2 cores.

3 of 5 models were checked; 1 are equal in everything that can be compared.

### torchvision

| model | parameters | nodes | answers | gradient | step | reloaded | onnxruntime | import s | ms | ratio |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| resnet18 | 12 | 69 | 0.007 | 0.028 | 0.250 | 0.007 | 0.005 | | 61.21 | |
| alexnet | 6 | 23 | 0.003 | **1.7** | 0.250 | 0.003 | 0.003 | | 68.35 | |

### sklearn

| model | parameters | nodes | answers | gradient | step | reloaded | onnxruntime | import s | ms | ratio |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| svc | | 33 | 0.001 | - | - | 0.001 | 0.001 | | 0.20 | |

### jax

| model | parameters | nodes | answers | gradient | step | reloaded | onnxruntime | import s | ms | ratio |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| mlp | | | not reached | not reached | not reached | not reached | not reached | | | |

### What is not equal, and what cannot be compared

- gradient differ, most in a: kernel: torchvision/alexnet
- step: fitted by solvers: sklearn/svc
- not done after 60 s: jax/mlp
<!-- end: python -m bench.models --write -->
"""  # noqa: E501 - lines of a table
MEASURED: dict[str, Any] = {"nodes": 6, "machine": "2026-03-04, x86_64, another processor."}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report, and no results."""
    path = tmp_path / "models.md"
    path.write_text(OLD, encoding="utf-8")
    monkeypatch.setattr(report, "DOCUMENT", path)
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    return path


def _entry(name: str) -> Any:
    return next(e for e in CATALOG if e.name == name)


def test_what_was_measured_elsewhere_stays(page: Path) -> None:
    checked = dict.fromkeys(results.CHECKS, 0.5)
    results.store(_entry("jax/mlp"), {**MEASURED, **checked})
    results.store(_entry("jax/cnn"), {**MEASURED, "error": "not done after 60 s"})
    report.write()
    text = page.read_text(encoding="utf-8")
    for line in OLD.splitlines():
        if line.startswith(("| resnet18", "| alexnet", "| svc", "- gradient", "- step")):
            assert line in text
    assert f"5 of {len(CATALOG)} models were checked; 3 are equal" in text
    assert "| mlp | | 6 | 0.500 |" in text
    assert "- not done after 60 s: jax/cnn\n" in text
    _, torchvision, sklearn, jax, _ = text.split("### ")
    assert "2026-01-02" in torchvision and "2026-01-02" in sklearn
    assert "2026-03-04" in jax and "2026-01-02" not in jax


def test_writing_again_changes_nothing(page: Path) -> None:
    results.store(_entry("jax/cnn"), {**MEASURED, "error": "not done after 60 s"})
    report.write()
    text = page.read_text(encoding="utf-8")
    assert "2026-03-04" in text and "2026-01-02" in text.split("### jax")[1]
    report.write()
    assert page.read_text(encoding="utf-8") == text
    # Nor where nothing is known.
    (results.FOLDER / "jax" / "cnn.json").unlink()
    report.write()
    assert page.read_text(encoding="utf-8") == text


def test_rows_say_whether_all_is_equal() -> None:
    inner = OLD.split("-->")[1]
    kept = kept_rows.read(inner)
    names = ["torchvision/resnet18", "torchvision/alexnet", "sklearn/svc", "jax/mlp"]
    assert list(kept.rows) == names
    assert [kept.is_equal(n, range(3, 8)) for n in names] == [True, False, True, False]
    assert kept.reasons["torchvision/alexnet"] == ["gradient differ, most in a: kernel"]


def test_a_block_that_is_missing_is_told(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("nothing", encoding="utf-8")
    with pytest.raises(ValueError, match="no block between"):
        documents.block("x", path)


def test_workers_know_the_models_of_the_catalog() -> None:
    """Names that only one of the two has are models that are never checked."""
    folder = Path(report.__file__).parent
    for framework in ("keras", "jax"):
        worker = (folder / f"with_{framework}.py").read_text(encoding="utf-8")
        for entry in CATALOG:
            if entry.framework == framework:
                name = entry.name if framework == "jax" else entry.name.partition("/")[2]
                assert f'    "{name}": ' in worker, entry.name
