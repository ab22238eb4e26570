"""Tables of one thing beside others: rows, what is promised of them, and whether it is kept."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from rich.table import Table

from bench.peers import environments
from bench.peers.process import Peer

# Seconds, or bytes, by row and by what was measured.
Figures: TypeAlias = Mapping[tuple[str, str], float]


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        case: Name that the worker knows it by.
        name: What is measured.
        unit: ``1/s`` of what a call does ``per`` times, ``s``, ``us`` or ``MB``.
        per: How often a call does it.
        promises: A peer -> the least part of its speed that must be reached, or how many times its
            time or memory may be taken.
    """

    case: str
    name: str
    unit: str
    per: int = 1
    promises: tuple[tuple[str, float], ...] = ()


def parse(
    module: str,
    description: str | None,
    rows: Sequence[Row],
    rounds: int,
    arguments: Sequence[str] | None,
) -> tuple[list[Row], argparse.Namespace, dict[str, str]]:
    """The rows that were asked for, the options, and the Pythons that the caller names.

    Args:
        module: What is run with ``python -m``.
        description: Of the command.
        rows: All that there are.
        rounds: How often each peer has its turn if nothing is said.
        arguments: Of the command; None: those of the process.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(r.case for r in rows))
    parser.add_argument("--write", action="store_true", help="update docs/benchmarks.md")
    parser.add_argument("--rounds", type=int, default=rounds, help="how often each has its turn")
    parser.add_argument("--use", action="append", default=[], metavar="PEER=PYTHON")
    options = parser.parse_args(arguments)
    wanted = [r for r in rows if not options.rows or r.case in options.rows]
    return wanted, options, environments.given(options.use)


# The Python of a peer's process, its arguments, and settings of its environment.
Command: TypeAlias = tuple[str, Sequence[str], Mapping[str, str]]


def take_turns(
    rows: Sequence[Row], commands: Mapping[str, Command], rounds: int, seconds: float
) -> dict[tuple[str, str], float]:
    """The least seconds that each peer took for each row.

    Every row has processes of its own: what one leaves in memory does not slow the next.

    Args:
        rows: What is measured.
        commands: How each peer's process is started, by its name.
        rounds: How often each has its turn.
        seconds: About how long a turn takes.
    """
    figures: dict[tuple[str, str], float] = {}
    for row in rows:
        peers = {name: Peer(name, *command) for name, command in commands.items()}
        try:
            for _ in range(rounds):
                for name, peer in peers.items():
                    us, _ = peer.measure(row.case, seconds)
                    if us is not None:
                        taken = us * 1e-6 / row.per
                        figures[row.case, name] = min(taken, figures.get((row.case, name), taken))
        finally:
            for peer in peers.values():
                peer.close()
    return figures


class Comparison:
    """Figures of one thing beside those of its peers.

    Args:
        titles: Name of each -> its heading; the first is compared with the others.
    """

    def __init__(self, titles: Mapping[str, str]) -> None:
        self._ours, *self._peers = titles
        self._titles = titles

    @property
    def header(self) -> tuple[str, ...]:
        """The headings of the columns."""
        over = [f"over {self._titles[peer]}" for peer in self._peers]
        return ("what", *self._titles.values(), *over, "promise", "")

    def line(self, row: Row, figures: Figures, name: str = "") -> tuple[str, ...]:
        """The cells of a row."""
        shown = [_shown(row, figures.get((row.case, each))) for each in self._titles]
        ratios = [self._ratio(row, figures, peer) for peer in self._peers]
        over = ["-" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        return (name or row.name, *shown, *over, *self.verdict(row, figures))

    def verdict(self, row: Row, figures: Figures) -> tuple[str, str]:
        """What is promised of a row, and whether it is kept."""
        if not row.promises:
            return "", ""
        higher = row.unit in _HIGHER
        sign = "≥" if higher else "≤"
        asked = ", ".join(f"{sign} {factor:g}x {name}" for name, factor in row.promises)
        found = [(self._ratio(row, figures, name), factor) for name, factor in row.promises]
        if any(ratio is None for ratio, _ in found):
            return asked, "not measured"
        kept = [r is not None and (r >= f if higher else r <= f) for r, f in found]
        return asked, "met" if all(kept) else "**missed**"

    def table(self, lines: Sequence[Sequence[str]]) -> Table:
        """A table for the terminal."""
        table = Table(*self.header)
        for line in lines:
            table.add_row(*(cell.replace("**", "").replace("`", "") for cell in line))
        return table

    def _ratio(self, row: Row, figures: Figures, peer: str) -> float | None:
        """Speed over another's speed, or time or memory over another's."""
        ours, theirs = figures.get((row.case, self._ours)), figures.get((row.case, peer))
        if ours is None or theirs is None:
            return None
        return theirs / ours if row.unit in _HIGHER else ours / theirs


# Of these the ratio is one of speeds: more is better.
_HIGHER = ("1/s", "us")


def _shown(row: Row, figure: float | None) -> str:
    if figure is None:
        return "-"
    if row.unit == "1/s":
        return f"{1 / figure:,.0f}" if figure < 1e-2 else f"{1 / figure:.3g}"
    if row.unit == "us":
        return f"{figure * 1e6:,.0f} us" if figure > 1e-4 else f"{figure * 1e6:.1f} us"
    return f"{figure * 1e-6:.0f} MB" if row.unit == "MB" else f"{figure:.2f} s"
