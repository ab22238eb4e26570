"""``tfx.compat.v2``: the names of ``tfx`` itself."""

from __future__ import annotations

from typing import Any

import tfx


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__version__":
        raise AttributeError(f"module 'tfx.compat.v2' has no attribute {name!r}")
    return getattr(tfx, name)


def __dir__() -> list[str]:
    return dir(tfx)
