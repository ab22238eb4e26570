"""``tfx.compat.v2``: the names of ``tfx`` itself."""

from __future__ import annotations

from typing import Any

import tfx
from tfx.core.namespaces import MissingNameError


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name not in ("__operators__", "__version__"):
        raise MissingNameError("tfx.compat.v2", name)
    return getattr(tfx, name)


def __dir__() -> list[str]:
    return dir(tfx)
