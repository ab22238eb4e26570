"""The iteration space of a ``for`` loop of the graph: a number of steps and an item for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from tfx.autograph.operators.leaves import flatten, is_composite
from tfx.autograph.operators.staging import is_staged
from tfx.autograph.operators.tensor_lists import TensorList
from tfx.core import dtypes
from tfx.core.errors import OperatorNotAllowedInGraphError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.guards import unguarded
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.array.gather import gather
from tfx.ops.array.shape import shape
from tfx.ops.common.arguments import as_int64, cast_to, static_int


class Counted:
    """Steps of a loop.

    Attributes:
        length: How many, an int64 scalar.
        known: How many, if it is known while tracing.
        item: The item of a step, given its number.
        start: Where a range begins: what its target is after a loop without steps. None: there is
            no such value.
    """

    def __init__(
        self,
        length: Tensor,
        known: int | None,
        item: Callable[[Tensor], Any],
        start: Tensor | None = None,
    ) -> None:
        self.length = length
        self.known = known
        self.item = item
        self.start = start

    def __iter__(self) -> Iterator[Any]:
        if self.known is None:
            raise OperatorNotAllowedInGraphError(
                "An enumeration of a tensor whose length is known when the graph runs can only be "
                "iterated by a `for` statement of a function that is traced with autograph."
            )
        return (self.item(int64_constant(number)) for number in range(self.known))


class Elements(Protocol):
    """The items of a loop that come one after the other, until there are no more."""

    def advance(self) -> Tensor:
        """Go to the next item; whether there is one."""

    def item(self) -> Any:
        """The present item."""

    def close(self) -> None:
        """Say that the loop has ended."""


def elements_of(items: Any) -> Elements | None:
    """What a loop of the graph over a dataset, or an iterator of one, needs; None for others."""
    begin = getattr(type(items), "_tfx_loop", None)
    found: Elements | None = None if begin is None else begin(items)
    return found


def counted(items: Any) -> Counted | None:
    """The steps over a tensor of the graph, or what is made of one; None for Python iterables.

    Raises:
        OperatorNotAllowedInGraphError: a scalar, or a tensor of unknown rank.
    """
    if isinstance(items, Counted):
        return items
    if isinstance(items, TensorList):
        return Counted(cast_to(items.count, dtypes.int64), None, lambda n: items[n])
    if is_composite(items):
        return _rows_of(items)
    if not is_staged(items):
        return None
    tensor = convert_to_tensor(items)
    if not tensor.shape.rank:
        what = "a scalar" if tensor.shape.rank == 0 else "a tensor of unknown rank"
        raise OperatorNotAllowedInGraphError(
            f"Iterating over {what} is not allowed: got {tensor!r}. Expected a tensor with a first "
            "dimension to iterate over."
        )
    numbers = _range_of(tensor)
    if numbers is not None:
        return numbers
    first = tensor.shape[0]
    length = int64_constant(first) if first is not None else _first_size(tensor)
    return Counted(length, first, lambda number: gather(tensor, number))


def _rows_of(items: Any) -> Counted | None:
    """The steps over the rows of a ragged tensor of the graph."""
    count = getattr(items, "nrows", None)
    if count is None or not any(map(is_staged, flatten(items))):
        return None
    return Counted(count("int64"), items.shape[0], lambda number: items[number])


def _range_of(tensor: Tensor) -> Counted | None:
    """The steps over a range of integers: its items are computed."""
    if not isinstance(tensor, SymbolicTensor) or not tensor.dtype.is_integer:
        return None
    node = tensor._symbol.node
    if node is None or node.op != "Range":
        return None
    inputs = [v for v in node.inputs if v is not None]
    # A loop over a range that leads away has no steps: no check.
    start, limit, delta = (unguarded(SymbolicTensor(v, tensor._graph)) for v in inputs)
    first, step = static_int(start), static_int(delta)
    if step is None:
        return None
    dtype = tensor.dtype

    def item(number: Tensor) -> Tensor:
        scaled = number if step == 1 else ox.Mul(number, int64_constant(step))
        if first:
            scaled = ox.Add(scaled, int64_constant(first))
        result = cast_to(scaled, dtype)
        return result if first is not None else ox.Add(result, start)

    known = tensor.shape[0]
    if known is not None:
        return Counted(int64_constant(known), known, item, start)
    if first == 0 and step == 1:
        return Counted(ox.Max(as_int64(limit), int64_constant(0)), None, item, start)
    return Counted(_first_size(ox.Range(start, limit, delta)), None, item, start)


def _first_size(tensor: Tensor) -> Tensor:
    sizes = shape(tensor, out_type="int64")
    return ox.Gather(sizes, int64_constant(0), axis=0)
