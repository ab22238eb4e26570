"""``; did you mean ...?`` at the end of a message about a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str], limit: int = 3) -> str:
    """Text that names what is most like ``name``, or an empty text if nothing is."""
    close = difflib.get_close_matches(name, list(names), limit)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
