"""System errors for exhausted space: a full disk, a quota, a limit of the process.

Owns which error numbers these are. A write to an open file fails without the file's name, so
``writing`` puts it there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tfx.core.errors import OpError, ResourceExhaustedError

# EFBIG: a file beyond the limit of the process or of the file system.
FULL = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "ENFILE", "EMFILE")
    if hasattr(errno, name)
)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the written file's name to the system's errors in a ``with`` block.

    Args:
        path: The file.

    Raises:
        ResourceExhaustedError: there is no room for it, or the process may not use more.
        OSError: anything else, with the file's name.

    Example:
        >>> import errno
        >>> with writing("table.csv"):
        ...     raise OSError(errno.EFBIG, "File too large")
        Traceback (most recent call last):
        ...
        tfx.core.errors.ResourceExhaustedError: table.csv: File too large; make room, raise the ...
    """
    try:
        yield
    except OpError:
        raise
    except OSError as error:
        if error.errno in FULL:
            raise ResourceExhaustedError(no_room(path, error)) from error
        if error.filename is None and error.errno is not None:
            error.filename = os.fspath(path)
        raise


def no_room(path: str | os.PathLike[str], error: OSError) -> str:
    """The message for an error of ``FULL``.

    Args:
        path: What was to be written; empty if nobody knows.
        error: What the system said.
    """
    where = f"{os.fspath(path)}: " if path else ""
    reason = error.strerror or str(error)
    return f"{where}{reason}; make room, raise the process's limit, or write elsewhere"


@contextmanager
def starting_threads() -> Iterator[None]:
    """Explain the error of a thread that cannot be started inside a ``with`` block.

    Raises:
        ResourceExhaustedError: the system has no memory for one, or allows no more of them.
    """
    try:
        yield
    except RuntimeError as error:
        if not is_no_thread(error):
            raise
        raise ResourceExhaustedError(NO_THREAD) from error


NO_THREAD = (
    "The system starts no more threads: memory is used up, or the number of threads that the "
    "process or its user may have; close other programs, or raise the limit (ulimit -v, -u)"
)


def is_no_thread(error: BaseException) -> bool:
    """True if Python could not start a thread."""
    return isinstance(error, RuntimeError) and "can't start new thread" in str(error)
