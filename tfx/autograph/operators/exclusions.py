"""The functions that are not converted, and messages on those that cannot be."""

from __future__ import annotations

import sys
import types

from tfx.autograph import verbosity
from tfx.autograph.conversion import is_converted
from tfx.core.source import is_internal
from tfx.framework import function_wrappers

# First parts of the names of modules whose functions are left as they are, besides tfx and NumPy.
LIBRARIES = frozenset(
    (*sys.stdlib_module_names, "onnx", "onnxruntime", "ml_dtypes", "google", "scipy", "sklearn")
) | frozenset(("pytest", "_pytest", "hypothesis", "matplotlib", "pandas", "torch", "jax", "jaxlib"))
_warned: set[str] = set()


def is_convertible(function: types.FunctionType) -> bool:
    """True if a function is the user's, and not converted yet.

    What counts is where its code stands: a decorator of a library may have given it another name.
    """
    if is_converted(function) or is_internal(function.__code__.co_filename):
        return False
    module = function.__globals__.get("__name__") or ""
    return module == "__main__" or module.split(".")[0] not in LIBRARIES


def note_reason(function: types.FunctionType, error: Exception) -> None:
    """Let errors of the function's control flow say why it was not converted."""
    code = function.__code__
    reason = f"AutoGraph could not convert this function: {error}. "
    function_wrappers.note(code.co_filename, code.co_name, reason)


def warn_once(function: types.FunctionType, error: Exception) -> None:
    """Warn once that a function runs without conversion."""
    note_reason(function, error)
    module = function.__globals__.get("__name__")
    name = function.__qualname__ if module is None else f"{module}.{function.__qualname__}"
    if name in _warned:
        return
    _warned.add(name)
    verbosity.logger().warning(
        "AutoGraph could not convert %s and will run it as it is: %s. Its control flow on tensors "
        "will fail. To silence this, decorate it with @tf.autograph.experimental.do_not_convert.",
        name,
        error,
    )
