"""``tfx.compat.v1.flags``: those of absl, which is where TensorFlow has its own from.

Libraries define flags with absl as well, and a program has one set of flags, so there is no other
implementation here. absl is no dependency: only who uses flags needs it.
"""

from __future__ import annotations

import importlib
from typing import Any

from tfx.core.namespaces import MissingNameError


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise MissingNameError(__name__, name)
    try:
        return getattr(_absl(), name)
    except ModuleNotFoundError as e:  # what asks for attributes that may be missing expects this
        raise AttributeError(str(e)) from None


def __dir__() -> list[str]:
    try:
        return [name for name in dir(_absl()) if not name.startswith("_")]
    except ModuleNotFoundError:
        return []


def _absl() -> Any:
    try:
        return importlib.import_module("absl.flags")
    except ModuleNotFoundError as e:
        raise ModuleNotFoundError(
            "tf.compat.v1.flags are those of absl, which is not installed: pip install absl-py.",
            name="absl",
        ) from e
