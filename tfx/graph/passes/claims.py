"""What passes claim of the graphs that they return, and how it is checked."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable

from tfx.core.errors import InternalError
from tfx.graph.ir import Graph
from tfx.graph.passes.dead_code import remove_dead_nodes
from tfx.graph.passes.dead_state import remove_dead_state
from tfx.graph.summary import count_nodes


class Claim(enum.Enum):
    """Something that holds of a graph, its bodies and callees."""

    # A call chain is no longer than ONNX Runtime takes.
    SHORT_CALL_CHAINS = enum.auto()
    # Values that assignments and names left stand for themselves.
    NO_COPIES = enum.auto()
    # Each node has effects or is needed.
    NO_DEAD_NODES = enum.auto()
    # Each result and each carried value of a branch or loop is needed.
    NO_DEAD_STATE = enum.auto()
    # The device has a kernel for each node, and it is right.
    KERNELS = enum.auto()
    # No branch is chosen by a constant.
    NO_CONSTANT_BRANCHES = enum.auto()
    # What constants decide is constant.
    CONSTANTS_FOLDED = enum.auto()
    # What is equal is computed once.
    NO_REPEATS = enum.auto()


EVERYTHING = frozenset(Claim)
NOTHING: frozenset[Claim] = frozenset()


def _has_no_dead_nodes(graph: Graph) -> bool:
    return count_nodes(remove_dead_nodes(graph)) == count_nodes(graph)


def _has_no_dead_state(graph: Graph) -> bool:
    narrowed = remove_dead_state(graph)
    pairs = zip(narrowed.nodes, graph.nodes, strict=True)
    return all(len(a.outputs) == len(b.outputs) for a, b in pairs)


# Those that can be checked without doing all of the work again.
_CHECKS: dict[Claim, Callable[[Graph], bool]] = {
    Claim.NO_DEAD_NODES: _has_no_dead_nodes,
    Claim.NO_DEAD_STATE: _has_no_dead_state,
}


def check_claims(graph: Graph, claims: Iterable[Claim], name: str) -> None:
    """Check what is claimed of a graph.

    Args:
        graph: The graph.
        claims: What should hold of it.
        name: The pass that returned it.

    Raises:
        InternalError: naming the pass, the graph and the claim.
    """
    for claim in claims:
        holds = _CHECKS.get(claim)
        if holds is not None and not holds(graph):
            raise InternalError(
                f"After the pass {name!r} graph {graph.name!r} should have {claim.name}."
            )
