"""What went wrong in a run: the operator, the shapes that it met and the user's line.

ONNX Runtime names the node that failed. The shapes are found by running the part of the graph
before that node once more, as nothing in a graph has effects; in a called graph, by finding the
call that fails and going on inside of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tfx.core.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    OpError,
)
from tfx.core.source import bracketed
from tfx.graph.infer import describe
from tfx.graph.ir import CALL, Graph, Node, Value
from tfx.runtime.session import kernel_reason, translate
from tfx.runtime.values import RawValue

# Compiles a graph, runs it on its inputs and gives its outputs.
Run: TypeAlias = Callable[[Graph, Sequence[RawValue]], Sequence[RawValue]]

# What comes from around the run, and not from a kernel.
_UNCHANGED = (CancelledError, DeadlineExceededError, FailedPreconditionError)
_NODE_NAME = re.compile(r"(?:Name:|node with name )'([^']+)'")


def explained(
    error: Exception, graph: Graph, inputs: Sequence[RawValue] | None, run: Run
) -> OpError:
    """The exception to raise for a failed run.

    Args:
        error: What ONNX Runtime raised, or what became of it.
        graph: What was run.
        inputs: A value for each input of the graph; None: they are not known.
        run: How to run a part of it again.
    """
    if isinstance(error, _UNCHANGED):
        return error
    translated = error if isinstance(error, OpError) else translate(error)
    text = translated.message
    node = failed_node(text, graph)
    reason = kernel_reason(text)
    if node is None:
        return type(translated)(f"Function {graph.name!r} failed: {reason}")
    met = None if inputs is None else _met(graph, node, inputs, run)
    given = ", ".join(describe(v) for v in met or node.inputs)
    return type(translated)(
        f"{node.op} cannot be applied to ({given}) in function {graph.name!r}: {reason}"
        f"{bracketed(node.source)}",
        op=node.op,
        node=node.name,
        source=node.source,
    )


def failed_node(text: str, graph: Graph) -> Node | None:
    """The node that ONNX Runtime's message names; nodes of called graphs have prefixed names."""
    match = _NODE_NAME.search(text)
    if match is None:
        return None
    # Inlining prefixes names (``_inlfunc_f_MatMul``), fusions append to them (``MatMul/Fusion/``).
    name = match[1]
    best: Node | None = None
    for g in (graph, *graph.subgraphs()):
        for node in g.nodes:
            if node.op == CALL:  # its name is a part of the names of the nodes below
                continue
            if name == node.name:
                return node
            if node.name in name and (best is None or len(node.name) > len(best.name)):
                best = node
    return best


def _met(
    graph: Graph, node: Node, inputs: Sequence[RawValue], run: Run
) -> list[Value | None] | None:
    """The node's inputs with their real shapes; None if they cannot be had."""
    try:
        if node in graph.nodes:
            found = iter(run(_before(graph, node), inputs))
            return [
                None if v is None else Value(v.name, v.dtype, tuple(next(found).shape()))
                for v in node.inputs
            ]
        for call in [n for n in graph.nodes if n.op == CALL]:
            callee: Graph = call.attrs["graph"]
            if any(node in g.nodes for g in (callee, *callee.subgraphs())):
                given = run(_before(graph, call), inputs)
                if _fails(callee, given, run):
                    return _met(callee, node, given, run)
    except Exception:  # the message is then less precise; the error itself is raised all the same
        return None
    return None


def _before(graph: Graph, node: Node) -> Graph:
    """The part of a graph that computes the inputs of a node."""
    part = graph.copy()
    part.outputs = [v for v in node.inputs if v is not None]
    return part


def _fails(graph: Graph, inputs: Sequence[RawValue], run: Run) -> bool:
    try:
        run(graph, inputs)
    except Exception:
        return True
    return False
