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
from tfx.framework.context import current
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable


def no_op(name: str | None = None) -> None:
    """Nothing.

    Args:
        name: Accepted for compatibility.
    """


def group(*inputs: Any, name: str | None = None) -> None:
    """State that several operations belong together; they have happened already.

    Args:
        *inputs: Results of the operations: tensors, variables, None, or structures of them.
        name: Accepted for compatibility.

    Raises:
        TypeError: something else.

    Example:
        >>> import tfx as tf
        >>> v, w = tf.Variable(1.0), tf.Variable(2.0)
        >>> tf.group(v.assign_add(1.0), w.assign_sub(1.0))
        >>> float(v), float(w)
        (2.0, 1.0)
    """
    for x in nest.flatten(list(inputs)):
        if x is not None and not isinstance(x, Tensor | Variable):
            raise TypeError(
                f"'inputs' should be zero or more (nested) Tensors. Received {x!r} with type "
                f"{type(x)}."
            )


def tuple(tensors: Iterable[Any], control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """A list of tensors all of which are there before any of them is used.

    Args:
        tensors: Tensors, variables, or None.
        control_inputs: Accepted for compatibility.
        name: Accepted for compatibility.

    Returns:
        The same as a list.

    Example:
        >>> import tfx as tf
        >>> [x.numpy() for x in tf.tuple([tf.constant(1), tf.constant(2)])]
        [np.int32(1), np.int32(2)]
    """
    return list(tensors)


@contextmanager
def control_dependencies(control_inputs: Iterable[Any] | None) -> Iterator[None]:
    """State that what happens inside comes after ``control_inputs``, which program order ensures.

    Args:
        control_inputs: Tensors, variables, None; in eager mode callables are called.

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
        if graph is None and callable(x):
            x()
        elif isinstance(x, SymbolicTensor):
            if graph is None:
                raise LeakedTensorError(
                    f"{x!r} belongs to function {x.graph.name!r} and cannot be waited for outside "
                    "of it; return it from the function instead."
                )
            graph.value_of(x)
    yield
