"""``tfx.compat.v1.saved_model``: saving and loading models."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.saved_models": "simple_save simple_load",
    },
    others=("tfx.saved_model",),
)
