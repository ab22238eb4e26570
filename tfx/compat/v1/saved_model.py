"""``tfx.compat.v1.saved_model``: saving and loading models."""

from __future__ import annotations

from typing import Any

from tfx.compat.name_table import names, namespace
from tfx.core.tracebacks import cover

_OWN = names(
    {
        "tfx.compat.v1.saved_models": "simple_save simple_load",
    }
)

_fetch, _known = namespace(__name__, _OWN, (), ("tfx.saved_model",))


def __getattr__(name: str) -> Any:
    return cover(_fetch(name))


def __dir__() -> list[str]:
    return _known()
