"""``python -m bench [NAME ...] [--write]``: run benchmarks, print a table, keep it in the docs."""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
from pathlib import Path

import onnxruntime
from rich.console import Console
from rich.table import Table

from bench import calls, startup, storage, tracing
from bench.measure import Result

SUITES = {
    "calls": calls.run,
    "tracing": tracing.run,
    "startup": startup.run,
    "storage": storage.run,
}
REPORT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- begin: make bench -->", "<!-- end: make bench -->"


def main() -> int:
    """Run what was asked for; returns the exit status (0 also where a target is missed)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *SUITES], default=[])
    parser.add_argument("--write", action="store_true", help="update docs/benchmarks.md")
    options = parser.parse_args()
    results: list[Result] = []
    for name in options.names or SUITES:
        results += SUITES[name]()
    Console().print(_table(results))
    if options.write:
        text = REPORT.read_text()
        head, tail = text.split(BEGIN)[0], text.split(END)[1]
        REPORT.write_text(f"{head}{BEGIN}\n{_markdown(results)}\n{END}{tail}")
    return 0


def _table(results: list[Result]) -> Table:
    table = Table("what", "ours", "reference", "ratio", "target", "")
    for r in results:
        sign = ">=" if r.at_least else "<="
        table.add_row(
            r.name,
            f"{r.ours:.2f} {r.unit}",
            f"{r.reference:.2f} {r.unit}",
            f"{r.ratio:.2f}",
            f"{sign} {r.target:g}",
            "met" if r.met else "MISSED",
        )
    return table


def _markdown(results: list[Result]) -> str:
    machine = f"{platform.machine()}, {_cpu()}, Python {platform.python_version()}, "
    machine += f"ONNX Runtime {onnxruntime.__version__}, {sys.platform}"
    lines = [
        f"{datetime.date.today()}, {machine}.",
        "",
        "| what | ours | reference | ratio | target | |",
        "|---|---|---|---|---|---|",
    ]
    for r in results:
        sign = "≥" if r.at_least else "≤"
        lines.append(
            f"| {r.name} | {r.ours:.2f} {r.unit} | {r.reference:.2f} {r.unit} ({r.note}) | "
            f"{r.ratio:.2f} | {sign} {r.target:g} | {'met' if r.met else '**missed**'} |"
        )
    return "\n".join(lines)


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown processor"


if __name__ == "__main__":
    raise SystemExit(main())
