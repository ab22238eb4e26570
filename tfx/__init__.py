"""TensorFlow 2 style Python whose every traced function is an ONNX graph.

``import tfx as tf``. Names are fetched when first used, so that importing costs nothing and a
program that only loads bundles never loads tracing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from tfx._exports import NAMES, SUBMODULES
from tfx.core import onnxruntime_wheels, version
from tfx.core.tracebacks import cover

# Said now, in a sentence, rather than at the first operation by a name that is missing.
onnxruntime_wheels.require()

newaxis = None
__version__ = version.VERSION


class _Facade(ModuleType):
    """Keeps importing a sub-package from hiding the public name that it shares (``function``)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in NAMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Facade


def __getattr__(name: str) -> Any:
    module = NAMES.get(name)
    if module is not None:
        # Whoever holds a tensor or variable expects arithmetic on it.
        importlib.import_module("tfx.ops.operators")
        value = getattr(importlib.import_module(module), name)
    elif name in SUBMODULES:
        value = importlib.import_module(f"tfx.{name}")
    else:
        raise AttributeError(f"module 'tfx' has no attribute {name!r}{_nearest(name)}")
    cover(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES, *SUBMODULES})


def _nearest(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, [*NAMES, *SUBMODULES], 1)
    return f"; did you mean {close[0]!r}?" if close else ""


__all__ = ["__version__", "newaxis", *NAMES, *SUBMODULES]
