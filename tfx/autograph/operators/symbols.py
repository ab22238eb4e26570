"""The state of a block: the values of its symbols, some of which may not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final


class Undefined:
    """The type of ``UNDEFINED``, which stands for a symbol without a value."""

    def __repr__(self) -> str:
        return "undefined"

    def __deepcopy__(self, memo: object) -> Undefined:
        return self


UNDEFINED: Final = Undefined()


def read(symbol: Callable[[], Any]) -> Any:
    """The value of a symbol, ``UNDEFINED`` if it has none."""
    try:
        return symbol()
    except (NameError, AttributeError):
        return UNDEFINED


def is_defined(value: Any) -> bool:
    """True if a value read by ``read`` is one."""
    return value is not UNDEFINED


def as_unbound_local(error: NameError) -> NameError:
    """The exception for a name that has no value, as the code raised it before its conversion.

    Inside a block, which is a function now, a local name of the function around is a free one.
    """
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or type(error) is not NameError or "free variable" not in str(error):
        return error
    code = place.tb_frame.f_code
    if (
        not code.co_qualname.split(".")[-1].startswith("ag_")
        and "ag_later" not in code.co_varnames[:1]
    ):
        return error
    message = f"cannot access local variable {error.name!r} where it is not associated with a value"
    return UnboundLocalError(message, name=error.name).with_traceback(error.__traceback__)
