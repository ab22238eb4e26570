"""Process-wide switches of functions, as ``tf.config`` has them."""

from __future__ import annotations

_run_eagerly = False


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Make every ``function`` run its Python code operation by operation, for debugging.

    Args:
        run_eagerly: True to stop tracing, False to trace again.
    """
    global _run_eagerly
    _run_eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """True if functions run their Python code instead of graphs."""
    return _run_eagerly


_trace_limit: int | None = 256


def set_function_trace_limit(limit: int | None) -> None:
    """Set how many traces each function keeps; the least recently used goes first.

    A trace holds a graph and its compiled sessions. Concrete functions that the program has a
    reference to live on.

    Args:
        limit: The number of traces, at least 1; None: any number. The default is 256.

    Raises:
        ValueError: ``limit`` is below 1.
        TypeError: ``limit`` is no integer.

    Example:
        >>> import tfx as tf
        >>> tf.config.experimental.set_function_trace_limit(64)
        >>> tf.config.experimental.get_function_trace_limit()
        64
        >>> tf.config.experimental.set_function_trace_limit(256)
    """
    global _trace_limit
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise TypeError(f"set_function_trace_limit takes an int or None; got {limit!r}.")
    if limit is not None and limit < 1:
        raise ValueError(f"A function keeps at least one trace; got the limit {limit}.")
    _trace_limit = limit


def function_trace_limit() -> int | None:
    """Return the number of traces that each function keeps; None means any number."""
    return _trace_limit
