"""Statistics of a graph: operators, dimensions, sizes.

To be compared before and after passes, and to see where memory goes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tfx.core.dims import is_automatic_dim, is_static
from tfx.core.dtypes import from_onnx, string
from tfx.graph.fusion.made_of import Fusion
from tfx.graph.ir import CALL, HOST, Graph, Node, Value
from tfx.graph.printer import name_of

_LARGEST = 5
# Programs, and lines outside of them, that the table has.
_LISTED = 10


@dataclass(frozen=True, slots=True)
class PassEffect:
    """The effect of one pass on the number of nodes.

    Attributes:
        name: The pass: ``copies`` and ``dead nodes`` are removed, ``dead state`` is what branches
            and loops make for nobody, ``expansions`` are put off, ``kernels`` that do not exist are
            written with others, ``conditions`` that are constant are decided, ``constants`` are
            folded, ``common`` expressions are shared.
        before: How many nodes there were; those of a called graph count once.
        after: How many there are.
    """

    name: str
    before: int
    after: int

    def __str__(self) -> str:
        change = self.after - self.before
        return f"{self.name:<30} {self.before:>6} -> {self.after:>6} ({change:+d})"


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """Numbers about a graph. Nodes of called graphs count once for each call.

    Attributes:
        name: Name of the graph.
        inputs: How many inputs there are, entry values of variables included.
        outputs: How many outputs there are, new values of variables included.
        nodes: How many nodes there are, those of bodies and called graphs included.
        operators: How often each operator is used, most frequent first.
        calls: How often each graph is called, by name.
        dimensions: The names that the user gave dimensions.
        constant_bytes: Size of all constants.
        variable_bytes: Size of all variables that are read.
        value_bytes: Size of everything that the graph's own nodes compute, as far as shapes are
            known; not all of it exists at one time.
        unknown_values: How many computed values have a shape that only a call tells.
        largest: The largest computed values of known shape, with their bytes.
        passes: What each pass does to the graph before it runs or is saved; none for a graph that
            is still being traced.
        fusion: Which operators run together as programs of the fused kernels, and which do not, in
            a plan on this machine's CPU; None: none may, or results depend on Python code.
    """

    name: str
    inputs: int
    outputs: int
    nodes: int
    operators: Mapping[str, int]
    calls: Mapping[str, int]
    dimensions: tuple[str, ...]
    constant_bytes: int
    variable_bytes: int
    value_bytes: int
    unknown_values: int
    largest: tuple[tuple[str, int], ...]
    passes: tuple[PassEffect, ...] = ()
    fusion: Fusion | None = None

    @property
    def removed(self) -> int:
        """Nodes that are not run: copies, and what nothing uses."""
        wanted = ("copies", "dead nodes", "dead state", "conditions")
        return sum(p.before - p.after for p in self.passes if p.name in wanted)

    @property
    def folded(self) -> int:
        """Nodes whose results are constants, computed once for all."""
        return sum(p.before - p.after for p in self.passes if p.name == "constants")

    @property
    def shared(self) -> int:
        """Nodes that compute what another one has computed."""
        return sum(p.before - p.after for p in self.passes if p.name == "common")

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.nodes} nodes, {self.inputs} inputs, {self.outputs} outputs",
            f"  dimensions   {', '.join(self.dimensions) or 'none with a name'}",
            f"  constants    {_bytes(self.constant_bytes)}",
            f"  variables    {_bytes(self.variable_bytes)}",
            f"  values       {_bytes(self.value_bytes)} and {self.unknown_values} of unknown size",
        ]
        lines += [f"    {name:<30} {_bytes(size):>12}" for name, size in self.largest]
        lines.append("  operators")
        lines += [f"    {name:<30} {count:>6}" for name, count in self.operators.items()]
        if self.calls:
            lines.append("  calls")
            lines += [f"    {name:<30} {count:>6}" for name, count in self.calls.items()]
        if self.passes:
            end = self.passes[-1].after
            lines.append(
                f"  before it runs: {self.removed} removed, {self.folded} folded, "
                f"{self.shared} shared, {end} nodes left"
            )
            lines += [f"    {effect}" for effect in self.passes if effect.before != effect.after]
        if self.fusion is not None:
            lines += [f"  {line}" for line in self.fusion.lines(_LISTED)]
        return "\n".join(lines)

    def changes(self, after: GraphSummary) -> str:
        """A table of what differs in another summary, such as that of the graph after a pass.

        Example:
            >>> import tfx as tf
            >>> f = tf.function(lambda x: tf.nn.relu(x * x))
            >>> graph = f.get_concrete_function(tf.TensorSpec([2], tf.float32)).graph
            >>> part = tf.function_from_graph(graph, "x:0", "mul:0").graph
            >>> print(graph.summary().changes(part.summary()))
            nodes                               2 ->        1
            value bytes                        16 ->        8
            Relu                                1 ->        0
        """
        rows = [
            ("nodes", self.nodes, after.nodes),
            ("inputs", self.inputs, after.inputs),
            ("outputs", self.outputs, after.outputs),
            ("constant bytes", self.constant_bytes, after.constant_bytes),
            ("variable bytes", self.variable_bytes, after.variable_bytes),
            ("value bytes", self.value_bytes, after.value_bytes),
        ]
        names = dict.fromkeys([*self.operators, *after.operators])
        rows += [(n, self.operators.get(n, 0), after.operators.get(n, 0)) for n in names]
        changed = [f"{name:<28} {a:>8} -> {b:>8}" for name, a, b in rows if a != b]
        return "\n".join(changed) or "no difference"


def summarize(
    graph: Graph,
    variables: Collection[Value] = (),
    passes: Collection[PassEffect] = (),
    fusion: Fusion | None = None,
) -> GraphSummary:
    """Count what a graph consists of.

    Args:
        graph: The graph.
        variables: Those of its inputs that are values of variables.
        passes: What passes do to it.
        fusion: What of it runs together.
    """
    operators: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    constants = {id(v): v for g in (graph, *graph.subgraphs()) for v in g.constants}
    _count(graph, operators, calls)
    sizes = [(name_of(v), _size(v)) for node in graph.nodes for v in node.outputs]
    known = [(name, size) for name, size in sizes if size is not None]
    values = [*graph.inputs, *(v for node in graph.nodes for v in node.outputs)]
    names = [d for v in values for d in v.shape or () if isinstance(d, str)]
    return GraphSummary(
        name=graph.name,
        inputs=len(graph.inputs),
        outputs=len(graph.outputs),
        nodes=sum(operators.values()),
        operators=dict(sorted(operators.items(), key=lambda item: (-item[1], item[0]))),
        calls=dict(calls),
        dimensions=tuple(d for d in dict.fromkeys(names) if not is_automatic_dim(d)),
        constant_bytes=sum(v.const.nbytes for v in constants.values() if v.const is not None),
        variable_bytes=sum(_size(v) or 0 for v in variables),
        value_bytes=sum(size for _, size in known),
        unknown_values=len(sizes) - len(known),
        largest=tuple(sorted(known, key=lambda item: -item[1])[:_LARGEST]),
        passes=tuple(passes),
        fusion=fusion,
    )


def count_nodes(graph: Graph) -> int:
    """Return the number of nodes, counting those of each body and called graph once."""
    return len(graph.nodes) + sum(len(part.nodes) for part in graph.subgraphs())


def _count(graph: Graph, operators: Counter[str], calls: Counter[str]) -> None:
    for node in graph.nodes:
        if node.op == CALL:
            calls[node.attrs["graph"].name] += 1
        else:
            operators[_operator(node)] += 1
        for body in node.bodies():
            _count(body, operators, calls)


def _operator(node: Node) -> str:
    return f"host {node.attrs['call'].kind}" if node.op == HOST else node.op


def _size(value: Value) -> int | None:
    """Bytes of a value; None if its shape is not known."""
    dims = value.shape
    dtype = from_onnx(value.dtype)
    if dims is None or dtype is string or not is_static(dims):
        return None
    return math.prod(d for d in dims if isinstance(d, int)) * dtype.size


def _bytes(count: int) -> str:
    return f"{count:,} bytes"
