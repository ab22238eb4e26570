"""Timings as bars of text: what ran when, and how long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

_NAME = 40
_INDENT = "  "


class Timed(Protocol):
    """An item with a start and a duration."""

    @property
    def start_us(self) -> float:
        """The start in microseconds."""

    @property
    def duration_us(self) -> float:
        """The duration in microseconds."""


def timeline(items: Sequence[tuple[int, str, Timed]], width: int, limit: int | None) -> str:
    """One line for each item: name, a bar where it lies in the whole time, microseconds.

    Args:
        items: Depth, name and times of each, in order.
        width: Columns of the bars.
        limit: How many lines; None: all.
    """
    if not items:
        return "nothing ran"
    shown = items if limit is None else items[:limit]
    first = min(x.start_us for _, _, x in shown)
    last = max(x.start_us + x.duration_us for _, _, x in shown)
    scale = width / max(last - first, 1e-9)
    names = [_short(_INDENT * depth + name) for depth, name, _ in shown]
    column = max(map(len, names))
    end = f"{last - first:.1f} us"
    lines = [f"{'':{column}}  0{end:>{width}} "]
    for name, (_, _, x) in zip(names, shown, strict=True):
        start = min(int((x.start_us - first) * scale), width - 1)
        length = max(1, min(round(x.duration_us * scale), width - start))
        bar = f"{'':{start}}{'#' * length}"
        lines.append(f"{name:{column}}  |{bar:{width}}| {x.duration_us:.1f}")
    if len(shown) < len(items):
        lines.append(f"... and {len(items) - len(shown)} more")
    return "\n".join(lines)


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 3]}..."
