"""Numbers of things that a user gives: how many segments, samples or boxes."""

from __future__ import annotations

from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.guards import refused_if_negative
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import static_int, tensor
from tfx.ops.common.shapes import as_int64_shape


def counted(given: Any, what: str, op: str) -> Tensor:
    """A number that is not negative, as int64.

    Args:
        given: An integer, or a tensor of one.
        what: The argument, for messages.
        op: The operation, for messages.

    Returns:
        A tensor of the shape of what was given. One that only a run tells is checked by the graph.

    Raises:
        InvalidArgumentError: a negative number.
        DTypeMismatchError: no integer.
    """
    count = as_int64_shape(tensor(given))
    known = static_int(count)
    if known is not None and known < 0:
        raise InvalidArgumentError(f"{what} must be non-negative in {op}; got {known}.", op=op)
    return refused_if_negative(count, Refusal.COUNT)
