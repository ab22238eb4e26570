"""Sizes, and the sign of life on a terminal."""

from __future__ import annotations

import io
import time

import click
import pytest

from tfx.cli import _output


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (3 << 20, "3.0 MiB"), (5 << 40, "5.0 TiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert _output.size_text(count) == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def table_on(width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", str(width))
    rows = [("serving_default", ["image float32[None, 8, 8]", "key int64[2]"], "12 B")]
    _output.table("Signatures", ("name", "inputs", "size>"), rows)
    return click.unstyle(screen.getvalue())


def test_a_table_that_is_too_wide_becomes_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "serving_default   image float32[None, 8, 8]   12 B" in table_on(80, monkeypatch)
    assert table_on(40, monkeypatch) == (
        "Signatures\n\nserving_default\n"
        "  inputs  image float32[None, 8, 8]\n"
        "          key int64[2]\n"
        "  size    12 B\n\n"
    )


def test_progress_is_for_terminals_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_output, "_PATIENCE", 0.0)
    with _output.progress("Working"):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with _output.progress("Working"):
        time.sleep(0.05)
    shown = screen.getvalue()
    assert "Working (0 s)" in shown
    assert shown.endswith("\r")
    assert shown.rsplit("\r", 2)[1].strip() == ""


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with pytest.raises(KeyError), _output.progress("Working"):
        raise KeyError
    assert screen.getvalue() == ""
