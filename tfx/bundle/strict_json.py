"""JSON that two readers cannot understand differently: no key twice, no ``NaN``."""

from __future__ import annotations

import json
from typing import Any


def loads(text: str | bytes) -> Any:
    """Parse a JSON text, and reject duplicate keys and numbers that JSON does not have.

    Raises:
        ValueError: It is not JSON, a key comes twice, or a number is none.
        RecursionError: It is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=_unique_pairs, parse_constant=_refuse_constant)


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, item in pairs:
        if key in table:
            raise ValueError(f"the key {key!r:.80} comes twice")
        table[key] = item
    return table


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")
