"""``tfx.compat``: TensorFlow 1 (``v1``), TensorFlow 2 (``v2``), and texts as bytes or strings."""

from __future__ import annotations

import importlib
from typing import Any

from tfx.compat.texts import as_bytes as as_bytes
from tfx.compat.texts import as_str as as_str
from tfx.compat.texts import as_str_any as as_str_any
from tfx.compat.texts import as_text as as_text
from tfx.compat.texts import path_to_str as path_to_str
from tfx.core.dimension import dimension_at_index as dimension_at_index
from tfx.core.dimension import dimension_value as dimension_value
from tfx.core.namespaces import MissingNameError

_TEXTS = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "dimension_at_index",
    "dimension_value",
    "path_to_str",
]


def __getattr__(name: str) -> Any:
    if name in ("v1", "v2"):
        return importlib.import_module(f"tfx.compat.{name}")
    raise MissingNameError("tfx.compat", name)


def __dir__() -> list[str]:
    return ["v1", "v2", *_TEXTS]
