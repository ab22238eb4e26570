"""Gradients of ``Optional`` and ``OptionalGetElement``, for imported models."""

from __future__ import annotations

from tfx.framework.rules import OpRecord, gradient, no_gradient
from tfx.framework.tensor import Tensor


@gradient("Optional", "OptionalGetElement")
def _optional_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """Return the gradient unchanged: wrapping keeps the value."""
    return dy


no_gradient("OptionalHasElement", why="a boolean")
