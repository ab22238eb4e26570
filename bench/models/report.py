"""``docs/models.md``: what was found of each model, and the reason for what is not equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import report
from bench.models.catalog import CATALOG, Entry
from bench.models.kept_rows import read
from bench.models.results import CHECKS, is_equal, load
from bench.peers.environments import ROOT

DOCUMENT = Path(__file__).parents[2] / "docs" / "models.md"
BLOCK = "python -m bench.models --write"
_HEADER = (
    "model", "parameters", "nodes", "answers", "gradient", "step", "reloaded", "onnxruntime",
    "import s", "ms", "ratio",
)  # fmt: skip
# The columns of ``CHECKS``.
_COMPARED = ("answers", "gradient", "step", "reloaded", "onnxruntime")


def write() -> None:
    """Put the table of everything that is known into the document.

    Of models that nothing is known of here, the document's own rows are kept.
    """
    kept = read(report.block(BLOCK, DOCUMENT))
    rows: dict[str, Sequence[str]] = {}
    reasons: dict[str, list[str]] = {}
    machines: dict[str, list[str]] = {}
    passed = 0
    for entry in CATALOG:
        name, found = entry.name, load(entry)
        source = name.partition("/")[0]
        if found is not None:
            rows[name] = _row(entry, found)
            reasons[name] = _notes(found)
            passed += is_equal(found)
            where = [found.get("machine", report.machine())]
        elif name in kept.rows:
            rows[name] = kept.rows[name]
            reasons[name] = kept.reasons.get(name, [])
            passed += kept.is_equal(name, [_HEADER.index(c) for c in _COMPARED])
            where = kept.machines[source]
        else:
            continue
        own = machines.setdefault(source, [])
        own += [m for m in where if m not in own]
    parts = [
        f"{len(rows)} of {len(CATALOG)} models were checked; {passed} are equal in everything "
        "that can be compared.",
    ]
    for source, lines in machines.items():
        parts += [f"### {source}", *lines]
        parts.append(
            report.table(_HEADER, [r for n, r in rows.items() if n.startswith(f"{source}/")])
        )
    if any(reasons.values()):
        parts.append("### What is not equal, and what cannot be compared")
        parts.append("\n".join(_gathered(reasons)))
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


def _notes(found: dict[str, Any]) -> list[str]:
    """Why cells of a row are no numbers, or too large."""
    if "error" in found:
        return [str(found["error"]).splitlines()[0].replace(f"{ROOT}/", "")[:300]]
    wrong = [c for c in CHECKS if found.get(c, 0.0) > 1]
    if wrong:
        worst = found.get("worst_gradient") if "gradient" in wrong else found.get("worst_step")
        return [f"{', '.join(wrong)} differ, most in {worst}" if worst else f"{wrong[0]} differ"]
    return [f"{c}: {found[f'{c}_reason']}" for c in CHECKS if f"{c}_reason" in found]


def _gathered(reasons: Mapping[str, Sequence[str]]) -> list[str]:
    """A line for each reason, with the models that it is true of."""
    by_reason: dict[str, list[str]] = {}
    for name, own in reasons.items():
        for reason in own:
            by_reason.setdefault(reason, []).append(name)
    return [f"- {reason}: {', '.join(names)}" for reason, names in by_reason.items()]
