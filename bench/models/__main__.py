"""``python -m bench.models [NAME ...] [--again] [--write]``: the matrix of models of others.

Each model is checked in a process of its own, with limits of time and memory, in the environment
that has its source. What was found is kept below ``.cache/models``, so that a run that was stopped
goes on; ``--again`` checks anew. ``--write`` makes ``docs/models.md`` of all that is there.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.models.catalog import CATALOG, Entry
from bench.peers.environments import ROOT
from bench.peers.process import SETTINGS

FOLDER = ROOT / ".cache" / "models"


def main(arguments: list[str] | None = None) -> int:
    """Check what was asked for; 1 where a model is not equal in everything."""
    parser = argparse.ArgumentParser(prog="python -m bench.models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="SOURCE, SOURCE/MODEL; none: all")
    parser.add_argument("--again", action="store_true", help="check also what was checked")
    parser.add_argument("--failed", action="store_true", help="check again what was not equal")
    parser.add_argument("--write", action="store_true", help="write docs/models.md")
    parser.add_argument("--seconds", type=float, default=400.0, help="limit of a model")
    parser.add_argument("--gigabytes", type=float, default=16.0, help="limit of a model")
    parser.add_argument("--use", action="append", default=[], metavar="SOURCE=PYTHON")
    options = parser.parse_args(arguments)
    pythons = dict(u.split("=", 1) for u in options.use)
    for entry in [e for e in CATALOG if _wanted(e, options.names)]:
        known = load(entry)
        if known is not None and not options.again and not (options.failed and not passed(known)):
            continue
        python = pythons.get(entry.framework, sys.executable)
        found = run(entry, python, options.seconds, options.gigabytes)
        store(entry, found)
        print(f"{entry.name:50} {summary(found)}", flush=True)
    return 0


def _wanted(entry: Entry, names: list[str]) -> bool:
    return not names or any(entry.name == n or entry.name.startswith(f"{n}/") for n in names)


def run(entry: Entry, python: str, seconds: float, gigabytes: float) -> dict[str, Any]:
    """Check one model in a process; what it printed, or how it ended."""
    limit = int(gigabytes * 2**30)
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [python, "-W", "ignore", "-m", f"bench.models.with_{entry.framework}", entry.name],
            cwd=ROOT,
            env={**os.environ, **SETTINGS, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=seconds,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
        )
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {seconds:.0f} s"}
    lines = done.stdout.strip().splitlines()
    try:
        found: dict[str, Any] = json.loads(lines[-1])
    except (IndexError, ValueError):
        said = " / ".join(done.stderr.strip().splitlines()[-3:])
        return {"error": f"its process ended with {done.returncode}: {said}"[:2000]}
    found["total_s"] = time.perf_counter() - start
    return found


CHECKS = ("answers", "gradient", "step", "reloaded", "plain")


def passed(found: dict[str, Any]) -> bool:
    """Whether everything was equal."""
    return "error" not in found and all(
        found.get(c, 9.0) <= 1 or f"{c}_reason" in found for c in CHECKS
    )


def summary(found: dict[str, Any]) -> str:
    """One line of what was found."""
    cells = [f"{c} {found[c]:.3f}" for c in CHECKS if isinstance(found.get(c), float)]
    if "ms" in found:
        cells.append(f"ms {found['ms']:.2f}/{found.get('plain_ms', 0):.2f}")
    if "error" in found:
        cells.append(found["error"][:160].replace("\n", " "))
    return ("ok  " if passed(found) else "BAD ") + " ".join(cells)


def _path(entry: Entry) -> Path:
    return FOLDER / f"{entry.name}.json"


def load(entry: Entry) -> dict[str, Any] | None:
    """What is known of a model."""
    try:
        found: dict[str, Any] = json.loads(_path(entry).read_text())
    except FileNotFoundError:
        return None
    return found


def store(entry: Entry, found: dict[str, Any]) -> None:
    """Keep what was found."""
    path = _path(entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    sys.exit(main())
