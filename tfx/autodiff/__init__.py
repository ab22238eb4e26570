"""``tf.autodiff`` and what is behind it: the tape, the walk back, forward mode."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tfx.core.namespaces import MissingNameError, complete
from tfx.core.tracebacks import cover

if TYPE_CHECKING:
    from tfx.autodiff.forward_accumulator import ForwardAccumulator as ForwardAccumulator

__all__ = ["ForwardAccumulator"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise MissingNameError("tfx.autodiff", name)
    # Tensors need their arithmetic operators.
    importlib.import_module("tfx.ops.common.operator_overloads")
    value = cover(getattr(importlib.import_module("tfx.autodiff.forward_accumulator"), name))
    globals()[name] = value
    return value


complete(__name__)
