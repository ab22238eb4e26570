"""``python -m bench [NAME ...] [--write]``: run benchmarks, print a table, keep it in the docs."""

from __future__ import annotations

import argparse

import onnxruntime
from rich.console import Console
from rich.table import Table

from bench import (
    activations,
    calls,
    checkpoints,
    control_flow,
    functions,
    gradients,
    javascript,
    profiles,
    reductions,
    report,
    startup,
    storage,
    tracing,
)
from bench.measure import Result

SUITES = {
    "calls": calls.run,
    "functions": functions.run,
    "activations": activations.run,
    "control_flow": control_flow.run,
    "gradients": gradients.run,
    "reductions": reductions.run,
    "tracing": tracing.run,
    "profiles": profiles.run,
    "startup": startup.run,
    "storage": storage.run,
    "checkpoints": checkpoints.run,
    "javascript": javascript.run,
}


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; returns the exit status (0 also where a target is missed)."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SUITES))
    parser.add_argument("--write", action="store_true", help="update docs/benchmarks.md")
    options = parser.parse_args(arguments)
    unknown = [n for n in options.names if n not in SUITES]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are {', '.join(SUITES)}")
    if options.write and options.names:
        parser.error("--write replaces the whole table: leave out the names")
    results: list[Result] = []
    for name in options.names or SUITES:
        results += SUITES[name]()
    Console().print(_table(results))
    if options.write:
        report.replace("make bench", _markdown(results))
    return 0


def _table(results: list[Result]) -> Table:
    table = Table("what", "ours", "reference", "ratio", "target", "")
    for r in results:
        table.add_row(
            r.name,
            f"{r.ours:.2f} {r.unit}",
            f"{r.reference:.2f} {r.unit}",
            f"{r.ratio:.2f}",
            _target(r, ">=", "<="),
            "" if r.target is None else "met" if r.met else "MISSED",
        )
    return table


def _markdown(results: list[Result]) -> str:
    rows = [
        (
            r.name,
            f"{r.ours:.2f} {r.unit}",
            f"{r.reference:.2f} {r.unit} ({r.note})",
            f"{r.ratio:.2f}",
            _target(r, "≥", "≤"),
            "" if r.target is None else "met" if r.met else "**missed**",
        )
        for r in results
    ]
    lines = report.table(("what", "ours", "reference", "ratio", "target", ""), rows)
    return f"{report.machine(f'ONNX Runtime {onnxruntime.__version__}')}\n\n{lines}"


def _target(result: Result, least: str, most: str) -> str:
    if result.target is None:
        return ""
    return f"{least if result.at_least else most} {result.target:g}"


if __name__ == "__main__":
    raise SystemExit(main())
