"""Calls: what is called gets its control flow converted first.

Not converted are builtins, generators, functions of tfx itself, of the standard library and of
NumPy, and what the user excluded. A few builtins have counterparts for tensors.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from tfx.autograph import verbosity
from tfx.autograph.conversion import convert_function
from tfx.autograph.left_alone import FrameError
from tfx.autograph.operators.builtin_functions import counterpart
from tfx.autograph.operators.exclusions import is_convertible, note_reason, warn_once
from tfx.autograph.operators.functionals import with_converted
from tfx.autograph.parsing import has_source
from tfx.framework.function_wrappers import maker_of

# What converted code calls: the package that this module is in.
_OPERATORS = __name__.rpartition(".")[0]


def call(callee: Any) -> Any:
    """Return the converted form of ``callee``, or ``callee`` itself."""
    kind = type(callee)
    if kind is types.FunctionType:
        return converted(callee)
    if kind is types.MethodType:
        function = callee.__func__
        if type(function) is types.FunctionType:
            new = converted(function)
            return callee if new is function else types.MethodType(new, callee.__self__)
        return callee
    if kind is types.BuiltinFunctionType:
        return counterpart(callee, call)
    if kind is functools.partial:
        inner = call(callee.func)
        if inner is callee.func:
            return callee
        return functools.partial(inner, *callee.args, **callee.keywords)
    if isinstance(callee, type):
        found = counterpart(callee, call) if kind is type else callee
        return _constructor(callee) if found is callee else found
    return _callable_object(callee)


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the converted form of the function that is traced: any callable."""
    result: Callable[..., Any] = call(function)
    return result


def converted(function: types.FunctionType) -> Callable[..., Any]:
    """The function with its control flow converted, or itself."""
    if not is_convertible(function):
        make = maker_of(function)
        made: Callable[..., Any]
        made = with_converted(function, call) if make is None else make(call)
        return made
    try:
        made = convert_function(function, sys.modules[_OPERATORS])
    except FrameError as e:
        note_reason(function, e)
        return function
    except Exception as e:  # whatever it is: the function can still run as it is
        warn_once(function, e)
        return function
    if made is not function:
        verbosity.tell(1, "AutoGraph converted %s", function.__qualname__)
    return made


def _constructor(cls: Any) -> Any:
    """A class; if its ``__init__`` is the user's, something that runs it converted."""
    init = cls.__init__
    plain = type(cls).__call__ is type.__call__ and cls.__new__ is object.__new__
    if not plain or type(init) is not types.FunctionType or not is_convertible(init):
        return cls
    if not has_source(init):  # made by a decorator, as that of a dataclass
        return cls
    new = converted(init)

    def constructed(*args: Any, **kwargs: Any) -> Any:
        made = cls.__new__(cls)
        if new(made, *args, **kwargs) is not None:
            raise TypeError("__init__() should return None")
        return made

    return cls if new is init else constructed


def _callable_object(callee: Any) -> Any:
    """An object whose class has a ``__call__`` written in Python."""
    cls = type(callee)
    remade = getattr(cls, "__tfx_remade__", None)
    if remade is not None:
        return remade(callee, call)
    method = _call_method(cls)
    if type(method) is not types.FunctionType:
        return callee
    new = converted(method)
    return callee if new is method else types.MethodType(new, callee)


def _call_method(cls: type) -> Any:
    """Return the function that calling an instance of the class runs, or None."""
    for base in cls.__mro__:
        if "__call__" in base.__dict__:
            return base.__dict__["__call__"]
    return None
