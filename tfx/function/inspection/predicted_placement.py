"""What a GPU would run of a graph, and what it would copy, told without a GPU.

ONNX Runtime gives a node to the CUDA provider if there is a kernel, and takes small computations
with shapes back to the host: what begins with a shape, as long as it uses nothing else. Values that
one side makes and the other reads are copied in every run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfx.core.dims import is_static
from tfx.core.dtypes import from_onnx
from tfx.function.execution.rewrite_options import half_dtype
from tfx.function.inspection.placement import (
    FROM_HOST,
    TO_HOST,
    NodePlacement,
    Placement,
    host_row,
)
from tfx.graph.ir import HOST, Graph, Node, Value, bodies_below
from tfx.graph.kernels.cuda_kernels import has_cuda_kernel, host_inputs, makes_on_host
from tfx.graph.passes.drop_host_calls import drop_host_calls
from tfx.graph.passes.inline_calls import expand_all_calls
from tfx.graph.passes.join_pairs import join_pairs
from tfx.graph.passes.pipeline import prepare, tune_for_gpu
from tfx.graph.printer import name_of
from tfx.graph.schema import parameters
from tfx.graph.serialization.serialize import opset_of
from tfx.runtime.devices import CPU_PROVIDER, CUDA_PROVIDER

# ONNX Runtime does not take larger constants to the host with shapes.
_SMALL = 100
_HALVES = frozenset((10, 16))


def predicted(name: str, device: str, graph: Graph) -> Placement:
    """The placement that a graph would have on a GPU.

    Args:
        name: Name and signature of the trace.
        device: The GPU.
        graph: What was traced.
    """
    rest, calls = _without_host_calls(expand_all_calls(join_pairs(graph)))
    half = half_dtype(device)
    prepared = prepare(drop_host_calls(rest)[0], device=device, half=half)
    ready = expand_all_calls(tune_for_gpu(prepared))
    rows = [*_Prediction(ready, device).rows(), *(host_row(node) for node in calls)]
    return Placement(name, device, rows, predicted=True)


def _without_host_calls(graph: Graph) -> tuple[Graph, list[Node]]:
    """A graph that is given what Python makes, and returns what Python reads; and what Python does.

    Args:
        graph: The graph; what bodies of it let Python do stays there.
    """
    calls = [node for node in graph.nodes if node.op == HOST]
    if not calls:
        return graph, calls
    result = graph.copy()
    given: dict[int, Value] = {}
    for value in (v for node in calls for v in node.outputs):
        given[id(value)] = result.add_input(value.name, value.dtype, value.shape)
    result.nodes = [
        node.replaced([None if v is None else given.get(id(v), v) for v in node.inputs])
        for node in graph.nodes
        if node.op != HOST
    ]
    read = [v for node in calls for v in node.inputs if v is not None]
    result.outputs = [given.get(id(v), v) for v in (*graph.outputs, *read)]
    return result, calls


class _Prediction:
    def __init__(self, graph: Graph, device: str) -> None:
        self._device = device
        self._graphs = (graph, *bodies_below(graph))
        self._nodes = [node for g in self._graphs for node in g.nodes]
        self._constants = {id(v): v for g in self._graphs for v in g.constants}
        self._inputs = {id(v) for v in graph.inputs}
        self._opset = opset_of(graph)
        self._lacking = {id(n) for n in self._nodes if not has_cuda_kernel(n, self._opset)}
        self._with_shapes = self._computing_with_shapes()

    def _computing_with_shapes(self) -> set[int]:
        """The ``id`` of nodes that ONNX Runtime leaves on the host with the shapes they use."""
        readers: dict[int, list[Node]] = {}
        for node in self._nodes:
            for value in node.inputs:
                if value is not None:
                    readers.setdefault(id(value), []).append(node)
        shapes = [n for n in self._nodes if id(n) not in self._lacking and makes_on_host(n)]
        on_host = {id(v) for n in shapes for v in n.outputs}
        found: set[int] = set()
        waiting = [reader for n in shapes for v in n.outputs for reader in readers.get(id(v), ())]
        while waiting:
            node = waiting.pop()
            if id(node) in found or id(node) in self._lacking or any(True for _ in node.bodies()):
                continue
            if self._uses_shapes_alone(node, on_host):
                found.add(id(node))
                for value in node.outputs:
                    on_host.add(id(value))
                    waiting += readers.get(id(value), ())
        return found

    def _uses_shapes_alone(self, node: Node, on_host: set[int]) -> bool:
        read_there = host_inputs(node)
        for number, value in enumerate(node.inputs):
            if value is None or id(value) in self._inputs:
                continue
            if value.dtype in _HALVES:
                return False
            constant = self._constants.get(id(value))
            if constant is not None and constant.const is not None:
                if constant.const.size > _SMALL:
                    return False
            elif id(value) not in on_host or number in read_there:
                return False
        return True

    def rows(self) -> Iterator[NodePlacement]:
        """A row for each node, and one for each value that is copied."""
        yield from map(self._row, self._nodes)
        yield from self._copies()

    def _row(self, node: Node) -> NodePlacement:
        if id(node) in self._lacking:
            types = ", ".join(from_onnx(v.dtype).name for v in node.inputs if v is not None)
            version, _, _ = parameters(node.op, self._opset)
            why = f"no CUDA kernel is known for {node.op}-{version} of {types or 'nothing'}"
        elif id(node) in self._with_shapes:
            why = "computes with shapes, which are on the host"
        else:
            return NodePlacement(node.name, node.op, self._device, CUDA_PROVIDER, "")
        return NodePlacement(node.name, node.op, self._device, CPU_PROVIDER, why)

    def _copies(self) -> Iterator[NodePlacement]:
        # What is in neither set of values: inputs and variables, which stay on the GPU.
        host = self._lacking | self._with_shapes
        made_on_host = {
            id(v) for n in self._nodes if id(n) in host or makes_on_host(n) for v in n.outputs
        }
        bodies = [body for n in self._nodes if n.op == "Loop" for body in n.bodies()]
        for body in bodies:  # the number of the iteration, and that it is one
            made_on_host.update(id(v) for v in body.inputs[:2])
        copied: set[tuple[int, bool]] = set()
        for node in self._nodes:
            there = host_inputs(node)
            for number, value in enumerate(node.inputs):
                if value is None or id(value) in self._constants:
                    continue
                reads_on_host = id(node) in host or number in there
                key = id(value), reads_on_host
                if reads_on_host == (id(value) in made_on_host) or key in copied:
                    continue
                copied.add(key)
                yield self._copy(value, TO_HOST if reads_on_host else FROM_HOST)
        for value in (body.outputs[0] for body in bodies):  # whether there is another iteration
            key = id(value), True
            if id(value) not in (made_on_host | self._constants.keys()) and key not in copied:
                copied.add(key)
                yield self._copy(value, TO_HOST)
        for value in self._graphs[0].outputs:
            if id(value) in made_on_host and (id(value), False) not in copied:
                copied.add((id(value), False))
                yield self._copy(value, FROM_HOST)

    def _copy(self, value: Value, op: str) -> NodePlacement:
        return NodePlacement(name_of(value), op, self._device, CUDA_PROVIDER, _size(value))


def _size(value: Value) -> str:
    dims = value.shape
    if dims is None or not is_static(dims):
        return "bytes that only a run tells"
    count = math.prod(d for d in dims if isinstance(d, int)) * from_onnx(value.dtype).size
    return f"{count:,} bytes"
