"""Timings of every node: ``profile`` for a block, ``Recorder`` for one call.

A profile of ONNX Runtime belongs to a session for its whole life. So a recording runs a twin of
each session, made for the purpose from the same model: the results are those of an ordinary call,
variables are updated once, and sessions that nobody profiles pay nothing.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from tfx.core.source import user_frame
from tfx.framework.context import get_current_name_scope
from tfx.function.inspection.profile_nodes import Fusions, NodeNames, layer_of, text_of
from tfx.function.inspection.run_metadata import NodeTiming, RunMetadata, RunTiming
from tfx.graph.fusion.made_of import Fusion
from tfx.graph.ir import Graph
from tfx.graph.traits import traits
from tfx.runtime import run_hooks
from tfx.runtime.run_options import Call, RunOptions
from tfx.runtime.run_options import Recorder as AnyRecorder
from tfx.runtime.session import Session
from tfx.runtime.values import RawValue

_NOT_FUSED = Fusion()
_KERNEL_TIME = "_kernel_time"
_DEVICES = {"CUDAExecutionProvider": "GPU:0"}


class _Twin:
    """A session that writes a profile, and when it ran."""

    __slots__ = ("fusion", "graph", "name", "original", "runs", "session")

    def __init__(self, original: Session, prefix: str, holder: Any) -> None:
        self.original = original  # kept: its id is the key
        self.session = original.profiled(prefix)
        self.graph: Graph | None = getattr(holder, "graph", None)
        self.name = "session" if self.graph is None else self.graph.name
        self.fusion: Fusion = getattr(holder, "fusion", _NOT_FUSED)
        self.runs: list[tuple[int, float]] = []  # number, start


class Recorder:
    """Measures the runs of sessions between its making and ``finish``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._twins: dict[int, _Twin] = {}
        self._folder: Any = None
        self._runs: list[RunTiming] = []
        self._nodes: list[NodeTiming] = []

    def run(
        self,
        holder: Any,
        raw: run_hooks.Run,
        feeds: dict[str, RawValue],
        outputs: list[str],
        options: Any,
    ) -> Sequence[RawValue]:
        """Run once, and remember how long what took."""
        op = getattr(holder, "op", None)
        if isinstance(op, str):  # the kernel of an eager operation
            return self._run_kernel(op, raw, feeds, outputs, options)
        twin = self._twin(holder)
        start = time.perf_counter_ns()
        try:
            return run_hooks.run_plainly(twin.session, feeds, outputs, options)
        finally:
            number = self._ran(twin.name, "function", start, time.perf_counter_ns())
            with self._lock:
                twin.runs.append((number, start / 1e3))

    def host(self, description: str, where: str, start: int, end: int) -> None:
        """Python did something between two runs.

        Args:
            description: What.
            where: The user's line.
            start: Nanoseconds of ``time.perf_counter_ns``.
            end: The same at the end.
        """
        self._ran(f"{description} [{where}]" if where else description, "host", start, end)

    def _run_kernel(
        self,
        op: str,
        raw: run_hooks.Run,
        feeds: dict[str, RawValue],
        outputs: list[str],
        options: Any,
    ) -> Sequence[RawValue]:
        start = time.perf_counter_ns()
        result = raw(feeds, outputs, options)
        end = time.perf_counter_ns()
        number = self._ran(op, "operation", start, end)
        began, took, where = start / 1e3, (end - start) / 1e3, user_frame().text()
        thread, layer = threading.get_native_id(), get_current_name_scope()
        node = NodeTiming(
            op, op, where, (), "(eager)", "CPU:0", began, took, took, thread, number, layer
        )
        with self._lock:
            self._nodes.append(node)
        return result

    def _ran(self, name: str, kind: str, start: int, end: int) -> int:
        thread = threading.get_native_id()
        timing = RunTiming(name, kind, start / 1e3, (end - start) / 1e3, thread)
        with self._lock:
            self._runs.append(timing)
            return len(self._runs) - 1

    def _twin(self, holder: Any) -> _Twin:
        original: Session = getattr(holder, "session", holder)
        with self._lock:
            twin = self._twins.get(id(original))
            if twin is None:
                if self._folder is None:
                    import tempfile

                    self._folder = tempfile.TemporaryDirectory(prefix="tfx-profile-")
                prefix = os.path.join(self._folder.name, f"{len(self._twins)}")
                twin = self._twins[id(original)] = _Twin(original, prefix, holder)
            return twin

    def finish(self, metadata: RunMetadata, outer: AnyRecorder | None = None) -> None:
        """Read the profiles and store what they say.

        Args:
            metadata: Gets the timings in place of those that it has.
            outer: What measures the calls around; it gets them, too.
        """
        nodes = list(self._nodes)
        for twin in self._twins.values():
            nodes += _read(twin)
        self._twins.clear()
        if self._folder is not None:
            self._folder.cleanup()
        metadata.replace(nodes, self._runs)
        if isinstance(outer, Recorder):
            outer.include(nodes, self._runs)

    def include(self, nodes: Sequence[NodeTiming], runs: Sequence[RunTiming]) -> None:
        """Take over what a call inside measured."""
        with self._lock:
            first = len(self._runs)
            self._runs += runs
            self._nodes += [_renumbered(n, n.run + first) for n in nodes]


def _renumbered(node: NodeTiming, run: int) -> NodeTiming:
    import dataclasses

    return dataclasses.replace(node, run=run)


def _read(twin: _Twin) -> list[NodeTiming]:
    """The nodes that a twin ran."""
    import json

    with open(twin.session.end_profiling(), encoding="utf-8") as file:
        events = json.load(file)
    begun = sorted(e["ts"] for e in events if e["name"] == "model_run")
    executed = [e for e in events if e["cat"] == "Node" and e["name"].endswith(_KERNEL_TIME)]
    if not executed or not twin.runs:
        return []
    runs = sorted(twin.runs, key=lambda r: r[1])
    starts = [began for _, began in runs]
    # The runtime's clock begins with the session, ours somewhere else.
    shift = runs[0][1] - (begun[0] if begun else executed[0]["ts"])
    names = NodeNames(twin.graph) if twin.graph is not None else None
    kinds = [(e["name"].removesuffix(_KERNEL_TIME), e["args"]["op_name"]) for e in executed]
    fusions = Fusions(names, kinds, twin.fusion.programs) if names is not None else None
    outside = {piece.name: piece for piece in twin.fusion.outside}
    inside = _inside(executed)
    timings = []
    for i, (event, (name, op)) in enumerate(zip(executed, kinds, strict=True)):
        place = names.find(name) if names is not None else None
        made_of = fusions.first(name) if fusions is not None else None
        made = made_of or outside.get(name) or (place[1] if place else None)
        start = event["ts"] + shift
        number = runs[max(0, bisect_right(starts, start + 1) - 1)][0]
        timings.append(
            NodeTiming(
                name=made.name if made else name,
                op=op,
                source=text_of(made),
                layer=layer_of(made),
                parts=fusions.parts(name) if fusions is not None else (),
                function=place[0].name if place else twin.name,
                device=_DEVICES.get(event["args"].get("provider", ""), "CPU:0"),
                start_us=start,
                duration_us=float(event["dur"]),
                self_us=max(0.0, float(event["dur"]) - inside.get(i, 0.0)),
                thread=int(event["tid"]),
                run=number,
            )
        )
    return timings


def _inside(executed: list[Any]) -> dict[int, float]:
    """Return the time in the nodes directly in each branch or loop, in microseconds by number."""
    found: dict[int, float] = {}
    open_at: dict[Any, list[tuple[float, int]]] = {}
    order = sorted(range(len(executed)), key=lambda i: (executed[i]["ts"], -executed[i]["dur"]))
    for i in order:
        event = executed[i]
        stack = open_at.setdefault(event["tid"], [])
        while stack and event["ts"] >= stack[-1][0]:
            stack.pop()
        if stack:
            found[stack[-1][1]] = found.get(stack[-1][1], 0.0) + event["dur"]
        if traits(event["args"]["op_name"]).bodies:
            stack.append((event["ts"] + event["dur"], i))
    return found


class profile:  # noqa: N801
    """Measure every node that runs inside a ``with`` block.

    Functions, gradients and eager operations are measured, those of this thread and of the tasks
    started in the block. The first call of each graph inside the block takes longer: it compiles a
    session that measures.

    Args:
        path: Where to write a trace for ``chrome://tracing`` or Perfetto at the end.
        all_threads: Measure what other threads run, too.

    Example:
        >>> import tfx as tf
        >>> f = tf.function(lambda x: tf.reduce_sum(tf.exp(x)))
        >>> with tf.profile() as p:
        ...     for _ in range(3):
        ...         result = f(tf.ones([4]))
        >>> sorted((row.op, row.count) for row in p.rows("op"))
        [('Exp', 3), ('ReduceSum', 3)]
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, all_threads: bool = False
    ) -> None:
        self._path = path
        self._all_threads = all_threads
        self._metadata = RunMetadata()
        self._recorder = Recorder()
        self._active: AbstractContextManager[Call] | None = None
        self._call: Call | None = None

    def __enter__(self) -> RunMetadata:
        """Start recording, and return the object that holds the timings after the block."""
        self._recorder = Recorder()
        self._call = Call(RunOptions(), recorder=self._recorder)
        self._active = self._call.active()
        self._active.__enter__()
        if self._all_threads:
            run_hooks.set_everywhere(self._call)
        return self._metadata

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._active is not None
        assert self._call is not None
        if self._all_threads:
            run_hooks.set_everywhere(None)
        self._active.__exit__(kind, error, trace)
        self._recorder.finish(self._metadata, self._call.outer_recorder)
        if self._path is not None:
            self._metadata.save(self._path)
