"""The command itself: help, errors in one line, exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from tests import source_tree
from tests.unit.cli.conftest import Run
from tfx.cli import _errors, main
from tfx.core.errors import BundleError
from tfx.core.version import VERSION


def start(*args: object, **options: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(source_tree.ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "tfx.cli", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **options,  # type: ignore[call-overload]
    )


def test_help_has_the_commands_and_examples(tfx: Run) -> None:
    result = tfx("--help")
    assert result.exit_code == 0
    for word in ("completion", "load", "save", "show", "tfx save digits:model", "Exit codes: 0"):
        assert word in result.stdout


@pytest.mark.parametrize("name", ["completion", "load", "save", "show"])
def test_each_command_has_help_with_an_example(tfx: Run, name: str) -> None:
    result = tfx(name, "-h")
    assert result.exit_code == 0
    assert f"tfx {name}" in result.stdout.replace(f"Usage: tfx {name}", "")
    assert "--debug" in result.stdout


def test_version(tfx: Run) -> None:
    result = tfx("--version")
    assert (result.exit_code, result.stdout) == (0, f"tfx {VERSION}\n")


def test_no_arguments_show_help_as_a_mistake(tfx: Run) -> None:
    result = tfx()
    assert result.exit_code == 2
    assert "Usage: tfx" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["lod"], "tfx: there is no command 'lod'; did you mean 'load'?; see tfx --help"),
        (["zzz"], "tfx: there is no command 'zzz'; one of checkpoint, completion, convert, diff, "),
        (["show"], "tfx show: Missing argument 'DIR'; see tfx show --help"),
        (["show", "x", "--jsn"], "tfx show: No such option '--jsn'"),
        (["completion", "tcsh"], "tfx completion: Invalid value"),
    ],
)
def test_usage_errors_are_one_line_and_2(tfx: Run, args: list[str], text: str) -> None:
    result = tfx(*args)
    assert result.exit_code == 2
    assert result.stderr.startswith(text)
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_failures_are_one_line_and_1(tfx: Run, tmp_path: Path) -> None:
    result = tfx("show", tmp_path)
    assert result.exit_code == 1
    assert result.stderr == (
        f"tfx: {tmp_path} has no bundle.pb: it is not a bundle, or its save was never finished\n"
    )


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_the_traceback(tfx: Run, tmp_path: Path, place: str) -> None:
    args = ["--debug", "show", tmp_path] if place == "before" else ["show", tmp_path, "--debug"]
    result = tfx(*args)
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "BundleError" in result.stderr
    assert result.stderr.splitlines()[-1].startswith(f"tfx: {tmp_path} has no bundle.pb")


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (BundleError("x.onnx:\n  bad"), 1, "tfx: x.onnx: bad"),
        (_errors.OperationError("do this"), 1, "tfx: do this"),
        (click.ClickException("so"), 1, "tfx: so"),
        (MemoryError(), 1, "tfx: not enough memory"),
        (
            PermissionError(13, "Permission denied", "/a"),
            1,
            "tfx: /a: Permission denied; check the",
        ),
        (ValueError("Bad."), 1, "tfx: ValueError: Bad; --debug shows where it comes from"),
        (AssertionError(), 1, "tfx: AssertionError: ; --debug"),
        (KeyboardInterrupt(), 130, "\ntfx: interrupted"),
        (click.Abort(), 130, "\ntfx: interrupted"),
        (click.exceptions.Exit(3), 3, ""),
        (SystemExit(4), 4, ""),
        (SystemExit("why"), 1, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_every_end_has_its_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, text: str
) -> None:
    assert _errors.report(error, "tfx", debug=False) == code
    captured = capsys.readouterr()
    assert captured.err.startswith(text)
    assert captured.out == ""


def test_main_returns_the_code(capsys: pytest.CaptureFixture[str], sample_path: Path) -> None:
    assert main(["show", str(sample_path)]) == 0
    assert main(["nothing"]) == 2
    assert "Signatures" in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(tfx: Run, shell: str) -> None:
    result = tfx("completion", shell)
    assert result.exit_code == 0
    assert "_TFX_COMPLETE" in result.stdout
    assert "tfx" in result.stdout


def test_completion_knows_commands_and_signatures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sample_path: Path
) -> None:
    monkeypatch.setenv("_TFX_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "tfx sh")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert main([]) == 0
    assert capsys.readouterr().out.split() == ["plain,show"]
    monkeypatch.setenv("COMP_WORDS", f"tfx load {sample_path} --signature s")
    monkeypatch.setenv("COMP_CWORD", "4")
    assert main([]) == 0
    found = capsys.readouterr().out.split()
    assert found == ["plain,serving_default", "plain,scaled", "plain,shift"]


def test_a_reader_that_goes_away_is_no_error(sample_path: Path) -> None:
    with start("show", sample_path, "--json") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait() == 141


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals and pipes with names")
def test_an_interrupt_ends_with_a_word(sample_path: Path, tmp_path: Path) -> None:
    # Reading from a pipe that nobody writes to: it waits until it is interrupted.
    (tmp_path / "model.py").write_text("import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    process = start("save", tmp_path / "model.py:model", "--out", tmp_path / "out")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "\ntfx: interrupted\n"


def test_looking_and_calling_import_only_what_they_need(sample_path: Path) -> None:
    program = (
        "import sys; from tfx.cli import main; code = main(sys.argv[1:]); "
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )

    def modules(*args: object) -> set[str]:
        run = subprocess.run(
            [sys.executable, "-c", program, *map(str, args)],
            cwd=source_tree.ROOT,
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        return set(run.stderr.split())

    assert not modules("--help") & {"numpy", "rich", "onnxruntime", "tfx.loaders.bundle"}
    assert not modules("show", sample_path) & {"onnxruntime", "onnx", "tfx.framework"}
    called = modules("load", sample_path, "--signature", "ping", "--json")
    assert not called & {"rich", "onnx", "tfx.framework", "tfx.graph", "tfx.exporters"}
