"""``tfx.compat.v1.app``: running a program."""

from __future__ import annotations

import importlib
from typing import Any

from tfx.compat.name_table import names, namespace
from tfx.core.tracebacks import cover

_OWN = names(
    {
        "tfx.compat.v1.app_run": "run",
    }
)

_fetch, _known = namespace(__name__, _OWN, ("flags",), ())


def __getattr__(name: str) -> Any:
    if name == "flags":
        return importlib.import_module("tfx.compat.v1.flags")
    return cover(_fetch(name))


def __dir__() -> list[str]:
    return _known()
