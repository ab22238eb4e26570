"""Wrappers around functions of the user's: how to make the same around another function.

``autograph`` converts the user's function, not the wrapper, which is code of tfx.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeAlias

# Makes the wrapper again, given what converts the user's function.
Make: TypeAlias = Callable[[Callable[[Any], Any]], Any]

_FIELD = "__tfx_remade__"


def remake_with(wrapper: Any, make: Make) -> None:
    """Say how to make a wrapper again.

    Args:
        wrapper: A Python function of tfx.
        make: Gets the conversion of functions, returns the wrapper of the converted function.
    """
    assert isinstance(wrapper, types.FunctionType)
    # With the code: ``functools.wraps`` copies attributes to wrappers of the wrapper.
    wrapper.__dict__[_FIELD] = (wrapper.__code__, make)


def maker_of(wrapper: types.FunctionType) -> Make | None:
    """How to make a wrapper again; None for functions that are none."""
    found = wrapper.__dict__.get(_FIELD)
    if found is None or found[0] is not wrapper.__code__:
        return None
    make: Make = found[1]
    return make
