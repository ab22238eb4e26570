"""What a ``for`` loop of the graph can run over: a number of steps, and an item for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.autograph.operators.staging import is_staged
from tfx.core.errors import OperatorNotAllowedInGraphError
from tfx.framework.apply import apply
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.gathering import gather
from tfx.ops.measuring import shape


class Counted:
    """Steps of a loop.

    Attributes:
        length: How many, an int64 scalar.
        known: How many, if it is known while tracing.
        item: The item of a step, given its number.
    """

    def __init__(self, length: Tensor, known: int | None, item: Callable[[Tensor], Any]) -> None:
        self.length = length
        self.known = known
        self.item = item

    def __iter__(self) -> Any:
        raise OperatorNotAllowedInGraphError(
            "An enumeration of a tensor can only be iterated by a `for` statement of a function "
            "that is traced with autograph."
        )


def counted(items: Any) -> Counted | None:
    """The steps over a tensor of the graph, or what is made of one; None for Python iterables.

    Raises:
        OperatorNotAllowedInGraphError: a scalar, or a tensor of unknown rank.
    """
    if isinstance(items, Counted):
        return items
    if not is_staged(items):
        return None
    tensor = convert_to_tensor(items)
    if not tensor.shape.rank:
        what = "a scalar" if tensor.shape.rank == 0 else "a tensor of unknown rank"
        raise OperatorNotAllowedInGraphError(
            f"Iterating over {what} is not allowed: got {tensor!r}. Expected a tensor with a first "
            "dimension to iterate over."
        )
    first = tensor.shape[0]
    length = int64_constant(first) if first is not None else _first_size(tensor)
    return Counted(length, first, lambda number: gather(tensor, number))


def _first_size(tensor: Tensor) -> Tensor:
    sizes = shape(tensor, out_type="int64")
    return apply("Gather", (sizes, int64_constant(0)), {"axis": 0})
