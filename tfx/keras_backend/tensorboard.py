"""Traces for the TensorBoard callback."""

from __future__ import annotations

from typing import Any

import tfx as tf


def start_trace(logdir: str | None) -> None:
    """Begin to record what the profiler sees, into a folder."""
    if logdir:
        tf.summary.trace_on()


def stop_trace(save: bool) -> None:
    """End the recording."""
    if save:
        tf.summary.trace_off()


def start_batch_trace(batch: int) -> Any:
    """Mark the beginning of a batch."""
    scope = tf.name_scope(f"profiled_batch_{batch}")
    scope.__enter__()
    return scope


def stop_batch_trace(batch_trace_context: Any) -> None:
    """Mark its end."""
    batch_trace_context.__exit__(None, None, None)
