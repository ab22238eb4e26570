"""The outcome of a restore for each value and variable, as a table for people and programs.

Owns the rows, the suggestions for what may only have another name, and the text. Must not know how
objects are matched. The one decision: a suggestion is made only between a value and a variable of
one dtype and shape, both left over: following it cannot undo anything.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from tfx.framework.trackable import path_parts, path_text

Outcome: TypeAlias = Literal["restored", "missing", "unexpected", "clash"]

_SHOWN = 25
# Names are compared in pairs: beyond this many the best guess is not worth the time.
_COMPARED = 200
_ALIKE = 0.5


class Form(NamedTuple):
    """Dtype and shape of a value or variable."""

    dtype: str
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        """Return such as ``float32 (3, 4)``."""
        shape = "of any shape" if self.shape is None else str(self.shape).replace("None", "?")
        return f"{self.dtype} {shape}"


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome for one value of the checkpoint, or for one variable of the program.

    Attributes:
        outcome: ``restored``; ``missing``: a variable for which the checkpoint has no value;
            ``unexpected``: a value for which the program has no variable (yet); ``clash``: both
            are there, but dtype or shape differ.
        key: Name in the checkpoint, or None.
        path: Path in the program, or None.
        saved: Form of the value.
        present: Form of the variable.
        note: What else there is to say.
    """

    outcome: Outcome
    key: str | None = None
    path: str | None = None
    saved: Form | None = None
    present: Form | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """A restore, row by row; ``str`` gives a table of everything that was not restored.

    Attributes:
        checkpoint: The file.
        rows: All rows.
        suggested_renames: A ``rename`` argument that would restore more, by the likeness of names.
    """

    checkpoint: str
    rows: tuple[Row, ...]
    suggested_renames: dict[str, str]

    @property
    def restored(self) -> tuple[Row, ...]:
        """Values that are in their variables."""
        return self._of("restored")

    @property
    def missing(self) -> tuple[Row, ...]:
        """Variables for which the checkpoint has no value."""
        return self._of("missing")

    @property
    def unexpected(self) -> tuple[Row, ...]:
        """Values for which the program has no variable, or none yet."""
        return self._of("unexpected")

    @property
    def clashes(self) -> tuple[Row, ...]:
        """Values whose variable has another dtype or shape."""
        return self._of("clash")

    def _of(self, outcome: Outcome) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.outcome == outcome)

    def __str__(self) -> str:
        """Return the table."""
        total = len(self.rows) - len(self.missing)
        lines = [f"{self.checkpoint}: {len(self.restored)} of {total} values restored"]
        rest = [*self.clashes, *self.missing, *self.unexpected]
        lines += _table(rest[:_SHOWN])
        if len(rest) > _SHOWN:
            lines.append(f"... and {len(rest) - _SHOWN} more")
        if self.suggested_renames:
            lines.append(
                f"Perhaps only names differ: restore(..., rename={self.suggested_renames})"
            )
        return "\n".join(lines)


def make_report(checkpoint: str, rows: Iterable[Row], fixed: frozenset[str]) -> RestoreReport:
    """Put rows together and look for renames; names in ``fixed`` cannot be renamed (slots)."""
    listed = tuple(rows)
    return RestoreReport(checkpoint, listed, _suggestions(listed, fixed))


def _table(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    cells = [("", "name", "checkpoint", "program", "")]
    for row in rows:
        name = row.path if row.key is None else row.key
        cells.append(
            (row.outcome, name or "", str(row.saved or "-"), str(row.present or "-"), row.note)
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  " + "  ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _suggestions(rows: Sequence[Row], fixed: frozenset[str]) -> dict[str, str]:
    """Pair the unmatched items of both sides, the most similar first."""
    old = [r for r in rows if r.outcome == "unexpected" and r.key and r.key not in fixed]
    new = [r for r in rows if r.outcome == "missing" and r.path and r.path not in fixed]
    pairs: dict[str, str] = {}
    scored = []
    by_form: dict[Form | None, list[str]] = defaultdict(list)
    for row in new[:_COMPARED]:
        by_form[row.present].append(row.path or "")
    for row in old[:_COMPARED]:
        for path in by_form[row.saved]:
            likeness = _likeness(row.key or "", path)
            if likeness >= _ALIKE:
                scored.append((-likeness, row.key or "", path))
    taken: set[str] = set()
    for _, key, path in sorted(scored):
        if key not in pairs and path not in taken:
            pairs[key] = path
            taken.add(path)
    matched = [row.key for row in rows if row.outcome in ("restored", "clash") and row.key]
    return _shortened(pairs, matched)


def _likeness(key: str, path: str) -> float:
    """Return how similar two names are; whole parts in common count for more than letters."""
    a, b = path_parts(key), path_parts(path)
    parts = difflib.SequenceMatcher(None, a, b).ratio()
    if not parts and max(len(a), len(b)) > 1:
        return 0.0  # most pairs; comparing letters is what takes time
    return max(parts, difflib.SequenceMatcher(None, key, path).ratio())


def _shortened(pairs: dict[str, str], matched: Sequence[str]) -> dict[str, str]:
    """Shorten suggestions to a branch that moved as a whole, if nothing in it has matched."""
    branches: dict[str, tuple[str, str]] = {}
    targets: dict[str, set[str]] = defaultdict(set)
    for key, path in pairs.items():
        old, new = path_parts(key), path_parts(path)
        common = 0
        while common < min(len(old), len(new)) and old[-1 - common] == new[-1 - common]:
            common += 1
        branches[key] = (key, path)
        for above in range(common, 0, -1):
            branch = path_text(old[: len(old) - above])
            if not any(not branch or k.startswith(f"{branch}/") for k in matched):
                branches[key] = (branch, path_text(new[: len(new) - above]))
                targets[branch].add(branches[key][1])
                break
    found = {}
    for key, (branch, target) in branches.items():
        ambiguous = branch != key and len(targets[branch]) > 1
        found[key if ambiguous else branch] = pairs[key] if ambiguous else target
    return found
