"""Fallbacks for operators without a batching rule: a loop over the elements, with a warning.

An operator whose derivative is given by a formula of other operators is batched through those. What
Python does, and operators with bodies of their own, run for one element after another.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tfx.control_flow.map_fn import map_fn
from tfx.core.dtypes import from_onnx
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.apply import apply_n
from tfx.framework.context import current, using
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function.gradients.inline_graph import inline_nodes
from tfx.graph.copy_body import copy_node
from tfx.graph.ir import CALL, HOST, Graph, Node, Value, free_values
from tfx.ops.common.batching import BatchedOp
from tfx.vectorize.batched_value import BatchedValue
from tfx.vectorize.element_graph import ElementGraph

if TYPE_CHECKING:
    from tfx.vectorize.batcher import Batcher

_log = logging.getLogger("tfx")


_PART = "It runs for one element after another, the rest of the function for all at once."
_WHOLE = "The whole function runs for one element after another."


class Fallback:
    """The treatment of an operator without a batching rule.

    Args:
        allowed: Run the operator in a loop; False: refuse.
        warn: Say so, once for each operator.
    """

    def __init__(self, allowed: bool = True, warn: bool = True) -> None:
        self._allowed = allowed
        self._warn = warn
        self._told: set[str] = set()

    def announce(self, op: str, reason: str | None, node: Node, *, whole: bool = False) -> None:
        """Warn of a loop, or refuse it.

        Args:
            op: The operator.
            reason: Why; None: it has no rule.
            node: The node.
            whole: Whether the loop is of the whole function, and not of the operator alone.

        Raises:
            ValueError: loops are not allowed.
        """
        place = "" if node.source is None else f" [{node.source.text()}]"
        why = f"no batching rule for {op}" if reason is None else f"{op}: {reason}"
        if not self._allowed:
            raise ValueError(
                f"No pfor vectorization defined for {op} ({why}){place}. Allow a loop over the "
                "elements with fallback_to_while_loop=True, or write the function with other "
                "operations."
            )
        if self._warn and op not in self._told:
            self._told.add(op)
            _log.warning(
                "Using a while_loop for converting %s: %s%s. %s",
                op,
                why,
                place,
                _WHOLE if whole else _PART,
            )

    def run(
        self, op: BatchedOp, node: Node, reason: str | None, wanted: Sequence[bool]
    ) -> Sequence[Tensor]:
        """The operator applied to one element after another, the results stacked.

        Args:
            op: The operator.
            node: The node.
            reason: Why its rule does not do; None: it has none.
            wanted: For each result whether it is used; another one is something else.
        """
        self.announce(op.op, reason, node)
        rows: list[Tensor | None] = [
            x for x, batched in zip(op.inputs, op.batched, strict=True) if batched
        ]

        def one(parts: list[Tensor]) -> list[Tensor]:
            given = iter(parts)
            inputs = [
                next(given) if batched else x
                for x, batched in zip(op.inputs, op.batched, strict=True)
            ]
            found = apply_n(op.op, inputs, op.attrs, op.outputs)
            return [x for x, used in zip(found, wanted, strict=True) if used]

        if not rows:  # an operator that draws numbers
            rows += [op.full(i) for i in range(len(op.inputs)) if op.given(i)][:1]
        outputs = [v for v, used in zip(node.outputs, wanted, strict=True) if used]
        made = iter(mapped(one, rows, outputs, node.op))
        return [next(made) if used else op.size for used in wanted]


def mapped(
    one: Callable[[list[Tensor]], list[Tensor]],
    rows: Sequence[Tensor | None],
    outputs: Sequence[Value],
    name: str,
) -> list[Tensor]:
    """``one`` of each element's parts of ``rows``, stacked.

    Args:
        one: Takes the parts of one element.
        rows: Tensors with the elements along axis 0.
        outputs: What the results of one element are.
        name: Name of the loop.
    """
    specs = [
        TensorSpec(_shape(v), from_onnx(v.dtype)) if v.shape is not None else from_onnx(v.dtype)
        for v in outputs
    ]
    found: list[Tensor] = map_fn(one, list(rows), fn_output_signature=specs, name=name)
    return found


def _shape(value: Value) -> TensorShape:
    assert value.shape is not None
    return TensorShape([d if isinstance(d, int) else None for d in value.shape])


def by_formula(
    batcher: Batcher, op: BatchedOp, node: Node, formula: Callable[[OpRecord], Any]
) -> list[Tensor] | None:
    """The operator by the operations that its formula consists of; None: not all results."""
    element = ElementGraph(op.op)
    with using(graph=element, tapes=(), scope=""):
        inputs: list[Tensor | None] = []
        for i, x in enumerate(op.inputs):
            if x is None or not op.batched[i]:
                inputs.append(x)
                continue
            raw = x.shape.symbolic
            inputs.append(
                element.placeholder(f"x{i}", x.dtype.onnx, None if raw is None else raw[1:])
            )
        outputs = apply_n(op.op, inputs, op.attrs, op.outputs)
        result = formula(OpRecord(op.op, op.attrs, inputs, outputs))
        results = [result] if isinstance(result, Tensor) else list(result)
        if len(results) < op.outputs:
            return None
        element.graph.outputs = [element.value_of(r) for r in results[: op.outputs]]
    inner = batcher.for_body()
    for value, tensor in element.from_outside():
        inner.put(value, tensor, False)
    for x, placeholder in zip(op.inputs, inputs, strict=True):
        if x is not None and isinstance(placeholder, SymbolicTensor) and placeholder is not x:
            inner.put(placeholder._symbol, x, True)
    used = _needed(element.graph)
    element.graph.nodes = [n for n in element.graph.nodes if any(id(v) in used for v in n.outputs)]
    if any(n.op == op.op for n in element.graph.nodes):
        return None
    return [inner.full(batched_value) for batched_value in inner.run(element.graph)]


def _needed(graph: Graph) -> set[int]:
    used = {id(v) for v in graph.outputs}
    for node in reversed(graph.nodes):
        if any(id(v) in used for v in node.outputs):
            used.update(id(v) for v in node.inputs if v is not None)
            for body in [] if node.op == CALL else node.bodies():
                used.update(id(v) for v in free_values(body))
    return used


def with_bodies(batcher: Batcher, node: Node) -> list[BatchedValue]:
    """An operator with bodies (``Scan``, ``SequenceMap``): once, or for each element."""
    if not any(batcher.batched_value(v).batched for v in batcher.uses(node)):
        return repeated(batcher, node)
    batcher.loops.announce(node.op, None, node)
    return host_loop(batcher, node)


def host_loop(batcher: Batcher, node: Node) -> list[BatchedValue]:
    """The node itself for one element after another."""
    if node.op == HOST and node.outputs:
        batcher.loops.announce(_host_name(node), None, node)
    used = batcher.uses(node)
    batched_values = [batcher.batched_value(v) for v in used]
    rows = [batched_value.tensor for batched_value in batched_values if batched_value.batched]

    def one(parts: list[Tensor]) -> list[Tensor]:
        given = iter(parts)
        tensors = [
            next(given) if batched_value.batched else batched_value.tensor
            for batched_value in batched_values
        ]
        return emit_again(node, used, tensors)

    if node.outputs:
        return [BatchedValue(t, True) for t in mapped(one, rows, node.outputs, node.op)]
    map_fn(lambda parts: one(parts) or parts, rows, name=node.op)
    return []


def _host_name(node: Node) -> str:
    return str(node.attrs["call"].kind)


def used_by(node: Node) -> list[Value]:
    """Return the values that a node and its bodies use, except constants."""
    used = {id(v): v for v in node.inputs if v is not None}
    for body in [] if node.op == CALL else node.bodies():
        used.update({id(v): v for v in free_values(body) if v.const is None})
    return list(used.values())


def repeated(batcher: Batcher, node: Node) -> list[BatchedValue]:
    """The results of a node that is the same for all elements: it is appended once."""
    used = batcher.uses(node)
    tensors = [batcher.batched_value(v).tensor for v in used]
    return [BatchedValue(t, False) for t in emit_again(node, used, tensors)]


def emit_again(node: Node, used: Sequence[Value], tensors: Sequence[Tensor]) -> list[Tensor]:
    """Append a node to the graph under construction, seen by tapes.

    Args:
        node: The node.
        used: The values that it and its bodies use.
        tensors: What they are in the graph under construction.
    """
    target = current().graph
    assert target is not None
    single = Graph(node.name)
    formal: dict[int, Value] = {}
    mapping: dict[int, Tensor] = {}
    for value, tensor in zip(used, tensors, strict=True):
        formal[id(value)] = single.add_input(value.name, value.dtype, value.shape)
        mapping[id(formal[id(value)])] = tensor

    def lookup(value: Value) -> Value:
        found = formal.get(id(value))
        if found is None and value.const is not None:
            found = formal[id(value)] = single.add_constant(value.const, value.dtype)
        assert found is not None
        return found

    copied = copy_node(node, single, lookup, lookup)
    single.outputs = list(copied.outputs)
    inline_nodes(single, mapping, target)
    return [mapping[id(v)] for v in single.outputs]
