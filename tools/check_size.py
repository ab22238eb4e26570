"""Report how large the files and functions are, and name those that are larger than most.

Owns the two lengths from which on a look is worth it (600 lines a file, 60 lines a function without
its docstring) and what counts as generated; knows nothing of what the code does. The decision: a
length is a hint where to look and fails nothing, since a thought cut in two to fit is worse.

Run ``python tools/check_size.py``: one row per folder, then the long files and functions.
"""

from __future__ import annotations

import ast
import os
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("tfx", "exporters", "loaders", "cli", "model_zoo", "tests", "tools", "bench")
LONG_FILE = 600
LONG_FUNCTION = 60
ROW = "{:<12}{:>6}{:>9}{:>18}{:>11}{:>18}"


@dataclass(slots=True)
class Sizes:
    """The lengths found below one folder."""

    files: list[int] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)
    long: list[str] = field(default_factory=list)


def source_files(folder: Path) -> Iterator[Path]:
    """Yield the sources and stubs below ``folder``, not through links: they would count twice."""
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in {"__pycache__", "node_modules"})
        yield from (
            Path(directory, name) for name in sorted(names) if name.endswith((".py", ".pyi"))
        )


def is_generated(path: Path, text: str) -> bool:
    """Tell a generator's output; protoc marks its modules but not their stubs."""
    head = text.split("\n", 5)[:5]
    return path.name.endswith("_pb2.pyi") or any("DO NOT EDIT" in line for line in head)


def function_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines from ``def`` to the end, without those of the docstring."""
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None:
        length -= (first.end_lineno or first.lineno) - first.lineno + 1
    return length


def measure(folder: Path, root: Path = ROOT) -> Sizes:
    """Measure every hand-written file below ``folder``; paths are told relative to ``root``."""
    sizes = Sizes()
    for path in source_files(folder):
        text = path.read_text(encoding="utf-8")
        if is_generated(path, text):
            continue
        where = path.relative_to(root).as_posix()
        lines = len(text.splitlines())
        sizes.files.append(lines)
        if lines > LONG_FILE:
            sizes.long.append(f"{where}: {lines} lines")
        for node in ast.walk(ast.parse(text, filename=where)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            lines = function_lines(node)
            sizes.functions.append(lines)
            if lines > LONG_FUNCTION:
                sizes.long.append(
                    f"{where}:{node.lineno}: {node.name} has {lines} lines without its docstring"
                )
    return sizes


def spread(lengths: Sequence[int]) -> str:
    """Give median / 90th percentile / maximum."""
    if not lengths:
        return "-"
    ordered = sorted(lengths)
    p90 = ordered[(len(ordered) * 9) // 10] if len(ordered) > 1 else ordered[0]
    return f"{statistics.median_low(ordered)} / {p90} / {ordered[-1]}"


def main() -> None:
    """Print the table and what is long."""
    print(ROW.format("folder", "files", "lines", "file med/p90/max", "functions", "fn med/p90/max"))
    long: list[str] = []
    lines = {"code": 0, "tests": 0}
    for name in FOLDERS:
        if not (ROOT / name).is_dir():
            continue
        sizes = measure(ROOT / name)
        long += sizes.long
        total = sum(sizes.files)
        if name not in {"tools", "bench"}:
            lines["tests" if name == "tests" else "code"] += total
        files, functions = sizes.files, sizes.functions
        print(ROW.format(name, len(files), total, spread(files), len(functions), spread(functions)))
    print(f"lines of tests per line of code: {lines['tests'] / max(lines['code'], 1):.2f}")
    for message in long:
        print(message)


if __name__ == "__main__":
    main()
