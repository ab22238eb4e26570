"""Diagnosis of a failed run: the operator, its run-time shapes and the user's line.

ONNX Runtime names the node that failed, and the branches and loops around it. The shapes are found
by running the part of the graph before that node once more, as nothing in a graph has effects; in a
called graph, a branch or a loop, by finding the call or iteration that fails and going on inside.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from tfx.core.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
)
from tfx.core.refusals import Refusal, refusal_in
from tfx.core.source import bracketed
from tfx.graph.control import If
from tfx.graph.infer import describe
from tfx.graph.ir import CALL, Graph, Node, Value, free_values
from tfx.runtime.session import kernel_reason, translate
from tfx.runtime.values import RawValue, from_numpy, to_numpy

# Compiles a graph; the result runs it on its inputs and gives its outputs.
Run: TypeAlias = Callable[[Sequence[RawValue]], Sequence[RawValue]]
Compile: TypeAlias = Callable[[Graph], Run]

# Seconds that a failed loop may be run again to find the iteration that fails.
_PATIENCE = 5.0

# What comes from around the run, and not from a kernel.
_UNCHANGED = (CancelledError, DeadlineExceededError, FailedPreconditionError)
_NODE_NAME = re.compile(r"(?:(?:Name:|node with name )'|Node \()([^')]+)['\)]")


def translate_failure(
    error: Exception, graph: Graph, inputs: Sequence[RawValue] | None, compiled: Compile
) -> OpError:
    """The exception to raise for a failed run.

    Args:
        error: What ONNX Runtime raised, or what became of it.
        graph: What was run.
        inputs: A value for each input of the graph; None: they are not known.
        compiled: How to run a part of it again.
    """
    if isinstance(error, _UNCHANGED):
        return error
    translated = error if isinstance(error, OpError) else translate(error)
    text = translated.message
    node = failed_node(text, graph)
    reason = kernel_reason(text)
    if node is None:
        return type(translated)(f"Function {graph.name!r} failed: {reason}")
    met = None if inputs is None else _met(graph, node, inputs, compiled)
    refusal = refusal_in(text)
    if refusal is not None:
        (first, *_) = met or node.inputs
        given = f" of {describe(first)}" if refusal is Refusal.ENSURED else ""
        return InvalidArgumentError(
            refusal.said(f"{given} in function {graph.name!r}") + bracketed(node.source),
            op=refusal.op,
            node=node.name,
            source=node.source,
        )
    given = ", ".join(describe(v) for v in met or node.inputs)
    return type(translated)(
        f"{node.op} cannot be applied to ({given}) in function {graph.name!r}: {reason}"
        f"{bracketed(node.source)}",
        op=node.op,
        node=node.name,
        source=node.source,
    )


def failed_node(text: str, graph: Graph) -> Node | None:
    """The node that ONNX Runtime's message names, the innermost of a graph with bodies."""
    named = (_named(name, graph) for name in reversed(_NODE_NAME.findall(text)))
    return next((node for node in named if node is not None), None)


def outermost_node(text: str, graph: Graph) -> Node | None:
    """The node of the graph itself whose run failed: a loop where the failure is inside of one."""
    names = _NODE_NAME.findall(text)
    return _named(names[0], graph) if names else None


def _named(name: str, graph: Graph) -> Node | None:
    """The node that a name in a message means; nodes of called graphs have prefixed names."""
    # Inlining prefixes names (``_inlfunc_f_MatMul``), fusions append to them (``MatMul/Fusion/``).
    best: Node | None = None
    for node in graph.all_nodes():
        if node.op == CALL:  # its name is a part of the names of the nodes below
            continue
        if name == node.name:
            return node
        if node.name in name and (best is None or len(node.name) > len(best.name)):
            best = node
    return best


def _met(
    graph: Graph, node: Node, inputs: Sequence[RawValue], compiled: Compile
) -> list[Value | None] | None:
    """The node's inputs with their real shapes; None if they cannot be obtained."""
    try:
        if node in graph.nodes:
            found = iter(_computed(graph, node.inputs, inputs, compiled))
            return [
                None if v is None else Value(v.name, v.dtype, tuple(next(found).shape()))
                for v in node.inputs
            ]
        for outer in graph.nodes:
            for body, given in _entered(graph, outer, node, inputs, compiled):
                return _met(body, node, given, compiled)
    except Exception:  # the message is then less precise; the error itself is raised all the same
        return None
    return None


def _entered(
    graph: Graph, outer: Node, node: Node, inputs: Sequence[RawValue], compiled: Compile
) -> Iterator[tuple[Graph, Sequence[RawValue]]]:
    """The graph inside of a node that fails because of another in it, and the inputs it had."""
    bodies = [b for b in outer.bodies() if node in b.all_nodes()]
    if not bodies:
        return
    given = _computed(graph, outer.inputs, inputs, compiled)
    if outer.op == CALL:
        (callee,) = bodies
        if _fails(compiled(callee), given):
            yield callee, given
        return
    if outer.op == "If":
        body = If(outer).branches[0 if to_numpy(given[0]) else 1]
        first: Sequence[RawValue] = ()
    else:
        (body,) = bodies
        first = given
    free = free_values(body)
    around = _computed(graph, free, inputs, compiled)
    alone = body.copy()
    alone.parent = None
    alone.inputs = [*body.inputs, *free]
    run = compiled(alone)
    if outer.op == "If":
        if _fails(run, around):
            yield alone, around
    elif outer.op == "Loop":
        has_limit, has_condition, *_ = [v is not None for v in outer.inputs]
        carried = first[has_limit + has_condition :]
        failing = _failing_iteration(run, carried, around)
        if failing is not None:
            yield alone, failing


def _failing_iteration(
    run: Run, carried: Sequence[RawValue], around: Sequence[RawValue]
) -> Sequence[RawValue] | None:
    """The inputs of the iteration of a loop that fails; None if it takes too long to find."""
    begin, number, count = time.monotonic(), 0, len(carried)
    while time.monotonic() - begin < _PATIENCE:
        given = [from_numpy(np.array(number, np.int64)), from_numpy(np.array(True))]
        given += [*carried, *around]
        try:
            found = run(given)
        except Exception:
            return given
        if not to_numpy(found[0]):
            return None
        carried = list(found[1 : count + 1])
        number += 1
    return None


def _computed(
    graph: Graph, values: Sequence[Value | None], inputs: Sequence[RawValue], compiled: Compile
) -> Sequence[RawValue]:
    """Values of a graph."""
    part = graph.copy()
    part.outputs = [v for v in values if v is not None]
    return compiled(part)(inputs) if part.outputs else ()


def _fails(run: Run, inputs: Sequence[RawValue]) -> bool:
    try:
        run(inputs)
    except Exception:
        return True
    return False
