"""Tensors whose rank only a run tells, for operations on the last few axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core import nest
from tfx.framework.builder import ox
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.common.arguments import tensor
from tfx.ops.common.broadcast_shapes import broadcast_dynamic_shape
from tfx.ops.common.shapes import concat_shape, product, rank_of, reshape_to, shape_vector


def rank_is_open(*values: Any) -> bool:
    """True if one of the arguments is a tensor of a graph of unknown rank."""
    return any(isinstance(x, SymbolicTensor) and rank_of(x) is None for x in values)


def of_rank(x: Tensor, rank: int | None) -> Tensor:
    """A tensor whose rank another argument tells, with this rank if it has no known one."""
    if rank is None or not rank_is_open(x):
        return x
    known = ox.Identity(x)
    if isinstance(known, SymbolicTensor):
        known.set_shape([None] * rank)
    return known


def over_batches(function: Callable[..., Any], *given: tuple[Any, int]) -> Any:
    """What a function gives for tensors whose axes of the batch became a single one.

    Args:
        function: Takes the tensors, and returns tensors ``[batch, ...]``.
        given: The tensors, whose batches broadcast, each with the number of axes behind the batch.
    """
    tensors = [(tensor(x), last) for x, last in given]
    lead, *others = [shape_vector(x, 0, -last) for x, last in tensors]
    for other in others:
        lead = broadcast_dynamic_shape(lead, other)
    flat = []
    for x, last in tensors:
        ends = shape_vector(x, -last)
        if others:
            x = ox.Expand(x, concat_shape(lead, ends))
        x = reshape_to(x, concat_shape(product(lead), ends))
        if isinstance(x, SymbolicTensor):
            x.set_shape([None] * (last + 1))
        flat.append(x)

    def whole(y: Tensor) -> Tensor:
        return reshape_to(y, concat_shape(lead, shape_vector(y, 1)))

    return nest.map_structure(whole, function(*flat))
