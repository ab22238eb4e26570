"""Locks that writers of variables hold, from the read that they depend on to the new value.

Owns a few locks which all variables share, so that a step that writes hundreds of variables takes
a few only. Must not know what a variable is: it hands out numbers. Every thread takes locks in the
order of their numbers, so no two can wait for each other.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

_locks = tuple(threading.Lock() for _ in range(32))
_numbers = itertools.count()


def new_number() -> int:
    """The number of a new variable's lock."""
    return next(_numbers) % len(_locks)


def in_order(numbers: Iterable[int]) -> tuple[int, ...]:
    """The locks of several variables as ``writing`` takes them."""
    return tuple(sorted(set(numbers)))


def writing(numbers: Sequence[int]) -> AbstractContextManager[Any]:
    """Hold locks, given in order, inside a ``with`` block."""
    return _locks[numbers[0]] if len(numbers) == 1 else _Several(numbers)


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
