"""Running a converted graph: at once, as part of the trace around, or as a session of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfx.control_flow.control_nodes import assigned_states
from tfx.core.dims import is_static
from tfx.core.dtypes import SEQUENCE, from_onnx
from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.function.gradients.gradient_marker import CustomGradient
from tfx.function.gradients.inline_graph import inline_nodes
from tfx.function.gradients.pure_function import PureFunction
from tfx.graph.custom_gradients import gradient_of
from tfx.graph.ir import CALL, HOST, Graph, Node, RawShape, Value
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.traits import traits
from tfx.ops.array.creation import zeros
from tfx.ops.math.cast import cast
from tfx.ops.math.reduction import reduce_sum
from tfx.vectorize.batched_value import CannotConvertError
from tfx.vectorize.batcher import Batcher
from tfx.vectorize.compiled_cache import function_of
from tfx.vectorize.dependence import draws, find_ragged
from tfx.vectorize.element_graph import ElementGraph
from tfx.vectorize.if_batching import refuse_assignments
from tfx.vectorize.loop_fallback import Fallback, mapped

Row = tuple[Value, Tensor, bool]


class Elements:
    """The graph of one element, ready to be carried out for all.

    Args:
        element: The graph, with its outputs.
        size: Number of elements, an int64 scalar.
        static_size: The same where it is known.
        loops: What to do where a rule is missing.
        same_draws: See ``Batcher``.
    """

    def __init__(
        self,
        element: ElementGraph,
        size: Tensor,
        static_size: int | None,
        loops: Fallback,
        *,
        same_draws: bool = False,
    ) -> None:
        # What nothing uses must not run either: it may have no rule.
        self._element = element
        self._graph = _live(element)
        self._size = size
        self._static_size = static_size
        self._loops = loops
        self._same_draws = same_draws

    def run(self, rows: Sequence[Row]) -> list[Tensor]:
        """The results of all elements, with the batch in front.

        Args:
            rows: Inputs of the graph, what they are, and whether that has the batch in front.
        """
        given = [*rows, *((v, t, False) for v, t in self._element.from_outside())]
        if current().graph is None:
            graph = _needs_graph(self._graph) or self._ragged(given) is not None
            if self._static_size == 0 and (graph or self._is_static()):
                return self._nothing(given)
            if graph:
                return self._compiled(given)
        given += [(v, state.variable().stored_value(), False) for v, state in self._element.reads()]
        return self._convert(given, self._size)

    def _is_static(self) -> bool:
        return all(is_static(v.shape) for v in self._graph.outputs)

    def _nothing(self, given: Sequence[Row]) -> list[Tensor]:
        """The results of no elements: some kernels do not take empty batches."""
        sums = [
            reduce_sum(x) for _, x, batched in given if batched and current().tapes and _floats(x)
        ]
        results = []
        for v in self._graph.outputs:
            kind, shape = from_onnx(v.dtype), v.shape or ()
            result = zeros([0, *(d if isinstance(d, int) else 0 for d in shape)], kind)
            if kind.has_gradients:  # tapes know what it depends on
                for x in sums:
                    result = ox.Add(result, cast(x, kind))
            results.append(result)
        return results

    def _ragged(self, given: Sequence[Row]) -> tuple[Node, str] | None:
        return find_ragged(self._graph, [v for v, _, batched in given if batched], self._same_draws)

    def _one_by_one(self, given: Sequence[Row], why: CannotConvertError) -> list[Tensor]:
        """The whole function for one element after another."""
        written = self._element.written_states()
        if written:
            refuse_assignments(why.node, written)
        self._loops.announce(why.node.op, why.reason, why.node, whole=True)
        rows = [t for _, t, batched in given if batched]

        def one(parts: list[Tensor]) -> list[Tensor]:
            target = current().graph
            assert target is not None
            slices = iter(parts)
            mapping = {id(v): next(slices) if batched else t for v, t, batched in given}
            inline_nodes(self._graph, mapping, target)
            return [mapping[id(v)] for v in self._graph.outputs]

        return mapped(one, rows, self._graph.outputs, self._graph.name)

    def _convert(self, given: Sequence[Row], size: Tensor) -> list[Tensor]:
        culprit = self._ragged(given)
        if culprit is not None:
            return self._one_by_one(given, CannotConvertError(*culprit))
        batcher = Batcher(size, self._static_size, self._loops, same_draws=self._same_draws)
        for value, tensor, batched in given:
            batcher.put(value, tensor, batched)
        try:
            return [batcher.full(batched_value) for batched_value in batcher.run(self._graph)]
        except CannotConvertError as e:
            return self._one_by_one(given, e)

    def _compiled(self, given: Sequence[Row]) -> list[Tensor]:
        """The same in a graph that runs as a session; tapes see one operation."""
        target = FuncGraph(self._graph.name)
        target.named_after_calls = False
        with using(graph=target, tapes=(), scope=""):
            arguments: list[Row] = []
            for value, tensor, batched in given:
                raw = None if value.dtype > SEQUENCE else _open(tensor.shape.symbolic)
                arguments.append(
                    (value, target.add_argument(value.name, value.dtype, raw), batched)
                )
            reads: list[Row] = [
                (value, target.read(state.variable()), False)
                for value, state in self._element.reads()
            ]
            assert isinstance(self._size, EagerTensor)
            results = self._convert([*arguments, *reads], self._size)
            written = target.written_states()
            again = _read_assigned(target)
            outputs = [target.value_of(r) for r in results]
            outputs += [s.current for s in written if s.current is not None]
            target.graph.outputs = outputs
        states = target.read_states()
        leaves = [(s, target.graph.inputs.index(s.entry)) for s in states if s.entry is not None]
        graph = remove_dead_nodes(target.graph)
        remembered = not (written or again)
        function = function_of(graph) if remembered else PureFunction(graph, leaves=leaves)
        found = function(
            [*(t for _, t, _ in given), *(s.variable().stored_value() for s in states)]
        )
        for state, new in zip(written, found[len(results) :], strict=True):
            state.variable().assign(new)
        return found[: len(results)]


def _read_assigned(target: FuncGraph) -> bool:
    """Make inputs of the variables of a graph that were assigned before it, as it tells.

    Returns:
        Whether there are any: gradients of what is computed from those are theirs.
    """
    found = [state.variable() for state in assigned_states([target.graph])]
    again = [v for v in found if not target.state_of(v).written]
    for variable in again:
        target.read(variable)
    return bool(again)


def _open(shape: RawShape) -> RawShape:
    """A shape with what is empty left open: a branch that was not taken kept nothing."""
    return (None,) * len(shape) if shape is not None and 0 in shape else shape


def _floats(x: Tensor) -> bool:
    return bool(x.dtype.has_gradients)


def _live(element: ElementGraph) -> Graph:
    """The graph without what nothing uses; assignments and what Python does are used."""
    graph = element.graph
    outputs = list(graph.outputs)
    graph.outputs = outputs + [s.current for s in element.written_states() if s.current is not None]
    live = remove_dead_nodes(graph)
    graph.outputs = outputs
    live.outputs = outputs
    return live


def live_nodes(graph: Graph) -> list[Node]:
    """The nodes that the outputs of a graph need."""
    return remove_dead_nodes(graph).nodes


def _needs_graph(graph: Graph) -> bool:
    return any(
        traits(node.op).bodies or "Sequence" in node.op or node.op.startswith("Optional")
        for inner in _graphs(graph)
        for node in inner.nodes
    )


def _graphs(graph: Graph) -> Iterator[Graph]:
    """A graph, those that it calls, and those of gradients in it."""
    yield graph
    for node in graph.nodes:
        if isinstance(node.tag, CustomGradient):
            own = gradient_of(node)
            if own is not None:
                yield from _graphs(own)
        elif node.op == CALL and not draws(node):
            yield from _graphs(node.attrs["graph"])
        elif node.op == HOST:
            continue
