"""Random numbers for all elements: one draw of as many numbers, so that elements differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfx.core.dtypes import from_onnx
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.graph.ir import Node
from tfx.ops.common.batching import aligned
from tfx.ops.random import samplers
from tfx.vectorize.batched_value import BatchedValue

if TYPE_CHECKING:
    from tfx.vectorize.batcher import Batcher

_SAMPLERS = {
    "random_uniform": samplers.unit_uniform,
    "random_normal": samplers.unit_normal,
    "random_truncated_normal": samplers.unit_truncated_normal,
    "random_full_range": samplers.full_range,
    "random_integers": samplers.integers,
}


def draw(batcher: Batcher, node: Node) -> list[BatchedValue]:
    """The numbers and the generator's next state.

    Raises:
        ValueError: their shape differs between elements.
    """
    origin, shape, *parameters = [batcher.batched_value(v) for v in node.inputs if v is not None]
    if shape.batched:
        raise ValueError(
            "The shape of random numbers differs between the elements of a vectorized function, "
            "whose results could not be stacked; it must not depend on the element."
        )
    lead = ox.Unsqueeze(batcher.size, int64_constant([0]))
    whole = ox.Concat(lead, shape.tensor, axis=0)
    numbers, state = node.outputs
    element = numbers.shape
    rank = len(element) if element is not None else None
    given = [_bound(x, rank) for x in parameters]
    known = None
    if element is not None:
        known = (batcher.static_size, *(d if isinstance(d, int) else None for d in element))
    drawn, advanced = _SAMPLERS[node.attrs["graph"].name](
        origin.tensor,
        whole,
        *given,
        shapes=(known, state.shape),
        stateful=True,
        dtype=from_onnx(numbers.dtype).name,
    )
    return [BatchedValue(drawn, True), BatchedValue(advanced, False)]


def _bound(batched_value: BatchedValue, rank: int | None) -> Tensor:
    """A parameter that broadcasts against numbers of ``rank`` axes for each element."""
    if not batched_value.batched:
        return batched_value.tensor
    if rank is None:
        raise ValueError("The rank of random numbers must be known in a vectorized function.")
    return aligned(batched_value.tensor, rank)
