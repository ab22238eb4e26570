"""Operations on elements: their operands, ragged and dense, brought to one form.

The decision: ragged axes must agree row by row, and an axis of size 1 that is known to be uniform
is repeated, as are axes in front that an operand does not have. Which value of each operand belongs
to each value of the result is found level by level, and the values are gathered; where all
partitions are the same nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.ops.array.tile import repeated_places
from tfx.ops.common.arguments import cast_to, is_tensor_like
from tfx.ops.common.shapes import concat_shape, dimension, product, reshape_to, shape_vector
from tfx.ragged_ops import partition
from tfx.ragged_ops.factories import require_same_splits_dtype
from tfx.ragged_ops.measures import rank_of
from tfx.ragged_ops.ragged_tensor import RaggedTensor

_DIFFER = (
    "Unable to broadcast: the rows of the operands differ in length along axis {}: {} and {}. "
    "Ragged axes must have the same row lengths; an axis of size 1 is repeated."
)


def same_tensor(x: Tensor, y: Tensor) -> bool:
    """True if two tensors are known to have the same contents."""
    if x is y:
        return True
    if isinstance(x, SymbolicTensor) and isinstance(y, SymbolicTensor):
        return x._symbol is y._symbol
    if isinstance(x, EagerTensor) and isinstance(y, EagerTensor):
        return bool(np.array_equal(x.view(), y.view()))
    return False


def _same_rows(x: RaggedTensor, y: RaggedTensor) -> bool:
    pairs = zip(x.nested_row_splits, y.nested_row_splits, strict=False)
    return x.ragged_rank == y.ragged_rank and all(same_tensor(a, b) for a, b in pairs)


def elementwise(function: Callable[..., Any], *operands: Any) -> Any:
    """What a function of dense tensors makes of operands one of which is ragged.

    Args:
        function: Takes as many tensors; its result has a value for each value.
        *operands: Ragged tensors, tensors and what converts to them.

    Raises:
        InvalidArgumentError: rows differ in length (in a graph, when it runs).
    """
    found = [_operand(x, operands) for x in operands]
    ragged = [x for x in found if isinstance(x, RaggedTensor)]
    lead = ragged[0]
    require_same_splits_dtype(*ragged)
    plain = all(
        _same_rows(lead, x) and _inner_rank(x) == _inner_rank(lead)
        if isinstance(x, RaggedTensor)
        else _is_scalar(x)
        for x in found
    )
    if plain:
        flat = [x.flat_values if isinstance(x, RaggedTensor) else x for x in found]
        return lead.with_flat_values(function(*flat))
    aligned, frame = _align(found)
    return frame(function(*aligned))


def by_elements(function: Callable[..., Any], *operands: Any) -> Any:
    """``elementwise`` of operands none of which need be ragged."""
    ragged = any(isinstance(x, RaggedTensor) for x in operands)
    return elementwise(function, *operands) if ragged else function(*operands)


def _inner_rank(x: RaggedTensor) -> Any:
    return x.flat_values.shape.rank


def _is_scalar(x: Any) -> bool:
    if isinstance(x, RaggedTensor):
        return False
    return not is_tensor_like(x) or x.shape.rank == 0


def _operand(x: Any, all_of_them: Sequence[Any]) -> Any:
    """An operand; Python numbers and texts stay, for the operation to convert."""
    if isinstance(x, RaggedTensor) or is_tensor_like(x):
        return x
    if x is None or isinstance(x, bool | int | float | complex | str | bytes):
        return x
    kinds = [y.dtype for y in all_of_them if isinstance(y, RaggedTensor)]
    return convert_to_tensor(x, dtype_hint=kinds[0])


class _Level:
    """What an operand has along one axis: rows by splits, a size for all, or nothing at all."""

    def __init__(self, splits: Tensor | None, size: Tensor | None, uniform: int | None) -> None:
        self.splits = None if splits is None else partition.wide(splits)
        self.size = size
        self.uniform = uniform

    @property
    def repeats(self) -> bool | None:
        """Whether it is repeated along this axis; None: only a run tells."""
        if self.splits is None and self.size is None:
            return True
        if self.uniform is not None:
            return self.uniform == 1
        return False if self.splits is not None else None


class _Operand:
    """An operand on its way through the levels.

    Args:
        x: Tensor or ragged tensor.
        rank: The number of axes of the result.
        depth: The last axis of the result that is partitioned.
    """

    def __init__(self, x: Any, rank: int, depth: int) -> None:
        own = rank_of(x, "An operation on elements")
        missing = rank - own
        ragged = isinstance(x, RaggedTensor)
        splits = x.nested_row_splits if ragged else ()
        flat = x.flat_values if ragged else convert_to_tensor(x)
        self.levels = [_Level(None, None, 1) for _ in range(min(missing, depth + 1))]
        shape = x.shape
        for axis in range(depth + 1 - missing):
            if axis == 0:
                size = partition.row_count(splits[0]) if splits else _one(dimension(flat, 0))
                self.levels.append(_Level(None, size, shape[0]))
            elif axis <= len(splits):
                self.levels.append(_Level(splits[axis - 1], None, shape[axis]))
            else:
                size = _one(dimension(flat, axis - len(splits)))
                self.levels.append(_Level(None, size, shape[axis]))
        self.is_plain = missing > depth
        inner = depth - missing - len(splits)  # dense axes that become rows
        if inner > 0 and not self.is_plain:
            rows = ox.Unsqueeze(product(shape_vector(flat, 0, inner + 1)), int64_constant([0]))
            flat = reshape_to(flat, concat_shape(_vector(rows), shape_vector(flat, inner + 1)))
        self.flat = flat
        self.places: Tensor = int64_constant([0])  # of the node of each node of the result
        self.in_order = True  # no value was repeated: what is gathered is all, as it is

    def lengths(self, axis: int) -> Tensor:
        level = self.levels[axis]
        if level.splits is None:
            size = int64_constant(1) if level.size is None else level.size
            return ox.Expand(size, ox.Shape(self.places))
        lengths = partition.lengths_of(level.splits)
        return lengths if self.in_order else ox.Gather(lengths, self.places, axis=0)

    def descend(self, axis: int, ids: Tensor, offsets: Tensor) -> None:
        level = self.levels[axis]
        if self.in_order and level.repeats is False:
            self.places = partition.counted(partition.size_of(ids))
            return
        starts = self.places
        if level.splits is not None:
            starts = ox.Gather(partition.starts_of(level.splits), starts, axis=0)
        elif level.size is not None:
            starts = ox.Mul(starts, level.size)
        starts = ox.Gather(starts, ids, axis=0)
        if level.repeats is None:
            assert level.size is not None
            single = ox.Equal(level.size, int64_constant(1))
            starts = ox.Add(starts, ox.Where(single, int64_constant(0), offsets))
        elif not level.repeats:
            starts = ox.Add(starts, offsets)
        self.places, self.in_order = starts, False

    def aligned(self) -> Any:
        if self.in_order or self.is_plain:
            return self.flat
        return ox.Gather(self.flat, self.places, axis=0)


def _one(x: Tensor) -> Tensor:
    return ox.Squeeze(x, int64_constant([0]))


def _vector(x: Tensor) -> Tensor:
    return ox.Reshape(x, int64_constant([1]))


def _align(found: Sequence[Any]) -> tuple[list[Any], Callable[[Any], RaggedTensor]]:
    """The values of operands in one order, and what makes the result of values in that order."""
    ranks = [0 if _is_scalar(x) else rank_of(x, "An operation on elements") for x in found]
    rank = max(ranks)
    ragged = [x for x in found if isinstance(x, RaggedTensor)]
    depth = max(rank - rank_of(x, "broadcasting") + x.ragged_rank for x in ragged)
    kind = ragged[0].row_splits.dtype
    operands = [None if _is_scalar(x) else _Operand(x, rank, depth) for x in found]
    moving = [x for x in operands if x is not None and not x.is_plain]
    splits: list[Tensor] = []
    uniform: list[int | None] = []
    for axis in range(depth + 1):
        lengths, known = _common_lengths(moving, axis)
        made = partition.splits_of(lengths)
        ids = repeated_places(lengths)
        offsets = partition.positions(made, ids)
        for x in moving:
            x.descend(axis, ids, offsets)
        if axis:
            splits.append(cast_to(made, kind))
            uniform.append(known)
    flat = [
        x if operand is None else operand.aligned()
        for x, operand in zip(found, operands, strict=True)
    ]
    return flat, lambda values: RaggedTensor(values, tuple(splits), tuple(uniform))


def _common_lengths(operands: Sequence[_Operand], axis: int) -> tuple[Tensor, int | None]:
    """The lengths of the rows of the result along an axis, and the one length, if it is known."""
    fixed = [x for x in operands if x.levels[axis].repeats is False]
    maybe = [x for x in operands if x.levels[axis].repeats is None]
    one = int64_constant(1)
    if fixed:
        lengths, others = fixed[0].lengths(axis), fixed[1:]
    elif maybe:
        sizes = [x.lengths(axis) for x in maybe]
        lengths = sizes[0]
        for size in sizes[1:]:
            lengths = ox.Where(ox.Equal(lengths, one), size, lengths)
        others = []
    else:
        return operands[0].lengths(axis), 1
    for x in [*others, *maybe]:
        own = x.lengths(axis)
        fits = ox.Equal(own, lengths)
        if x.levels[axis].repeats is None:
            fits = ox.Or(fits, ox.Equal(own, one))
        message = _DIFFER.format(axis, _shown(lengths), _shown(own))
        lengths = partition.required(fits, lengths, Refusal.ROW_LENGTHS, message)
    known = {x.levels[axis].uniform for x in fixed}
    return lengths, known.pop() if len(known) == 1 else None


def _shown(x: Tensor) -> str:
    if not isinstance(x, EagerTensor):
        return "?"
    return str(x.view().tolist() if x.view().size <= 20 else x.view())
