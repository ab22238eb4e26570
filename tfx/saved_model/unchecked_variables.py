"""Variables over large files whose hash is compared when one of them is first used."""

from __future__ import annotations

from typing import Any, cast

from tfx.framework.variable import Variable
from tfx.framework.variable_state import VariableState, set_ready, set_state, stored
from tfx.runtime.values import RawValue


class Unchecked(VariableState):
    """A variable whose value is in a file that was not compared with the manifest yet.

    It is ready once its value is read or replaced.
    """

    __slots__ = ()

    def read(self, variable: Variable) -> RawValue:
        """The value, if the file is what the manifest says."""
        cast(Any, variable.origin).check_variable(variable)
        set_ready(variable)
        return stored(variable)

    def write(self, variable: Variable, value: RawValue) -> None:
        """Store a new value without checking the old one, which is replaced."""
        set_ready(variable)
        super().write(variable, value)


_unchecked = Unchecked()


def check_first(variable: Variable) -> None:
    """Check a variable's file before its value is used; its origin can do that."""
    set_state(variable, _unchecked)
