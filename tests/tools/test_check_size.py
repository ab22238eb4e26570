"""The size check counts as it says, and refuses what is beyond the limits."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools import check_size


def lines_of(source: str) -> int:
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return check_size.function_lines(node)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("def f(): pass", 1),
        ("def f():\n    return 1", 2),
        ('def f():\n    """One."""\n    return 1', 2),
        ('def f():\n    """One.\n\n    More.\n    """\n    return 1', 2),
        ("async def f(\n    a,\n):\n    return a", 4),
        ("@decorator\ndef f():\n    return 1", 2),
    ],
)
def test_a_function_counts_from_def_without_its_docstring(source: str, lines: int) -> None:
    assert lines_of(source) == lines


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def test_what_is_as_long_as_that_is_not_named(tmp_path: Path) -> None:
    write(tmp_path, "file.py", "x = 1\n" * check_size.LONG_FILE)
    write(tmp_path, "function.py", "def f():\n" + "    x = 1\n" * 59)
    sizes = check_size.measure(tmp_path, tmp_path)
    assert (sizes.long, sizes.files, sizes.functions) == ([], [600, 60], [60])


def test_one_line_more_is_named(tmp_path: Path) -> None:
    write(tmp_path, "sub/file.py", "x = 1\n" * (check_size.LONG_FILE + 1))
    write(tmp_path, "sub/function.py", "class C:\n    def f(self):\n" + "        x = 1\n" * 60)
    first, second = check_size.measure(tmp_path, tmp_path).long
    assert first.startswith("sub/file.py: 601 lines")
    assert second.startswith("sub/function.py:2: f has 61 lines")


def test_generated_files_and_links_do_not_count(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a_pb2.py",
        "# -*- coding: utf-8 -*-\n# Generated.  DO NOT EDIT!\n" + "x = 1\n" * 700,
    )
    write(tmp_path, "a_pb2.pyi", "x: int\n" * 700)
    write(tmp_path, "elsewhere/b.py", "x = 1\n")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert check_size.measure(tmp_path, tmp_path).files == [1]


def test_spread() -> None:
    assert check_size.spread([]) == "-"
    assert check_size.spread([7]) == "7 / 7 / 7"
    assert check_size.spread(range(1, 11)) == "5 / 10 / 10"
