"""``resolve``: the part of a graph that some fetches need, as the graph of a function.

Nodes keep the order that they have in the graph, in which they were made; that is one of the orders
that the edges allow, and always the same one. A read becomes the variable's value at that point, an
assignment replaces it. Nodes of operators are shared with the original graph, and so are the values
between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tfx.compat.v1.graph import pseudo_ops
from tfx.compat.v1.graph.ordered_graph import OrderedGraph
from tfx.compat.v1.graph.pseudo_ops import Access, Query
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.context import using
from tfx.framework.func_graph import Assigned, FuncGraph, TracedVariable
from tfx.framework.variable import Variable
from tfx.graph.copy_body import without_names_of_sizes
from tfx.graph.ir import Node, Value
from tfx.graph.passes.dead_code import used_values

Memory = Callable[[Variable], Variable]


class Resolved:
    """The result of ``resolve``.

    Attributes:
        func_graph: A graph whose arguments are the feeds and whose outputs are the fetches, then
            new values of variables.
        queried: The variables that the graph was asked about, and what the answer was.
    """

    __slots__ = ("func_graph", "queried")

    def __init__(self, func_graph: FuncGraph, queried: list[tuple[Variable, bool]]) -> None:
        self.func_graph = func_graph
        self.queried = queried


def resolve(
    graph: OrderedGraph,
    fetches: Sequence[Value],
    targets: Sequence[Node],
    feeds: Sequence[tuple[Value, str]],
    *,
    memory: Memory,
    name: str,
    device: str | None = None,
    make: Callable[[str], FuncGraph] = FuncGraph,
) -> Resolved:
    """The function from feeds to fetches.

    Args:
        graph: The graph.
        fetches: Values to return.
        targets: Nodes to run besides.
        feeds: Values that are given, with the names of the arguments.
        memory: The variable that holds the value of a variable of the graph.
        name: Name of the function.
        device: Where the graph was built.
        make: Makes the function's graph from its name.

    Raises:
        InvalidArgumentError: a placeholder is needed and not fed.
    """
    fed = {id(v): v for v, _ in feeds}
    nodes = graph.closure(fetches, targets, fed)
    with using(graph=None, tapes=(), device=device):
        plan = make(name)
    resolver = _Resolver(plan, memory, fed)
    for value, argument in feeds:
        resolver.feed(value, argument)
    for node in nodes:
        resolver.add(node)
    _check_inputs(graph, plan.graph.nodes, fetches, fed)
    plan.graph.constants += _constants(graph, plan.graph.nodes, fetches)
    plan.graph.outputs = list(fetches)
    for state in plan.written_states():
        assert state.current is not None
        plan.graph.outputs.append(state.current)
    if any(v.node is not None and v.node.op != pseudo_ops.PLACEHOLDER for v in fed.values()):
        # What was computed from a tensor that is fed may have other sizes now.
        plan.graph, now = without_names_of_sizes(plan.graph)
        for state in plan.states.values():
            state.current = None if state.current is None else now(state.current)
    plan.graph._names = dict(graph._names)
    return Resolved(plan, resolver.queried)


def _check_inputs(
    graph: OrderedGraph, nodes: Iterable[Node], fetches: Iterable[Value], fed: dict[int, Value]
) -> None:
    used = {id(v) for node in nodes for v in used_values(node)}
    used.update(id(v) for v in fetches)
    for value in graph.inputs:
        if id(value) in used and id(value) not in fed:
            raise InvalidArgumentError(_unfed(value.name, value))


def _unfed(name: str, value: Value) -> str:
    shape = TensorShape(value.shape)
    has_shape = "" if shape.rank is None else f" and shape {shape.as_list()}"
    return (
        f"You must feed a value for placeholder tensor {name!r} with dtype "
        f"{dtypes.from_onnx(value.dtype).name}{has_shape}: add it to feed_dict."
    )


def _constants(graph: OrderedGraph, nodes: Iterable[Node], fetches: Iterable[Value]) -> list[Value]:
    used = {id(v) for node in nodes for v in used_values(node)}
    used.update(id(v) for v in fetches)
    return [v for v in graph.constants if id(v) in used]


class _Resolver:
    """Adds nodes to the function one by one."""

    def __init__(self, plan: FuncGraph, memory: Memory, fed: dict[int, Value]) -> None:
        self.plan = plan
        self.memory = memory
        self.fed = fed
        self.queried: list[tuple[Variable, bool]] = []

    def feed(self, value: Value, argument: str) -> None:
        """Put an argument in place of a value."""
        given = self.plan.add_argument(argument, value.dtype, value.shape)._symbol
        self._same(given, value, f"{argument}/fed", None)

    def add(self, node: Node) -> None:
        """One node of the original graph."""
        step = _STEPS.get(node.op)
        if step is not None:
            step(self, node)
        elif any(id(v) in self.fed for v in node.outputs):
            # What is fed has its value already: the node makes another one that nothing uses.
            results = tuple(
                Value(f"{v.name}/unused", v.dtype, v.shape) if id(v) in self.fed else v
                for v in node.outputs
            )
            self.plan.graph.nodes.append(node.replaced(outputs=results))
        else:
            self.plan.graph.nodes.append(node)

    def _same(self, source: Value, result: Value, name: str, node: Node | None) -> Node:
        """Let ``result`` be ``source``."""
        copy = Node(
            "Identity",
            (source,),
            {},
            name,
            None if node is None else node.source,
            outputs=(result,),
        )
        self.plan.graph.nodes.append(copy)
        return copy

    def _state(self, state: TracedVariable) -> tuple[Variable, TracedVariable]:
        variable = self.memory(state.variable())
        return variable, self.plan.state_of(variable)

    def _placeholder(self, node: Node) -> None:
        value = node.outputs[0]
        if id(value) in self.fed:
            return
        raise InvalidArgumentError(_unfed(node.name, value))

    def _no_op(self, node: Node) -> None:
        """Emit nothing for a no-op: only its edges count."""

    def _read(self, node: Node) -> None:
        if id(node.outputs[0]) in self.fed:
            return
        assert isinstance(node.tag, Access)
        variable, _ = self._state(node.tag.state)
        self._same(self.plan.read(variable)._symbol, node.outputs[0], node.name, node)

    def _assign(self, node: Node) -> None:
        assert isinstance(node.tag, Access)
        source = node.inputs[0]
        assert source is not None
        _, state = self._state(node.tag.state)
        result = node.outputs[0]
        if id(result) in self.fed:
            result = Value(f"{result.name}/assigned", result.dtype, result.shape)
        copy = self._same(source, result, node.name, node)
        copy.tag = Assigned({0: state})
        if result.node is None:
            result.node = copy
        state.current = result
        state.written = True

    def _initialized_value(self, node: Node) -> None:
        if id(node.outputs[0]) in self.fed:
            return
        (state,), initial = _asked(node), node.inputs[0]
        assert initial is not None
        if self._has_value(state):
            variable, _ = self._state(state)
            initial = self.plan.read(variable)._symbol
        self._same(initial, node.outputs[0], node.name, node)

    def _is_initialized(self, node: Node) -> None:
        (state,) = _asked(node)
        self._answer(node, np.array(self._has_value(state)), dtypes.bool)

    def _uninitialized_names(self, node: Node) -> None:
        names = [s.name.removesuffix(":0") for s in _asked(node) if not self._has_value(s)]
        self._answer(node, np.array([n.encode() for n in names], object), dtypes.string)

    def _answer(self, node: Node, array: np.ndarray[Any, Any], dtype: dtypes.DType) -> None:
        if id(node.outputs[0]) not in self.fed:
            value = self.plan.graph.add_constant(array, dtype.onnx)
            self._same(value, node.outputs[0], node.name, node)

    def _has_value(self, original: TracedVariable) -> bool:
        """True if a variable has a value at this point of the function."""
        variable, state = self._state(original)
        if state.written:
            return True
        has = has_value(variable)
        self.queried.append((variable, has))
        return has


def has_value(variable: Variable) -> bool:
    """True if a variable was ever assigned."""
    return variable._raw is not None


_STEPS: dict[str, Callable[[_Resolver, Node], None]] = {
    pseudo_ops.PLACEHOLDER: _Resolver._placeholder,
    pseudo_ops.NO_OP: _Resolver._no_op,
    pseudo_ops.READ: _Resolver._read,
    pseudo_ops.ASSIGN: _Resolver._assign,
    pseudo_ops.INITIALIZED_VALUE: _Resolver._initialized_value,
    pseudo_ops.IS_INITIALIZED: _Resolver._is_initialized,
    pseudo_ops.UNINITIALIZED_NAMES: _Resolver._uninitialized_names,
}


def _asked(node: Node) -> list[TracedVariable]:
    """The variables that a node asks about."""
    assert isinstance(node.tag, Query)
    return node.tag.states
