"""The symbols that a block changes: reading them, setting them, putting containers back.

A list or dict that a block changes in place is one object with many names. While a branch or body
is traced its contents are replaced, and afterwards they are what the graph makes of them.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tfx.autograph.operators.staging import where
from tfx.autograph.operators.symbols import UNDEFINED
from tfx.autograph.operators.watching import is_graph_list, is_watched, made
from tfx.control_flow.tensor_array import TensorArray
from tfx.core import nest
from tfx.core.nest_kinds import kind_of


class State:
    """What the symbols of a statement are.

    Args:
        getter: Reads them.
        setter: Sets them.
        symbols: Their names.

    Attributes:
        before: The values at the start, as objects.
    """

    def __init__(
        self,
        getter: Callable[[], tuple[Any, ...]],
        setter: Callable[[Sequence[Any]], None],
        symbols: tuple[str, ...],
    ) -> None:
        self.getter = getter
        self._setter = setter
        self.symbols = symbols
        # The objects that hold the values now, and copies of what they hold.
        self.before, self._copies = self.snapshot()

    def read(self) -> list[Any]:
        """Copies of the values as they are now."""
        return [copied(v) for v in self.getter()]

    def snapshot(self) -> tuple[list[Any], list[Any]]:
        """The values as they are now, for ``reset``."""
        before = list(self.getter())
        return before, [copied(v) for v in before]

    def reset(self, snapshot: tuple[list[Any], list[Any]]) -> None:
        """Take these values for those at the start."""
        self.before, self._copies = snapshot

    def restore(self) -> None:
        """The values as they were at the start."""
        self.write(self._copies)

    def write(self, values: Sequence[Any]) -> None:
        """Set the symbols; a container that was there at the start gets new contents.

        Args:
            values: One value for each symbol.
        """
        now = [
            filled(old, new) if is_container(old) and type(old) is type(new) else copied(new)
            for old, new in zip(self.before, values, strict=True)
        ]
        self._setter(now)

    def finish(self, values: Sequence[Any]) -> None:
        """Set the symbols to what they are after the statement.

        Raises:
            TypeError: a list became one of the graph, and has another name.
        """
        self.write(values)
        if not is_watched():
            for i, value in enumerate(values):
                if is_graph_list(value) and isinstance(self.before[i], list):
                    self._check_alone(i)

    def _check_alone(self, number: int) -> None:
        """A list became one of the graph: another name for it would still mean the old one.

        Raises:
            TypeError: there is another one.
        """
        if sys.getrefcount(self.before[number]) <= _ALONE:
            return
        gc.collect()  # what is held only by cycles of garbage counts as alone
        if sys.getrefcount(self.before[number]) > _ALONE:
            raise TypeError(
                f"{spoken(self.symbols[number])} is a list that gets longer or shorter in a loop "
                f"or branch of the graph [{where()}], and something else refers to it, too: an "
                "argument, an attribute, another name or the caller. That would not see the "
                "change. Copy it first, as in list(...), and return or assign the new one."
            )


def _references() -> int:
    """How many references are seen to an object that only a list holds."""
    holder = [[]]  # type: ignore[var-annotated]
    return sys.getrefcount(holder[0])


_ALONE = _references()


def is_container(value: Any) -> bool:
    """Whether a value can be changed in place."""
    return isinstance(value, list | dict)


def copied(value: Any) -> Any:
    """A structure with new lists and dicts and the same leaves."""
    if not nest.is_nested(value) or isinstance(value, TensorArray):
        return value
    kind = kind_of(value)
    assert kind is not None
    return made(kind.build(value, [copied(v) for v in kind.values(value)]))


def filled(container: Any, contents: Any) -> Any:
    """The same list or dict with the given contents."""
    if isinstance(container, list):
        old = list(container)
        container[:] = [
            filled(old[i], new)
            if i < len(old) and is_container(old[i]) and type(old[i]) is type(new)
            else copied(new)
            for i, new in enumerate(contents)
        ]
        return container
    for key in [k for k in container if k not in contents]:
        del container[key]
    for key, new in contents.items():
        old = container.get(key)
        keep = is_container(old) and type(old) is type(new)
        container[key] = filled(old, new) if keep else copied(new)
    return container


def is_synthetic(symbol: str) -> bool:
    """Whether a symbol was made by the conversion."""
    return symbol.startswith("ag_")


def spoken(symbol: str) -> str:
    """A symbol for messages."""
    names = {"ag_return_value": "the return value", "ag_returned": "the return value"}
    return names.get(symbol, repr(symbol))


__all__ = ["UNDEFINED", "State", "copied", "is_container", "is_synthetic", "spoken"]
