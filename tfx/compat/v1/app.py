"""``tfx.compat.v1.app``: running a program."""

from __future__ import annotations

import importlib
from typing import Any

from tfx.compat.name_table import namespace

_fetch, __dir__ = namespace(__name__, {"tfx.compat.v1.app_run": "run"}, submodules=("flags",))


def __getattr__(name: str) -> Any:
    # A module of its own in tfx.compat.v1, and below app too.
    return importlib.import_module("tfx.compat.v1.flags") if name == "flags" else _fetch(name)
