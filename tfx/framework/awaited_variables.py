"""Variables that a pending restore may have a value for, though nobody has said where they belong.

An attribute that is assigned is reported (``deferred_restores``); an item that a plain list, a dict
or an object of a plain class gets is not. So while values are left over that could belong into such
a place, variables that have no value of the checkpoint yet are *awaited*: before one is read or
changed, the pending restores look whether it has found its place. Must not know what a checkpoint
is. The one decision: containers stay the program's own, nothing is wrapped; and a variable without
a place stops to wait after some reads, so a restore that is never completed costs nothing in the
long run.
"""

from __future__ import annotations

import threading
from typing import Any

from tfx.framework import deferred_restores
from tfx.framework.variable import Variable
from tfx.framework.variable_state import (
    VariableState,
    may_have_state,
    set_ready,
    set_state,
    state_of,
    stored,
)
from tfx.runtime.values import RawValue

# How often a variable may be read until it stops to wait.
_LOOKS = 100
_local = threading.local()


class Awaited(VariableState):
    """A variable whose value may have to be restored before it is used."""

    __slots__ = ("looks_left",)

    def __init__(self) -> None:
        self.looks_left = _LOOKS

    def read(self, variable: Variable) -> RawValue:
        """Return the stored value after pending restores have been matched with it."""
        self.before_assignment(variable)
        return stored(variable)

    def before_assignment(self, variable: Variable) -> None:
        """Resolve pending restores, so that an assignment comes after what is restored."""
        if getattr(_local, "looking", False):
            return
        self.looks_left -= 1
        _local.looking = True
        try:
            if self.looks_left < 0 or not deferred_restores.resolve_pending():
                set_ready(variable)
        except BaseException:  # a value that does not fit: say so once
            set_ready(variable)
            raise
        finally:
            _local.looking = False


def wait(variable: Variable) -> None:
    """Make the restores look for a variable when it is used next."""
    if may_have_state(variable):
        set_state(variable, Awaited())


def is_awaiting(variable: Any) -> bool:
    """True if a variable waits."""
    return isinstance(variable, Variable) and isinstance(state_of(variable), Awaited)


def release(variable: Variable) -> None:
    """Let a variable wait no longer."""
    if is_awaiting(variable):
        set_ready(variable)
