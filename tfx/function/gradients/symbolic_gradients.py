"""``gradients``: derivatives by walking the graph being traced, without a tape.

The nodes made so far become the records that a tape would have kept. A called function is one
record, whose rule is the derivative of the called graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tfx.autodiff.backprop import backpropagate_slices
from tfx.autodiff.differentiated import flat_sources_of
from tfx.autodiff.tape import UnconnectedGradients, unconnected_kind
from tfx.core import nest
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.func_graph import FuncGraph, TracedVariable
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import READ_VARIABLE, Variable
from tfx.function.gradients.node_records import records_of
from tfx.graph.ir import Node, Value
from tfx.ops.array.creation import ones_like, zeros_like


class AggregationMethod:
    """The ways to sum gradients, accepted for compatibility: they are always summed at once."""

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Tensor | IndexedSlices | None]:
    """Derivatives of the sum of ``ys`` with respect to each of ``xs``, inside a function.

    Args:
        ys: Tensor or list of tensors of the function being traced.
        xs: Tensor, variable or list of them.
        grad_ys: Gradient of something else with respect to each of ``ys``; None: ones.
        name: Accepted for compatibility.
        gate_gradients: Accepted for compatibility.
        aggregation_method: Accepted for compatibility.
        stop_gradients: Tensors that are taken for constants.
        unconnected_gradients: What to return where nothing depends on an ``x``.

    Returns:
        A list with a tensor for each of ``xs``; ``IndexedSlices`` for what was used by
        ``tf.gather`` alone, None for what nothing depends on and for integers that are not among
        ``ys`` themselves.

    Raises:
        RuntimeError: no function is being traced.
        InvalidArgumentError: ``grad_ys`` do not fit ``ys``.
        TypeError: one of ``xs`` is neither a tensor nor a variable.
        ValueError: ``unconnected_gradients`` is unknown.

    Example:
        >>> import tfx as tf
        >>> @tf.function
        ... def slope(x):
        ...     return tf.gradients(x * x * x, x)[0]
        >>> slope(tf.constant(2.0)).numpy()
        np.float32(12.0)
    """
    graph = current().graph
    if graph is None:
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape "
            "instead, or call it inside a tfx.function."
        )
    unconnected = unconnected_kind(unconnected_gradients)
    records = GraphRecords(graph, nest.flatten([] if stop_gradients is None else stop_gradients))
    targets = [records.tensor_of(y) for y in nest.flatten(ys)]
    seeds = nest.flatten(grad_ys) if grad_ys is not None else [None] * len(targets)
    if len(seeds) != len(targets):
        raise InvalidArgumentError(
            f"Length mismatch. Passed {len(seeds)} grad_ys for {len(targets)} ys; expected one for "
            "each, or None in its place."
        )
    sources = flat_sources_of(xs)
    places = [x if isinstance(x, Variable) else records.tensor_of(x) for x in sources]
    records.watch(places)
    by = [x for x in places if x.dtype.has_gradients]
    slopes = backpropagate_slices(
        list(records), _seeded(targets, seeds, lambda y: y.dtype.has_gradients), by
    )
    found: dict[int, Any] = {id(x): slope for x, slope in zip(by, slopes, strict=True)}
    found |= _seeded(targets, seeds, lambda y: not y.dtype.has_gradients)
    if unconnected is UnconnectedGradients.NONE:
        return [found.get(id(place)) for place in places]
    return [
        zeros_like(x) if found.get(id(place)) is None else found[id(place)]
        for x, place in zip(sources, places, strict=True)
    ]


def _seeded(
    targets: Sequence[Tensor], seeds: Sequence[Any], wanted: Callable[[Tensor], bool]
) -> dict[int, Tensor]:
    """The gradients that the targets begin with; integers have those alone."""
    total: dict[int, Tensor] = {}
    for y, seed in zip(targets, seeds, strict=True):
        if not wanted(y):
            continue
        dy = ones_like(y) if seed is None else convert_to_tensor(seed, y.dtype)
        known = total.get(id(y))
        total[id(y)] = dy if known is None else ox.Add(known, dy)
    return total


class GraphRecords:
    """The nodes of a graph as records, with one tensor for each value.

    Args:
        graph: The graph being traced.
        constants: Tensors through which no gradient flows.
    """

    def __init__(self, graph: FuncGraph, constants: Sequence[Any]) -> None:
        self._graph = graph
        self._nodes = list(graph.graph.nodes)
        # Those that recorders know, so that they see what depends on them.
        self._tensors: dict[int, SymbolicTensor] = {
            id(x._symbol): x
            for tape in current().tapes
            for x in getattr(tape, "tensors", tuple)()
            if isinstance(x, SymbolicTensor) and x._graph is graph
        }
        self._fixed = frozenset(id(self._value_of(x)) for x in constants)
        # By ``id``, constants of the graph that a derivative is taken by.
        self._watched: frozenset[int] = frozenset()

    def watch(self, sources: Sequence[Any]) -> None:
        """Let bodies tell what depends on these, constants among them too."""
        values = [x._symbol for x in sources if isinstance(x, SymbolicTensor)]
        self._watched = frozenset(id(v) for v in values if v.const is not None)

    def tensor_of(self, x: Any) -> SymbolicTensor:
        """The tensor by which the records know a tensor, or a variable's current value."""
        return self._tensor(self._value_of(x))

    def _value_of(self, x: Any) -> Value:
        return self._graph.value_of(
            self._graph.read(x) if isinstance(x, Variable) else convert_to_tensor(x)
        )

    def _tensor(self, value: Value) -> SymbolicTensor:
        return self._tensors.setdefault(id(value), SymbolicTensor(value, self._graph))

    def __iter__(self) -> Iterator[OpRecord]:
        for state in self._graph.read_states():
            assert state.entry is not None
            yield self._read(state.variable(), state.entry)
        for node in self._nodes:
            yield from self._record(node)

    def _read(self, variable: Variable, value: Value) -> OpRecord:
        return OpRecord(READ_VARIABLE, {}, (variable,), (self._tensor(value),))

    def _record(self, node: Node) -> Iterator[OpRecord]:
        graph = self._graph
        return records_of(
            node,
            graph.graph,
            graph,
            self._tensor,
            TracedVariable.variable,
            self._fixed,
            self._watched,
        )
