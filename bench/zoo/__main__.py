"""``python -m bench.zoo [--quick] [--write]``: the zoo's training and inference beside the peers'.

One process a framework for each row; they work in turns. Each number is the median of the rounds,
with the quartiles; memory is measured in processes of its own. ``--write`` updates
docs/benchmarks.md and the bars in docs/. About 20 minutes, ``--quick`` about 5.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rich.console import Console
from rich.table import Table

from bench import report
from bench.peers import environments
from bench.peers.memory import run_for_bytes
from bench.peers.process import Peer, PeerError
from bench.zoo import pictures
from bench.zoo.programs import BATCHES, ON_GPU, TITLES
from bench.zoo.worker import GPU

PEERS = ("tfx", "tensorflow", "torch", "jax")
NAMES = {"tfx": "tfx", "tensorflow": "TensorFlow", "torch": "PyTorch", "jax": "JAX"}
# How many times torch's memory a training step may take; of a decoding step, the session's time.
MEMORY, DECODING = 1.1, 1.1
_BLOCK = "python -m bench.zoo"
# Whose wheels for a GPU can be had everywhere.
_WITH_CUDA = ("tfx", "torch", "jax")
# Takes seconds to start, and has no promise about its memory.
_SLOW = "tensorflow"


class Figure(NamedTuple):
    """What the rounds of one peer gave for one row, in milliseconds or megabytes."""

    median: float
    low: float
    high: float


Figures: TypeAlias = dict[tuple[str, str], Figure]


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        case: What the workers know it by; of memory the name of the program.
        name: What is measured.
        unit: ``ms`` or ``MB``.
        peers: Whose processes are asked.
        beside: Another case that takes turns with this one, in the same process.
    """

    case: str
    name: str
    unit: str = "ms"
    peers: tuple[str, ...] = PEERS
    beside: str = ""


def _timed(batches: dict[str, int], peers: tuple[str, ...] = PEERS) -> Iterator[Row]:
    """A row for training and one for inference of each program."""
    for name, batch in batches.items():
        for part, what in (("train", "training step"), ("infer", "inference")):
            yield Row(f"{name}_{part}", f"{TITLES[name]}, batch {batch}: {what}", peers=peers)


ROWS = (
    *_timed(BATCHES),
    Row(
        "decode",
        "one token, decoder of 10 million weights; the other column: the session alone",
        peers=("tfx",),
        beside="decode_alone",
    ),
    *(
        Row(name, f"peak memory of training, {name}", "MB", ("tfx", "tensorflow", "torch"))
        for name in TITLES
    ),
)


def rows_on_gpu() -> tuple[Row, ...]:
    """What is timed on a GPU."""
    return tuple(_timed(ON_GPU, _WITH_CUDA))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and perhaps write; 1 if a peer could not be had or failed."""
    options = _options(arguments)
    if options.write:
        pictures.require_matplotlib()
    pythons = environments.given(options.use)
    rows = rows_on_gpu() if options.gpu else ROWS
    wanted = [r for r in rows if not options.rows or r.case in options.rows]
    rounds, seconds = (3, 0.2) if options.quick else (7, 1.0)
    figures: Figures = {}
    versions: dict[str, str] = {}
    failures: list[str] = []
    here = _pythons(options.peers, pythons, failures)
    for row in wanted:
        print(row.name, file=sys.stderr, flush=True)
        if row.unit == "MB":
            asked = [n for n in row.peers if n in here and not (options.quick and n == _SLOW)]
            _weigh(row, {name: here[name] for name in asked}, figures, failures)
        else:
            _time(row, here, (rounds, seconds), figures, versions, failures, gpu=options.gpu)
    lines = _lines(wanted, figures)
    Console(width=170).print(_table(lines))
    for failure in failures:
        print(failure, file=sys.stderr)
    if options.write:
        about = report.machine(*(f"{NAMES[name]} {v}" for name, v in versions.items()))
        report.replace(_BLOCK, f"{about}\n\n{report.table(_HEADER, lines)}")
        pictures.write(_bars(wanted, figures), NAMES)
    return 1 if failures else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=_BLOCK, description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(r.case for r in ROWS))
    parser.add_argument("--write", action="store_true", help="update docs/benchmarks.md and bars")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS), help="who runs")
    parser.add_argument(GPU, action="store_true", help="on the first GPU; prints, writes nothing")
    parser.add_argument("--use", action="append", default=[], metavar="PEER=PYTHON")
    options = parser.parse_args(arguments)
    unknown = [r for r in options.rows if r not in {row.case for row in ROWS}]
    if unknown:
        parser.error(f"no row is called {unknown[0]!r}")
    if options.write and (options.rows or options.gpu or set(options.peers) != set(PEERS)):
        parser.error("--write replaces the whole table: leave out rows, --peers and --gpu")
    return options


def _pythons(names: Sequence[str], pythons: dict[str, str], failures: list[str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = environments.python_of(name, pythons)
        except (RuntimeError, OSError) as e:
            failures.append(f"{name} is left out: {e}")
    return found


def _time(
    row: Row,
    pythons: dict[str, str],
    turns: tuple[int, float],
    figures: Figures,
    versions: dict[str, str],
    failures: list[str],
    *,
    gpu: bool,
) -> None:
    """Milliseconds of all peers that have a case, in turns."""
    rounds, seconds = turns
    peers: dict[str, Peer] = {}
    taken: dict[str, list[float]] = {}
    weights: dict[str, float] = {}
    try:
        for name in [n for n in row.peers if n in pythons]:
            try:
                peers[name] = Peer(name, pythons[name], *_worker(name, gpu))
                versions[name] = peers[name].version
            except PeerError as e:
                failures.append(f"{name} is left out of {row.case}: {e}")
        for _ in range(rounds):
            for name, peer in list(peers.items()):
                try:
                    us, weights[name] = peer.measure(row.case, seconds)
                    if row.beside and us is not None:
                        other, _ = peer.measure(row.beside, seconds)
                        assert other is not None
                        taken.setdefault(row.beside, []).append(other * 1e-3)
                except PeerError as e:
                    failures.append(f"{name} failed in {row.case}: {e}")
                    us = None
                if us is None:
                    peers.pop(name).close()
                    weights.pop(name, None)
                else:
                    taken.setdefault(name, []).append(us * 1e-3)
    finally:
        for peer in peers.values():
            peer.close()
    if len(set(weights.values())) > 1:
        failures.append(f"{row.case}: the models differ in their weights: {weights}")
    for name, times in taken.items():
        key = (name, "tfx") if name == row.beside else (row.case, name)
        figures[key] = _figure(times)


def _worker(name: str, gpu: bool) -> tuple[list[str], dict[str, str]]:
    """What a peer's process runs, and its environment."""
    command = ["-m", "bench.zoo.worker", name]
    if not gpu:
        return command, {}
    shown = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
    return [*command, GPU], {"CUDA_VISIBLE_DEVICES": shown, "JAX_PLATFORMS": "cuda"}


def _figure(values: Sequence[float]) -> Figure:
    if len(values) < 2:
        return Figure(values[0], values[0], values[0])
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return Figure(statistics.median(values), low, high)


def _weigh(row: Row, pythons: dict[str, str], figures: Figures, failures: list[str]) -> None:
    """Megabytes, each in a process that ends with it."""
    for name in [n for n in row.peers if n in pythons]:
        command = [pythons[name], "-m", "bench.zoo.worker", name, row.case]
        try:
            size = run_for_bytes(command) * 1e-6
        except (PeerError, subprocess.SubprocessError) as e:
            failures.append(f"{name} failed in the memory of {row.case}: {e}")
        else:
            figures[_key(row), name] = Figure(size, size, size)


def _key(row: Row) -> str:
    return f"{row.case} memory" if row.unit == "MB" else row.case


_HEADER = ("what", *NAMES.values(), "over the quickest", "promise", "")


def _lines(rows: Sequence[Row], figures: Figures) -> list[tuple[str, ...]]:
    return [(r.name, *_cells(r, figures), *_verdict(r, figures)) for r in rows]


def _cells(row: Row, figures: Figures) -> list[str]:
    found = [figures.get((_key(row), name)) for name in PEERS]
    if row.beside:
        found[1] = figures.get((row.beside, "tfx"))
    return ["-" if f is None else _text(f, row.unit) for f in found]


def _text(figure: Figure, unit: str) -> str:
    digits = 0 if figure.median >= 100 else 1 if figure.median >= 10 else 2
    text = f"{figure.median:.{digits}f} {unit}"
    if figure.low == figure.high:
        return text
    return f"{text} ({figure.low:.{digits}f}-{figure.high:.{digits}f})"


def _verdict(row: Row, figures: Figures) -> tuple[str, str, str]:
    """Ours over the best of the others, what is promised, and whether it is kept."""
    ours = figures.get((_key(row), "tfx"))
    if row.beside:
        alone = figures.get((row.beside, "tfx"))
        if ours is None or alone is None:
            return "-", "", ""
        ratio = ours.median / alone.median
        return f"{ratio:.2f}", f"≤ {DECODING}x", _kept(ratio <= DECODING)
    others = [figures[_key(row), n] for n in PEERS[1:] if (_key(row), n) in figures]
    if ours is None or not others:
        return "-", "", ""
    ratio = ours.median / min(f.median for f in others)
    if row.unit == "MB":
        torch = figures.get((_key(row), "torch"))
        if torch is None:
            return f"{ratio:.2f}", f"≤ {MEMORY}x PyTorch", "not measured"
        kept = ours.median <= MEMORY * torch.median
        return f"{ratio:.2f}", f"≤ {MEMORY}x PyTorch", _kept(kept)
    if row.case.endswith("_train"):
        return f"{ratio:.2f}", "≤ 1x all", _kept(ratio <= 1)
    return f"{ratio:.2f}", "≤ 0.8x all", _kept(ratio <= 0.8)


def _kept(kept: bool) -> str:
    return "met" if kept else "**missed**"


def _table(lines: Sequence[Sequence[str]]) -> Table:
    table = Table(*_HEADER)
    for line in lines:
        table.add_row(*(cell.replace("**", "") for cell in line))
    return table


def _bars(rows: Sequence[Row], figures: Figures) -> dict[str, dict[str, dict[str, float]]]:
    """Picture -> program -> peer -> median."""
    found: dict[str, dict[str, dict[str, float]]] = {"train": {}, "infer": {}, "memory": {}}
    for row in rows:
        program, _, part = row.case.rpartition("_")
        picture, program = ("memory", row.case) if row.unit == "MB" else (part, program)
        values = {n: figures[_key(row), n].median for n in PEERS if (_key(row), n) in figures}
        if picture in found and values:
            found[picture][program] = values
    return found


if __name__ == "__main__":
    raise SystemExit(main())
