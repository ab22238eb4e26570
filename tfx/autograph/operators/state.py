"""The symbols that a block changes: reading them, setting them, putting containers back.

A list or dict that a block changes in place is one object with many names. While a branch or body
is traced its contents are replaced, and afterwards they are what the graph makes of them.

What a block does to Python objects alone happens once, while it is traced: a name is appended to a
list of names, a counter counts traces. Symbols of which that seems to be all are *lent* to the
block: they are no values of the graph, and keep what the block made of them. When a tensor of the
block turns up in one, everything is put back, and the block is traced again with that symbol as a
value of the graph.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfx.autograph.operators.leaves import is_composite
from tfx.autograph.operators.staging import where
from tfx.autograph.operators.symbols import UNDEFINED
from tfx.control_flow.tensor_array import TensorArray
from tfx.core import nest
from tfx.core.nest_kinds import kind_of
from tfx.framework.context import current
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable


class NotLentError(Exception):
    """A symbol that was lent to a block holds a tensor of it: see ``State.take_back``."""


class _Lent:
    """Stands for the value of a symbol that is Python's own business."""

    def __repr__(self) -> str:
        return "a Python object"


class _Active(threading.local):
    def __init__(self) -> None:
        self.states: list[State] = []


_active = _Active()


class State:
    """The values of a statement's symbols.

    Args:
        getter: Reads them.
        setter: Sets them.
        symbols: Their names.
        changed: Those whose object the block only changes in place: lent if that is a list or dict.
        hidden: Those that only nested functions assign: lent if they hold no tensor.
        repeats: Whether it is a loop.

    Attributes:
        before: The values at the start, as objects.
    """

    def __init__(
        self,
        getter: Callable[[], tuple[Any, ...]],
        setter: Callable[[Sequence[Any]], None],
        symbols: tuple[str, ...],
        changed: tuple[str, ...] = (),
        hidden: tuple[str, ...] = (),
        repeats: bool = False,
    ) -> None:
        self._repeats = repeats
        self.getter = getter
        self._setter = setter
        self.symbols = symbols
        # The objects that hold the values now, and copies of what they hold.
        self.before, self._copies = self.snapshot()
        self._lent = {
            i: _Lent()
            for i, (symbol, value) in enumerate(zip(symbols, self.before, strict=True))
            if (symbol in changed and is_container(value) and not _is_carried(value))
            or (symbol in hidden and not _holds_tensors(value))
        }
        self._graph = current().graph

    def read(self) -> list[Any]:
        """Copies of the values as they are now.

        Raises:
            NotLentError: a symbol that was lent holds a tensor of the block.
        """
        if self.leaking():
            raise NotLentError
        lent = self._lent
        return [lent[i] if i in lent else copied(v) for i, v in enumerate(self.getter())]

    # Symbols that are lent

    def leaking(self) -> list[int]:
        """Return the numbers of lent symbols that hold tensors of the block."""
        if not self._lent:
            return []
        now = self.getter()
        return [i for i in self._lent if self._leaks(i, now[i])]

    def _leaks(self, number: int, value: Any) -> bool:
        """True if a symbol holds a tensor of the block, or a loop took tensors from a list."""
        old = list(_leaves(self._copies[number]))
        known = {id(leaf) for leaf in old}
        new = [leaf for leaf in _leaves(value) if id(leaf) not in known]
        if any(self._is_inside(leaf) for leaf in new):
            return True
        before = self._copies[number]
        if not self._repeats or not isinstance(before, list) or new or len(value) >= len(before):
            return False
        return all(isinstance(x, Tensor) for x in before) and _alike(before)

    def _is_inside(self, leaf: Any) -> bool:
        """True if a leaf was made by the block."""
        if is_graph_list(leaf) or isinstance(leaf, TensorArray):
            return True
        if not isinstance(leaf, SymbolicTensor):
            return False
        graph: Any = self._graph
        while graph is not None and graph is not leaf._graph:
            graph = graph.parent if getattr(graph, "is_body", False) else None
        return graph is None

    def take_back(self, numbers: Sequence[int]) -> None:
        """Put everything back, and make symbols that were lent values of the graph."""
        self.rewind()
        for number in numbers:
            del self._lent[number]

    def holds(self, container: Any) -> bool:
        """True if a container is, or is part of, a value of the graph."""
        return any(
            part is container
            for i, value in enumerate(self.before)
            if i not in self._lent
            for part in _containers(value)
        )

    # Setting

    def snapshot(self) -> tuple[list[Any], list[Any]]:
        """The values as they are now, for ``reset``."""
        before = list(self.getter())
        return before, [copied(v) for v in before]

    def reset(self, snapshot: tuple[list[Any], list[Any]]) -> None:
        """Take these values for those at the start."""
        self.before, self._copies = snapshot

    def restore(self) -> None:
        """The values as they were at the start; what was lent stays."""
        lent = self._lent
        self.write([lent.get(i, v) for i, v in enumerate(self._copies)])

    def rewind(self) -> None:
        """The values as they were at the start, also of what was lent."""
        self.write(self._copies)

    def write(self, values: Sequence[Any]) -> None:
        """Set the symbols; a container that was there at the start gets new contents.

        Args:
            values: One value for each symbol.
        """
        found = self.getter() if self._lent else ()
        now = [
            found[i]
            if isinstance(new, _Lent)
            else filled(old, new)
            if is_container(old) and type(old) is type(new)
            else copied(new)
            for i, (old, new) in enumerate(zip(self.before, values, strict=True))
        ]
        self._setter(now)

    def finish(self, values: Sequence[Any]) -> None:
        """Set the symbols to what they are after the statement.

        Raises:
            TypeError: a list became one of the graph, and has another name.
        """
        self.write(values)
        if not _active.states:
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
    """Return the reference count of an object that only a list holds."""
    holder = [[]]  # type: ignore[var-annotated]
    return sys.getrefcount(holder[0])


_ALONE = _references()


@contextmanager
def tracing(state: State | None) -> Iterator[None]:
    """Mark a block as being traced.

    Args:
        state: The symbols of its statement; None for an expression.
    """
    if state is None:
        yield
        return
    _active.states.append(state)
    try:
        yield
    finally:
        _active.states.pop()


def _is_carried(container: Any) -> bool:
    """True if a container is part of a value of the graph in a statement around."""
    return any(state.holds(container) for state in _active.states)


def is_graph_list(value: Any) -> bool:
    """True if a value is a list of the graph."""
    return getattr(type(value), "changes_in_place", False)


def _leaves(value: Any) -> Iterator[Any]:
    """The leaves of a structure, among them tensor arrays and lists of the graph."""
    if is_composite(value):
        yield from nest.flatten(value, expand_composites=True)
        return
    if not nest.is_nested(value) or isinstance(value, TensorArray) or is_graph_list(value):
        yield value
        return
    kind = kind_of(value)
    assert kind is not None
    for part in kind.values(value):
        yield from _leaves(part)


def _containers(value: Any) -> Iterator[Any]:
    """The lists and dicts in a structure, itself included."""
    if is_container(value):
        yield value
    if isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _containers(part)


def _holds_tensors(value: Any) -> bool:
    kinds = (Tensor, Variable, TensorArray)
    return any(isinstance(x, kinds) or is_graph_list(x) for x in _leaves(value))


def _alike(tensors: Sequence[Tensor]) -> bool:
    """True if tensors can be elements of one list of the graph, and nothing is lost."""
    first = tensors[0]
    return all(
        t.dtype is first.dtype and t.shape.as_list() == first.shape.as_list()
        if t.shape.rank is not None and first.shape.rank is not None
        else t.dtype is first.dtype
        for t in tensors
    )


def is_container(value: Any) -> bool:
    """True if a value can be changed in place."""
    return isinstance(value, list | dict)


def copied(value: Any) -> Any:
    """A structure with new lists and dicts and the same leaves."""
    if not nest.is_nested(value) or isinstance(value, TensorArray):
        return value
    kind = kind_of(value)
    assert kind is not None
    return kind.build(value, [copied(v) for v in kind.values(value)])


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
    """True if a symbol was made by the conversion."""
    return symbol.startswith("ag_")


def spoken(symbol: str) -> str:
    """A symbol for messages."""
    names = {"ag_return_value": "the return value", "ag_returned": "the return value"}
    return names.get(symbol, repr(symbol))


__all__ = [
    "UNDEFINED",
    "NotLentError",
    "State",
    "copied",
    "is_container",
    "is_synthetic",
    "spoken",
    "tracing",
]
