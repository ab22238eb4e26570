"""Variables over large files whose hash is compared when one of them is first used.

Owns that first use. The one decision: such a variable is of a class of its own until then, so that
neither reading variables nor running functions becomes slower for those that need no check.
"""

from __future__ import annotations

from typing import Any, cast

from tfx.framework.variable import Variable
from tfx.runtime.values import RawValue

# The descriptor of the slot.
_slot: Any = vars(Variable)["_value"]


class UncheckedVariable(Variable):
    """A variable whose value is in a file that was not compared with the manifest yet.

    It becomes a plain ``Variable`` when its value is read or replaced.
    """

    __slots__ = ()

    @property
    def _value(self) -> RawValue:
        cast(Any, self.origin).check_variable(self)
        self.__class__ = Variable  # type: ignore[assignment]
        return _slot.__get__(self)

    @_value.setter
    def _value(self, value: RawValue) -> None:
        self.__class__ = Variable  # type: ignore[assignment]
        _slot.__set__(self, value)


# What messages call it.
UncheckedVariable.__name__ = UncheckedVariable.__qualname__ = Variable.__name__


def check_first(variable: Variable) -> None:
    """Have the file of a variable checked before its value is used; its origin can do that."""
    variable.__class__ = UncheckedVariable


def value_of(variable: Variable) -> RawValue:
    """The value, to compare it with another; not to be used."""
    return _slot.__get__(variable)
