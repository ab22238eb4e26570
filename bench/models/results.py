"""What was found of each model: kept in files, so that a run that was stopped goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.models.catalog import Entry
from bench.peers.environments import ROOT

FOLDER = ROOT / ".cache" / "models"
CHECKS = ("answers", "gradient", "step", "reloaded", "plain")


def is_equal(found: dict[str, Any]) -> bool:
    """Whether everything was equal that can be compared."""
    return "error" not in found and all(
        found.get(c, 9.0) <= 1 or f"{c}_reason" in found for c in CHECKS
    )


def summary(found: dict[str, Any]) -> str:
    """One line of what was found."""
    cells = [f"{c} {found[c]:.3f}" for c in CHECKS if isinstance(found.get(c), float)]
    if "ms" in found:
        cells.append(f"ms {found['ms']:.2f}/{found.get('plain_ms', 0):.2f}")
    if "error" in found:
        cells.append(found["error"][:160].replace("\n", " "))
    return ("ok  " if is_equal(found) else "BAD ") + " ".join(cells)


def _path(entry: Entry) -> Path:
    return FOLDER / f"{entry.name}.json"


def load(entry: Entry) -> dict[str, Any] | None:
    """What is known of a model."""
    try:
        found: dict[str, Any] = json.loads(_path(entry).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return found


def store(entry: Entry, found: dict[str, Any]) -> None:
    """Keep what was found."""
    path = _path(entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1), encoding="utf-8")
