"""Elements several times over: ``tile``, ``repeat``, ``meshgrid``, and masks of lengths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.guards import refused_if_negative
from tfx.framework.rules import OpRecord, gradient, linear
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import (
    cast_to,
    dtype_or,
    numpy_as_integers,
    single_axis,
    static_int,
    static_ints,
    tensor,
)
from tfx.ops.common.batching import (
    BatchedOp,
    Results,
    batching,
    concat_shapes,
)
from tfx.ops.common.counts import counted
from tfx.ops.common.dynamic_axis import folded, found_axis
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.shapes import (
    as_int64_shape,
    as_vector,
    concat_shape,
    describe,
    dimension,
    few_ints,
    filled,
    known_rank,
    product,
    rank_of,
    raw_shape,
    reshape_to,
    shape_argument,
    shape_vector,
)

# Copies that are joined, and elements that each of them has at most.
_FEW = 16


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """A tensor several times side by side along every axis.

    Args:
        input: Tensor.
        multiples: How many times, one number for each axis.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: not one multiple for each axis, or a negative one.

    Example:
        >>> import tfx as tf
        >>> tf.tile([1, 2], [2]).numpy()
        array([1, 2, 1, 2], dtype=int32)
    """
    x, times = tensor(input), shape_argument(multiples, "Tile")
    rank, count, known = rank_of(x), raw_shape(times), static_ints(times)
    given = None if count is None else count[0]
    if rank is not None and isinstance(given, int) and given != rank:
        raise InvalidArgumentError(
            f"Expected multiples argument to be a vector of length {rank} but got length {given}",
            op="Tile",
        )
    x = of_rank(x, given if isinstance(given, int) else None)
    for i, n in enumerate(known or ()):
        if n < 0:
            raise InvalidArgumentError(f"Expected multiples[{i}] >= 0, but got {n}", op="Tile")
    return ox.Tile(x, times)


@gradient("Tile")
def _tile_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """The copies of every element, each on an axis of its own, added up."""
    x, times = op.inputs
    rank = known_rank(x, "the gradient of Tile")
    if rank == 0:
        return dy, None
    sizes, repeats = static_ints(shape_vector(x)), static_ints(times)
    if sizes is not None and repeats is not None:
        pairs = zip(repeats, sizes, strict=True)
        shape = int64_constant([d for pair in pairs for d in pair])
    else:
        one = int64_constant([1])
        columns = [ox.Unsqueeze(v, one) for v in (times, shape_vector(x))]
        pairs_ = ox.Concat(*columns, axis=1)
        shape = ox.Reshape(pairs_, int64_constant([-1]))
    copies = int64_constant(range(0, 2 * rank, 2))
    return ox.ReduceSum(reshape_to(dy, shape), copies, keepdims=0), None


linear("Tile", inputs=(0,))


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Repeat every element (or slice along an axis) several times in a row.

    Args:
        input: Tensor.
        repeats: How many times: one number, or one for each element along the axis.
        axis: The axis; None flattens ``input`` first.
        name: Accepted for compatibility.

    Raises:
        ValueError: not as many repeats as elements.

    Example:
        >>> import tfx as tf
        >>> tf.repeat([[1, 2], [3, 4]], repeats=[1, 2], axis=0).numpy()
        array([[1, 2],
               [3, 4],
               [3, 4]], dtype=int32)
    """
    x = tensor(input)
    if axis is None:
        x, axis = ox.Reshape(x, int64_constant([-1])), 0
    late = found_axis(axis, x, "Repeat")
    if late is not None:
        around = folded(x, late)
        longer = repeat(around.x, repeats, 1)
        return around.unfolded(longer, shape_vector(longer, 1, 2))
    place, repeats = single_axis(axis, x, "Repeat"), numpy_as_integers(repeats)
    rank = known_rank(x, "repeat")
    place = place + rank if place < 0 else place
    times = as_vector(tensor(repeats))
    known = few_ints(times)
    if known is None or min(known, default=0) < 0:
        times = ox.Max(times, int64_constant(0))
    shape, count = raw_shape(x), raw_shape(times)
    if count == (1,):
        return _evenly(x, as_vector(counted(repeats, "repeats", "Repeat")), place)
    if shape is not None and count is not None and not _agree(shape[place], count[0]):
        raise InvalidArgumentError(f"Dimensions {shape[place]} and {count[0]} are not compatible")
    if count is None or not isinstance(count[0], int):
        times = ox.Expand(times, dimension(x, place))  # there may be one for all
    places = repeated_places(times)
    # Without the attribute the gradient is dense.
    return ox.Gather(x, places, axis=place) if place else ox.Gather(x, places)


def _agree(a: int | str | None, b: int | str | None) -> bool:
    return not (isinstance(a, int) and isinstance(b, int)) or a == b


def _evenly(x: Tensor, times: Tensor, axis: int) -> Tensor:
    """Every slice equally often: copies on an axis of their own, which is then merged."""
    behind = shape_vector(x, axis + 1)
    front = shape_vector(x, 0, axis + 1)
    apart = ox.Unsqueeze(x, int64_constant([axis + 1]))
    number = static_int(times)
    if number is not None and 1 < number <= _FEW and _is_short(x, axis):
        copies = ox.Concat(*[apart] * number, axis=axis + 1)
    else:
        copies = ox.Expand(apart, concat_shape(front, times, behind))
    length = product(concat_shape(dimension(x, axis), times))
    return reshape_to(copies, concat_shape(shape_vector(x, 0, axis), length, behind))


def _is_short(x: Tensor, axis: int) -> bool:
    """True if few elements lie behind an axis: ``Expand`` takes long for each such part."""
    shape = raw_shape(x)
    behind = None if shape is None else shape[axis + 1 :]
    if behind is None or not all(isinstance(d, int) for d in behind):
        return False
    return math.prod([d for d in behind if isinstance(d, int)]) <= _FEW


def repeated_places(times: Tensor) -> Tensor:
    """``[0, 0, 2]`` for repeats ``[2, 0, 1]``: how many elements are finished at each place."""
    ends = ox.CumSum(times, int64_constant(0))
    total = ox.ReduceSum(times, keepdims=1)
    room = ox.Add(total, int64_constant(1))
    ones = ox.Expand(int64_constant(1), ox.Shape(times))
    marks = ox.ScatterElements(filled(room, 0, dtypes.int64), ends, ones, axis=0, reduction="add")
    finished = ox.CumSum(marks, int64_constant(0))
    return ox.Slice(finished, int64_constant([0]), int64_constant([-1]))


def meshgrid(*args: Any, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """The coordinates of a grid, one tensor for each axis.

    Args:
        *args: Vectors of coordinates of one dtype.
        indexing: ``"xy"`` (the first two axes change places, as pictures have them) or ``"ij"``.
        name: Accepted for compatibility.

    Returns:
        As many tensors as vectors were given, all of the grid's shape.

    Raises:
        ValueError: ``indexing`` is neither.

    Example:
        >>> import tfx as tf
        >>> x, y = tf.meshgrid([1, 2, 3], [4, 5])
        >>> y.numpy()
        array([[4, 4, 4],
               [5, 5, 5]], dtype=int32)
    """
    if indexing not in ("xy", "ij"):
        raise InvalidArgumentError(
            f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'"
        )
    count = len(args)
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[:2] = [1, 0]
    flat = [ox.Reshape(tensor(a), int64_constant([-1])) for a in args]
    sizes = [shape_vector(flat[axes.index(i)]) for i in range(count)]
    if not flat:
        return []
    grid = concat_shape(*sizes)
    grids: list[Tensor] = []
    for vector, axis in zip(flat, axes, strict=True):
        column = int64_constant([-1] + [1] * (count - axis - 1))
        grids.append(ox.Expand(ox.Reshape(vector, column), grid))
    return grids


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: DTypeLike | None = dtypes.bool, name: str | None = None
) -> Tensor:
    """For every length a row whose first so many elements are true.

    Args:
        lengths: Integers of any shape.
        maxlen: Length of a row; None takes the longest.
        dtype: Element type: true is 1 there.
        name: Accepted for compatibility.

    Returns:
        ``lengths.shape + [maxlen]``.

    Example:
        >>> import tfx as tf
        >>> tf.sequence_mask([1, 3], 3).numpy()
        array([[ True, False, False],
               [ True,  True,  True]])
    """
    given = tensor(lengths)
    # Of a length that is no whole number, every place below it counts.
    whole = ox.Cast(ox.Ceil(given), to=dtypes.int64.onnx) if given.dtype.is_floating else given
    ends = as_int64_shape(whole)
    if maxlen is None:
        flat = ox.Reshape(ends, int64_constant([-1]))
        known = concat_shape(flat, int64_constant([0]))
        limit = ox.ReduceMax(known, keepdims=0)
    else:
        limit = as_int64_shape(tensor(maxlen))
        if rank_of(limit) not in (0, None):
            raise InvalidArgumentError(
                f"Argument `maxlen` must be scalar for sequence_mask; got shape {describe(limit)}."
            )
        known_limit = static_int(limit)
        if known_limit is not None and known_limit < 0:
            raise InvalidArgumentError(
                f"Requires start <= limit when delta > 0: 0/{known_limit}; maxlen must not be "
                "negative.",
                op="SequenceMask",
            )
        limit = refused_if_negative(limit, Refusal.LONGEST)
    places = ox.Range(int64_constant(0), limit, int64_constant(1))
    column = ox.Unsqueeze(ends, int64_constant([-1]))
    return cast_to(ox.Less(places, column), dtype_or(dtype, dtypes.bool))


@batching("Tile")
def _tile_batching(op: BatchedOp) -> Results:
    op.only(0)
    return op.apply((op.input(0), concat_shapes(int64_constant([1]), op.input(1))))
