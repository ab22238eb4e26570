"""What is done when a program first makes an object of some kind, and not before.

Must not know the kinds. The decision: a program that makes none pays nothing for what these objects
need, such as operations that look for them among their arguments. An object is there only once all
of it is done: other threads that make one wait.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

# What is still to be done, and of which kinds it is being done now.
_waiting: dict[str, Callable[[], None]] = {}
_going_on: set[str] = set()
# Held while something is done, and by all else that replaces functions.
lock = threading.RLock()


def when_first(kind: str, prepare: Callable[[], None]) -> None:
    """Have something done before the first object of a kind is there.

    Args:
        kind: A name.
        prepare: What to do; done again if it fails.
    """
    _waiting[kind] = prepare


def first(kind: str) -> None:
    """The first object of a kind is made; later ones make no difference."""
    if kind in _waiting:
        _done_once(kind)


def _done_once(kind: str) -> None:
    with lock:
        prepare = _waiting.get(kind)
        if prepare is None or kind in _going_on:  # another thread did it, or this one is at it
            return
        _going_on.add(kind)
        try:
            prepare()
        finally:
            _going_on.discard(kind)
        _waiting.pop(kind, None)


def _after_in_child() -> None:
    """In a forked child: what another thread was at is begun again."""
    global lock
    if lock.acquire(blocking=False):
        lock.release()
    else:
        lock = threading.RLock()
        _going_on.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)
