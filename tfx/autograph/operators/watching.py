"""Hidden side effects: what is changed while a branch or loop body is traced, and nobody carries.

A body is traced once and runs any number of times. What its statement knows to change (its symbols)
goes through the graph. Another change of an object that was there before would happen once, while
tracing: it is refused. Objects made in the body are free to change.

Whether an object was made in the body is told by the references to it: what a call returns, and
nobody else refers to, is new.
"""

from __future__ import annotations

import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tfx.autograph.operators.staging import same_python, where
from tfx.core import nest
from tfx.core.errors import LeakedTensorError
from tfx.core.source import user_frame
from tfx.framework.context import current
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable

if TYPE_CHECKING:
    from tfx.autograph.operators.state import State

CONTAINERS = (list, dict, set, deque, bytearray, np.ndarray)
# Methods of builtin containers that change them.
_CHANGING = frozenset(
    (
        *("append", "appendleft", "add", "clear", "difference_update", "discard", "extend"),
        *("extendleft", "fill", "insert", "intersection_update", "move_to_end", "pop", "popitem"),
        *("popleft", "put", "remove", "resize", "reverse", "rotate", "setdefault", "sort"),
        *("subtract", "symmetric_difference_update", "update", "__setitem__", "__delitem__"),
    )
)
_GROWING = frozenset(("append", "appendleft", "add", "extend", "extendleft", "insert", "update"))


def is_graph_list(value: Any) -> bool:
    """Whether a value is a list of the graph."""
    return getattr(type(value), "changes_in_place", False)


class Watch:
    """A block being traced.

    Args:
        graph: Its graph.
        what: The statement, for messages.
        state: Its symbols; None for an expression.
    """

    def __init__(self, graph: Any, what: str, state: State | None) -> None:
        self.graph = graph
        self.what = what
        self.place = where()
        # What the statement carries, and objects that must live as long as their ids count.
        self._carried: set[Hashable] = set()
        self._new: dict[int, Any] = {}
        self._built: set[int] = set()
        if state is not None:
            for symbol in state.symbols:
                self._carry(state.getter, symbol)
            for value in state.getter():
                self._carry_contents(value)

    def _carry(self, getter: Callable[[], Any], symbol: str) -> None:
        first, *path = symbol.split(".")
        code, cells = getter.__code__, getter.__closure__ or ()
        if first in code.co_freevars:
            cell = cells[code.co_freevars.index(first)]
            if not path:
                self._carried.add(("cell", id(cell)))
                return
            try:
                base = cell.cell_contents
            except ValueError:
                return
        else:
            if not path:
                self._carried.add(("global", id(getter.__globals__), first))
                return
            base = getter.__globals__.get(first)
        for name in path[:-1]:
            base = _peek(base, name)
        self._carried.add(("attribute", id(base), path[-1]))

    def _carry_contents(self, value: Any) -> None:
        if isinstance(value, list | dict) or is_graph_list(value):
            self._carried.add(("contents", id(value)))
        if nest.is_nested(value) and isinstance(value, list | tuple | dict):
            for part in value.values() if isinstance(value, dict) else value:
                self._carry_contents(part)

    def carries(self, key: Hashable, owner: Any) -> bool:
        """Whether a change is the statement's business, or that of an object made in it."""
        return key in self._carried or id(owner) in self._new

    def made(self, value: Any) -> None:
        """Record an object made in the block."""
        self._new[id(value)] = value

    def is_built(self, owner: Any) -> bool:
        """Whether the object got a variable in the block: it is being built."""
        return id(owner) in self._built

    def builds(self, owner: Any) -> None:
        """See ``is_built``."""
        self._built.add(id(owner))
        self._new.setdefault(-id(owner), owner)


class _Active(threading.local):
    def __init__(self) -> None:
        self.watches: list[Watch] = []


_active = _Active()


@contextmanager
def watching(what: str, state: State | None = None) -> Iterator[None]:
    """Watch what happens while a block is traced into the current graph.

    Args:
        what: The statement, for messages.
        state: Its symbols; None for an expression.
    """
    watches = _active.watches
    watches.append(Watch(current().graph, what, state))
    try:
        yield
    finally:
        watches.pop()


def watches() -> list[Watch]:
    """The blocks that are being traced now, the outermost first."""
    found = _active.watches
    if not found:
        return found
    # Another function may be traced inside of a block: what it does is its own business.
    graph, inside = current().graph, set()
    while graph is not None:
        inside.add(id(graph))
        graph = graph.parent if getattr(graph, "is_body", False) else None
    return [w for w in found if id(w.graph) in inside]


# What converted code calls


def set_attr(value: Any, owner: Any, name: str) -> None:
    """``owner.name = value``."""
    if _active.watches:
        _check_attribute(value, owner, name)
    setattr(owner, name, value)


_MISSING = object()


def _check_attribute(value: Any, owner: Any, name: str) -> None:
    old = _MISSING
    for watch in watches():
        if watch.carries(("attribute", id(owner), name), owner):
            continue
        if old is _MISSING:
            old = _peek(owner, name)
        if same_python(old, value):
            return
        if _holds_variables(value):
            watch.builds(owner)
            continue
        if watch.is_built(owner) and not _holds_tensors(value):
            continue
        text = f"attribute {name!r} of {_named(owner)}"
        refuse(watch, text, old, value, "set the attribute there")


def _peek(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except Exception:
        return _MISSING


def storing(owner: Callable[[], Any], name: str | None) -> None:
    """A store that is about to happen: to an attribute, or (``name`` is None) to an item."""
    if not _active.watches:
        return
    try:
        found = owner()
    except Exception:
        return  # the statement itself will say it
    if name is None:
        check_contents(found, "an item is set or deleted")
        return
    for watch in watches():
        if not watch.carries(("attribute", id(found), name), found):
            text = f"attribute {name!r} of {_named(found)}"
            refuse(watch, text, _peek(found, name), _MISSING, "assign it there")


def rebinding(value: Any, read: Callable[[], Any], name: str) -> Any:
    """``name = value`` where the name is declared global or nonlocal; returns the value."""
    if not _active.watches:
        return value
    if read.__closure__:
        key: Hashable = ("cell", id(read.__closure__[0]))
        owner: Any = read.__closure__[0]
    else:
        key, owner = ("global", id(read.__globals__), name), read.__globals__
    for watch in watches():
        if watch.carries(key, owner):
            continue
        try:
            old = read()
        except NameError:
            old = _MISSING
        if same_python(old, value):
            return value
        kind = "nonlocal" if read.__closure__ else "global"
        refuse(watch, f"the {kind} {name!r}", old, value, f"assign it to {name!r} there")
    return value


def is_watched() -> bool:
    """Whether a block is being traced."""
    return bool(_active.watches)


def own_cells(read: Callable[[], Any]) -> None:
    """Names of a function that has just begun, which functions in it will rebind."""
    if _active.watches:
        for watch in watches():
            for cell in read.__closure__ or ():
                watch.made(cell)


def made(value: Any) -> Any:
    """A list, dict or set made where it stands; returns it."""
    if _active.watches:
        for watch in watches():
            watch.made(value)
    return value


def extending(value: Any) -> None:
    """``value`` is about to get an augmented assignment, which may change it in place."""
    if _active.watches and isinstance(value, CONTAINERS):
        check_contents(value, "it is extended in place")


def check_contents(container: Any, what: str, *, grows: bool = False) -> None:
    """Refuse to change a container that was there before the block, and is not carried by it.

    Raises:
        TypeError: it is such a container.
    """
    if not _active.watches or isinstance(container, Tensor | Variable):
        return
    for watch in watches():
        if watch.carries(("contents", id(container)), container):
            continue
        if not (isinstance(container, CONTAINERS) or is_graph_list(container)):
            continue  # what its own methods do is watched there
        way = (
            "append it to a list there, or write it to a tf.TensorArray"
            if grows
            else "store it there in a list or dict that keeps its keys"
        )
        text = f"{_named(container)} ({what})"
        refuse(watch, text, _MISSING, _MISSING, way)


def called(callee: Any) -> Any:
    """What to call in place of something that is not converted, while a block is traced."""
    if not _active.watches:
        return callee
    owner = getattr(callee, "__self__", None)
    name = getattr(callee, "__name__", "")
    if (
        type(callee) in (types.BuiltinFunctionType, types.MethodWrapperType)
        and isinstance(owner, CONTAINERS)
        and name in _CHANGING
    ):
        return lambda *args, **kwargs: _changed(callee, owner, name, args, kwargs)
    if callee is setattr or callee is delattr:
        return _set if callee is setattr else _delete
    return lambda *args, **kwargs: _recorded(callee, callee(*args, **kwargs))


def _set(owner: Any, name: str, value: Any, /) -> None:
    set_attr(value, owner, name)


def _delete(owner: Any, name: str, /) -> None:
    storing(lambda: owner, name)
    delattr(owner, name)


def _changed(callee: Any, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
    check_contents(owner, f".{name}() is called", grows=name in _GROWING)
    return callee(*args, **kwargs)


# Ownership


def _recorded(callee: Any, result: Any) -> Any:
    if not isinstance(result, _FIXED):
        fresh = isinstance(callee, type) and type(result) is callee
        if sys.getrefcount(result) <= _COUNTED[0] or (fresh and _always_new(callee)):
            _own(result)
    return result


_FIXED = (Tensor, Variable, str, bytes, int, float, complex, type(None), type, types.FunctionType)


def _always_new(cls: type) -> bool:
    """Whether calling a class makes an object each time."""
    plain: Any = object.__new__
    return cls.__new__ is plain or cls.__module__ in ("builtins", "collections")


def _own(value: Any) -> None:
    """Record an object, and those that only it refers to."""
    for watch in watches():
        watch.made(value)
    held = getattr(value, "__dict__", None)
    parts = list(held.values()) if isinstance(held, dict) else []
    del held
    if isinstance(value, dict):
        parts += value.values()
    elif isinstance(value, list | tuple | deque):
        parts += value
    while parts:
        _own_part(parts.pop())


def _own_part(part: Any) -> None:
    mutable = isinstance(part, CONTAINERS) or hasattr(part, "__dict__") or isinstance(part, tuple)
    if mutable and not isinstance(part, _FIXED) and sys.getrefcount(part) <= _COUNTED[1]:
        _own(part)


def _calibrate() -> list[int]:
    """The reference counts that objects have where ``_recorded`` and ``_own_part`` look."""
    seen = [0, 0]

    def recorded(callee: Any, result: Any) -> Any:
        if not isinstance(result, _FIXED):
            seen[0] = sys.getrefcount(result)
        return result

    def part_of(part: Any) -> None:
        seen[1] = sys.getrefcount(part)

    (lambda *args: recorded(list, list(*args)))()
    held = [[]]  # type: ignore[var-annotated]
    parts = list(held)
    while parts:
        part_of(parts.pop())
    return seen


_COUNTED = _calibrate()


# Messages


def _holds_variables(value: Any) -> bool:
    leaves = nest.flatten(value) if nest.is_nested(value) else [value]
    return bool(leaves) and all(isinstance(x, Variable) for x in leaves)


def _holds_tensors(value: Any) -> bool:
    leaves = nest.flatten(value) if nest.is_nested(value) else [value]
    return any(isinstance(x, SymbolicTensor) for x in leaves)


def _named(owner: Any) -> str:
    if isinstance(owner, type | types.ModuleType):
        return f"{type(owner).__name__} {owner.__name__!r}"
    name = type(owner).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _spelled(value: Any) -> str:
    if value is _MISSING:
        return "undefined"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def refuse(watch: Watch, what: str, old: Any, new: Any, way: str) -> None:
    """Raise the error for a change that would be lost.

    Raises:
        LeakedTensorError: a tensor of the block would be kept.
        TypeError: a value of Python would change once, while tracing.
    """
    change = "" if old is new is _MISSING else f" from {_spelled(old)} to {_spelled(new)}"
    message = (
        f"{what} is changed{change} [{user_frame().text()}] inside of the {watch.what} on a tensor "
        f"[{watch.place}], which does not know of it: the change would happen once, while the "
        f"function is traced, and not when the {watch.what} runs. Return the new value to the "
        f"function of the {watch.what} and {way}; or keep it in a tf.Variable."
    )
    if new is not _MISSING and _holds_tensors(new):
        raise LeakedTensorError(message)
    raise TypeError(message)
