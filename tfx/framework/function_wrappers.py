"""Wrappers around functions of the user's: how to make the same around another function.

``autograph`` converts the user's function, not the wrapper, which is code of tfx.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, TypeAlias

from tfx.core.source import SourceLocation

# Makes the wrapper again, given what converts the user's function.
Make: TypeAlias = Callable[[Callable[[Any], Any]], Any]

_FIELD = "__tfx_remade__"


def remake_with(wrapper: Any, make: Make) -> None:
    """Register the function that makes a wrapper again.

    Args:
        wrapper: A Python function of tfx.
        make: Gets the conversion of functions, returns the wrapper of the converted function.
    """
    assert isinstance(wrapper, types.FunctionType)
    # With the code: ``functools.wraps`` copies attributes to wrappers of the wrapper.
    wrapper.__dict__[_FIELD] = (wrapper.__code__, make)


def maker_of(wrapper: types.FunctionType) -> Make | None:
    """Return the function that makes a wrapper again; None for other functions."""
    found = wrapper.__dict__.get(_FIELD)
    if found is None or found[0] is not wrapper.__code__:
        return None
    make: Make = found[1]
    return make


def present(wrapper: Any, wrapped: Any, signature: inspect.Signature | None = None) -> None:
    """Give an object that is called instead of a function that function's name and attributes.

    Args:
        wrapper: The object; its own attributes, and those of its class, stay.
        wrapped: What the user decorated.
        signature: What ``inspect`` is to say of the parameters; None: as of ``wrapped``.
    """
    functools.update_wrapper(wrapper, wrapped, updated=())
    for name, value in getattr(wrapped, "__dict__", {}).items():
        if name not in wrapper.__dict__ and not hasattr(type(wrapper), name):
            wrapper.__dict__[name] = value
    if signature is not None:
        wrapper.__signature__ = signature


_reasons: dict[tuple[str, str], str] = {}


def note(file: str, function: str, reason: str) -> None:
    """Remember why a function runs as it is.

    Args:
        file: The file name of its code.
        function: The name of its code.
        reason: What to say.
    """
    _reasons[file, function] = reason


def reason_at(place: SourceLocation) -> str:
    """Return why AutoGraph did not convert the function at a place, or an empty string."""
    return _reasons.get((place.file, place.function), "")
