"""Checks and names of what can be decorated: functions, methods, all kinds of callables.

Owns the way from a decorated object to a Python function that can be traced, and the weak binding
of methods to their instances.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from tfx.core.signatures import show_signature
from tfx.framework.function_wrappers import remake_with
from tfx.function.tracing.parameters import Parameters


def weak_method(function: Callable[..., Any], reference: weakref.ref[Any]) -> Callable[..., Any]:
    """The function with its first parameter bound to what the reference holds."""

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        instance = reference()
        if instance is None:
            raise ReferenceError(
                f"The object whose method {name_of(function)!r} was called is gone."
            )
        return function(instance, *args, **kwargs)

    remake_with(method, lambda convert: weak_method(convert(function), reference))
    signature = Parameters(function).signature
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].kind.name.startswith("POSITIONAL_"):
        parameters = parameters[1:]
    show_signature(method, signature.replace(parameters=parameters))
    return method


def checked_callable(given: Any) -> Any:
    """Return the decorated object after checking that it can be called.

    Raises:
        TypeError: it cannot.
    """
    if isinstance(given, classmethod):
        raise TypeError(
            f"tfx.function takes a callable; got {given!r}, which has no class to be called with "
            "yet. Put @classmethod above @tf.function."
        )
    if not callable(given):
        raise TypeError(
            f"tfx.function takes a callable; got {given!r} of type {type(given).__name__}."
        )
    return given


def name_of(function: Any) -> str:
    """A name for graphs: the function's own, or of the class or function behind it."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    return "lambda" if name == "<lambda>" else str(name)
