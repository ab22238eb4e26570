"""``docs/benchmarks.md``: named blocks between markers, each replaced as a whole with its date."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

REPORT = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def machine(*extra: str) -> str:
    """The date and what the numbers were measured on.

    Args:
        *extra: More facts, such as versions.
    """
    facts = [
        str(datetime.date.today()),
        f"{platform.machine()}, {_cpu()}, {len(_cores())} cores",
        f"Python {platform.python_version()}",
        *extra,
        sys.platform,
    ]
    return ", ".join(facts) + "."


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "|" + "|".join(f" {cell} " if cell else " " for cell in r) + "|" for r in lines
    )


def block(name: str, path: Path = REPORT) -> str:
    """What stands between the markers of a block.

    Args:
        name: The command that the markers name.
        path: The file.

    Raises:
        ValueError: the file has no such block.
    """
    return _parts(name, path)[1]


def replace(block: str, text: str, path: Path = REPORT) -> None:
    """Put ``text`` between the markers of a block.

    Args:
        block: The command that the markers name.
        text: What stands there from now on.
        path: The file.

    Raises:
        ValueError: the file has no such block.
    """
    head, _, tail = _parts(block, path)
    path.write_text(f"{head}\n{text}\n{tail}", encoding="utf-8")


def _parts(block: str, path: Path) -> tuple[str, str, str]:
    """A file up to the end of a block's first marker, the block, and the rest of the file."""
    begin, end = f"<!-- begin: {block} -->", f"<!-- end: {block} -->"
    whole = path.read_text(encoding="utf-8")
    head, found, rest = whole.partition(begin)
    inner, ended, tail = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"{path} has no block between {begin!r} and {end!r}: write both into it.")
    return head + begin, inner, end + tail


def _cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown processor"
