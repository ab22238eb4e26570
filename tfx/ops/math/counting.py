"""Counters: variables that go up by one until they reach a limit."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import DTypeMismatchError, OutOfRangeError
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops.common.python_ops import by_python


def below_limit(variable: Variable, limit: int) -> Tensor:
    """The value of a counter.

    Args:
        variable: Of int32 or int64.
        limit: The first value that is not given any more.

    Raises:
        OutOfRangeError: the limit is reached; in a graph while it runs.
        TypeError: another dtype.
    """
    if variable.dtype not in (dtypes.int32, dtypes.int64):
        raise DTypeMismatchError(
            f"count_up_to takes a variable of int32 or int64; got {variable.dtype}.",
            op="ResourceCountUpTo",
        )

    def check(value: Any) -> list[Any]:
        if int(value) >= limit:
            raise OutOfRangeError(f"Reached limit of {limit}", op="ResourceCountUpTo")
        return [value]

    outputs = [(variable.dtype, ())]
    read = convert_to_tensor(variable)
    (value,) = by_python("count_up_to", check, [read], outputs, effect=True)
    return value


def count_up_to(self: Variable, limit: int) -> Tensor:
    """The value, to which then one is added, until it reaches a limit.

    Args:
        self: A variable of int32 or int64.
        limit: The first value that is not given any more.

    Returns:
        The value before.

    Raises:
        OutOfRangeError: the variable is at the limit.
        TypeError: a variable of another dtype.

    Example:
        >>> import tfx as tf
        >>> v = tf.Variable(1)
        >>> v.count_up_to(3).numpy(), v.count_up_to(3).numpy(), v.numpy()
        (np.int32(1), np.int32(2), np.int32(3))
    """
    value = below_limit(self, limit)
    self.assign(value + 1)
    return value
