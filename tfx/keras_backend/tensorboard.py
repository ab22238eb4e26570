"""What the TensorBoard callback records of batches: times of operations, as a Chrome trace."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import tfx as tf

_running: list[ExitStack] = []


def start_trace(logdir: str | None) -> None:
    """Begin to record into ``trace.json`` in a folder."""
    if logdir:
        Path(logdir).mkdir(parents=True, exist_ok=True)
        stack = ExitStack()
        stack.enter_context(tf.profile(Path(logdir) / "trace.json"))
        _running.append(stack)


def stop_trace(save: bool) -> None:
    """End the recording, and write it."""
    if save and _running:
        _running.pop().close()


def start_batch_trace(batch: int) -> Any:
    """Mark the beginning of a batch by a name scope."""
    scope = tf.name_scope(f"profiled_batch_{batch}")
    scope.__enter__()
    return scope


def stop_batch_trace(batch_trace_context: Any) -> None:
    """Mark its end."""
    batch_trace_context.__exit__(None, None, None)
