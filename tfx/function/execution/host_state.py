"""Variables while Python code runs in the middle of a function's call.

What the function assigned so far is installed only when the call has succeeded. Code of the user
that runs before (``py_function``) must see it nevertheless, as the order of the program says. So
the plan gives such a host call the values that the variables have at that point: it puts them into
the variables, runs, and puts back what was there.

What the code itself assigns takes effect at once. That is refused for variables that the function
assigns too: one of the two values would be lost. Only random generators serve both: code that draws
from one that the function draws from gets a sequence of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from tfx.core.errors import FailedPreconditionError
from tfx.core.source import SourceLocation, bracketed
from tfx.framework.func_graph import Assigned, TracedVariable
from tfx.framework.variable import install
from tfx.framework.variable_locks import installs
from tfx.graph.complex_pairs import PairCall
from tfx.graph.ir import HOST, Graph, HostCall, Node, Value
from tfx.graph.passes.drop_host_calls import has_host_calls
from tfx.graph.passes.inline_calls import expand_calls
from tfx.runtime.values import RawValue, from_numpy, to_numpy

# By the id of the variable: its record, and its value at some point of a graph.
_Pending: TypeAlias = dict[int, tuple[TracedVariable, Value]]
_numbers = itertools.count()
# Attribute of a host node: the ``HostState`` of its call.
STATE = "state"


def calls_python(graph: Graph) -> bool:
    """True if code of the user runs in a graph, its bodies and callees included."""
    return has_host_calls(graph, _is_python)


def _is_python(call: HostCall) -> bool:
    return not (call.portable or isinstance(call, PairCall))


class HostState:
    """The variables that a function assigns, as a host call in the middle of it finds them.

    Args:
        pending: Those assigned before it, whose values are the last inputs of its node.
        written: All of them.
    """

    __slots__ = ("_number", "_sequences", "_written", "pending")

    def __init__(
        self, pending: Sequence[TracedVariable], written: Sequence[TracedVariable]
    ) -> None:
        self.pending = pending
        self._written = written
        self._number = next(_numbers)
        # By the id of a generator's state: that state before the last call, and the own sequence's.
        self._sequences: dict[int, tuple[RawValue, RawValue]] = {}

    @contextmanager
    def shown(
        self, values: Sequence[RawValue], what: str, source: SourceLocation | None
    ) -> Iterator[None]:
        """Set the variables to these values inside the ``with`` block.

        Args:
            values: One for each of ``pending``.
            what: What runs in the block, for messages.
            source: Where the user calls it.

        Raises:
            FailedPreconditionError: the block assigned one of ``written``.
        """
        variables = {id(v): v for v in (s.ref() for s in self._written) if v is not None}
        before = {key: v._raw for key, v in variables.items()}
        inside = dict(before)
        found = [(s.ref(), value) for s, value in zip(self.pending, values, strict=True)]
        inside.update((id(v), value) for v, value in found if v is not None)
        for key, variable in variables.items():
            if _is_random(variable):
                inside[key] = self._sequence(variable, before[key])
        _install(variables, inside)
        # Where they are put into the memory of a device they are other objects.
        inside = {key: v._raw for key, v in variables.items()}
        try:
            yield
        finally:
            changed = []
            for key, variable in variables.items():
                if _is_random(variable):
                    self._sequences[key] = before[key], variable._raw
                elif variable._raw is not inside[key]:
                    changed.append(variable.name)
            _install(variables, before)
        if changed:
            raise FailedPreconditionError(
                f"{what} assigned variable {changed[0]!r}, which the function around it assigns "
                "too: one of the two values would be lost. Return the new value from the Python "
                f"code, and assign it in the function.{bracketed(source)}",
                source=source,
            )

    def _sequence(self, variable: Any, before: RawValue) -> RawValue:
        """The state of the sequence that this code draws: restarted when the generator was."""
        key = id(variable)
        if key in self._sequences:
            last, state = self._sequences[key]
            if before is last or to_numpy(before)[0] > to_numpy(last)[0]:
                return state
        return from_numpy(variable.aside(to_numpy(before), self._number))


def _is_random(variable: Any) -> bool:
    return getattr(variable, "aside", None) is not None


def _install(variables: dict[int, Any], values: dict[int, RawValue]) -> None:
    changed = {k: v for k, v in variables.items() if v._raw is not values[k]}
    installs.during(install, list(changed.values()), [values[k] for k in changed])


def with_state(graph: Graph, expanded: Callable[[Node], bool]) -> Graph:
    """A copy of a graph in which host calls of the user's code know the variables: ``STATE``.

    Args:
        graph: The graph, in which what runs such code is called no more.
        expanded: Tells which calls to expand in branches and loop bodies.
    """
    written = {id(s.ref()): s for s in _written(graph)}
    if not written or not calls_python(graph):
        return graph
    return _Annotator(list(written.values()), expanded).run(graph, {})


def _written(graph: Graph) -> Iterator[TracedVariable]:
    for node in graph.nodes:
        if isinstance(node.tag, Assigned):
            yield from node.tag.outputs.values()
        for body in node.bodies():
            yield from _written(body)


class _Annotator:
    def __init__(self, written: list[TracedVariable], expanded: Callable[[Node], bool]) -> None:
        self._written = written
        self._expanded = expanded

    def run(self, graph: Graph, pending: _Pending) -> Graph:
        """A copy of the graph; ``pending`` is what was assigned before it."""
        result = graph.copy()
        result.nodes = []
        pending = dict(pending)
        for node in graph.nodes:
            result.nodes.append(self._annotated(node, pending))
            if isinstance(node.tag, Assigned):
                for number, state in node.tag.outputs.items():
                    pending[id(state.ref())] = state, node.outputs[number]
        return result

    def _annotated(self, node: Node, pending: _Pending) -> Node:
        if node.op == HOST and _is_python(node.attrs["call"]) and STATE not in node.attrs:
            state = HostState([s for s, _ in pending.values()], self._written)
            values = [value for _, value in pending.values()]
            return node.replaced([*node.inputs, *values], {**node.attrs, STATE: state})
        if node.op not in ("If", "Loop") or not any(calls_python(b) for b in node.bodies()):
            return node
        attrs = dict(node.attrs)
        for key, body in node.attrs.items():
            if isinstance(body, Graph):
                inside = {**pending, **_carried(node, body)}
                attrs[key] = self.run(expand_calls(body, self._expanded), inside)
        return node.replaced(attrs=attrs)


def _carried(node: Node, body: Graph) -> _Pending:
    """The variables that a loop assigns, as an iteration finds them."""
    if node.op != "Loop" or not isinstance(node.tag, Assigned):
        return {}
    return {
        id(state.ref()): (state, body.inputs[number + 2])
        for number, state in node.tag.outputs.items()
    }
