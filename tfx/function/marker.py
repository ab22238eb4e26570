"""How a graph remembers that a part of it has a gradient of its own.

The results of the part pass through a ``Call`` of a graph without nodes, which does nothing and is
gone when the graph is compiled. Its inputs are the results, what the gradient is taken with respect
to, and what the gradient is computed from; its tag is a ``CustomGradient``. Whoever emits the nodes
of the graph again under a tape emits the marker too, and the tape gets one record in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfx.core.source import SourceLocation
from tfx.framework.context import current
from tfx.framework.func_graph import FuncGraph
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.ir import CALL, Graph, Value
from tfx.ops.creation import zeros_like

CUSTOM_GRADIENT = "CustomGradient"

# Gradients of the results -> one gradient (or None) for each input of the record.
Backward = Callable[..., Sequence[Tensor | None]]


class CustomGradient:
    """Tag of a marker: the gradient as a graph.

    Attributes:
        graph: From gradients of the results, followed by what else it uses, to those gradients of
            the inputs that exist.
        present: For each input, whether ``graph`` computes its gradient.
        results: How many results there are.
    """

    __slots__ = ("graph", "present", "results")

    def __init__(self, graph: Graph, present: tuple[bool, ...], results: int) -> None:
        self.graph = graph
        self.present = present
        self.results = results

    def parts(
        self, tensors: Sequence[Tensor]
    ) -> tuple[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]]:
        """A marker's inputs: results, what is differentiated by, what else the gradient uses."""
        end = self.results + len(self.present)
        return tensors[: self.results], tensors[self.results : end], tensors[end:]


class GradientGraph(FuncGraph):
    """The graph of a gradient while Python builds it.

    Everything from outside is an input, variables (with the value that they have at this point of
    the enclosing graph) and eager tensors too: they may be differentiated by.
    """

    def __init__(self, name: str, parent: FuncGraph) -> None:
        super().__init__(name, parent)
        self._outer = parent
        # Stand-ins in the enclosing graph, one for each value: many tensors may be one value.
        self._known: dict[int, SymbolicTensor] = {}

    def read(self, variable: object) -> SymbolicTensor:
        """The variable's value in the enclosing graph."""
        outer = self._outer.read(variable)  # type: ignore[arg-type]
        return SymbolicTensor(self._capture(outer), self)

    def _captured_constant(self, tensor: Tensor) -> Value:
        return self._capture(SymbolicTensor(self._outer.value_of(tensor), self._outer))

    def _capture(self, tensor: SymbolicTensor) -> Value:
        return super()._capture(self._known.setdefault(id(tensor._value), tensor))


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
    node = target.graph.add_node(CALL, values, {"graph": callee}, types, name=name, source=source)
    node.tag = tag
    for new, old in zip(node.outputs, values, strict=False):
        new.dims = old.dims
    results = [SymbolicTensor(v, target) for v in node.outputs]
    record(backward, tag.parts(tensors)[1], results)
    return results


def record(backward: Backward, inputs: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    """Tell the tapes of results with a gradient of their own."""
    for tape in current().tapes:
        tape.record(CUSTOM_GRADIENT, {"backward": backward}, inputs, results)


@gradient(CUSTOM_GRADIENT)
def _custom_gradient_grad(op: OpRecord, *dys: Tensor | None) -> Sequence[Tensor | None]:
    """Whatever the gradient function says; results that nothing depends on have zero gradients."""
    full = [zeros_like(y) if dy is None else dy for y, dy in zip(op.outputs, dys, strict=True)]
    backward: Backward = op.attrs["backward"]
    return backward(*full)
