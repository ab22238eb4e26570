"""Analysis of which values of a graph differ between elements, before anything is converted.

The one rule: what is computed from a value that differs, differs, and so does what is drawn at
random. Branches and loops need to know that of their results before their bodies are converted.
"""

from __future__ import annotations

from collections.abc import Iterable

from tfx.core.dims import is_static
from tfx.framework.guards import guard_of
from tfx.function.gradients.gradient_marker import CustomGradient
from tfx.graph.control import Loop
from tfx.graph.ir import CALL, Graph, Node, Value, bodies_below, free_values
from tfx.graph.tags import Mark
from tfx.graph.traits import traits
from tfx.ops.random.samplers import STATE_SIZE

# The random operations of the library that draw numbers; their results begin with the numbers.
DRAWS = frozenset(
    (
        "random_uniform",
        "random_normal",
        "random_truncated_normal",
        "random_full_range",
        "random_integers",
    )
)


def draws(node: Node) -> bool:
    """True if a node draws random numbers from a generator's state, which it advances."""
    if node.op != CALL:
        return False
    callee: Graph = node.attrs["graph"]
    origin = node.inputs[0] if node.inputs else None
    return (
        callee.library
        and callee.name in DRAWS
        and origin is not None
        and origin.shape == (STATE_SIZE,)
    )


def batched_values(graph: Graph, batched: Iterable[Value | None], same_draws: bool) -> set[int]:
    """Find what differs between elements.

    Args:
        graph: A graph or body.
        batched: Values that differ: inputs of the graph, values of its enclosing graphs.
        same_draws: Whether the same is drawn for all elements.

    Returns:
        The ``id`` of each value that differs, in bodies below too (called graphs left out).
    """
    found = {id(v) for v in batched if v is not None}
    _spread(graph, found, same_draws)
    return found


def _spread(graph: Graph, found: set[int], same_draws: bool) -> None:
    for node in graph.nodes:
        if node.op == "If":
            spread_if(node, found, same_draws)
        elif node.op == "Loop":
            _spread_loop(node, found, same_draws)
        elif draws(node) and not same_draws:
            found.add(id(node.outputs[0]))
        elif node.op == CALL and not isinstance(node.tag, CustomGradient):
            _spread_call(node, found, same_draws)
        elif (
            not traits(node.op).shape_only
            and node.tag is not Mark.BARRIER
            and differs(node, found, same_draws)
        ):
            found.update(id(v) for v in node.outputs)


def differs(node: Node, found: set[int], same_draws: bool) -> bool:
    """True if anything that a node uses differs, or what it draws."""
    if traits(node.op).random and not same_draws:
        return True
    if any(id(v) in found for v in node.inputs if v is not None):
        return True
    bodies = [] if node.op == CALL else list(node.bodies())
    return any(id(v) in found for body in bodies for v in free_values(body))


def _spread_call(node: Node, found: set[int], same_draws: bool) -> None:
    callee: Graph = node.attrs["graph"]
    pairs = zip(callee.inputs, node.inputs, strict=True)
    given = [formal for formal, actual in pairs if id(actual) in found]
    inside = batched_values(callee, given, same_draws)
    for formal, actual in zip(callee.outputs, node.outputs, strict=True):
        if id(formal) in inside:
            found.add(id(actual))


def spread_if(node: Node, found: set[int], same_draws: bool) -> None:
    """Mark what differs inside of an ``If`` and of its results."""
    branches = list(node.bodies())
    for body in branches:
        _spread(body, found, same_draws)
    whole = id(node.inputs[0]) in found
    for i, value in enumerate(node.outputs):
        if whole or any(id(body.outputs[i]) in found for body in branches):
            found.add(id(value))


def _spread_loop(node: Node, found: set[int], same_draws: bool) -> None:
    loop = Loop(node)
    if loop_differs(node, found, same_draws):
        found.update(id(v) for v in loop.before)
        _spread(loop.body, found, same_draws)
        found.update(id(v) for v in node.outputs)
        return
    for inside, outside in loop.results:
        if id(inside) in found:
            found.add(id(outside))


def loop_differs(node: Node, found: set[int], same_draws: bool) -> bool:
    """True if the number of iterations differs; marks what the body carries on the way."""
    loop = Loop(node)
    found.update(id(c.before) for c in loop.carried if id(c.initial) in found)
    while True:
        _spread(loop.body, found, same_draws)
        late = {id(c.before) for c in loop.carried if id(c.after) in found} - found
        if not late:
            break
        found |= late
    # What is carried and differs in the end differs at the start too.
    return _ends_apart(loop, found)


def _ends_apart(loop: Loop, found: set[int]) -> bool:
    """True if what ends a loop differs."""
    return any(id(v) in found for v in (loop.limit, loop.condition, loop.goes_on) if v is not None)


# The numbers of the elements' values among those that are unique.
_AS_LONG_AS_THE_INPUT = ("Unique", 2)


def find_ragged(
    graph: Graph, batched: Iterable[Value | None], same_draws: bool
) -> tuple[Node, str] | None:
    """Find what has another shape for each element.

    Args:
        graph: A graph.
        batched: Its inputs that differ.
        same_draws: See ``batched_values``.

    Returns:
        A loop that collects a value in each iteration, and more of them for some elements, or an
        operator whose result's shape is decided by a value that differs; and what is wrong with it.
    """
    found = batched_values(graph, batched, same_draws)
    used = {id(v) for v in graph.outputs}
    for inner in (graph, *bodies_below(graph)):
        used.update(id(v) for node in inner.nodes for v in node.inputs)
        used.update(id(v) for v in inner.outputs)
    for inner in (graph, *bodies_below(graph)):
        for node in inner.nodes:
            culprit = _ragged(node, found, used, same_draws)
            if culprit is not None:
                return culprit
    return None


def _ragged(
    node: Node, found: set[int], used: set[int], same_draws: bool
) -> tuple[Node, str] | None:
    if node.op == CALL and not isinstance(node.tag, CustomGradient) and not draws(node):
        callee: Graph = node.attrs["graph"]
        pairs = zip(callee.inputs, node.inputs, strict=True)
        given = [formal for formal, actual in pairs if id(actual) in found]
        return find_ragged(callee, given, same_draws)
    sizing_inputs = traits(node.op).size_from
    if sizing_inputs and guard_of(node) is None:
        sizing = [node.inputs[i] for i in sizing_inputs if i < len(node.inputs)]
        if not any(id(v) in found for v in sizing if v is not None):
            return None
        outputs = [v for i, v in enumerate(node.outputs) if (node.op, i) != _AS_LONG_AS_THE_INPUT]
        several = any(id(v) in used and not is_static(v.shape) for v in outputs)
        return (node, "its result has another shape for each element") if several else None
    if node.op != "Loop":
        return None
    loop = Loop(node)
    several = _ends_apart(loop, found) and any(id(v) in used for v in loop.rows)
    return (node, "what it collects has another length for each element") if several else None
