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
    """Whether functions run their Python code instead of graphs."""
    return _run_eagerly
