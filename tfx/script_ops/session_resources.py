"""Resources that Python keeps: one for each session that uses them, and one outside of sessions.

Must not know sessions. The decision: what a graph's operations keep between runs belongs to the
session that runs them, as variables do, so that a second session of a graph begins anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

_T = TypeVar("_T")
# What to call when a session is closed.
_endings: WeakKeyDictionary[Any, list[Callable[[], None]]] = WeakKeyDictionary()
_session: ContextVar[Any] = ContextVar("tfx_running_session", default=None)


@contextmanager
def running_in(session: Any) -> Iterator[None]:
    """Let what runs inside the ``with`` block use the resources of a session."""
    token = _session.set(session)
    try:
        yield
    finally:
        _session.reset(token)


def end_resources(session: Any) -> None:
    """Tell the resources of a session that it is closed."""
    for end in _endings.pop(session, []):
        end()


class PerSession(Generic[_T]):
    """A resource of which each session has its own.

    Args:
        make: Makes it, when a session uses it first.
        end: Called with it when the session is closed.
    """

    def __init__(self, make: Callable[[], _T], end: Callable[[_T], None] | None = None) -> None:
        self._make = make
        self._end = end
        self._lock = threading.Lock()
        self._outside: list[_T] = []
        self._inside: WeakKeyDictionary[Any, _T] = WeakKeyDictionary()

    def get(self) -> _T:
        """That of the session that runs here; outside of sessions one for all."""
        session = _session.get()
        with self._lock:
            if session is None:
                if not self._outside:
                    self._outside.append(self._make())
                return self._outside[0]
            if session not in self._inside:
                made = self._inside[session] = self._make()
                if self._end is not None:
                    _endings.setdefault(session, []).append(partial(self._end, made))
            return self._inside[session]
