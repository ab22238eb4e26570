"""What the TensorBoard callback records of batches: a profile for TensorBoard's plugin."""

from __future__ import annotations

from typing import Any

import tfx as tf

# The folder that is recorded for.
_running: list[str] = []


def start_trace(logdir: str | None) -> None:
    """Begin to record, for a folder of event files."""
    if logdir:  # the callback tries it without one first
        tf.profiler.experimental.start(logdir)
        _running.append(logdir)


def stop_trace(save: bool) -> None:
    """End the recording.

    Args:
        save: Whether to write it.
    """
    if _running:
        _running.clear()
        tf.profiler.experimental.stop(save=save)


def start_batch_trace(batch: int) -> Any:
    """Mark the beginning of a batch, a step in the profile."""
    mark = tf.profiler.experimental.Trace(f"profiled_batch_{batch}", step_num=batch, _r=1)
    return mark.__enter__()


def stop_batch_trace(batch_trace_context: Any) -> None:
    """Mark its end."""
    batch_trace_context.__exit__(None, None, None)
