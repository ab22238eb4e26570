"""``tfx.compat``: TensorFlow 1 (``v1``), TensorFlow 2 (``v2``), and texts as bytes or strings."""

from __future__ import annotations

import importlib
from typing import Any

from tfx.compat.texts import as_bytes as as_bytes
from tfx.compat.texts import as_str as as_str
from tfx.compat.texts import as_str_any as as_str_any
from tfx.compat.texts import as_text as as_text
from tfx.compat.texts import path_to_bytes as path_to_bytes
from tfx.compat.texts import path_to_str as path_to_str
from tfx.compat.types import bytes_or_text_types as bytes_or_text_types
from tfx.compat.types import complex_types as complex_types
from tfx.compat.types import forward_compatibility_horizon as forward_compatibility_horizon
from tfx.compat.types import forward_compatible as forward_compatible
from tfx.compat.types import integral_types as integral_types
from tfx.compat.types import real_types as real_types
from tfx.core.dimension import dimension_at_index as dimension_at_index
from tfx.core.dimension import dimension_value as dimension_value
from tfx.core.namespaces import MissingNameError

_NAMES = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "forward_compatibility_horizon",
    "forward_compatible",
    "integral_types",
    "path_to_bytes",
    "path_to_str",
    "real_types",
]


def __getattr__(name: str) -> Any:
    if name in ("v1", "v2"):
        return importlib.import_module(f"tfx.compat.{name}")
    raise MissingNameError("tfx.compat", name)


def __dir__() -> list[str]:
    return ["v1", "v2", *_NAMES]
