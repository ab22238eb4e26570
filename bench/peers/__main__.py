"""``python -m bench.peers [--write]``: the same calls in tfx, JAX, TensorFlow and PyTorch.

Makes an environment for each peer, starts a process in each, and goes round: one peer works while
the others wait, so the ratios are of one run. Each number is the least of all rounds.
"""

from __future__ import annotations

import argparse
import sys
from typing import TypeAlias

from rich.console import Console
from rich.table import Table

from bench import report
from bench.peers import environments, memory
from bench.peers.cases import ROWS, Row
from bench.peers.process import Peer, PeerError

# What was measured, by case and peer.
Figures: TypeAlias = dict[tuple[str, str], float]

# Microseconds of a call that has only one turn: repeating it would take minutes.
_LONG = 5e6
PEERS = ("tfx", "jax", "tensorflow", "torch")
_TITLES = {"tfx": "tfx", "jax": "jax.jit", "tensorflow": "tf.function", "torch": "torch, eager"}
_SHORT = {"jax": "jax", "tensorflow": "tf", "torch": "torch"}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and perhaps write; 1 if a peer could not be had or failed."""
    options = _options(arguments)
    try:
        pythons = environments.given(options.use)
    except ValueError as e:
        print(e, file=sys.stderr)
        return 2
    rows = _wanted(options.rows)
    peers, failures = _start(options.peers, pythons)
    try:
        times = _measure(rows, peers, options.rounds, options.seconds, failures)
        versions = {name: peer.version for name, peer in peers.items()}
    finally:
        for peer in peers.values():
            peer.close()
    here = {name: environments.python_of(name, pythons) for name in peers}
    times |= _weigh(rows, here, failures)
    Console().print(_table(rows, times))
    for failure in failures:
        print(failure, file=sys.stderr)
    if options.write:
        about = report.machine(*(f"{name} {version}" for name, version in versions.items()))
        report.replace("python -m bench.peers", f"{about}\n\n{_markdown(rows, times)}")
    return 1 if failures else 0


def _wanted(names: list[str]) -> list[Row]:
    """The rows of these names (all, if there are none), and what ratios among them need."""
    parts = {case for r in ROWS if r.case in names for case in r.of}
    return [r for r in ROWS if not names or r.case in names or r.case in parts]


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(r.case for r in ROWS))
    parser.add_argument("--write", action="store_true", help="update docs/benchmarks.md")
    parser.add_argument("--rounds", type=int, default=15, help="how often each peer has its turn")
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a turn")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS), help="who runs")
    parser.add_argument(
        "--use",
        action="append",
        default=[],
        metavar="PEER=PYTHON",
        help=f"take an environment that exists (also from the variable {environments.VARIABLE})",
    )
    options = parser.parse_args(arguments)
    unknown = [r for r in options.rows if r not in {row.case for row in ROWS}]
    if unknown:
        parser.error(f"no row is called {unknown[0]!r}")
    if options.write and (options.rows or set(options.peers) != set(PEERS)):
        parser.error("--write replaces the whole table: leave out the rows and --peers")
    return options


def _start(names: list[str], pythons: dict[str, str]) -> tuple[dict[str, Peer], list[str]]:
    """Processes of the peers that can be had, and what became of the others."""
    peers, failures = {}, []
    for name in names:
        try:
            peers[name] = Peer(name, environments.python_of(name, pythons))
        except (PeerError, RuntimeError, OSError) as e:
            failures.append(f"{name} is left out: {e}")
    return peers, failures


def _measure(
    rows: list[Row], peers: dict[str, Peer], rounds: int, seconds: float, failures: list[str]
) -> Figures:
    """Least microseconds a call for each row and peer that has it."""
    times: Figures = {}
    for row in [r for r in rows if not r.of and r.unit != "MB"]:
        values: dict[str, float] = {}
        turns = list(peers)
        for _ in range(rounds):
            for name in list(turns):
                try:
                    us, values[name] = peers[name].measure(row.case, seconds)
                except PeerError as e:
                    failures.append(f"{name} failed in {row.case}: {e}")
                    us = None
                if us is None:
                    turns.remove(name)
                    values.pop(name, None)
                else:
                    times[row.case, name] = min(us, times.get((row.case, name), us))
                    if us > _LONG:
                        turns.remove(name)
            turns = turns[1:] + turns[:1]
        failures += _disagreements(row, values)
    _divide(rows, peers, times)
    return times


def _weigh(rows: list[Row], pythons: dict[str, str], failures: list[str]) -> Figures:
    """Bytes for each row of memory and peer, each in a process that ends with it."""
    found: Figures = {}
    for row in [r for r in rows if r.unit == "MB"]:
        network = row.case.removesuffix("_memory")
        for name, python in pythons.items():
            try:
                found[row.case, name] = memory.peak(name, python, network)
            except PeerError as e:
                failures.append(f"{name} failed in {row.case}: {e}")
    return found


def _divide(rows: list[Row], peers: dict[str, Peer], times: Figures) -> None:
    """Fill in the ratios of what was measured."""
    for row in [r for r in rows if r.of]:
        whole, part = row.of
        for name in peers:
            if (whole, name) in times and (part, name) in times:
                times[row.case, name] = times[whole, name] / times[part, name]


def _disagreements(row: Row, values: dict[str, float]) -> list[str]:
    """Peers must do the same work."""
    spread = max(values.values(), default=0.0) - min(values.values(), default=0.0)
    limit = 1e-3 * max(1.0, *map(abs, values.values()), 1.0)
    return [f"{row.case}: results differ: {values}"] if spread > limit else []


def _cells(row: Row, times: Figures) -> list[str]:
    scale = {"ms": 1e-3, "MB": 1e-6}.get(row.unit, 1.0)
    found = [times.get((row.case, name)) for name in PEERS]
    return ["-" if t is None else f"{t * scale:.2f} {row.unit}" for t in found]


def _verdict(row: Row, times: Figures) -> tuple[str, str, str]:
    """Ours over the quicker of JAX and TensorFlow, the promise, and whether it is kept.

    A ratio is compared with the least of those that it must not exceed.
    """
    ours = times.get((row.case, "tfx"))
    compared = row.against if row.of or row.unit == "MB" else ("jax", "tensorflow")
    rivals = [times[row.case, n] for n in compared if (row.case, n) in times]
    ratio = f"{ours / min(rivals):.2f}" if ours and rivals else "-"
    if not row.against:
        return ratio, "", ""
    factor = "" if row.within == 1.0 else f"{row.within:g}x "
    promise = f"≤ {factor}{', '.join(_SHORT[n] for n in row.against)}"
    known = [times.get((row.case, n)) for n in row.against]
    if ours is None or any(t is None for t in known):
        return ratio, promise, "not measured"
    kept = all(t is not None and ours <= t * row.within for t in known)
    return ratio, promise, "met" if kept else "**missed**"


_HEADER = ("what", *(_TITLES[n] for n in PEERS), "ratio", "promise", "")


def _lines(rows: list[Row], times: Figures) -> list[tuple[str, ...]]:
    return [(r.name, *_cells(r, times), *_verdict(r, times)) for r in rows]


def _table(rows: list[Row], times: Figures) -> Table:
    table = Table(*_HEADER)
    for line in _lines(rows, times):
        table.add_row(*(cell.replace("**", "") for cell in line))
    return table


def _markdown(rows: list[Row], times: Figures) -> str:
    return report.table(_HEADER, _lines(rows, times))


if __name__ == "__main__":
    raise SystemExit(main())
