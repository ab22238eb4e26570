"""The traces of one function, by key: bounded, and without a hold on what the keys name.

Owns which traces live. A trace goes when an object dies that its key knows by identity, when a
variable dies that it uses, or when there are too many, the least recently used one first. Its
sessions go with it, unless the program has the concrete function. Must not know how a key is made
nor how a trace is.

Calls that take the short cut (``served``) leave no mark. While the cache is full, the short cut is
emptied whenever a trace comes, so that what is in use passes here again and is marked: the order of
use is exact enough without any cost to a call.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

from tfx.framework.variable import Variable
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.tracing import settings
from tfx.runtime.fork_safe_locks import fork_safe

_FAST_LIMIT = 1024
_clock = itertools.count(1)
_every_cache: weakref.WeakSet[TraceCache] = weakref.WeakSet()
_every_cache_lock = fork_safe(threading.Lock())


def forget_traces(variables: Iterable[Variable]) -> int:
    """Drop every trace that uses one of some variables: what a read of them means has changed.

    Concrete functions that the program holds stay as they are.

    Returns:
        How many traces were dropped.
    """
    changed = {id(v) for v in variables}
    with _every_cache_lock:
        caches = list(_every_cache)
    return sum(cache.forget(changed) for cache in caches)


class Entry:
    """One trace in a cache.

    Attributes:
        concrete: The trace.
        pattern: Its key without names of specs, which other keys are compared with.
        number: Which trace of the function it is, counted from 1.
        used: When it was last found.
        reused: Whether it served a call after the one that it was made for.
    """

    __slots__ = ("_guards", "concrete", "keys", "number", "pattern", "reused", "used")

    def __init__(self, concrete: ConcreteFunction, key: Any, pattern: Any, number: int) -> None:
        self.concrete = concrete
        self.pattern = pattern
        self.number = number
        self.keys = [key]
        self.used = next(_clock)
        self.reused = False
        self._guards: list[weakref.ref[Any]] = []

    def guard(self, targets: Iterable[Any], gone: Callable[[Any], None]) -> None:
        """Call ``gone`` when one of the objects is freed."""
        self._guards += [weakref.ref(target, gone) for target in targets]


class TraceCache:
    """The traces of one function.

    Attributes:
        served: Short cut: a key that ``key_functions`` makes -> the trace.
    """

    # Of the class: variables also die while Python ends and a module's names are gone already.
    _MAX_GONE = 64

    def __init__(self) -> None:
        self.served: dict[Any, ConcreteFunction] = {}
        self._by_key: dict[Any, Entry] = {}
        self._live: dict[int, Entry] = {}
        # Keys of traces whose variables died -> names of those.
        self._gone: dict[Any, str] = {}
        with _every_cache_lock:
            _every_cache.add(self)

    def __len__(self) -> int:
        return len(self._live)

    def entries(self) -> list[Entry]:
        """The living traces, oldest first."""
        return list(self._live.values())

    def find(self, key: Any) -> Entry | None:
        """The trace for exactly this key."""
        entry = self._by_key.get(key)
        if entry is not None:
            entry.used = next(_clock)
        return entry

    def lost_variable(self, key: Any) -> str | None:
        """The name of a variable whose death ended the trace for this key."""
        return self._gone.get(key)

    def insert(
        self,
        key: Any,
        pattern: Any,
        concrete: ConcreteFunction,
        number: int,
        owners: Iterable[Any],
        *,
        pinned: bool = False,
    ) -> Entry:
        """Add a trace in place of the one that the key had; make room for it.

        Args:
            key: Its key.
            pattern: Its key without names of specs.
            concrete: The trace.
            number: Which trace of the function it is.
            owners: Objects that the key knows by identity.
            pinned: Leave other traces alone, however many there are.
        """
        old = self._by_key.get(key)
        if old is not None:
            self._drop(old)
        limit = settings.function_trace_limit()
        if limit is not None and not pinned:
            while len(self._live) >= limit:
                self._drop(min(self.entries(), key=lambda entry: entry.used))
        if limit is not None and len(self._live) + 1 >= limit:
            self.served.clear()
        variables = concrete.variables  # all of them alive to the end of this
        entry = Entry(concrete, key, pattern, number)
        self._gone.pop(key, None)
        self._live[number] = entry
        self._by_key[key] = entry
        me = weakref.ref(self)
        entry.guard(owners, partial(_owner_gone, me, number))
        for variable in variables:
            entry.guard((variable,), partial(_variable_gone, me, number, variable.name))
        return entry

    def holds(self, concrete: ConcreteFunction) -> bool:
        """True if a trace is one of these, and so goes with the objects that it was made for."""
        return any(entry.concrete is concrete for entry in self.entries())

    def alias(self, key: Any, entry: Entry) -> None:
        """Make a more general trace available under another key, too."""
        if len(entry.keys) >= _FAST_LIMIT:
            for old in entry.keys[1:]:
                self._by_key.pop(old, None)
            del entry.keys[1:]
        entry.keys.append(key)
        self._by_key[key] = entry

    def serve(self, key: Any, concrete: ConcreteFunction) -> None:
        """Remember a trace for the short cut."""
        if len(self.served) >= _FAST_LIMIT:
            self.served.clear()
        self.served[key] = concrete

    def forget(self, variables: Collection[int]) -> int:
        """Drop the traces that use a variable, given by ``id``; return how many those were."""
        stale = [
            entry
            for entry in self.entries()
            if any(id(s.ref()) in variables for s in entry.concrete.graph.states.values())
        ]
        for entry in stale:
            self._drop(entry)
        return len(stale)

    def _drop(self, entry: Entry) -> None:
        """Forget a trace; may run at any moment, when an object is collected."""
        self._live.pop(entry.number, None)
        for key in list(entry.keys):
            if self._by_key.get(key) is entry:
                self._by_key.pop(key, None)
        self.served.clear()


def _owner_gone(cache: weakref.ref[TraceCache], number: int, _: object) -> None:
    me = cache()
    entry = None if me is None else me._live.get(number)
    if me is not None and entry is not None:
        me._drop(entry)


def _variable_gone(cache: weakref.ref[TraceCache], number: int, name: str, _: object) -> None:
    me = cache()
    entry = None if me is None else me._live.get(number)
    if me is not None and entry is not None:
        if len(me._gone) >= me._MAX_GONE:
            me._gone.clear()
        for key in entry.keys:
            me._gone[key] = name
        me._drop(entry)
