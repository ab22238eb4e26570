"""``Scan`` as the nodes of all its steps: for CUDA graphs, in which nothing on the host decides.

A loop is run by the host, step by step, so what contains one cannot be captured; and its small
kernels are what capturing is good for. Rows are cut out of the whole, and results put together, by
few nodes with at most 32 parts each: ONNX Runtime copies longer lists of addresses from the host.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.core.dims import is_static
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.rewrite import Inputs, Rewriter

# Nodes that a loop may become.
_MOST_NODES = 4096
_MOST_PARTS = 32


def unroll_scans(graph: Graph) -> Graph:
    """A copy of the graph in which short scans are unrolled, outside of bodies and callees.

    Args:
        graph: What ``scan_loops`` returned, with known sizes.
    """
    return _Unroller().run(graph) if any(n.op == "Scan" for n in graph.nodes) else graph


class _Unroller(Rewriter):
    def body(self, graph: Graph, node: Node) -> Graph:
        """Bodies and callees stay as they are."""
        return graph

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        if node.op == "Scan":
            steps = _steps(node)
            if steps is not None:
                made = _Steps(node, inputs, out).run(steps)
                for old, new in zip(node.outputs, made, strict=True):
                    self.use(old, new)
                return
        super().rewrite(node, inputs, out)


def _steps(scan: Node) -> int | None:
    """How many steps a scan has, if it can be unrolled."""
    count = scan.attrs["num_scan_inputs"]
    body: Graph = scan.attrs["body"]
    if not count or any(True for n in body.nodes for _ in n.bodies()):
        return None
    values = [*scan.inputs, *body.outputs]
    if any(v is None or not is_static(v.shape) for v in values):
        return None
    rows = scan.inputs[-1]
    steps = rows.shape[0] if rows is not None and rows.shape else None
    if not isinstance(steps, int) or steps * (len(body.nodes) + 1) > _MOST_NODES:
        return None
    return steps or None


class _Steps:
    def __init__(self, scan: Node, inputs: Inputs, out: Graph) -> None:
        self._scan, self._out = scan, out
        self._build = ReplacementBuilder(out, scan)
        self._body: Graph = scan.attrs["body"]
        self._first_row = len(inputs) - scan.attrs["num_scan_inputs"]
        self._inputs = [v for v in inputs if v is not None]

    def run(self, steps: int) -> list[Value]:
        """Append the steps; what takes the place of the scan's results."""
        body, first = self._body, self._first_row
        self._out.constants += body.constants
        rows = [
            self._cut(data, steps)[:: -1 if backwards else 1]
            for data, backwards in zip(
                self._inputs[first:], self._directions("input", len(body.inputs)), strict=True
            )
        ]
        state = self._inputs[:first]
        each: list[list[Value]] = [[] for _ in body.outputs[first:]]
        for step in range(steps):
            given = [*state, *(row[step] for row in rows)]
            results = self._step(dict(zip(map(id, body.inputs), given, strict=True)))
            state = results[:first]
            for collected, value in zip(each, results[first:], strict=True):
                collected.append(value)
        turned = self._directions("output", len(body.outputs))
        whole = [
            self._joined(values[:: -1 if backwards else 1])
            for values, backwards in zip(each, turned, strict=True)
        ]
        return [*state, *whole]

    def _directions(self, kind: str, count: int) -> Sequence[int]:
        known: Sequence[int] | None = self._scan.attrs.get(f"scan_{kind}_directions")
        return known or (0,) * (count - self._first_row)

    def _step(self, values: dict[int, Value]) -> list[Value]:
        for node in self._body.nodes:
            inputs = [None if v is None else values.get(id(v), v) for v in node.inputs]
            types = [(v.dtype, v.shape) for v in node.outputs]
            made = self._out.add_another(node, inputs, dict(node.attrs), types)
            values.update((id(a), b) for a, b in zip(node.outputs, made.outputs, strict=True))
        return [values.get(id(v), v) for v in self._body.outputs]

    def _cut(self, data: Value, steps: int) -> list[Value]:
        """The rows of a tensor."""
        axis = self._build.ints([0])
        return [self._build.apply("Squeeze", [part, axis]) for part in self._parts(data, steps)]

    def _parts(self, data: Value, steps: int) -> Sequence[Value]:
        """The same as tensors of one row."""
        if steps == 1:
            return [data]
        size = 1
        while -(-steps // size) > _MOST_PARTS:
            size *= _MOST_PARTS
        sizes = [min(size, steps - start) for start in range(0, steps, size)]
        given = [data, self._build.ints(sizes)]
        made = self._build.apply_n("Split", given, {"axis": 0}, len(sizes))
        if size == 1:
            return made
        return [row for part, n in zip(made, sizes, strict=True) for row in self._parts(part, n)]

    def _joined(self, values: Sequence[Value]) -> Value:
        """Rows as one tensor."""
        axis = self._build.ints([0])
        parts = [self._build.apply("Unsqueeze", [v, axis]) for v in values]
        while len(parts) > 1:
            groups = [parts[i : i + _MOST_PARTS] for i in range(0, len(parts), _MOST_PARTS)]
            parts = [self._build.apply("Concat", group, {"axis": 0}) for group in groups]
        return parts[0]
