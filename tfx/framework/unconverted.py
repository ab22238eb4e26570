"""Why the control flow of some functions was not converted, for errors that follow from it."""

from __future__ import annotations

from tfx.core.source import SourceLocation

_reasons: dict[tuple[str, str], str] = {}


def note(file: str, function: str, reason: str) -> None:
    """Remember why a function runs as it is.

    Args:
        file: The file name of its code.
        function: The name of its code.
        reason: What to say.
    """
    _reasons[file, function] = reason


def reason_at(place: SourceLocation) -> str:
    """What to say of the function at a place of the user's: a sentence, or nothing."""
    return _reasons.get((place.file, place.function), "")
