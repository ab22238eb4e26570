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
from typing import Any

from bench.models import report
from bench.models.catalog import CATALOG, Entry
from bench.models.results import is_equal, load, store, summary
from bench.peers.environments import ROOT
from bench.peers.process import SETTINGS
from bench.report import machine

# Torch's threads sleep while they wait: where others want the processors too, a call of a network
# took 50 times as long otherwise. Nothing of torch is timed here.
_PATIENT = {"OMP_WAIT_POLICY": "PASSIVE"}


def main(arguments: list[str] | None = None) -> int:
    """Check what was asked for; 1 where a model is not equal in everything."""
    parser = argparse.ArgumentParser(prog="python -m bench.models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="SOURCE, SOURCE/MODEL; none: all")
    parser.add_argument("--again", action="store_true", help="check also what was checked")
    parser.add_argument("--failed", action="store_true", help="check again what was not equal")
    parser.add_argument("--write", action="store_true", help="write docs/models.md")
    parser.add_argument(
        "--only-write", action="store_true", help="check nothing, write what is known"
    )
    parser.add_argument("--seconds", type=float, default=400.0, help="limit of a model")
    parser.add_argument("--gigabytes", type=float, default=16.0, help="limit of a model")
    parser.add_argument("--use", action="append", default=[], metavar="SOURCE=PYTHON")
    options = parser.parse_args(arguments)
    pythons = dict(u.split("=", 1) for u in options.use)
    given = [[e for e in CATALOG if _wanted(e, n)] for n in options.names] or [CATALOG]
    wanted = list(dict.fromkeys(e for entries in given for e in entries))
    for entry in [] if options.only_write else wanted:
        known = load(entry)
        if known is not None and not options.again and not (options.failed and not is_equal(known)):
            continue
        python = pythons.get(entry.framework, sys.executable)
        found = run(entry, python, options.seconds, options.gigabytes)
        store(entry, {**found, "machine": machine()})
        print(f"{entry.name:50} {summary(found)}", flush=True)
    if options.write or options.only_write:
        report.write()
    checked = [load(e) for e in wanted]
    return 0 if all(f is not None and is_equal(f) for f in checked) else 1


def _wanted(entry: Entry, name: str) -> bool:
    return entry.name == name or entry.name.startswith(f"{name}/")


def run(entry: Entry, python: str, seconds: float, gigabytes: float) -> dict[str, Any]:
    """Check one model in a process; what it printed, or how it ended."""
    limit = int(gigabytes * 2**30)
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [python, "-W", "ignore", "-m", f"bench.models.with_{entry.framework}", entry.name],
            cwd=ROOT,
            env={**os.environ, **SETTINGS, **_PATIENT, "PYTHONPATH": str(ROOT)},
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


if __name__ == "__main__":
    sys.exit(main())
