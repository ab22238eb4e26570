"""``VariableRollback``: a computation that runs a second time begins with the same variables.

``recompute_grad`` computes its function again for the gradient. Random numbers must be the same
then, and what the function assigns must not be assigned twice. Eagerly the variables that it
assigned, the states of generators among them, go back for the second time and forth afterwards; in
a graph the second computation reads the values that the first one read, and what it assigns is
dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.func_graph import Assigned, FuncGraph, TracedVariable
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.framework.variable import READ_VARIABLE, Variable
from tfx.framework.variable_locks import all_locks, writing
from tfx.framework.variables.observers import observers
from tfx.function.gradients.gradient_marker import GradientGraph
from tfx.ops.random.generator import (
    GeneratorLog,
    drawing_alone,
    eager_generator,
    generator_states,
    seeded_states,
)

# Tensors -> the same, not before the gradient is there.
Delay = Callable[[Sequence[Tensor]], Sequence[Tensor]]


class VariableRollback:
    """The values of variables before a computation; create it right before."""

    def __init__(self) -> None:
        self._graph = current().graph
        self._before: dict[int, Any] = {}
        self._began: list[tuple[Variable, Any]] = []
        self._generators = GeneratorLog()
        # By ``id``, those variables whose first value is known.
        self._known: set[int] = set()
        if self._graph is None:
            eager_generator()  # it is there now
            self._began = [(v, v._raw) for v in generator_states()]
        else:
            self._before = {key: s.current for key, s in self._graph.states.items()}

    @contextmanager
    def first(self) -> Iterator[None]:
        """Run the computation inside of this block."""
        with self._generators.first(), self._watching():
            yield
        self._finish()

    @contextmanager
    def _watching(self) -> Iterator[None]:
        if self._graph is not None:
            yield
        else:
            thread = threading.get_ident()
            self._known = {id(v) for v, _ in self._began}

            def note(variable: Variable) -> None:
                if threading.get_ident() == thread:
                    self.watch_variable(variable)

            observers.append(note)
            try:
                yield
            finally:
                observers.remove(note)

    # A recorder of the first time: what is read may be assigned before the second time.

    def watch_variable(self, variable: Variable) -> None:
        """A variable is read or assigned."""
        if self._graph is None and id(variable) not in self._known:
            self._known.add(id(variable))
            self._began.append((variable, variable._raw))

    def record(
        self, op: str, attrs: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Tensor]
    ) -> None:
        """Note the variable that an operation reads, trainable or not; ignore other operations."""
        if op == READ_VARIABLE:
            self.watch_variable(inputs[0])

    def depends(self, x: Any) -> bool:
        """Nothing is recorded; a function that asks this of its variables is about to read them."""
        if isinstance(x, Variable):
            self.watch_variable(x)
        return False

    def _finish(self) -> None:
        """The computation is over: keep what it changed."""
        graph = self._graph
        if graph is None:
            known = {id(v) for v, _ in self._began}
            states = {id(v) for v in generator_states()}
            self._began = [
                (v, old) for v, old in self._began if id(v) not in states or v._raw is not old
            ]
            # Those of operations with a seed, which were used for the first time.
            self._began += [(v, old) for v, old in seeded_states() if id(v) not in known]
            return
        for key, state in list(graph.states.items()):
            variable = state.ref()
            before = self._before.get(key)
            if variable is None or not state.written or state.current is before:
                continue
            if before is None:
                before = _entry(graph, state, variable)
            if before is not None:
                self._began.append((variable, SymbolicTensor(before, graph)))

    @contextmanager
    def again(self, delay: Delay) -> Iterator[None]:
        """Repeat the computation inside of this block.

        Args:
            delay: In a graph, keeps it apart from the first time.
        """
        with self._generators.again():
            if not self._began:
                yield
            elif current().graph is None:
                with self._eagerly():
                    yield
            else:
                with self._in_graph(delay):
                    yield

    @contextmanager
    def _eagerly(self) -> Iterator[None]:
        states = {id(v) for v in generator_states()}
        with ExitStack() as stack:
            stack.enter_context(drawing_alone())
            if any(id(v) not in states and v._raw is not old for v, old in self._began):
                stack.enter_context(writing(all_locks()))  # no other thread's value gets lost
            now = [(v, v._raw) for v, _ in self._began]
            _put_back(self._began)
            try:
                yield
            finally:
                _put_back(now)

    @contextmanager
    def _in_graph(self, delay: Delay) -> Iterator[None]:
        graph = current().graph
        assert graph is not None
        # What eagerly has the same value as then is read as ever.
        traced = self._graph is not None
        began = [(v, old) for v, old in self._began if traced or v._raw is not old]
        tensors = [_tensor(value, variable) for variable, value in began]
        saved = []
        for (variable, _), tensor in zip(began, delay(tensors), strict=True):
            state = graph.state_of(variable)
            saved.append((state, state.current, state.written))
            state.current = graph.value_of(tensor)
            if not traced:
                state.current = _as_read(graph, state)
        mark = len(graph.graph.nodes)
        try:
            yield
        finally:
            for state, value, written in saved:
                state.current, state.written = value, written
            _untag(graph, mark, {id(variable) for variable, _ in self._began})


def _put_back(pairs: Sequence[tuple[Variable, Any]]) -> None:
    for variable, value in pairs:
        if variable._raw is not value:
            variable._swap(value)


def _tensor(value: Any, variable: Variable) -> Tensor:
    """A value that a variable had."""
    if isinstance(value, Tensor):
        return value
    eager = EagerTensor(value, variable.dtype)
    return convert_to_tensor(eager)


def _entry(graph: FuncGraph, state: TracedVariable, variable: Variable) -> Any:
    """The value with which a variable entered a graph; None: it was never read."""
    enter = getattr(graph, "_enter", None)
    if enter is not None:
        return enter(variable)
    if isinstance(graph, GradientGraph):
        return graph.entering(variable)._symbol
    return state.entry


def _as_read(graph: FuncGraph, state: TracedVariable) -> Any:
    """A constant that a variable was: what is computed from it depends on the variable."""
    assert state.current is not None
    source = state.current
    node = graph.graph.add_node(
        "Identity",
        (source,),
        {},
        [(source.dtype, source.shape)],
        tag=Assigned({0: state}, again=True),
    )
    return node.outputs[0]


def _untag(graph: FuncGraph, mark: int, variables: set[int]) -> None:
    """Remove the tags of values assigned in a second run: they are no variables' values."""
    for node in graph.graph.nodes[mark:]:
        if isinstance(node.tag, Assigned):
            assigned = node.tag.outputs
            if any(id(s.ref()) in variables for s in assigned.values()):
                kept = {i: s for i, s in assigned.items() if s.variable().dtype.has_gradients}
                node.tag = Assigned(kept, again=True) if kept else None
