"""On which line a block gives a symbol its value, for messages."""

from __future__ import annotations

import dis
import os
import types
from collections.abc import Callable, Iterator
from typing import Any

from tfx.autograph.operators.staging import shown

_STORES = frozenset(("STORE_DEREF", "STORE_GLOBAL", "STORE_NAME", "STORE_FAST"))


def told(value: Any, symbol: str, block: Callable[..., Any] | None) -> str:
    """A value for messages, with the line that made it or gave it to the symbol.

    Args:
        value: What the symbol is at the end of a block.
        symbol: Its name.
        block: The block as a function; None for an expression.
    """
    text = shown(value)
    if block is None:
        return text
    code = block.__code__
    lines = list(_lines(code, symbol))
    if not lines:
        return text
    place = f"{os.path.basename(code.co_filename)}:{max(lines)}"
    return text if f"[{place} " in text else f"{text} [{place}]"


def _lines(code: types.CodeType, symbol: str) -> Iterator[int]:
    """Lines that assign a symbol."""
    name = symbol.split(".")[-1]
    dotted = name != symbol
    for step in dis.get_instructions(code):
        stored = step.opname == "LOAD_CONST" if dotted else step.opname in _STORES
        if stored and step.argval == name and step.positions and step.positions.lineno:
            yield step.positions.lineno
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _lines(constant, symbol)
