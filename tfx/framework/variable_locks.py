"""Locks that writers of variables hold, from the read that they depend on to the new value.

Owns a few locks which all variables share, so that a step that writes hundreds of variables takes
a few only. Must not know what a variable is: it hands out numbers. Every thread takes locks in the
order of their numbers, so no two can wait for each other. A call in which Python code may assign
any variable takes ``all_locks``: what that code assigns finds them taken by its own thread.

Readers take no lock. Who reads several variables looks at two counters of ``installs``, before and
after; only if a writer was installing several values just then does the reader wait for it, and
reads again. So nobody sees a half of what a call assigned.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

_locks = tuple(threading.Lock() for _ in range(32))
_numbers = itertools.count()


def new_number() -> int:
    """The number of a new variable's lock."""
    return next(_numbers) % len(_locks)


def in_order(numbers: Iterable[int]) -> tuple[int, ...]:
    """The locks of several variables as ``writing`` takes them."""
    return tuple(sorted(set(numbers)))


def all_locks() -> tuple[int, ...]:
    """Return all locks, as ``writing`` takes them."""
    return tuple(range(len(_locks)))


# The thread that holds all locks.
_owner: int | None = None
_NOTHING: AbstractContextManager[Any] = nullcontext()


def writing(numbers: Sequence[int]) -> AbstractContextManager[Any]:
    """Hold locks, given in order, inside a ``with`` block; a thread that has all waits for none."""
    if _owner is not None and _owner == threading.get_ident():
        return _NOTHING
    if len(numbers) == 1:
        return _locks[numbers[0]]
    return _All(numbers) if len(numbers) == len(_locks) else _Several(numbers)


@contextmanager
def writing_if_free(numbers: Sequence[int]) -> Iterator[bool]:
    """Hold locks inside a ``with`` block if nobody, this thread neither, has one of them.

    Yields:
        Whether they are held.
    """
    taken = []
    try:
        for number in numbers:
            if not _locks[number].acquire(blocking=False):
                break
            taken.append(number)
        yield len(taken) == len(numbers)
    finally:
        for number in taken:
            _locks[number].release()


class _Several:
    __slots__ = ("_numbers", "_taken")

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self._taken = 0

    def __enter__(self) -> None:
        try:
            for number in self._numbers:
                _locks[number].acquire()
                self._taken += 1
        except BaseException:  # an interrupt while waiting
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        for number in self._numbers[: self._taken]:
            _locks[number].release()


class _All(_Several):
    __slots__ = ()

    def __enter__(self) -> None:
        global _owner
        super().__enter__()
        _owner = threading.get_ident()

    def __exit__(self, *exception: object) -> None:
        global _owner
        if _owner == threading.get_ident():
            _owner = None
        super().__exit__(*exception)


class SwapCounters:
    """The moments in which several variables get their new values.

    Lock order: the locks of ``writing`` first, then this one, then those of frozen plans.

    Attributes:
        begun: How many installations began.
        done: How many ended.
    """

    __slots__ = ("_lock", "begun", "done")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.begun = 0
        self.done = 0

    def during(self, install: Callable[..., object], *arguments: Any) -> None:
        """Install values; readers wait until that is over.

        Args:
            install: Called with the arguments.
            arguments: What it takes.
        """
        # A signal may raise an exception at any call of this thread, so there is none between the
        # steps that belong together: the lock is taken and given back by ``with`` itself.
        with self._lock:
            self.begun += 1
            try:
                install(*arguments)
            finally:
                self.done += 1

    def paused(self) -> AbstractContextManager[Any]:
        """Nobody installs several values inside the ``with`` block."""
        return self._lock

    def after_fork(self) -> None:
        """End another thread's installation in a forked child, where that thread does not exist."""
        if not _is_free(self._lock):
            self._lock = threading.RLock()
            self.done = self.begun


installs = SwapCounters()


def after_fork() -> None:
    """In a forked child: replace the locks that threads of the parent held.

    Where Python code forks in the middle of a call, its own thread holds all, and goes on.
    """
    global _locks, _owner
    if _owner != threading.get_ident():
        _owner = None
        _locks = tuple(lock if _is_free(lock) else threading.Lock() for lock in _locks)
    installs.after_fork()


def _is_free(lock: Any) -> bool:
    free: bool = lock.acquire(blocking=False)
    if free:
        lock.release()
    return free


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)
