"""Run the conformance bundles in every loader, and print the matrix.

Run as ``python loaders/conformance/matrix.py FOLDER`` after ``make.py`` made the folder. The exit
status is 1 if a loader fails a case.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import run_python
from rich.console import Console
from rich.table import Table

_JAVASCRIPT = Path(__file__).parents[1] / "javascript"
_PASS = "pass"


def main(folder: Path) -> int:
    """Print the matrix of the cases below ``folder``; returns the exit status."""
    names = sorted(path.name for path in folder.iterdir() if (path / "case.json").exists())
    with tempfile.TemporaryDirectory() as scratch:
        loaders = {"Python": {n: _python(folder / n, Path(scratch)) for n in names}}
    for title, where in (("Node", "node"), ("browser", "browser")):
        loaders[title] = _javascript(folder, where)
    table = Table("case", *loaders)
    for name in names:
        table.add_row(name, *(found.get(name, "not run") for found in loaders.values()))
    Console().print(table)
    bad = [
        (title, name) for title, found in loaders.items() for name in found if found[name] != _PASS
    ]
    counts = ", ".join(
        f"{title} {sum(r == _PASS for r in found.values())} of {len(names)}"
        for title, found in loaders.items()
    )
    Console().print(f"passed: {counts}")
    return 1 if bad else 0


def _python(case: Path, scratch: Path) -> str:
    try:
        run_python.run_case(case, scratch)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return _PASS


def _javascript(folder: Path, where: str) -> dict[str, str]:
    command = ["node", "test/matrix.js", where, str(folder.resolve())]
    done = subprocess.run(
        command, cwd=_JAVASCRIPT, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr}")
    found: dict[str, str] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
