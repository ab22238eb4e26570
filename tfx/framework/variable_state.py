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

    def assign(self, *args: Any, **kwargs: Any) -> Any:
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

# The class that a variable has while it is in a state, by the one that it has else; the reverse.
_with_state: dict[type[Variable], type[Variable]] = {Variable: _VariableWithState}
_without: dict[type[Variable], type[Variable]] = {_VariableWithState: Variable}


def add_class(cls: type[Variable]) -> Callable[[Variable], None]:
    """Let variables of another class have states, too.

    Args:
        cls: A subclass of ``Variable`` without slots of its own.

    Returns:
        What gives a variable that is in a state this class; all others it leaves alone.
    """
    inside = type(cls.__name__, (_VariableWithState, cls), {"__slots__": ()})
    inside.__module__ = cls.__module__
    _with_state[cls] = inside
    _without[inside] = cls

    def change_class(variable: Variable) -> None:
        if type(variable) is _VariableWithState:
            variable.__class__ = inside

    return change_class


def may_have_state(variable: Variable) -> bool:
    """True if a variable is of a class that may have states, and is in none."""
    return type(variable) in _with_state


def set_state(variable: Variable, state: VariableState) -> None:
    """Read a variable's value through a state from now on."""
    variable._state = state
    if type(variable) not in _without:
        variable.__class__ = _with_state.get(type(variable), _VariableWithState)


def set_ready(variable: Variable) -> None:
    """Give the value from the slot from now on."""
    ready = _without.get(type(variable))
    if ready is not None:
        variable.__class__ = ready
        variable._state = None


def state_of(variable: Variable) -> VariableState | None:
    """The state of a variable; None: it is ready, or of a class of its own."""
    return variable._state if type(variable) in _without else None


def stored(variable: Variable) -> RawValue:
    """The value in the slot, whatever the state: to compare it with another, not to be used."""
    return _slot.__get__(variable)


def clear(variable: Variable) -> None:
    """Let go of the value."""
    _slot.__delete__(variable)
