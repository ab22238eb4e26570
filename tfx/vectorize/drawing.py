"""Random numbers for all elements: one draw of as many numbers, so that elements differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfx.core.dtypes import from_onnx
from tfx.framework.apply import apply
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.graph.ir import Node
from tfx.ops import _samplers
from tfx.vectorize.lanes import Lane
from tfx.vectorize.rules import aligned

if TYPE_CHECKING:
    from tfx.vectorize.convert import Batcher

_SAMPLERS = {
    "random_uniform": _samplers.unit_uniform,
    "random_normal": _samplers.unit_normal,
    "random_truncated_normal": _samplers.unit_truncated_normal,
    "random_full_range": _samplers.full_range,
    "random_integers": _samplers.integers,
}


def draw(batcher: Batcher, node: Node) -> list[Lane]:
    """The numbers and the generator's next state.

    Raises:
        ValueError: their shape differs between elements.
    """
    origin, shape, *parameters = [batcher.lane(v) for v in node.inputs if v is not None]
    if shape.batched:
        raise ValueError(
            "The shape of random numbers differs between the elements of a vectorized function, "
            "whose results could not be stacked; it must not depend on the element."
        )
    lead = apply("Unsqueeze", (batcher.size, int64_constant([0])))
    whole = apply("Concat", (lead, shape.tensor), {"axis": 0})
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
    return [Lane(drawn, True), Lane(advanced, False)]


def _bound(lane: Lane, rank: int | None) -> Tensor:
    """A parameter that broadcasts against numbers of ``rank`` axes for each element."""
    if not lane.batched:
        return lane.tensor
    if rank is None:
        raise ValueError("The rank of random numbers must be known in a vectorized function.")
    return aligned(lane.tensor, rank)
