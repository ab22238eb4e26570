"""Operations about the order of others, all of which program order already settles.

A variable inside a function is its current value (see ``func_graph``), so what is written later in
the program happens later. These names exist for programs that state the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tfx.core import nest
from tfx.core.errors import LeakedTensorError
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.operation import Operation, is_variable_handle
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable


def no_op(name: str | None = None) -> Any:
    """Nothing.

    Args:
        name: Name of the operation in a ``compat.v1.Graph``.

    Returns:
        None; in a ``compat.v1.Graph`` an operation.
    """
    graph = current().graph
    return None if graph is None else graph.add_no_op((), name or "NoOp")


def group(*inputs: Any, name: str | None = None) -> Any:
    """State that several operations belong together; they have happened already.

    Args:
        *inputs: Results of the operations: tensors, variables, None, or structures of them.
        name: Name of the operation in a ``compat.v1.Graph``.

    Returns:
        None; in a ``compat.v1.Graph`` an operation that comes after the others.

    Raises:
        TypeError: something else, while a function is traced.

    Example:
        >>> import tfx as tf
        >>> v, w = tf.Variable(1.0), tf.Variable(2.0)
        >>> tf.group(v.assign_add(1.0), w.assign_sub(1.0))
        >>> float(v), float(w)
        (2.0, 1.0)
    """
    graph = current().graph
    if graph is None:
        return None
    given = [x for x in nest.flatten(list(inputs)) if x is not None]
    for x in given:
        if not isinstance(x, Tensor | Variable | Operation) and not is_variable_handle(x):
            raise TypeError(
                f"'inputs' should be zero or more (nested) Tensors. Received {x!r} with type "
                f"{type(x)}."
            )
    return graph.add_no_op(given, name or "group_deps")


def tuple(tensors: Iterable[Any], control_inputs: Any = None, name: str | None = None) -> Any:
    """Tensors all of which are there before any of them is used.

    Args:
        tensors: Tensors, variables, or None.
        control_inputs: What else comes before them: tensors, variables or operations.
        name: Name of the operations while a function is traced.

    Returns:
        ``tensors`` itself; while a function is traced a list of tensors of their own, None kept.

    Raises:
        ValueError: there is nothing but None in a traced function.
        TypeError: ``control_inputs`` holds something else, in a traced function.

    Example:
        >>> import tfx as tf
        >>> [x.numpy() for x in tf.tuple([tf.constant(1), tf.constant(2)])]
        [np.int32(1), np.int32(2)]
    """
    graph = current().graph
    if graph is None:
        return tensors
    given = list(tensors)
    if all(x is None for x in given):
        raise ValueError(f"tuple: expected at least one tensor among 'tensors'; got {given!r}.")
    waited = list(control_inputs or ())
    for x in waited:
        if not isinstance(x, Tensor | Variable | Operation) and not is_variable_handle(x):
            raise TypeError(
                f"tuple: 'control_inputs' must be operations or tensors; got {x!r} of type "
                f"{type(x).__name__}."
            )
    read = [None if x is None else convert_to_tensor(x) for x in given]
    with control_dependencies([*(x for x in read if x is not None), *waited]):
        return [None if x is None else ox.Identity(x) for x in read]


@contextmanager
def control_dependencies(control_inputs: Iterable[Any] | None) -> Iterator[None]:
    """State that what happens inside comes after ``control_inputs``, which program order ensures.

    Args:
        control_inputs: Tensors, variables, operations, None; callables are called.

    Raises:
        LeakedTensorError: a tensor of a function whose trace is over.

    Example:
        >>> import tfx as tf
        >>> v = tf.Variable(1.0)
        >>> with tf.control_dependencies([v.assign(2.0)]):
        ...     float(v + 1.0)
        3.0
    """
    graph = current().graph
    for x in control_inputs or ():
        if callable(x) and not isinstance(x, Tensor | Variable):
            x()
        elif isinstance(x, SymbolicTensor):
            if graph is None:
                raise LeakedTensorError(
                    f"{x!r} belongs to function {x.graph.name!r} and cannot be waited for outside "
                    "of it; return it from the function instead."
                )
            graph.check_reach(x)
    if graph is None:
        yield
        return
    with graph.control_dependencies(control_inputs):
        yield
