"""``Joint``: the forward nodes of a function under a tape, with gradient nodes after them.

The nodes of a plain function are taken as they are, with the records that a tape would have kept of
them. Where gradients change forward nodes (branches and loops give them more to return) or look
into them (calls, custom gradients, assignments) the nodes are emitted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfx.autodiff.tape import GradientTape
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.context import using
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function.gradients.inline_graph import inline_nodes
from tfx.function.recompute.nonrepeatable import results_of
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.passes.dead_code import acts, used_values
from tfx.graph.passes.fold_constants import fold_sizes, may_fold_sizes
from tfx.graph.tags import Mark
from tfx.graph.traits import traits

if TYPE_CHECKING:
    from tfx.function.gradients.pure_function import PureFunction


class Joint:
    """Forward nodes of a function as a tape saw them, ready for gradient nodes after them.

    Args:
        function: The function.
        needs: Which arguments have gradients.
        drawn: Results that are arguments here: they must not be drawn again.
    """

    def __init__(
        self, function: PureFunction, needs: tuple[bool, ...], drawn: Sequence[Value] = ()
    ) -> None:
        source = function.graph
        self.func_graph = FuncGraph(source.name)
        self.func_graph.graph.fuses = source.fuses
        self.func_graph.named_after_calls = False
        self.func_graph.home = self._device = function.device
        self.tape = GradientTape(persistent=True, watch_accessed_variables=False)
        self.needs = needs
        if drawn or not all(map(_is_plain, source.nodes)):
            mapping = self._emitted(function, drawn)
        else:
            mapping = self._shared(source)
        self.results = [mapping[id(v)] for v in source.outputs]
        self.last_node = self._last_node()

    def _shared(self, source: Graph) -> dict[int, Tensor]:
        """Take the nodes as they are; the tensor of each value."""
        graph = self.func_graph
        graph.graph = source.copy()
        graph.arguments, self.arguments = list(source.inputs), list(source.inputs)
        self.placeholders = [SymbolicTensor(v, graph) for v in source.inputs]
        mapping: dict[int, Tensor] = {
            id(v): p for v, p in zip(source.inputs, self.placeholders, strict=True)
        }
        for value in source.constants:
            mapping[id(value)] = SymbolicTensor(value, graph)
        with using(tapes=()), self.tape:
            self._watch()
            record = self.tape.record
            for node in source.nodes:
                results = []
                for value in node.outputs:
                    mapping[id(value)] = result = SymbolicTensor(value, graph)
                    results.append(result)
                if node.tag is None:
                    inputs = [None if v is None else mapping[id(v)] for v in node.inputs]
                    record(node.op, node.attrs, inputs, results)
        return mapping

    def _emitted(self, function: PureFunction, drawn: Sequence[Value]) -> dict[int, Tensor]:
        """Emit the nodes again; the tensor of each value."""
        source = function.graph
        with using(graph=self.func_graph, tapes=(), scope="", device=self._device):
            placeholders = self.placeholders = placeholders_of(source, self.func_graph)
            given = [self.func_graph.add_argument(v.name, v.dtype, v.shape) for v in drawn]
            self.arguments = [p._symbol for p in (*placeholders, *given)]
            with self.tape:
                self._watch()
                mapping: dict[int, Tensor] = {
                    id(v): p for v, p in zip(source.inputs, placeholders, strict=True)
                }
                mapping.update((id(v), p) for v, p in zip(drawn, given, strict=True))
                leaves = function.leaf_tensors(placeholders)
                inline_nodes(source, mapping, self.func_graph, leaves)
        return mapping

    def _watch(self) -> None:
        for placeholder, needed in zip(self.placeholders, self.needs, strict=True):
            if needed:
                self.tape._watch(placeholder)

    def _last_node(self) -> Any:
        nodes = self.func_graph.graph.nodes
        return nodes[-1] if nodes else None

    def end_of(self, node: Any) -> int:
        """The place behind a node; the gradients of loops also add nodes before others."""
        nodes = self.func_graph.graph.nodes
        return 0 if node is None else next(i for i, n in enumerate(nodes) if n is node) + 1

    def gradients(self, mask: tuple[bool, ...]) -> Gradients:
        """Append the nodes that compute gradients from those of the marked results."""
        last = self._last_node()
        marked = [r for r, m in zip(self.results, mask, strict=True) if m]
        sources = [p for p, n in zip(self.placeholders, self.needs, strict=True) if n]
        with using(graph=self.func_graph, tapes=(), scope="gradient/", device=self._device):
            seeds = [argument_like(self.func_graph, "d_", r) for r in marked]
            found = self.tape.gradient(marked, sources, output_gradients=seeds)
            parts = [_parts_of(g) for g in found]
            values = [self.func_graph.value_of(x) for part in parts for x in part]
        nodes = self.func_graph.graph.nodes[self.end_of(last) :]
        return Gradients([s._symbol for s in seeds], nodes, values, tuple(map(len, parts)))


def _is_plain(node: Node) -> bool:
    """Return whether a node's gradient needs nothing but the node itself, unchanged."""
    if traits(node.op).bodies or node.device is not None:
        return False
    if node.tag is not None and node.tag is not Mark.STOP_GRADIENT:
        return False
    for v in node.outputs:
        # A pass replaced the node: what its results know of where they come from is no longer so.
        if v.node is not node:
            return False
    return results_of(node) == len(node.outputs)


def placeholders_of(source: Graph, target: FuncGraph) -> list[SymbolicTensor]:
    """Arguments of ``target`` like the inputs of ``source``."""
    placeholders = [target.add_argument(v.name, v.dtype, v.shape) for v in source.inputs]
    for placeholder, value in zip(placeholders, source.inputs, strict=True):
        placeholder._symbol.dims = value.dims
    return placeholders


def argument_like(graph: FuncGraph, prefix: str, tensor: Any) -> SymbolicTensor:
    """An argument of the type of a symbolic tensor, named after it."""
    value: Value = tensor._symbol
    return graph.add_argument(f"{prefix}{value.name}", value.dtype, value.shape)


class Gradients:
    """Gradient nodes: from seeds to results.

    ``present`` says how many of the results each gradient has: none where nothing depends on the
    argument, one tensor, or values and indices of slices.
    """

    def __init__(
        self, seeds: list[Value], nodes: list[Node], results: list[Value], present: tuple[int, ...]
    ) -> None:
        self.seeds = seeds
        self.nodes = nodes
        self.results = results
        self.present = present
        self.constants: list[Value] = []

    def folded(self) -> Gradients:
        """The same without dead nodes, and with constants for sizes that are known."""
        part = Graph("gradients")
        part.nodes, part.outputs = _live(self.nodes, self.results), self.results
        if any(map(may_fold_sizes, part.nodes)):
            part = fold_sizes(part)
            part.nodes = _live(part.nodes, part.outputs)
        folded = Gradients(self.seeds, part.nodes, part.outputs, self.present)
        folded.constants = part.constants
        return folded

    def outside(self) -> list[Value]:
        """Return values that the nodes use, and results, that no node makes; constants included."""
        made = set(map(id, self.seeds))
        found: dict[int, Value] = {}
        for node in self.nodes:
            for v in used_values(node) if traits(node.op).bodies else node.inputs:
                if v is not None and id(v) not in made:
                    found[id(v)] = v
            made.update(map(id, node.outputs))
        found.update((id(v), v) for v in self.results if id(v) not in made)
        return list(found.values())


def _parts_of(gradient: Any) -> list[Tensor]:
    if isinstance(gradient, IndexedSlices):
        return [gradient.values, gradient.indices]
    return [] if gradient is None else [gradient]


def _live(nodes: Sequence[Node], results: Sequence[Value]) -> list[Node]:
    """The gradient nodes that some result needs, and what custom gradients have Python do."""
    wanted = set(map(id, results))
    kept = []
    for node in reversed(nodes):
        for v in node.outputs:
            if id(v) in wanted:
                break
        else:
            if not acts(node):
                continue
        kept.append(node)
        wanted.update(map(id, used_values(node) if traits(node.op).bodies else node.inputs))
    return kept[::-1]
