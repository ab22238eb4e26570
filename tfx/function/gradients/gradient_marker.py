"""Markers in a graph for parts with a custom gradient.

The results of the part pass through a ``Call`` of a graph without nodes, which does nothing and is
gone when the graph is compiled. Its inputs are the results, what the gradient is taken with respect
to, and what the gradient is computed from; its tag is a ``CustomGradient``. When the nodes of the
graph are emitted again under a tape, so is the marker, and the tape gets one record in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.core.errors import NotFoundError
from tfx.core.source import SourceLocation, bracketed
from tfx.framework.context import current
from tfx.framework.func_graph import FuncGraph
from tfx.framework.indexed_slices_rules import slices_gradient
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import READ_VARIABLE
from tfx.graph.custom_gradients import CustomGradient as CustomGradient
from tfx.graph.ir import CALL, Graph, Node, Value
from tfx.ops.array.creation import zeros_like
from tfx.ops.array.indexed_slices import dense

CUSTOM_GRADIENT = "CustomGradient"

# Gradients of the results -> one gradient (or None) for each input of the record.
Backward = Callable[..., Sequence[Tensor | None]]


class GradientGraph(FuncGraph):
    """The graph of a gradient while Python builds it.

    Everything from outside is an input, variables (with the value that they have at this point of
    the enclosing graph) and eager tensors too: they may be differentiated by.

    Args:
        name: What to call it.
        parent: The enclosing graph.
        known: Tensors of the enclosing graph by which its tapes know variables.
    """

    def __init__(self, name: str, parent: FuncGraph, known: Sequence[Tensor] = ()) -> None:
        super().__init__(name, parent)
        self._outer = parent
        self._tapes = current().tapes
        # Stand-ins in the enclosing graph, one for each value: many tensors may be one value.
        self._known = {id(t._symbol): t for t in known if isinstance(t, SymbolicTensor)}
        # What tapes know a stand-in by, where that is an eager tensor; by id of the value.
        self._eager: dict[int, Tensor] = {}

    @property
    def used(self) -> list[Tensor]:
        """Return the captured values as the enclosing tapes know them, in order of the inputs."""
        return [self._eager.get(id(t._symbol), t) for t, _ in self.captured.values()]

    def read(self, variable: Any) -> SymbolicTensor:
        """The variable's value in the enclosing graph, or what was assigned here."""
        state = self.states.get(id(variable))
        if state is not None and state.current is not None and state.ref() is variable:
            return SymbolicTensor(state.current, self)
        return self.entering(variable)

    def entering(self, variable: Any) -> SymbolicTensor:
        """The variable's value in the enclosing graph."""
        outer = self._outer.read(variable)
        if id(outer._symbol) not in self._known:
            # The gradient of this gradient is asked for by a tape around the one that asks for it.
            for tape in self._tapes[:-1]:
                if variable.trainable:
                    tape.watch_variable(variable)
            for tape in self._tapes:
                tape.record(READ_VARIABLE, {}, (variable,), (outer,))
        return SymbolicTensor(self._capture(outer), self)

    def _captured_constant(self, tensor: Tensor) -> Value:
        outer = SymbolicTensor(self._outer.value_of(tensor), self._outer)
        self._eager[id(outer._symbol)] = tensor
        return self._capture(outer)

    def _capture(self, tensor: SymbolicTensor) -> Value:
        return super()._capture(self._known.setdefault(id(tensor._symbol), tensor))


def mark(
    tag: CustomGradient,
    tensors: Sequence[Tensor],
    target: FuncGraph,
    backward: Backward,
    *,
    name: str,
    source: SourceLocation | None,
) -> list[SymbolicTensor]:
    """Append a marker and tell the tapes.

    Args:
        tag: The gradient.
        tensors: See ``CustomGradient.parts``.
        target: The graph under construction.
        backward: What the tapes call for the gradient.
        name: Name of the node.
        source: The user's line.

    Returns:
        The results, as tensors that have this gradient.
    """
    values = [target.value_of(t) for t in tensors]
    callee = Graph(name)
    formal = [callee.add_input(v.name, v.dtype, v.shape) for v in values]
    callee.outputs = formal[: tag.results]
    types = [(v.dtype, v.shape) for v in values[: tag.results]]
    node = target.graph.add_node(
        CALL, values, {"graph": callee}, types, name=name, source=source, tag=tag
    )
    for new, old in zip(node.outputs, values, strict=False):
        new.dims = old.dims
    results = [SymbolicTensor(v, target) for v in node.outputs]
    record(backward, tag.parts(tensors)[1], results)
    return results


def record(backward: Backward, inputs: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    """Record results with a custom gradient on the tapes."""
    for tape in current().tapes:
        tape.record(CUSTOM_GRADIENT, {"backward": backward}, inputs, results)


def not_saved(node: Node) -> Backward:
    """Return a gradient function that raises: the part's custom gradient is not in the bundle.

    Args:
        node: The copy that stands for the part's result.
    """

    def refuse(*dys: Tensor) -> Sequence[Tensor | None]:
        raise NotFoundError(
            f"No gradient defined for {node.name!r}{bracketed(node.source)}: it is a result of a "
            "part with a custom_gradient that was saved without it. Save with "
            "SaveOptions(experimental_custom_gradients=True) and a gradient function of operations "
            "alone, or put a tfx.stop_gradient around it.",
            op=CUSTOM_GRADIENT,
            node=node.name,
            source=node.source,
        )

    return refuse


def unknown_gradient() -> Graph:
    """Raise: the graph of a gradient cannot be made any more.

    Raises:
        NotFoundError: always.
    """
    raise NotFoundError(
        "No gradient defined: the custom_gradient of a function that calls itself in its gradient "
        "is pickled for as many derivatives as were traced. Take further ones of the function "
        "before it is pickled.",
        op=CUSTOM_GRADIENT,
    )


@gradient(CUSTOM_GRADIENT)
def _custom_gradient_grad(op: OpRecord, *dys: Tensor | None) -> Sequence[Tensor | None]:
    """Whatever the gradient function says, dense."""
    return [dense(g) for g in _custom_gradient_slices(op, *dys)]


@slices_gradient(CUSTOM_GRADIENT)
def _custom_gradient_slices(op: OpRecord, *given: Any) -> Sequence[Any]:
    """Whatever the gradient function says; results that nothing depends on have zero gradients."""
    dys = [dense(dy) for dy in given]
    full = [zeros_like(y) if dy is None else dy for y, dy in zip(op.outputs, dys, strict=True)]
    backward: Backward = op.attrs["backward"]
    return backward(*full)
