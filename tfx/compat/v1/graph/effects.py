"""Host calls in a graph, such as printing, as operations that can be run and waited for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfx.compat.v1.graph.graph import Graph
from tfx.framework.context import current
from tfx.framework.operation import Operation


def as_operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that prints or checks, which returns its operation in a graph.

    Args:
        function: ``tf.print``, ``tf.debugging.assert_equal`` and the like.
    """

    @functools.wraps(function)
    def _call(*args: Any, **kwargs: Any) -> Any:
        graph = current().graph
        if not isinstance(graph, Graph):
            return function(*args, **kwargs)
        before = len(graph.ordered.nodes)
        result = function(*args, **kwargs)
        added = graph.ordered.nodes[before:]
        if result is not None:
            return result
        # A check that was made at once needs no operation, but something to wait for.
        return Operation(added[-1], graph) if added else graph.add_no_op((), "NoOp")

    return _call


@functools.cache
def public_operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of TensorFlow 2 that prints or checks as TensorFlow 1 has it; always the same."""
    made = as_operation(function)
    made.__module__ = "tfx.compat.v1"  # where it is pickled by name
    return made
