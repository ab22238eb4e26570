"""TensorFlow 2 style Python whose every traced function is an ONNX graph.

``import tfx as tf``. Names are fetched when first used, so that importing costs nothing and a
program that only loads bundles never loads tracing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from tfx import keras_hook
from tfx._exports import NAMES, OPTIONAL, SUBMODULES, UNLISTED
from tfx.core import first_use, onnxruntime_wheels
from tfx.core import version as _version
from tfx.core.lazy_namespaces import fetch, import_first
from tfx.core.namespaces import MissingNameError, Namespace, search_with
from tfx.core.tracebacks import cover

# Said now, in a sentence, rather than at the first operation by a name that is missing.
onnxruntime_wheels.require()

newaxis = None
__version__ = _version.VERSION


class _Facade(Namespace):
    """Keeps importing a sub-package from hiding the public name that it shares (``function``).

    A namespace that is imported by its own name (``import tfx.nn``) is covered like one that is
    fetched.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            if name in NAMES:
                return
            if name in SUBMODULES:
                cover(value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Facade
# `import keras` runs on tfx where it is configured to, or has nothing else to run on.
keras_hook.install()
# Whoever holds a tensor or variable expects arithmetic on it.
import_first("tfx.ops.common.operator_overloads")


def _take_ragged_tensors() -> None:
    """Let public operations look for ragged tensors among their arguments."""
    fetch("tfx.experimental.dispatch", "take_ragged_tensors")()


def _take_sparse_tensors() -> None:
    """Let public operations look for sparse tensors among their arguments."""
    fetch("tfx.experimental.dispatch", "take_sparse_tensors")()


def _take_linear_operators() -> None:
    """Let public operations look for linear operators among their arguments."""
    fetch("tfx.experimental.dispatch", "take_linear_operators")()


first_use.when_first("RaggedTensor", _take_ragged_tensors)
first_use.when_first("SparseTensor", _take_sparse_tensors)
first_use.when_first("LinearOperator", _take_linear_operators)


def __getattr__(name: str) -> Any:
    module = NAMES.get(name) or UNLISTED.get(name)
    if module is not None:
        value = fetch(module, name)
    elif name in SUBMODULES or name in OPTIONAL:
        value = importlib.import_module(f"tfx.{name}")
    else:
        raise MissingNameError("tfx", name)
    globals()[name] = cover(value)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _everywhere() -> list[str]:
    """The public namespaces, all of them loaded."""
    found = ["tfx"]
    for name in (*SUBMODULES, *_INNER):
        importlib.import_module(f"tfx.{name}")
        found.append(f"tfx.{name}")
    return found


# Namespaces inside of others.
_INNER = (
    "config.experimental",
    "experimental.numpy",
    "random.experimental",
    "math.special",
    "compat.v1",
    "compat.v1.train",
    "compat.v1.nn",
    "compat.v1.losses",
)
search_with(_everywhere)

__all__ = ["__version__", "newaxis", *NAMES, *SUBMODULES]
