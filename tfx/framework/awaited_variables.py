"""Variables that a pending restore may have a value for, though nobody has said where they belong.

An attribute that is assigned is reported (``deferred_restores``); an item that a plain list, a dict
or an object of a plain class gets is not. So while values are left over that could belong into such
a place, variables that have no value of the checkpoint yet are *awaiting*: before one is read or
changed, the pending restores look whether it has found its place. Owns the class that such a
variable has meanwhile. Must not know what a checkpoint is. The one decision: containers stay the
program's own, nothing is wrapped; and a variable without a place stops to wait after some reads, so
a restore that is never completed costs nothing in the long run.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from tfx.framework import deferred_restores
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable

_LOOKS = 100
_VALUE: Any = Variable.__dict__["_value"]

# How often each variable may be read until it stops to wait, by its number.
_looks: dict[int, int] = {}
_state = threading.local()


class AwaitingVariable(Variable):
    """A variable whose value may have to be restored before it is used."""

    __slots__ = ()

    @property
    def _value(self) -> Any:
        _look(self)
        return _VALUE.__get__(self)

    @_value.setter
    def _value(self, value: Any) -> None:
        _VALUE.__set__(self, value)

    # Variable's methods by name: after the look the class may be another one.

    def assign(self, *args: Any, **kwargs: Any) -> Variable:
        """Replace the value; what is restored comes before."""
        _look(self)
        return Variable.assign(self, *args, **kwargs)

    def _change(self, function: Callable[[Tensor], Tensor]) -> Variable:
        _look(self)
        return Variable._change(self, function)


# What messages call it.
AwaitingVariable.__name__ = AwaitingVariable.__qualname__ = Variable.__name__


def wait(variable: Variable) -> None:
    """Have the restores look for a variable when it is used next."""
    if type(variable) is Variable:
        _looks[variable._number] = _LOOKS
        variable.__class__ = AwaitingVariable
        weakref.finalize(variable, _looks.pop, variable._number, None).atexit = False


def is_awaiting(variable: Any) -> bool:
    """True if a variable waits."""
    return type(variable) is AwaitingVariable


def release(variable: Variable) -> None:
    """Let a variable wait no longer."""
    if is_awaiting(variable):
        variable.__class__ = Variable
        _looks.pop(variable._number, None)


def _look(variable: AwaitingVariable) -> None:
    if getattr(_state, "looking", False):
        return
    left = _looks.get(variable._number, 0) - 1
    _looks[variable._number] = left
    _state.looking = True
    try:
        if left < 0 or not deferred_restores.resolve_pending():
            release(variable)
    except BaseException:  # a value that does not fit: say so once
        release(variable)
        raise
    finally:
        _state.looking = False
