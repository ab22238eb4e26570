"""Run the conformance bundles in every loader, and print the matrix.

Run as ``python loaders/conformance/matrix.py FOLDER`` after ``make.py`` made the folder. The exit
status is 1 if a loader fails a case; what a runtime cannot do is printed with the reason. Without
a browser its columns are left out.
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
_UNSUPPORTED = "unsupported"
# WebGPU on an adapter that computes on the CPU.
_RUNTIMES = {"Node": "node", "browser": "browser", "isolated": "isolated", "WebGPU": "webgpu"}


def main(folder: Path) -> int:
    """Print the matrix of the cases below ``folder``; returns the exit status."""
    names = sorted(path.name for path in folder.iterdir() if (path / "case.json").exists())
    with tempfile.TemporaryDirectory() as scratch:
        loaders = {"Python": {n: _python(folder / n, Path(scratch)) for n in names}}
    for title, where in _RUNTIMES.items():
        found = _javascript(folder, where)
        if isinstance(found, str):
            print(f"{title}: left out, {found}")
        else:
            loaders[title] = found
    table = Table("case", *loaders)
    for name in names:
        table.add_row(name, *(found[name].split(":")[0] for found in loaders.values()))
    console = Console(soft_wrap=True)
    console.print(table)
    bad = False
    for title, found in loaders.items():
        for name, result in found.items():
            if result != _PASS:
                console.print(f"{title}, {name}: {result}", markup=False, highlight=False)
                bad = bad or not result.startswith(_UNSUPPORTED)
    counts = ", ".join(
        f"{title} {_count(found, _PASS)}"
        + (f" ({n} unsupported)" if (n := _count(found, _UNSUPPORTED)) else "")
        for title, found in loaders.items()
    )
    print(f"{'FAILED' if bad else 'passed'}: of {len(names)} cases {counts}")
    return int(bad)


def _count(found: dict[str, str], kind: str) -> int:
    return sum(result.startswith(kind) for result in found.values())


def _python(case: Path, scratch: Path) -> str:
    try:
        run_python.run_case(case, scratch)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return _PASS


def _javascript(folder: Path, where: str) -> dict[str, str] | str:
    """What became of each case; text says why nothing could be run."""
    command = ["node", "test/matrix.js", where, str(folder.resolve())]
    done = subprocess.run(
        command, cwd=_JAVASCRIPT, capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr}")
    found: dict[str, str] | str = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
