"""Random draws of a computation, kept for its second run by ``recompute_grad``.

Random operators of ONNX draw from a state of their own, and what Python returns cannot be obtained
twice: Python is called once. Eagerly a recorder keeps it, and gives it to the operations of the
second time; of a function that was called, its graph returns it and another one takes it. In a
trace the nodes of the second time take what those of the first made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from tfx.control_flow.control_nodes import CONTROL_OPS
from tfx.core.errors import InvalidArgumentError
from tfx.core.source import bracketed
from tfx.framework.context import current, using
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor, raw_of
from tfx.function.recompute.hoist_random import (
    draws_inside,
    expand_drawing,
    hoist_random,
    replay_random,
)
from tfx.function.recompute.nonrepeatable import DROPOUT
from tfx.graph.ir import HOST, Graph, Node, Value
from tfx.graph.traits import traits
from tfx.ops.nn.dropout import dropped

if TYPE_CHECKING:
    from tfx.function.gradients.pure_function import PureFunction


class RandomLog:
    """A recorder that keeps what is drawn eagerly, and gives it back in a second computation."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        # In a second computation, the number of the next thing to give.
        self._next: int | None = None

    @property
    def gives(self) -> bool:
        """True if it is the second computation."""
        return self._next is not None

    def again(self) -> None:
        """Replay from here on what was kept."""
        self._next = 0

    def keep(self, kept: _Kept) -> None:
        """Keep what was drawn."""
        self._kept.append(kept)

    def take(self) -> _Kept:
        """Return the draw at the same place of the first run."""
        assert self._next is not None
        if self._next == len(self._kept):
            raise _differs(None)
        self._next += 1
        return self._kept[self._next - 1]

    # A recorder

    def record(
        self, op: str, attrs: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Tensor]
    ) -> None:
        """Keep what a random operator drew, or put what it drew before in its place."""
        if not traits(op).random:
            return
        if not self.gives:
            self.keep(_Kept(outputs))
            return
        for new, value in zip(outputs, self.take().values, strict=True):
            cast(EagerTensor, new)._raw = value

    def depends(self, x: Any) -> bool:
        """Nothing is recorded of tensors."""
        return False

    def watch_variable(self, variable: Any) -> None:
        """Variables are of no interest."""


class _Kept:
    """Results that must not be computed again, and what they came from."""

    def __init__(self, results: Sequence[Tensor], origin: Any = None) -> None:
        self.values = [raw_of(x) for x in results]
        self.dtypes = [x.dtype for x in results]
        self.origin = origin

    def tensors(self) -> list[Tensor]:
        """The results, as new tensors."""
        return [EagerTensor(v, d) for v, d in zip(self.values, self.dtypes, strict=True)]


def active_logs() -> list[RandomLog]:
    """The logs of computations around that may be, or are, done again; eagerly."""
    return [t for t in current().tapes if type(t) is RandomLog]


def run_once(
    logs: Sequence[RandomLog], compute: Callable[[], Sequence[Tensor]], origin: Any = None
) -> tuple[list[Tensor], Any]:
    """Return the kept results of a computation, or compute and keep them.

    Args:
        logs: The active ones.
        compute: Computes it.
        origin: Something to remember with the results.

    Returns:
        The results, and the origin of the first time.
    """
    known = [log.take() for log in logs if log.gives]
    kept = known[0] if known else _Kept(compute(), origin)
    for log in logs:
        if not log.gives:
            log.keep(kept)
    return kept.tensors(), kept.origin


def call_once(
    function: PureFunction,
    logs: Sequence[RandomLog],
    tensors: Sequence[Tensor],
    recorders: list[Any],
) -> list[Tensor]:
    """Call a function that draws, eagerly; what it draws may have been drawn already."""
    if any(log.gives for log in logs):
        drawn, _ = run_once(logs, tuple)
        return function.taking_draws()._observed([*tensors, *drawn], recorders)
    returning, places = function.returning_draws()
    results = returning._observed(tensors, recorders)
    run_once(logs, lambda: [results[i] for i in places])
    return results[: len(function.graph.outputs)]


def _differs(node: Node | None) -> InvalidArgumentError:
    what = "something" if node is None else f"{node.name!r}{bracketed(node.source)}"
    return InvalidArgumentError(
        f"recompute_grad carried out its function again for the gradient, and it drew {what} that "
        "it did not draw the first time. Let the function do the same operations each time."
    )


class Draws:
    """The draws of a computation; create it right before, in the same context."""

    def __init__(self) -> None:
        graph = current().graph
        self._graph = graph
        self._log = RandomLog()
        self._mark = 0 if graph is None else len(graph.graph.nodes)
        self._drawing: list[Node] = []

    @contextmanager
    def first(self, tapes: Sequence[Any]) -> Iterator[None]:
        """The computation.

        Args:
            tapes: The recorders that record it.
        """
        if self._graph is None:
            # A log that gives comes before one that keeps.
            place = max((i for i, t in enumerate(tapes) if type(t) is RandomLog), default=-1) + 1
            tapes = (*tapes[:place], self._log, *tapes[place:])
        with using(tapes=tuple(tapes)):
            yield
        if self._graph is not None:
            part = _part(self._graph, self._mark)
            hoist_random(part, _top(self._graph))
            self._graph.graph.nodes[self._mark :] = part.nodes
            self._drawing = [node for node in part.nodes if draws_inside(node)]

    @contextmanager
    def again(self) -> Iterator[None]:
        """The same computation once more."""
        graph = current().graph
        if graph is None:
            self._log.again()
            with using(tapes=(self._log, *current().tapes)):
                yield
            return
        mark = len(graph.graph.nodes)
        yield
        if self._graph is not None:
            self._give(graph, mark)

    def _give(self, graph: FuncGraph, mark: int) -> None:
        """Let the nodes behind ``mark`` take what was drawn before."""
        part = _part(graph, mark)
        left = iter(self._drawing)
        nodes: list[Node] = []
        for node in part.nodes:
            if not draws_inside(node):
                nodes.append(node)
                continue
            first = next(left, None)
            if first is None or first.op != node.op:
                raise _differs(node)
            nodes += self._taking(first, node, graph)
        graph.graph.nodes[mark:] = nodes

    def _taking(self, first: Node, node: Node, graph: FuncGraph) -> list[Node]:
        assert self._graph is not None
        known: dict[int, Tensor] = {id(v): SymbolicTensor(v, self._graph) for v in first.outputs}
        if node.op in CONTROL_OPS:
            replay_random(first, node, known, graph)
            return [node]
        if node.op == HOST:  # its tapes are with the first one; records know the attributes
            node.attrs["call"] = first.attrs["call"]
        mark = len(graph.graph.nodes)
        with using(graph=graph, tapes=()):
            given = [known[id(v)] for v in first.outputs]
            if node.op == DROPOUT:
                x, ratio, training = [
                    None if v is None else SymbolicTensor(v, graph) for v in node.inputs
                ]
                assert x is not None
                assert training is not None
                given[0] = dropped(x, ratio, training, given[1])
            values = [graph.value_of(x) for x in given]
        made = graph.graph.nodes[mark:]
        del graph.graph.nodes[mark:]
        return made + [
            _alias(old, new, node, graph) for old, new in zip(values, node.outputs, strict=False)
        ]


def _alias(old: Value, new: Value, node: Node, graph: FuncGraph) -> Node:
    """Return a node that replaces a draw by an existing value."""
    name = graph.graph.unique_name(f"{node.name}/again")
    alias = Node("Identity", (old,), {}, name, node.source, outputs=(new,), device=node.device)
    new.node = alias
    return alias


def _part(graph: FuncGraph, mark: int) -> Graph:
    """The nodes behind a mark, without calls that draw."""
    part = Graph(graph.name, graph.graph)
    part.nodes = graph.graph.nodes[mark:]

    def constant(value: Value) -> Value:
        assert value.const is not None
        return graph.constant(value.const, value.dtype)

    expand_drawing(part, constant)
    return part


def _top(graph: FuncGraph) -> Graph:
    """The graph that has the constants."""
    while graph.is_body:
        assert graph.parent is not None
        graph = graph.parent
    return graph.graph
