"""Room on Python's stack for functions that call functions that call functions.

Owns the recursion limit while a function is traced and first run: each level of nesting takes about
a dozen frames of tfx's own, and the user's program should not have to pay for them.
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from tfx.runtime.fork_safe_locks import fork_safe

_FRAMES = 8000  # Python's own frames take no room on the stack of C

_lock = fork_safe(threading.Lock())
_inside = 0
_before = 0


class RecursionRoom:
    """A block with a recursion limit of at least 8,000 frames; blocks of all threads share it."""

    def __enter__(self) -> None:
        global _inside, _before
        with _lock:
            if _inside == 0:
                _before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(_before, _FRAMES))
            _inside += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _inside
        with _lock:
            _inside -= 1
            if _inside == 0 and sys.getrecursionlimit() == max(_before, _FRAMES):
                sys.setrecursionlimit(_before)  # unless the program set another one


def too_deep(name: str) -> RecursionError:
    """The error for a trace that reached the end of Python's stack all the same."""
    return RecursionError(
        f"Tracing function {name!r} reached Python's recursion limit of {sys.getrecursionlimit()} "
        "frames. A traced function that calls itself must end on a Python value: while it is "
        "traced, a condition on a tensor is not known. If functions are only nested deeply (each "
        "takes about a dozen frames), raise the limit with sys.setrecursionlimit."
    )
