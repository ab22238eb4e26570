"""Everything that writes a bundle or is made of one.

``save`` for tfx objects, ``save_onnx`` for ONNX models; ``freeze``, ``convert`` and ``compare`` for
bundles that are there.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tfx.core.namespaces import MissingNameError, complete
from tfx.core.tracebacks import cover
from tfx.exporters.from_onnx import save_onnx as save_onnx
from tfx.exporters.native import SaveOptions as SaveOptions
from tfx.exporters.native import save as save

if TYPE_CHECKING:
    from tfx.exporters.compare_bundles import compare as compare
    from tfx.exporters.convert_model import convert as convert
    from tfx.exporters.freeze_bundle import freeze as freeze
    from tfx.exporters.named_weights import to_numpy as to_numpy
    from tfx.exporters.named_weights import to_safetensors as to_safetensors
    from tfx.exporters.named_weights import to_torch as to_torch

# Fetched when first used: who saves a model needs none of these.
_LATER = {
    "compare": "tfx.exporters.compare_bundles",
    "convert": "tfx.exporters.convert_model",
    "freeze": "tfx.exporters.freeze_bundle",
    "to_numpy": "tfx.exporters.named_weights",
    "to_safetensors": "tfx.exporters.named_weights",
    "to_torch": "tfx.exporters.named_weights",
}
# Modules: one for each kind of model, with ``export`` and ``to_module``.
_SOURCES = (
    "from_jax",
    "from_keras",
    "from_onnx",
    "from_safetensors",
    "from_sklearn",
    "from_tensorflow",
    "from_torch",
    "text_generation",
)


def __getattr__(name: str) -> Any:
    if name in _SOURCES:
        return importlib.import_module(f"{__name__}.{name}")
    module = _LATER.get(name)
    if module is None:
        raise MissingNameError(__name__, name)
    value = cover(getattr(importlib.import_module(module), name))
    globals()[name] = value
    return value


__all__ = ["SaveOptions", "save", "save_onnx", *_LATER, *_SOURCES]

complete(__name__)
