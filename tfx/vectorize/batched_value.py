"""``BatchedValue``: what a value of the function of one element is for all elements."""

from __future__ import annotations

from typing import NamedTuple

from tfx.framework.tensor import Tensor
from tfx.graph.ir import Node


class CannotConvertError(Exception):
    """A node cannot be converted: the whole function runs for one element after another instead.

    Args:
        node: The node.
        reason: Why, for the warning.
    """

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


class BatchedValue(NamedTuple):
    """A value for all elements.

    Attributes:
        tensor: The value; with the elements along axis 0 if it differs between them. Of a sequence
            that differs each item has the elements along axis 0.
        batched: Whether it does.
    """

    tensor: Tensor
    batched: bool
