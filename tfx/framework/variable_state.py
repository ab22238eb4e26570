"""Variables that are not ready: their value is awaited, unchecked or gone.

Almost all variables are ready: their value is in a slot, and reading it costs nothing more. Owns
the class that another variable has meanwhile, which asks its *state* for the value; what a state
waits for or checks is its own business. The one decision: only variables that have a state pay for
it, so a variable changes its class with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.runtime.values import RawValue

# The descriptor of the slot that holds the value.
_slot: Any = vars(Variable)["_raw"]


class VariableState:
    """The state of a variable whose reads and writes need more than its stored value."""

    def read(self, variable: Variable) -> RawValue:
        """The value for this use; ``set_ready`` where no other use needs to ask."""
        return stored(variable)

    def write(self, variable: Variable, value: RawValue) -> None:
        """Another value takes the place of this one."""
        _slot.__set__(variable, value)

    def before_assignment(self, variable: Variable) -> None:
        """The program is about to assign the variable, or to change it."""

    def describe(self, variable: Variable) -> str:
        """The variable's ``repr``."""
        return Variable.__repr__(variable)


class _VariableWithState(Variable):
    """A variable that asks its state for the value."""

    __slots__ = ()

    @property
    def _raw(self) -> RawValue:
        state = state_of(self)
        return stored(self) if state is None else state.read(self)

    @_raw.setter
    def _raw(self, value: RawValue) -> None:
        state = state_of(self)
        if state is None:
            _slot.__set__(self, value)
        else:
            state.write(self, value)

    # All by the names of classes: when the state was asked, and by another thread at any time, the
    # class may have become another one.

    def assign(self, *args: Any, **kwargs: Any) -> Variable:
        """Replace the value, once the state has seen to what comes before."""
        _VariableWithState._before_assignment(self)
        return Variable.assign(self, *args, **kwargs)

    def _change(self, function: Callable[[Tensor], Tensor]) -> Variable:
        _VariableWithState._before_assignment(self)
        return Variable._change(self, function)

    def _before_assignment(self) -> None:
        state = state_of(self)
        if state is not None:
            state.before_assignment(self)

    def __repr__(self) -> str:
        state = state_of(self)
        return Variable.__repr__(self) if state is None else state.describe(self)


# What messages call it.
_VariableWithState.__name__ = _VariableWithState.__qualname__ = Variable.__name__


def set_state(variable: Variable, state: VariableState) -> None:
    """Read a variable's value through a state from now on."""
    variable._state = state
    variable.__class__ = _VariableWithState


def set_ready(variable: Variable) -> None:
    """Give the value from the slot from now on."""
    if state_of(variable) is not None:
        variable.__class__ = Variable
        variable._state = None


def state_of(variable: Variable) -> VariableState | None:
    """The state of a variable; None: it is ready, or of a class of its own."""
    if type(variable) is not _VariableWithState:
        return None
    return variable._state


def stored(variable: Variable) -> RawValue:
    """The value in the slot, whatever the state: to compare it with another, not to be used."""
    return _slot.__get__(variable)


def clear(variable: Variable) -> None:
    """Let go of the value."""
    _slot.__delete__(variable)
