"""The README and the documents: their programs run as printed, their command lines are right."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import documents, source_tree
from tests.documents import blocks
from tfx.cli import main
from tfx.cli.app import app

DOCUMENTS = ("README.md", *sorted(f"docs/{p.name}" for p in source_tree.ROOT.glob("docs/*.md")))


def command_lines(text: str) -> list[str]:
    """The lines after a prompt, or of the examples of a help text, with what continues them."""
    joined = re.sub(r"\\\n\s*", "", text)
    return [line[2:] for line in joined.splitlines() if line.startswith(("$ ", "  tfx "))]


def run(program: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        documents.run(program)
    return printed.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder in which the README's first program has saved its bundle."""
    path = tmp_path_factory.mktemp("readme")
    with contextlib.chdir(path):
        run(blocks("README.md", "python")[0])
    return path


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder to work in, with the README's bundle."""
    shutil.copytree(folder / "line", tmp_path / "line")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("document", "number", "shown"),
    [
        ("README.md", 1, "tf.Tensor([7.00"),
        ("README.md", 2, "[array([6.99"),
        ("docs/bundles.md", 0, "[array([6.99"),
        ("docs/bundles.md", 1, "[array([1.0"),
        ("docs/bundles.md", 2, "train_step(x: float32[n], y: float32[n]) -> loss: float32[]"),
        ("docs/bundles.md", 3, "{'y': array([5.], dtype=float32)}\n[4.]"),
        ("docs/bundles.md", 4, "{'y': array([1"),
        ("docs/checkpoints.md", 0, "5 3.5\nnet/layers/0 [2, 3]"),
        ("docs/checkpoints.md", 1, "{'bias': 'biases'}\n2.0"),
        ("docs/checkpoints.md", 2, "2.0"),
        ("docs/checkpoints.md", 3, "True 7"),
        ("docs/checkpoints.md", 4, "[1. 2.]\n[10. 20.]"),
        ("docs/data.md", 0, "7 (128, 28, 28)\n0.50\nTrue"),
        ("docs/keras.md", 0, "True (2, 2)"),
        ("docs/keras-examples.md", 0, "True"),
        ("docs/keras-examples.md", 1, "True\n[[0.]\n [1.]]"),
        ("docs/keras-examples.md", 2, "True"),
        ("docs/keras-examples.md", 3, "True\nTrue"),
        ("docs/keras-examples.md", 4, "True\n(16, 64)"),
        ("docs/fused-plans.md", 0, "True"),
        ("docs/profiling.md", 0, ""),
        ("docs/forward-mode.md", 0, "[2. 0. 6.]"),
        ("docs/forward-mode.md", 1, "[6. 0.]"),
        ("docs/other-frameworks.md", 0, "['serving_default', 'train'] [[4], [8, 4]]\nTrue"),
        ("docs/import.md", 0, "tf.Tensor([7.]"),
        ("docs/import.md", 1, "['x', 'w', 'b', 'y_grad'] ['y', 'w_grad', 'b_grad']"),
    ],
)
def test_programs_run_as_printed(here: Path, document: str, number: int, shown: str) -> None:
    assert shown in run(blocks(document, "python")[number])


def test_every_program_is_run() -> None:
    counts = {name: len(blocks(name, "python")) for name in DOCUMENTS}
    shown = {"README.md": 3, "docs/bundles.md": 5, "docs/forward-mode.md": 2, "docs/import.md": 2}
    shown["docs/checkpoints.md"] = 5
    shown["docs/keras-examples.md"] = 5
    shown["docs/data.md"] = shown["docs/keras.md"] = shown["docs/fused-plans.md"] = 1
    shown["docs/profiling.md"] = shown["docs/other-frameworks.md"] = 1
    shown["docs/adapt.md"] = 4  # by tests/guides, as the next two
    shown["docs/mixed-precision.md"] = 3
    shown["docs/text-generation.md"] = 1
    shown["docs/models-in.md"] = 1  # by tests/unit/exporters/test_from_torch.py, where torch is
    shown["docs/vectorization.md"] = 3  # by tests/guides/test_vectorization.py
    shown |= {"docs/adding-an-operation.md": 2, "docs/adding-a-pass.md": 3}  # by test_adding.py
    shown |= {"docs/adding-a-rule.md": 1, "docs/adding-a-command.md": 1}
    assert {name: n for name, n in counts.items() if n} == shown


def test_the_train_step_learns(here: Path) -> None:
    loss = float(run(blocks("docs/bundles.md", "python")[1]).split()[0])
    assert loss < 1e-6


def test_the_shell_lines_of_the_readme(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for text in blocks("README.md", "console") for line in command_lines(text)]
    lines = [line for line in lines if line.startswith("tfx ")]
    assert len(lines) == 2
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0
    assert "y float32[2]" in capsys.readouterr().out


def examples() -> list[str]:
    found = [
        line
        for document in DOCUMENTS
        for text in blocks(document, "console")
        for line in command_lines(text)
    ]
    for name in ("save", "load", "show", "gradient", "verify", "diff", "freeze", "convert"):
        command = app.commands.get(name) or app.get_command(app.make_context("tfx", [name]), name)
        assert command is not None
        found += command_lines(command.help or "")
    return [line for line in found if "tfx " in line]


@pytest.mark.parametrize("line", dict.fromkeys(examples()))
def test_command_lines_are_what_a_shell_and_tfx_take(line: str) -> None:
    check = subprocess.run(["sh", "-n", "-c", line], capture_output=True, text=True)
    assert check.returncode == 0, check.stderr
    words = shlex.split(line)
    words = words[words.index("tfx") + 1 :]
    if "|" in words:
        words = words[: words.index("|")]
    context = app.make_context("tfx", list(words))
    command = app.get_command(context, words[0])
    assert command is not None
    command.make_context(words[0], words[1:], parent=context)


def test_links_lead_somewhere() -> None:
    for document in DOCUMENTS:
        place = source_tree.ROOT / document
        text = re.sub(r"^```.*?^```", "", place.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (place.parent / link).exists(), f"{document}: {link}"
