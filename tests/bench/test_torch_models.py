"""What is said of a torch model's import and of its calls, without torch."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bench import report as documents
from bench import torch_models


def figures(seconds: float, milliseconds: float) -> dict[str, Any]:
    """What a process finds: an import of so many seconds, a call beside one of 100 ms."""
    return {
        "parameters": 23_508_032, "versions": ["PyTorch 2.13"], "export": 9.0,
        "torch_exports": 6.0, "to_module": seconds, "module_first": 0.5, "import": 0.2,
        "imported_first": 0.5, "memory": 1.02, "to_module_processor": 1.9, "import_processor": 0.6,
        "calls": {
            "module": (milliseconds, 140.0), "imported": (99.0, 120.0), "plain": (100.0, 125.0)
        },
    }  # fmt: skip


def answering(monkeypatch: pytest.MonkeyPatch, found: dict[str, Any]) -> None:
    """Have every process give these figures, behind what exporters say."""

    def run(command: list[str], **_: Any) -> Any:
        text = f"[torch.onnx] Obtain model graph...\n{json.dumps(found)}\n"
        return subprocess.CompletedProcess(command, 0, stdout=text, stderr="")

    monkeypatch.setattr(torch_models.subprocess, "run", run)


@pytest.mark.parametrize(
    ("seconds", "milliseconds", "verdicts"),
    [
        (2.5, 103.0, ["met", "met"]),
        (2.6, 103.0, ["**missed**", "met"]),  # with the first call more than 3 s
        (2.5, 103.1, ["met", "**missed**"]),
    ],
)
def test_an_import_counts_with_its_first_call_and_the_least_times_with_each_other(
    seconds: float,
    milliseconds: float,
    verdicts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = tmp_path / "benchmarks.md"
    block = torch_models.BLOCK
    page.write_text(f"<!-- begin: {block} -->\n<!-- end: {block} -->\n", encoding="utf-8")
    monkeypatch.setattr(documents, "REPORT", page)
    monkeypatch.setattr(documents.replace, "__defaults__", (page,))
    answering(monkeypatch, figures(seconds, milliseconds))
    assert torch_models.main(["--write"]) == int("**missed**" in verdicts)
    lines = [n for n in page.read_text(encoding="utf-8").splitlines() if n.startswith("| ResNet")]
    assert [next(v for v in ("met", "**missed**") if f"| {v} |" in n) for n in lines] == verdicts
    assert f"| {seconds:.2f} + 0.50 s (1.90) |" in lines[0]
    assert f"| {milliseconds / 100:.3f} | 0.990 |" in lines[1]
    assert "PyTorch 2.13" in page.read_text(encoding="utf-8")


def test_a_call_inside_of_another_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100))
    monkeypatch.setattr(torch_models.time, "perf_counter", lambda: next(now))
    clock = torch_models._Clock()
    inner = clock.around(lambda: 1)
    outer = clock.around(lambda: inner() + inner())
    assert outer() == 2
    assert clock.seconds == 1  # the time between two readings: there are none inside


def test_what_cannot_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in [
        (["vgg"], "no network is called 'vgg'"),
        (["bert", "--write"], "--write replaces the whole table"),
    ]:
        with pytest.raises(SystemExit):
            torch_models.main(arguments)
        assert message in capsys.readouterr().err


def test_a_process_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> Any:
        return subprocess.CompletedProcess(command, 1, stdout="", stderr="no torch here")

    monkeypatch.setattr(torch_models.subprocess, "run", run)
    with pytest.raises(RuntimeError, match="bert ended with 1: no torch here"):
        torch_models.main(["bert"])
