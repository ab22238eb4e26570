"""Operations that only stand for others: ``group``, ``no_op``, ``tuple``, ``control_dependencies``.

In a graph that sessions run they are nodes and edges; elsewhere program order says it all.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from tfx.compat.v1.graph.graph import Graph
from tfx.framework import control_dependencies as ordering
from tfx.framework.context import current
from tfx.framework.operation import Operation
from tfx.ops.math.cast import identity


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[Any]:
    """Let the operations made inside the ``with`` block come after others.

    Args:
        control_inputs: Operations, tensors and variables; None: after nothing at all.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     count = tf.Variable(0)
        ...     session.run(count.initializer)
        ...     with tf.control_dependencies([count.assign_add(1)]):
        ...         result = tf.constant(5.0) * 2.0
        ...     session.run(result), session.run(count)
        (np.float32(10.0), np.int32(1))
    """
    graph = current().graph
    if isinstance(graph, Graph):
        edges: AbstractContextManager[Any] = graph.control_dependencies(control_inputs)
        return edges
    return ordering.control_dependencies(control_inputs)


def no_op(name: str | None = None) -> Any:
    """An operation that does nothing; it can be waited for.

    Args:
        name: Name of the operation.

    Returns:
        The operation; None where no graph is built.
    """
    return ordering.no_op(name)


def group(*inputs: Any, **kwargs: Any) -> Any:
    """An operation that runs others.

    Args:
        *inputs: Operations, tensors, variables or structures of them.
        **kwargs: ``name``, the name of the operation.

    Returns:
        The operation; None where no graph is built.

    Raises:
        ValueError: another keyword.
        TypeError: something that is no operation, tensor or variable.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {list(kwargs)}.")
    return ordering.group(*inputs, name=name)


def tuple(tensors: Iterable[Any], name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Tensors that are there only when all of them are.

    Args:
        tensors: Tensors, variables, operations, or None.
        name: Name of the operations.
        control_inputs: What must have run besides.

    Returns:
        A list with a tensor for each; None and operations as they are.

    Raises:
        ValueError: nothing but None.
    """
    given = list(tensors)
    graph = current().graph
    if not isinstance(graph, Graph):
        return list(ordering.tuple(given, control_inputs))
    if all(x is None for x in given):
        raise ValueError("Must have at least one Tensor.")
    gates = [x for x in given if x is not None] + list(control_inputs or ())
    with control_dependencies([group(*gates, name=name or "tuple")]):
        return [x if x is None or isinstance(x, Operation) else identity(x) for x in given]
