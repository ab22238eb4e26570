"""``tfx.compat``: TensorFlow 1 (``v1``) and TensorFlow 2 (``v2``) as modules of their own."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("v1", "v2"):
        return importlib.import_module(f"tfx.compat.{name}")
    raise AttributeError(f"module 'tfx.compat' has no attribute {name!r}; it has 'v1' and 'v2'")


def __dir__() -> list[str]:
    return ["v1", "v2"]
