"""The inputs of a traced graph: arguments, captured tensors, values of variables.

Owns the correspondence between a graph's inputs and what a call fills them with, worked out once
for each trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tfx.framework.func_graph import FuncGraph, TracedVariable
from tfx.graph import ir

# (0, argument number, None), (1, capture number, None) or (2, entry number, variable)
Source: TypeAlias = tuple[int, int, TracedVariable | None]


def order_of_inputs(
    graph: ir.Graph, func_graph: FuncGraph, entries: list[tuple[ir.Value, TracedVariable]]
) -> list[Source]:
    """Return for each input (0, argument), (1, capture) or (2, entry, variable), by number."""
    arguments = {id(v): i for i, v in enumerate(func_graph.arguments)}
    captures = {id(v): i for i, (_, v) in enumerate(func_graph.captured.values())}
    states = {id(v): (i, s) for i, (v, s) in enumerate(entries)}
    order: list[Source] = []
    for value in graph.inputs:
        if id(value) in arguments:
            order.append((0, arguments[id(value)], None))
        elif id(value) in captures:
            order.append((1, captures[id(value)], None))
        else:
            order.append((2, *states[id(value)]))
    return order


def sources_in_written(
    order: Sequence[Source], written: Sequence[TracedVariable]
) -> list[tuple[int | None, int]] | None:
    """Return for each input (number of argument, _) or (None, number of written variable).

    Args:
        order: What each input is.
        written: The variables that the function assigns.

    Returns:
        None if some variable is read only.
    """
    numbers = {id(state): k for k, state in enumerate(written)}
    if not all(state is None or id(state) in numbers for _, _, state in order):
        return None
    return [(i, 0) if state is None else (None, numbers[id(state)]) for _, i, state in order]
