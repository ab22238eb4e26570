"""``tf.saved_model``: save objects as bundles and load them back."""

from __future__ import annotations

from typing import Any

from tfx.saved_model.load import LoadOptions as LoadOptions
from tfx.saved_model.load import contains_saved_model as contains_saved_model
from tfx.saved_model.load import load as load

DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"

# What writes belongs to the exporters, a layer above; it is fetched when asked for.
_FROM_EXPORTERS = frozenset(("Asset", "SaveOptions", "save"))


def __getattr__(name: str) -> Any:
    if name in _FROM_EXPORTERS:
        import importlib

        return getattr(importlib.import_module("tfx.exporters"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
