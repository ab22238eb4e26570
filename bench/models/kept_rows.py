"""What ``docs/models.md`` says of models that this checkout has no results of: kept as it is.

Results are kept below ``.cache``, which is in no repository: who measures one source on another
machine has those of no other. Their rows and reasons are read back from the document.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeAlias

Cells: TypeAlias = "tuple[str, ...]"

_DATED = re.compile(r"\d{4}-\d\d-\d\d, ")
_NOT_REACHED = "not reached"


@dataclass
class KeptRows:
    """What a report says.

    Attributes:
        machines: When and where models were measured, by source.
        rows: The cells of each model, by its whole name.
        reasons: What the report says of models by name.
    """

    machines: dict[str, list[str]] = field(default_factory=dict)
    rows: dict[str, Cells] = field(default_factory=dict)
    reasons: dict[str, list[str]] = field(default_factory=dict)

    def is_equal(self, name: str, places: Collection[int]) -> bool:
        """Whether everything was equal that can be compared.

        Args:
            name: The model.
            places: Of the cells of what is compared.
        """
        cells = [self.rows[name][p] for p in places]
        return not any(c == _NOT_REACHED or c.startswith("**") for c in cells)


def read(text: str) -> KeptRows:
    """Rows and reasons of a report.

    Args:
        text: What stands between the markers of its block.
    """
    found, source = KeptRows(), ""
    whole: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith("### "):
            source = line[4:].strip()
            # Reports of before 2026-11-26 have one line for all sources.
            found.machines[source] = list(whole)
        elif line.startswith("|") and source:
            cells = tuple(c.strip() for c in line.strip().strip("|").split("|"))
            if cells[0] not in ("model", "---"):
                found.rows[f"{source}/{cells[0]}"] = cells
        elif line.startswith("- "):
            reason, _, names = line[2:].rpartition(": ")
            for name in names.split(", "):
                found.reasons.setdefault(name, []).append(reason)
        elif _DATED.match(line) and not source:
            whole.append(line)
        elif _DATED.match(line):
            found.machines[source].append(line)
    return found
