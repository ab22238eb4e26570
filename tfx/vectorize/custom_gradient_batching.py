"""Parts with a gradient of their own: all elements' results, and the gradient for all of them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfx.core.errors import UnimplementedError
from tfx.core.source import SourceLocation
from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.convert import int64_constant
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.function.gradients.gradient_marker import (
    Backward,
    CustomGradient,
    GradientGraph,
    mark,
    record,
)
from tfx.function.gradients.inline_graph import run_gradient
from tfx.function.gradients.repeated_gradient import type_of
from tfx.graph.ir import Graph, Node
from tfx.ops.common.batching import tiled
from tfx.vectorize.batched_value import BatchedValue, CannotConvertError

if TYPE_CHECKING:
    from tfx.vectorize.batcher import Batcher


def convert_custom(batcher: Batcher, node: Node) -> list[BatchedValue]:
    """The results of a marker; a tape's gradient of them is the marker's for all elements."""
    tag = node.tag
    assert isinstance(tag, CustomGradient)
    batched_values = [batcher.batched_value(v) for v in node.inputs if v is not None]
    differs = any(x.batched for x in batched_values)
    results = [batcher.full(x) if differs else x.tensor for x in batched_values[: tag.results]]
    gradient = _BatchedGradient(batcher, tag, batched_values, differs)
    graph = current().graph
    if graph is None:
        found: Sequence[Tensor] = _eagerly(gradient, results)
    else:
        found = _traced(gradient, results, graph, node.name, node.source)
    return [BatchedValue(t, differs) for t in found]


class _BatchedGradient:
    """Gradients of the results of all elements -> gradients of the marker's inputs."""

    def __init__(
        self,
        batcher: Batcher,
        tag: CustomGradient,
        batched_values: Sequence[BatchedValue],
        differs: bool,
    ) -> None:
        self._loops = batcher
        self._tag = tag
        self._differs = differs
        self.deferred = tag.deferred
        self.inputs = list(batched_values[tag.results : tag.results + len(tag.present)])
        self._rest = list(batched_values[tag.results + len(tag.present) :])

    def __call__(self, *dys: Tensor) -> list[Tensor | None]:
        """Return the batched gradients of the inputs, as a tape's backward function."""
        return self._carried_out(self._loops.for_body(), dys, self._rest)

    def _carried_out(
        self, inner: Batcher, dys: Sequence[Tensor], rest: Sequence[BatchedValue]
    ) -> list[Tensor | None]:
        given = [*(BatchedValue(dy, self._differs) for dy in dys), *rest]
        for value, batched_value in zip(self._tag.graph.inputs, given, strict=True):
            inner.put(value, *batched_value)
        found = iter(inner.run(self._tag.graph))
        return [
            self._of_input(inner, next(found), batched_value) if present else None
            for batched_value, present in zip(self.inputs, self._tag.present, strict=True)
        ]

    @property
    def used(self) -> list[Tensor]:
        """What the graph of ``repeated`` uses besides the gradients of the results."""
        return [*(x.tensor for x in self._rest), self._loops.size]

    def repeated(self, results: Sequence[Tensor]) -> CustomGradient:
        """The tag of a marker whose gradient is converted when it is asked for.

        Args:
            results: Those of all elements.
        """
        kinds = [type_of(t) for t in (*results, *self.used)]

        def convert() -> Graph:
            traced = FuncGraph("gradient_of_elements")
            with using(graph=traced, tapes=(), scope="", device=None):
                given = [traced.add_argument(f"x{i}", *kind) for i, kind in enumerate(kinds)]
                dys, rest, size = given[: len(results)], given[len(results) : -1], given[-1]
                pairs = zip(rest, self._rest, strict=True)
                batched_values = [BatchedValue(x, known.batched) for x, known in pairs]
                inner = self._loops.in_other_graph(size)
                try:
                    found = self._carried_out(inner, dys, batched_values)
                except CannotConvertError as e:
                    raise UnimplementedError(f"The next derivative for all elements: {e}") from e
                traced.graph.outputs = [traced.value_of(g) for g in found if g is not None]
            return traced.graph

        return CustomGradient(convert, self._tag.present, len(results))

    def _of_input(self, inner: Batcher, gradient: BatchedValue, given: BatchedValue) -> Tensor:
        """The gradient of an input that is the same for all is the sum of the elements'."""
        if given.batched:
            return inner.full(gradient)
        if not self._differs:
            return gradient.tensor
        whole = tiled(gradient.tensor, inner.size) if not gradient.batched else gradient.tensor
        return ox.ReduceSum(whole, int64_constant([0]), keepdims=0)


def _eagerly(gradient: _BatchedGradient, results: Sequence[Tensor]) -> list[Tensor]:
    own: list[Tensor] = []
    for result in results:
        assert isinstance(result, EagerTensor)
        own.append(EagerTensor(result._raw, result._dtype))
    record(gradient, [x.tensor for x in gradient.inputs], own)
    return own


def _traced(
    gradient: _BatchedGradient,
    results: Sequence[Tensor],
    graph: FuncGraph,
    name: str,
    source: SourceLocation | None,
) -> Sequence[Tensor]:
    """The same through a marker in the graph under construction."""
    if gradient.deferred:
        tag = gradient.repeated(results)
        tensors = [*results, *(x.tensor for x in gradient.inputs), *gradient.used]
        later: Backward = functools.partial(run_gradient, tag, tensors)
        return mark(tag, tensors, graph, later, name=name, source=source)
    traced = GradientGraph(f"{name}_gradient", graph)
    with using(graph=traced, tapes=(), scope=""):
        dys: list[Any] = []
        for i, result in enumerate(results):
            value = graph.value_of(result)
            dys.append(traced.add_argument(f"dy{i}", value.dtype, value.shape))
        found = gradient(*dys)
        traced.graph.outputs = [traced.value_of(g) for g in found if g is not None]
    tag = CustomGradient(traced.graph, tuple(g is not None for g in found), len(results))
    tensors = [
        *results,
        *(x.tensor for x in gradient.inputs),
        *(outer for outer, _ in traced.captured.values()),
    ]

    def backward(*given: Tensor) -> list[Tensor | None]:
        return run_gradient(tag, tensors, *given)

    return mark(tag, tensors, graph, backward, name=name, source=source)
