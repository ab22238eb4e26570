"""Exceptions of Python code that runs in the middle of a graph, as errors of tfx."""

from __future__ import annotations

from tfx.core.errors import (
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from tfx.core.source import raised_at

# The first that fits counts.
_KINDS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[OpError]], ...] = (
    ((TypeError, ValueError), InvalidArgumentError),
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
)


def error_of(error: Exception, place: str) -> OpError:
    """Return the tfx error for an exception that user code raised.

    Args:
        error: What the code raised; no error of tfx, which is raised as it is.
        place: Which code it is, for the message.
    """
    kind = next((k for types, k in _KINDS if isinstance(error, types)), UnknownError)
    where = raised_at(error)
    text = f"{type(error).__name__}: {error} [{place}: {where.text()}]"
    return kind(text, source=where)
