"""``docs/models.md``: what was found of each model, and the reason for what is not equal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import report
from bench.models.catalog import CATALOG, Entry
from bench.models.results import CHECKS, is_equal, load
from bench.peers.environments import ROOT

DOCUMENT = Path(__file__).parents[2] / "docs" / "models.md"
BLOCK = "python -m bench.models --write"
_HEADER = (
    "model", "parameters", "nodes", "answers", "gradient", "step", "reloaded", "onnxruntime",
    "import s", "ms", "ratio",
)  # fmt: skip


def write() -> None:
    """Put the table of everything that is known into the document."""
    known = [(e, found) for e in CATALOG if (found := load(e)) is not None]
    passed = sum(is_equal(found) for _, found in known)
    parts = [
        report.machine(),
        f"{len(known)} of {len(CATALOG)} models were checked; {passed} are equal in everything "
        "that can be compared.",
    ]
    for source in dict.fromkeys(e.name.partition("/")[0] for e, _ in known):
        rows = [(e, f) for e, f in known if e.name.startswith(f"{source}/")]
        parts.append(f"### {source}")
        parts.append(report.table(_HEADER, [_row(e, f) for e, f in rows]))
    notes = [_note(e, f) for e, f in known]
    if any(notes):
        parts.append("### What is not equal, and what cannot be compared")
        parts.append("\n".join(_gathered(known)))
    report.replace(BLOCK, "\n\n".join(parts), DOCUMENT)


def _row(entry: Entry, found: dict[str, Any]) -> Sequence[str]:
    parameters = found.get("parameters")
    ratio = f"{found['ms'] / found['plain_ms']:.2f}" if "plain_ms" in found else ""
    return (
        entry.name.partition("/")[2],
        f"{parameters:,}" if parameters else "",
        str(found.get("nodes", "")),
        *(_cell(found, c) for c in CHECKS),
        f"{found['import_s']:.2f}" if "plain_ms" in found else "",
        f"{found['ms']:.2f}" if "ms" in found else "",
        ratio,
    )


def _cell(found: dict[str, Any], check: str) -> str:
    if f"{check}_reason" in found:
        return "-"
    value = found.get(check)
    if value is None:
        return "not reached"
    return f"{value:.3f}" if value <= 1 else f"**{value:.3g}**"


def _note(entry: Entry, found: dict[str, Any]) -> str:
    if "error" in found:
        return str(found["error"]).splitlines()[0].replace(f"{ROOT}/", "")[:300]
    wrong = [c for c in CHECKS if found.get(c, 0.0) > 1]
    if wrong:
        worst = found.get("worst_gradient") if "gradient" in wrong else found.get("worst_step")
        return f"{', '.join(wrong)} differ, most in {worst}" if worst else f"{wrong[0]} differ"
    reasons = [f"{c}: {found[f'{c}_reason']}" for c in CHECKS if f"{c}_reason" in found]
    return "; ".join(reasons)


def _gathered(known: Sequence[tuple[Entry, dict[str, Any]]]) -> list[str]:
    """A line for each reason, with the models that it is true of."""
    by_reason: dict[str, list[str]] = {}
    for entry, found in known:
        for part in filter(None, _note(entry, found).split("; ")):
            by_reason.setdefault(part, []).append(entry.name)
    return [f"- {reason}: {', '.join(names)}" for reason, names in by_reason.items()]
