"""Calls: what is called gets its control flow converted first.

Not converted are builtins and classes, generators, functions of tfx itself, of the standard library
and of NumPy, and what the user excluded. A few builtins have counterparts for tensors.
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
import types
from collections.abc import Callable
from typing import Any

from tfx.autograph.conversion import convert_function, is_converted
from tfx.autograph.operators.builtin_functions import counterpart
from tfx.autograph.parsing import SourceError

_log = logging.getLogger("tfx")

# Attribute of functions that are left as they are.
DO_NOT_CONVERT = "__tfx_do_not_convert__"
# First parts of the names of modules whose functions are left as they are.
LIBRARIES = frozenset(
    (*sys.stdlib_module_names, "tfx", "numpy", "onnx", "onnxruntime", "ml_dtypes", "google")
) | frozenset(("pytest", "_pytest", "hypothesis", "scipy", "sklearn", "matplotlib", "torch"))
_unconvertible: set[str] = set()


def call(callee: Any) -> Any:
    """What to call in place of ``callee``."""
    kind = type(callee)
    if kind is types.FunctionType:
        return converted(callee)
    if kind is types.MethodType:
        function = callee.__func__
        if type(function) is types.FunctionType:
            new = converted(function)
            return callee if new is function else types.MethodType(new, callee.__self__)
        return callee
    if kind is types.BuiltinFunctionType or kind is type:
        return counterpart(callee)
    if kind is functools.partial:
        inner = call(callee.func)
        if inner is callee.func:
            return callee
        return functools.partial(inner, *callee.args, **callee.keywords)
    if isinstance(callee, type):
        return callee
    return _callable_object(callee)


def _callable_object(callee: Any) -> Any:
    """An object whose class has a ``__call__`` written in Python."""
    method = _call_method(type(callee))
    if type(method) is not types.FunctionType or _is_library(type(callee).__module__):
        return callee
    new = converted(method)
    return callee if new is method else types.MethodType(new, callee)


def _call_method(cls: type) -> Any:
    """What calling an instance of the class runs."""
    for base in cls.__mro__:
        if "__call__" in base.__dict__:
            return base.__dict__["__call__"]
    return None


def converted(function: types.FunctionType) -> Callable[..., Any]:
    """The function with its control flow converted, or itself."""
    if not is_convertible(function):
        return function
    from tfx.autograph import operators

    try:
        return convert_function(function, operators)
    except SourceError as e:
        _warn_once(function, e)
        return function


def is_convertible(function: types.FunctionType) -> bool:
    """Whether a function is the user's, and not excluded."""
    if getattr(function, DO_NOT_CONVERT, False) or is_converted(function):
        return False
    return not _is_library(function.__module__ or function.__globals__.get("__name__", ""))


def _is_library(module: str | None) -> bool:
    name = module or ""
    if name == "__main__" or name.startswith("tfx.model_zoo"):
        return False
    return name.split(".")[0] in LIBRARIES


def _warn_once(function: types.FunctionType, error: SourceError) -> None:
    name = f"{function.__module__}.{function.__qualname__}"
    if name in _unconvertible:
        return
    _unconvertible.add(name)
    _log.warning(
        "AutoGraph could not convert %s and will run it as it is: %s. Its control flow on tensors "
        "will fail. To silence this, decorate it with @tf.autograph.experimental.do_not_convert.",
        name,
        error,
    )


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a traced function runs: any callable with its control flow converted."""
    unwrapped = function
    if isinstance(unwrapped, functools.partial) or inspect.ismethod(unwrapped):
        result: Callable[..., Any] = call(unwrapped)
        return result
    if isinstance(unwrapped, types.FunctionType):
        return converted(unwrapped)
    result = call(unwrapped)
    return result
