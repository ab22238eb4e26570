"""``RunMetadata``: what ran, how long, and from which line of the user's program it came."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tfx.core.errors import InvalidArgumentError
from tfx.core.system_errors import writing
from tfx.function.inspection.timeline import Timed
from tfx.function.inspection.timeline import timeline as bars

# What one row of a table stands for.
By = Literal["node", "op", "source", "function", "layer"]
_LONGEST = 48


@dataclass(frozen=True, slots=True)
class Part:
    """A node of the traced graph that became a part of another one.

    Attributes:
        name: Name of the node.
        op: Its operator.
        source: The user's line, ``"model.py:12 in step"``; empty if there is none.
        share: Its part of the time, 0 to 1, by the numbers that it computes; 0 where ONNX Runtime
            fused the nodes.
        layer: The name scopes that it was made in, ``"net/dense"``.
    """

    name: str
    op: str
    source: str
    share: float = 0.0
    layer: str = ""


@dataclass(frozen=True, slots=True)
class NodeTiming:
    """One execution of one node.

    Attributes:
        name: Name of the node in the traced graph (ONNX Runtime's, if it has none there).
        op: Operator that ran, ``"FusedMatMul"`` where ONNX Runtime fused several.
        source: The user's line; empty if there is none.
        parts: The nodes of the traced graph that were fused into this one.
        function: Name of the graph that the node is in.
        device: Where it ran.
        start_us: When it began, in microseconds of a monotonic clock.
        duration_us: How long it took, nodes inside of it (of a branch or loop) included.
        self_us: How long it took without these.
        thread: The operating system's number of the thread.
        run: Number of the run that it belongs to.
        layer: The name scopes that it was made in, ``"net/dense"``; for a gradient those of the
            operation that it is the gradient of.
    """

    name: str
    op: str
    source: str
    parts: tuple[Part, ...]
    function: str
    device: str
    start_us: float
    duration_us: float
    self_us: float
    thread: int
    run: int
    layer: str = ""


@dataclass(frozen=True, slots=True)
class RunTiming:
    """One run of a session, or of Python code between two.

    Attributes:
        name: Name of the graph, of the operator that ran eagerly, or of what Python did.
        kind: ``"function"``, ``"operation"`` or ``"host"``.
        start_us: When it began, in microseconds of a monotonic clock.
        duration_us: How long it took.
        thread: The operating system's number of the thread.
    """

    name: str
    kind: str
    start_us: float
    duration_us: float
    thread: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of the program that has a name, such as a step of training.

    Attributes:
        name: The name.
        start_us: When it began, in microseconds of a monotonic clock.
        duration_us: How long it took.
        thread: The operating system's number of the thread.
        details: What else is known: ``step_num`` numbers steps, ``_r`` tells that it is one.
    """

    name: str
    start_us: float
    duration_us: float
    thread: int
    details: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table.

    Attributes:
        name: Of the node, the operator, the line or the graph, whatever was grouped by.
        op: Operator, if all have the same.
        source: The user's line, if all have the same.
        count: How often it ran.
        total_us: Microseconds in all, without nodes inside of it.
        mean_us: Microseconds each time.
        share: Its part of all microseconds, 0 to 1.
    """

    name: str
    op: str
    source: str
    count: int
    total_us: float
    mean_us: float
    share: float


@dataclass(frozen=True, slots=True)
class NodeExecStats:
    """An execution of a node, with TensorFlow's names."""

    node_name: str
    all_start_micros: int
    op_start_rel_micros: int
    op_end_rel_micros: int
    all_end_rel_micros: int
    timeline_label: str
    thread_id: int


@dataclass(frozen=True, slots=True)
class DeviceStepStats:
    """The nodes that ran on one device, with TensorFlow's names."""

    device: str
    node_stats: list[NodeExecStats] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StepStats:
    """The nodes that ran, by device, with TensorFlow's names."""

    dev_stats: list[DeviceStepStats] = field(default_factory=list)


class RunMetadata:
    """Timings of the nodes that calls ran.

    Given beside ``RunOptions`` to ``with_options`` it gets those of each call, in place of the call
    before; ``tfx.profile`` makes one for all calls of a block.

    Attributes:
        nodes: Executions of nodes, in the order in which they began.
        runs: Runs of sessions, and what Python did between them, in the order in which they ended.

    Example:
        >>> import tfx as tf
        >>> f = tf.function(lambda x: tf.reduce_sum(x * 2.0))
        >>> metadata = tf.RunMetadata()
        >>> float(f.with_options(run_metadata=metadata)(tf.ones([3])))
        6.0
        >>> sorted(row.op for row in metadata.rows())
        ['Mul', 'ReduceSum']
    """

    def __init__(self) -> None:
        self.nodes: list[NodeTiming] = []
        self.runs: list[RunTiming] = []

    def replace(self, nodes: Iterable[NodeTiming], runs: Iterable[RunTiming]) -> None:
        """Hold these timings and no others."""
        self.nodes = sorted(nodes, key=lambda n: n.start_us)
        self.runs = list(runs)

    @property
    def total_us(self) -> float:
        """Microseconds in nodes."""
        return sum(n.self_us for n in self.nodes)

    @property
    def step_stats(self) -> StepStats:
        """The nodes by device, with TensorFlow's names."""
        devices: dict[str, DeviceStepStats] = {}
        for n in self.nodes:
            full = f"/job:localhost/replica:0/task:0/device:{n.device}"
            device = devices.setdefault(n.device, DeviceStepStats(full))
            took = round(n.duration_us)
            label = f"{n.name} = {n.op}()"
            start = round(n.start_us)
            device.node_stats.append(NodeExecStats(n.name, start, 0, took, took, label, n.thread))
        return StepStats(list(devices.values()))

    def rows(self, by: By = "node") -> list[Row]:
        """Return timings by group, longest first.

        The time of a program of the fused kernels is divided among the lines and layers of its
        operators, by how many numbers each of them computes.

        Args:
            by: What becomes one row: ``"node"``, ``"op"`` (operator), ``"source"`` (line of the
                program), ``"function"`` (graph) or ``"layer"`` (the name scopes around: those of
                Keras layers, of methods under ``tf.Module.with_name_scope``, ``tf.name_scope``; a
                gradient belongs to the layer of what it is the gradient of).

        Raises:
            InvalidArgumentError: nothing can be grouped by that.
        """
        if by not in _KEYS:
            raise InvalidArgumentError(
                f"RunMetadata groups by one of {', '.join(map(repr, _KEYS))}; got {by!r}."
            )
        groups: dict[Any, _Group] = {}
        for n in self.nodes:
            for key, part, took in _pieces(n, by):
                groups.setdefault(key, _Group(_NAMES[by](part))).add(n, part, took)
        whole = self.total_us or 1.0
        rows = [g.row(whole) for g in groups.values()]
        return sorted(rows, key=lambda r: -r.total_us)

    def table(self, by: By = "node", limit: int | None = 30) -> str:
        """Return timings by group as a text table, longest first.

        Args:
            by: See ``rows``.
            limit: How many rows; None: all.
        """
        rows = self.rows(by)
        shown = rows if limit is None else rows[:limit]
        lines: list[tuple[str, ...]] = [(by, "op", "line", "count", "total us", "mean us", "share")]
        for r in shown:
            op, source = "" if by == "op" else r.op, "" if by == "source" else r.source
            numbers = (f"{r.total_us:.1f}", f"{r.mean_us:.1f}", f"{r.share:.1%}")
            lines.append((_short(r.name), op, source, str(r.count), *numbers))
        text = _aligned(lines, right=3)
        rest = f"\n... and {len(rows) - len(shown)} more" if len(shown) < len(rows) else ""
        return f"{self._summary()}\n{text}{rest}"

    def timeline(self, width: int = 50, limit: int | None = 60) -> str:
        """Return each run and its nodes in time as bars of text.

        Args:
            width: Columns of the bars.
            limit: How many lines; None: all.
        """
        items: list[tuple[int, str, Timed]] = []
        by_run: dict[int, list[NodeTiming]] = {}
        for n in self.nodes:
            by_run.setdefault(n.run, []).append(n)
        for number, run in enumerate(self.runs):
            items.append((0, run.name, run))
            if run.kind == "function":
                items += [(1, f"{n.op} {n.name}", n) for n in by_run.get(number, ())]
        return bars(items, width, limit)

    def chrome_trace(self, marks: Sequence[Mark] = ()) -> str:
        """The timings as JSON for ``chrome://tracing`` or Perfetto.

        Args:
            marks: Parts of the program to show beside them.
        """
        import json

        process = os.getpid()
        first = self.first_us(marks)

        def event(
            name: str, category: str, item: Any, details: Mapping[str, Any]
        ) -> dict[str, Any]:
            start, took = item.start_us - first, item.duration_us
            place = {"pid": process, "tid": item.thread, "ts": round(start, 3)}
            head = {"ph": "X", "name": name, "cat": category, "dur": round(took, 3)}
            return {**head, **place, "args": dict(details)}

        def named(what: str, thread: int, name: str) -> dict[str, Any]:
            return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}

        every: list[Any] = [*marks, *self.runs, *self.nodes]
        threads = dict.fromkeys(x.thread for x in every)
        events = [named("process_name", 0, "tfx")]
        events += [named("thread_name", thread, f"thread {thread}") for thread in threads]
        events += [event(m.name, "mark", m, m.details) for m in marks]
        events += [event(r.name, r.kind, r, {}) for r in self.runs]
        for n in self.nodes:
            details = {"node": n.name, "line": n.source, "function": n.function, "layer": n.layer}
            parts = [f"{p.op} {p.name} {p.source}".rstrip() for p in n.parts]
            extra: dict[str, Any] = {"fused": parts} if parts else {}
            events.append(event(n.op, "node", n, {**details, "device": n.device, **extra}))
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})

    def first_us(self, marks: Sequence[Mark] = ()) -> float:
        """When the first of the timings began, in microseconds of a monotonic clock.

        Args:
            marks: What else began.
        """
        every: list[Any] = [*marks, *self.runs, *self.nodes]
        return min((x.start_us for x in every), default=0.0)

    def save_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write ``chrome_trace()`` to a file, which chrome://tracing and Perfetto open.

        Args:
            path: The file.
        """
        with writing(path), open(path, "w", encoding="utf-8") as file:
            file.write(self.chrome_trace())

    save = save_chrome_trace

    def to_dict(self) -> dict[str, Any]:
        """Return all data as dicts, lists, numbers and strings."""
        return {
            "total_us": self.total_us,
            "runs": [asdict(r) for r in self.runs],
            "nodes": [asdict(n) for n in self.nodes],
        }

    def _summary(self) -> str:
        took = sum(r.duration_us for r in self.runs)
        return (
            f"{len(self.runs)} runs in {took / 1e3:.3f} ms; "
            f"{len(self.nodes)} nodes in {self.total_us / 1e3:.3f} ms"
        )

    def __str__(self) -> str:
        if not self.nodes:
            return self._summary()
        return f"{self.table()}\n\n{self.table('op')}"

    def __repr__(self) -> str:
        return f"<RunMetadata: {self._summary()}>"


class _Group:
    """The executions that become one row."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ops: set[str] = set()
        self.sources: set[str] = set()
        self.nodes: set[int] = set()
        self.total = 0.0

    def add(self, node: NodeTiming, part: NodeTiming | Part, took: float) -> None:
        """Count an execution, or a part of one."""
        self.ops.add(part.op)
        self.sources.add(part.source)
        self.nodes.add(id(node))
        self.total += took

    def row(self, whole: float) -> Row:
        """The row, as a part of a time in all."""
        (op, *ops), (source, *sources) = self.ops, self.sources
        count = len(self.nodes)
        return Row(
            self.name,
            "" if ops else op,
            "" if sources else source,
            count,
            self.total,
            self.total / count,
            self.total / whole,
        )


def _pieces(node: NodeTiming, by: By) -> Iterator[tuple[Any, NodeTiming | Part, float]]:
    """The groups that an execution belongs to, with what of it does and its time."""
    key = _KEYS[by]
    if by not in _DIVIDED or not node.parts:
        yield key(node), node, node.self_us
        return
    shares = [(part, part.share) for part in node.parts if part.share]
    yield key(node), node, node.self_us * (1.0 - sum(share for _, share in shares))
    for part, share in shares:
        yield key(part), part, node.self_us * share


# What divides the time of a program among the nodes that it was made of.
_DIVIDED = frozenset(("source", "layer"))
_KEYS: dict[str, Callable[[Any], Any]] = {
    "node": lambda n: (n.function, n.name, n.op),
    "op": lambda n: n.op,
    "source": lambda n: n.source,
    "function": lambda n: n.function,
    "layer": lambda n: n.layer,
}
_NAMES: dict[str, Callable[[Any], str]] = {
    "node": lambda n: " + ".join([n.name, *[p.name for p in n.parts]]),
    "op": lambda n: n.op,
    "source": lambda n: n.source or "(no line)",
    "function": lambda n: n.function,
    "layer": lambda n: n.layer or "(no layer)",
}


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."


def _aligned(lines: list[tuple[str, ...]], right: int) -> str:
    """Columns of equal width, without the empty ones; from number ``right`` on to the right."""
    columns = [
        (i, max(len(c) for c in column))
        for i, column in enumerate(zip(*lines, strict=True))
        if any(column[1:])
    ]
    cells = [
        [line[i].rjust(width) if i >= right else line[i].ljust(width) for i, width in columns]
        for line in lines
    ]
    return "\n".join("  ".join(row).rstrip() for row in cells)
