"""What the TensorBoard callback records: profiles of batches, the model and its training step."""

from __future__ import annotations

import warnings
from typing import Any

import tfx as tf
from tfx.summary.messages import plugin

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


def write_model(name: str, data: Any, step: Any = None) -> Any:
    """Write a model as JSON, which TensorBoard shows as a graph of layers.

    Returns:
        A bool tensor: whether it was written; False for a model that has no JSON.
    """
    try:
        text = data.to_json()
    except Exception as e:
        warnings.warn(f"Model failed to serialize as JSON. Ignoring... {e}", stacklevel=2)
        return False
    with tf.summary.experimental.summary_scope(name, "graph_keras_model", [data, step]) as (tag, _):
        return tf.summary.write(tag, text, step, plugin("graph_keras_model", b"1"))


def write_train_graph(callback: Any) -> None:
    """Write the graph of the training step of a callback's model, if it has one."""
    graph = getattr(callback.model.train_function, "graph", None)
    if graph is not None:
        with callback._train_writer.as_default():
            tf.summary.graph(graph)
