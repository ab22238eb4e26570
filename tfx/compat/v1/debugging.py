"""``tfx.compat.v1.debugging``: checks as operations."""

from __future__ import annotations

from typing import Any

from tfx.compat.name_table import namespace
from tfx.core.tracebacks import cover

_OWN: dict[str, tuple[str, str]] = {}

_fetch, _known = namespace(__name__, _OWN, (), ("tfx.debugging",))


def __getattr__(name: str) -> Any:
    return cover(_fetch(name))


def __dir__() -> list[str]:
    return _known()
