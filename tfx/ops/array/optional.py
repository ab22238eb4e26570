"""Rules of ``Optional`` and ``OptionalGetElement``, for imported models."""

from __future__ import annotations

from tfx.framework.rules import OpRecord, gradient, no_gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.batching import batching, unchanged


@gradient("Optional", "OptionalGetElement")
def _optional_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """What is wrapped stays what it is."""
    return dy


batching("Optional", "OptionalGetElement")(unchanged)


no_gradient("OptionalHasElement", why="a boolean")
