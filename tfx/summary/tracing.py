"""``trace_on``, ``trace_export``, ``trace_off``: the functions that ran, for TensorBoard."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from typing import Any

from tfx.framework.context import current
from tfx.function.inspection import profiler as profiles
from tfx.graph.ir import Graph
from tfx.runtime import run_hooks
from tfx.runtime.values import RawValue
from tfx.summary import event_pb2 as pb
from tfx.summary.graphs import message_of
from tfx.summary.messages import plugin
from tfx.summary.recording import summary_scope, write

_log = logging.getLogger("tfx")
# Names that TensorBoard's graph plugin looks for.
_GRAPHS = "graph_run_metadata_graph"
_METADATA = "graph_run_metadata"


class _Trace:
    """What is being traced, and the graphs that ran since."""

    def __init__(self, graph: bool, profiler: bool) -> None:
        self.graph = graph
        self.profiler = profiler
        self.ran: dict[int, Graph] = {}  # in order; kept, so that numbers stay theirs


_lock = threading.Lock()
_trace: _Trace | None = None


def trace_on(
    graph: bool = True,
    profiler: bool = False,
    profiler_outdir: str | os.PathLike[str] | None = None,
) -> None:
    """Begin to note which functions run, until ``trace_export`` or ``trace_off``.

    Inside of a function, and where a trace is on already, this logs a warning and does nothing.

    Args:
        graph: Note the graphs of functions.
        profiler: Also take a profile, as ``tf.profiler.experimental.start`` does.
        profiler_outdir: Where ``trace_export`` writes the profile; needed for one.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> double = tf.function(lambda x: x * 2)
        >>> with tempfile.TemporaryDirectory() as logdir:
        ...     writer = tf.summary.create_file_writer(logdir)
        ...     tf.summary.trace_on()
        ...     y = double(tf.constant(3))
        ...     with writer.as_default():
        ...         tf.summary.trace_export("double", step=0)
        ...     writer.close()
    """
    global _trace
    if current().graph is not None:
        _log.warning("Cannot enable trace inside a tfx.function.")
        return
    if profiler and profiler_outdir is None:
        _log.warning("No `profiler_outdir` passed to trace_on(). Profiler won't be enabled.")
        profiler = False
    with _lock:
        if _trace is not None:
            _log.warning("Trace already enabled.")
            return
        if profiler and profiler_outdir is not None:
            profiles.start(profiler_outdir)
        _trace = _Trace(graph, profiler)
        if graph:
            run_hooks.add_layer(_noting, outermost=True)


def trace_export(
    name: str, step: Any = None, profiler_outdir: str | os.PathLike[str] | None = None
) -> None:
    """Write what ran since ``trace_on`` to the default writer, and end the trace.

    Args:
        name: The name of the graph in TensorBoard.
        step: The step; None: the default step.
        profiler_outdir: Accepted for compatibility: give it to ``trace_on``.

    Raises:
        ValueError: no trace is on, or there is no step.
    """
    if current().graph is not None:
        _log.warning("Cannot export trace inside a tfx.function.")
        return
    trace = _trace
    if trace is None:
        raise ValueError("Must enable trace before export through tf.summary.trace_on.")
    alone = trace.graph and not trace.profiler
    graphs = [
        pb.RunMetadata.FunctionGraphs(pre_optimization_graph=message_of(graph))
        for graph in trace.ran.values()
    ]
    message = pb.RunMetadata(function_graphs=graphs)
    metadata = plugin(_GRAPHS if alone else _METADATA, b"1")
    with summary_scope(name, "graph_run_metadata_summary") as (tag, _):
        write(tag, message.SerializeToString(), step, metadata.SerializeToString())
    _end(save=True)


def trace_off() -> None:
    """End a trace, and write nothing; nothing happens where none is on."""
    _end(save=False)


def _end(save: bool) -> None:
    global _trace
    with _lock:
        trace, _trace = _trace, None
        run_hooks.remove_layer(_noting)
    if trace is not None and trace.profiler:
        profiles.stop(save)


def _noting(holder: Any, run: run_hooks.Run) -> run_hooks.Run:
    """Note that a function's graph runs; kernels of single operations have none."""
    graph = getattr(holder, "graph", None)
    if not isinstance(graph, Graph):
        return run

    def noted(feeds: dict[str, RawValue], outputs: list[str], options: Any) -> Sequence[RawValue]:
        trace = _trace
        if trace is not None:
            trace.ran.setdefault(id(graph), graph)
        return run(feeds, outputs, options)

    return noted
