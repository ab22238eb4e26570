"""Invariants of a graph, checked after every stage in tests (environment variable TFX_VERIFY=1)."""

from __future__ import annotations

import os
from collections.abc import Set as AbstractSet

from tfx.core.errors import InternalError
from tfx.graph import ir, schema
from tfx.graph.ir import Graph

ENABLED = os.environ.get("TFX_VERIFY") == "1"


def verify_if_enabled(graph: Graph) -> None:
    """``verify`` where TFX_VERIFY=1."""
    if ENABLED:
        verify(graph)


def verify(graph: Graph, outer: AbstractSet[int] = frozenset()) -> None:
    """Check that values are made once and before they are used, by operators that exist.

    Raises:
        InternalError: naming the graph, the node and the broken rule.
    """
    known = set(outer)
    known.update(id(v) for v in graph.inputs)
    known.update(id(v) for v in graph.constants)
    names: set[str] = set()
    for node in graph.nodes:
        for value in node.inputs:
            if value is not None and id(value) not in known:
                raise InternalError(
                    f"Graph {graph.name!r}: node {node!r} uses {value!r} before it is made."
                )
        if node.name in names:
            raise InternalError(f"Graph {graph.name!r}: two nodes are named {node.name!r}.")
        names.add(node.name)
        _verify_node(graph, node, known)
        for value in node.outputs:
            if id(value) in known:
                raise InternalError(f"Graph {graph.name!r}: {value!r} is made twice.")
            known.add(id(value))
    for value in graph.outputs:
        if id(value) not in known:
            raise InternalError(f"Graph {graph.name!r}: output {value!r} is never made.")


def _verify_node(graph: Graph, node: ir.Node, known: AbstractSet[int]) -> None:
    if node.op == ir.CALL:
        callee = node.attrs["graph"]
        if len(callee.inputs) != len(node.inputs) or len(callee.outputs) != len(node.outputs):
            raise InternalError(
                f"Graph {graph.name!r}: call {node.name!r} has {len(node.inputs)} inputs and "
                f"{len(node.outputs)} outputs; {callee!r} was expected."
            )
        verify(callee)
        return
    if node.op == ir.HOST or node.op in ir.KERNEL_OPERATORS:
        return
    schema.check_attributes(schema.operator(node.op), node.attrs)
    for body in node.bodies():
        verify(body, known)
