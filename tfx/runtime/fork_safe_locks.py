"""Locks that a forked child can take, even where a thread of the parent held them.

A child has none of its parent's other threads, so what they had locked would stay locked forever.
What such a lock guards here is consistent at every moment: caches that are filled by one step.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, TypeVar

_Lock = TypeVar("_Lock")

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def fork_safe(lock: _Lock) -> _Lock:
    """The lock, which will be open in a forked child unless the thread that forks holds it.

    Args:
        lock: What ``threading.Lock`` or ``threading.RLock`` made.
    """
    _locks.add(lock)
    return lock


def _after_in_child() -> None:
    for lock in list(_locks):
        if lock.acquire(blocking=False):
            lock.release()
        else:
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)
