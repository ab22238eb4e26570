"""A check for operators between outputs and inputs through which no gradient flows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tfx.autodiff.straight_through import carrying
from tfx.core.dtypes import from_onnx
from tfx.core.errors import InvalidArgumentError
from tfx.framework.rules import status_of
from tfx.graph.ir import CALL, Graph, Node, Value, free_values
from tfx.graph.quantized_operators import rounds


def check_flow(
    graph: Graph,
    targets: Mapping[str, Value],
    sources: Mapping[str, Value],
    model: str,
    *,
    zeros: bool,
    straight_through: bool,
) -> None:
    """Refuse a gradient that cannot be computed, or that would lose a part.

    Args:
        graph: The model's graph.
        targets: What is differentiated, by name.
        sources: What it is differentiated by, by name.
        model: The model, for messages.
        zeros: Whether no dependence at all is fine.
        straight_through: Whether gradients pass quantizations.

    Raises:
        InvalidArgumentError: naming the operators.
    """
    behind = _needed(graph, targets.values())
    for name, source in sources.items():
        between = [n for n in _dependent(graph, source) if id(n) in behind]
        itself = any(v is source for v in targets.values())
        outputs = ", ".join(repr(n) for n in targets)
        if not between and not itself:
            if zeros:
                continue
            raise InvalidArgumentError(
                f"{outputs} of {model} has no gradient with respect to {name!r}: it does not "
                "depend on it. Leave it out, or pass unconnected_gradients=ZERO for zeros."
            )
        quantized = [n for n in between if rounds(n.op)]
        if quantized and not straight_through:
            raise InvalidArgumentError(
                f"{outputs} of {model} depends on {name!r} through a quantization, which has no "
                f"gradient: {_shown(quantized)}. Pass straight_through=True for the estimate that "
                "takes rounding for the identity, differentiate the model from before it was "
                "quantized, or choose inputs that are behind it."
            )
        if not zeros and not itself and not _flows(between, source, targets.values()):
            blocked = [n for n in between if _is_blocked(n)]
            raise InvalidArgumentError(
                f"{outputs} of {model} depends on {name!r} through operators without gradient "
                f"alone: {_shown(blocked) or 'none that is differentiable'}."
            )


def _used(node: Node) -> list[Value]:
    values = [v for v in node.inputs if v is not None]
    if node.op != CALL:
        for body in node.bodies():
            values += free_values(body)
    return values


def _needed(graph: Graph, targets: Iterable[Value]) -> set[int]:
    """``id`` of the nodes that some target needs."""
    wanted = {id(v) for v in targets}
    nodes = set()
    for node in reversed(graph.nodes):
        if any(id(v) in wanted for v in node.outputs):
            nodes.add(id(node))
            wanted.update(id(v) for v in _used(node))
    return nodes


def _dependent(graph: Graph, source: Value) -> list[Node]:
    """The nodes that depend on a value."""
    reached = {id(source)}
    nodes = []
    for node in graph.nodes:
        if any(id(v) in reached for v in _used(node)):
            nodes.append(node)
            reached.update(id(v) for v in node.outputs)
    return nodes


def _is_blocked(node: Node) -> bool:
    """True if no gradient goes through a node."""
    status = status_of(node.op)
    return status is not None and status != "rule"


def _flows(nodes: list[Node], source: Value, targets: Iterable[Value]) -> bool:
    """True if some path from a value to a target has gradients all along."""
    reached = {id(source)}
    for node in nodes:
        if not _is_blocked(node) and any(id(v) in reached for v in _used(node)):
            reached.update(id(v) for v in node.outputs if from_onnx(v.dtype).is_floating)
            given = [v for v in node.inputs if v is not None and id(v) in reached]
            integers = any(from_onnx(v.dtype).is_integer for v in given)
            reached.update(map(id, carrying(node.op, node.outputs, integers=integers)))
    return any(id(v) in reached for v in targets)


def _shown(nodes: list[Node]) -> str:
    first = [f"{n.op} ({n.name})" if n.name != n.op else n.op for n in nodes[:5]]
    more = f" and {len(nodes) - 5} more" if len(nodes) > 5 else ""
    return ", ".join(first) + more
