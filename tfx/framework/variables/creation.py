"""How a variable begins: its first value, and which functions may make one."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import DTypeMismatchError
from tfx.framework.context import init_scope
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, SymbolicTensor


def initial_tensor(initial_value: Any, dtype: DTypeLike | None) -> EagerTensor:
    """The initial value, computed outside of any trace.

    Args:
        initial_value: A tensor, anything convertible to one, or a function that returns one.
        dtype: The dtype to convert it to; None: its own.

    Raises:
        DTypeMismatchError: a tensor of another dtype.
    """
    if type(initial_value) is EagerTensor and dtype is None:
        return initial_value
    if callable(initial_value):
        with init_scope():
            initial_value = initial_value()
    if isinstance(initial_value, SymbolicTensor):
        initial_value = initial_value.graph.evaluate(initial_value)
    with init_scope():
        if dtype is not None and isinstance(initial_value, EagerTensor):
            wanted = dtypes.as_dtype(dtype)
            if initial_value.dtype is not wanted:
                raise DTypeMismatchError(
                    f"Variable of dtype {wanted.name} cannot start from a tensor of dtype "
                    f"{initial_value.dtype.name}; cast it first."
                )
        tensor = convert_to_tensor(initial_value, dtype)
    assert isinstance(tensor, EagerTensor)
    return tensor


def register_created(graph: Any, variable: Any) -> None:
    """A variable was made while tracing: only a function's first call may do that.

    Wherever that call is: a function that is first called by another one has variables of its own.

    Raises:
        ValueError: it is a later call.
    """
    while graph is not None:
        if graph.created_variables is None:
            raise ValueError(
                "tf.function only supports singleton tf.Variables created on the first call. "
                f"Function {graph.name!r} tried to create variable '{variable.name}' again: make "
                "sure the tf.Variable is only created once, or created outside tf.function."
            )
        graph.created_variables.append(variable)
        graph = graph.parent if graph.is_body else None
