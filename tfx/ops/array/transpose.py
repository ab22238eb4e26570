"""The same elements in another order: ``transpose``, ``reverse``, ``roll`` and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.rules import OpRecord, gradient, linear
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.shapes import reversed_along
from tfx.ops.common.arguments import (
    INT64_MAX,
    cast_to,
    is_tensor_like,
    single_axis,
    static_ints,
    tensor,
    transposed,
)
from tfx.ops.common.batching import BatchedOp, Results, batching
from tfx.ops.common.complex_parts import conjugate as conjugates
from tfx.ops.common.dynamic_axis import folded
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.shapes import (
    dimension,
    known_rank,
    movable,
    rank_of,
    raw_shape,
    reshape_to,
    shape_argument,
    shape_vector,
)
from tfx.ops.math.cast import identity


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str = "transpose") -> Tensor:
    """A tensor with its axes in another order.

    Args:
        a: Tensor.
        perm: The input's axis for each axis of the result; None turns the order around. One
            that only a run tells costs a gather.
        conjugate: Return the conjugates of complex numbers.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: ``perm`` is not a permutation of the axes.

    Example:
        >>> import tfx as tf
        >>> tf.transpose([[1, 2, 3], [4, 5, 6]]).numpy()
        array([[1, 4],
               [2, 5],
               [3, 6]], dtype=int32)
    """
    x = tensor(a)
    if conjugate:
        x = conjugates(x)
    if perm is None:
        return ox.Transpose(x)
    order = static_ints(given := shape_argument(perm, "Transpose"))
    if order is None:
        return _transposed_late(x, given)
    x = of_rank(x, len(order))
    rank = rank_of(x)
    if rank is not None and len(order) != rank:
        raise InvalidArgumentError(
            f"transpose expects a vector of size {rank}. But input(1) is a vector of size "
            f"{len(order)}: perm={order}",
            op="Transpose",
        )
    axes = [p + len(order) if p < 0 else p for p in order]
    missing = sorted(set(range(len(order))) - set(axes))
    if missing:
        raise InvalidArgumentError(
            f"{missing[0]} is missing from {{{','.join(map(str, order))}}}.", op="Transpose"
        )
    return ox.Transpose(x, perm=tuple(axes))


def _transposed_late(x: Tensor, perm: Tensor) -> Tensor:
    """``transpose`` by an order that only a run tells: each element is fetched by its number.

    ONNX has the order as an attribute. The places of an element along the axes of the result are
    the digits of its number; with the strides that its axes have in ``x`` they give its number
    there.
    """
    zero, one = int64_constant([0]), int64_constant([1])
    shape = shape_vector(x)
    rank = ox.Shape(shape)
    perm = ox.Reshape(perm, rank)  # refuses another number of axes
    perm = ox.Where(ox.Less(perm, zero), ox.Add(perm, rank), perm)
    # Refuses an axis that is given twice: the different ones are fewer then.
    different = ox.Reshape(ox.Unique(perm, outputs=4)[0], rank)
    perm = ox.Add(perm, ox.Mul(different, int64_constant([0])))
    sizes = ox.Gather(shape, perm)
    strides = ox.Gather(_strides(shape), perm)
    # A dimension of 0 leaves nothing to fetch; the division must not see it.
    least = ox.Max(sizes, one)
    count = ox.ReduceProd(sizes, keepdims=0)
    numbers = ox.Range(int64_constant(0), count, int64_constant(1))
    rows = ox.Unsqueeze(numbers, one)
    places = ox.Mod(ox.Div(rows, _strides(least)), least)
    source = ox.ReduceSum(ox.Mul(places, strides), one, keepdims=0)
    flat = reshape_to(x, int64_constant([-1])) if rank_of(x) != 1 else x
    result = reshape_to(ox.Gather(flat, source), sizes)
    known = rank_of(x)
    if known is None:
        length = raw_shape(perm)
        known = length[0] if length is not None and isinstance(length[0], int) else None
    if known is not None:
        result.set_shape([None] * known)
    return result


def _strides(sizes: Tensor) -> Tensor:
    """Return the number of elements that one step along each axis passes."""
    behind = ox.Slice(sizes, int64_constant([1]), int64_constant([INT64_MAX]))
    padded = ox.Concat(behind, int64_constant([1]), axis=0)
    # The running product from the end; CumProd would need a newer opset.
    count = ox.Shape(sizes)
    scalar = ox.Squeeze(count, int64_constant([0]))
    steps = ox.Range(int64_constant(0), scalar, int64_constant(1))
    here = ox.Unsqueeze(steps, int64_constant([1]))
    later = ox.LessOrEqual(here, ox.Unsqueeze(steps, int64_constant([0])))
    grid = ox.Where(later, padded, int64_constant(1))
    return ox.ReduceProd(grid, int64_constant([1]), keepdims=0)


@gradient("Transpose")
def _transpose_grad(op: OpRecord, dy: Tensor) -> Tensor:
    perm = op.attrs.get("perm")
    if perm is None:
        return ox.Transpose(dy)
    inverse = sorted(range(len(perm)), key=perm.__getitem__)
    return transposed(dy, inverse)


linear("Transpose")


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """A tensor with the elements along some axes in reverse order.

    Args:
        tensor: Tensor.
        axis: A list of axes; negative ones count from the end.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: not a list, an axis out of range or given twice.

    Example:
        >>> import tfx as tf
        >>> tf.reverse([[1, 2, 3], [4, 5, 6]], axis=[1]).numpy()
        array([[3, 2, 1],
               [6, 5, 4]], dtype=int32)
    """
    x = _tensor(tensor)
    if isinstance(axis, int) or (is_tensor_like(axis) and rank_of(_tensor(axis)) == 0):
        raise InvalidArgumentError(
            f"'dims' must be 1-dimension, not 0; got axis={axis!r}, pass a list.", op="ReverseV2"
        )
    given = static_ints(vector := shape_argument(axis, "ReverseV2"))
    if given is None and x.shape.rank is not None and not vector.shape.is_fully_defined():
        return _reversed_where(x, vector, x.shape.rank)
    if given is None:
        for late in _late_axes(vector, "reverse"):
            around = folded(x, late)
            x = _like(x, around.unfolded(reversed_along(ox, around.x, [1]), around.size))
        return x
    axes = [single_axis(a, x, "ReverseV2") for a in given]
    for a in axes:
        if axes.count(a) > 1:
            raise InvalidArgumentError(f"axis {a} specified more than once.", op="ReverseV2")
    return reversed_along(ox, x, axes) if axes else identity(x)


_tensor = tensor


def _reversed_where(x: Tensor, axes: Tensor, rank: int) -> Tensor:
    """Reverse along an unknown number of axes: each axis is tested at run time."""
    if not rank:
        return identity(x)
    shape, zero, one = x.shape, int64_constant(0), int64_constant(1)
    counted = ox.Add(axes, int64_constant(rank))
    axes = ox.Where(ox.Less(axes, zero), counted, axes)
    found = ox.Equal(int64_constant(list(range(rank))), ox.Unsqueeze(axes, one))
    every = ox.ReduceSum(cast_to(found, dtypes.int64), int64_constant([0]), keepdims=0)
    # An axis that the tensor does not have is not counted.
    fine = ox.Equal(ox.ReduceSum(every, keepdims=0), ox.Size(axes))
    fine = ox.And(ox.LessOrEqual(every, one), fine)
    every = refused_unless(fine, every, Refusal.REVERSED)
    for axis in range(rank):
        times = ox.Gather(every, int64_constant(axis))
        size = ox.Squeeze(dimension(x, axis), int64_constant([0]))
        places = ox.Range(zero, size, int64_constant(1))
        mirrored = ox.Sub(ox.Sub(size, int64_constant(1)), places)
        places = ox.Where(ox.Greater(times, zero), mirrored, places)
        x = ox.Gather(x, places, axis=axis)
    x.set_shape(shape)
    return x


def _late_axes(vector: Tensor, op: str) -> list[Tensor]:
    """The axes of a vector that only a run tells."""
    count = raw_shape(vector)
    if count is None or not isinstance(count[0], int):
        raise InvalidArgumentError(
            f"How many axes {op} has must be known while the function is traced; got {vector!r}."
        )
    return [ox.Gather(vector, int64_constant([i])) for i in range(count[0])]


def _like(x: Tensor, result: Tensor) -> Tensor:
    result.set_shape(x.shape)
    return result


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """The elements moved along axes; what leaves at the end comes back at the start.

    Args:
        input: Tensor.
        shift: By how many places, one number or one for each axis; negative ones move backwards.
        axis: The axis or axes; one that is given twice moves by the sum.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: an axis out of range, or not as many shifts as axes.

    Example:
        >>> import tfx as tf
        >>> tf.roll([0, 1, 2, 3, 4], shift=2, axis=0).numpy()
        array([3, 4, 0, 1, 2], dtype=int32)
    """
    x = tensor(input)
    axes = static_ints(given := shape_argument(axis, "Roll"))
    places: list[int | Tensor]
    if axes is None:
        places = [*_late_axes(given, "roll")]
    else:
        places = [single_axis(a, x, "Roll") for a in axes]
    vector = shape_argument(shift, "Roll")
    count, known = raw_shape(vector), static_ints(vector)
    if count is not None and isinstance(count[0], int) and count[0] != len(places):
        raise InvalidArgumentError(
            f"shift and axis must have the same size; got shift={shift!r} and axis={axis!r}.",
            op="Roll",
        )
    for i, place in enumerate(places):
        by: int | Tensor = known[i] if known else ox.Gather(vector, int64_constant([i]))
        if isinstance(place, int):
            x = _rolled(x, by, place)
        else:
            around = folded(x, place)
            x = _like(x, around.unfolded(_rolled(around.x, by, 1), around.size))
    return x


def _rolled(x: Tensor, shift: int | Tensor, axis: int) -> Tensor:
    shape = raw_shape(x)
    dim = None if shape is None else shape[axis]
    if isinstance(shift, int) and isinstance(dim, int):
        cut_at = -shift % dim if dim else 0
        if cut_at == 0:
            return x
        cut = int64_constant([cut_at])
    else:
        back = int64_constant([-shift]) if isinstance(shift, int) else ox.Neg(shift)
        # An axis of length 0 must not become a division by zero.
        length = ox.Max(dimension(x, axis), int64_constant([1]))
        cut = ox.Mod(back, length)
    along = int64_constant([axis])
    behind = ox.Slice(x, cut, int64_constant([INT64_MAX]), along)
    front = ox.Slice(x, int64_constant([0]), cut, along)
    rolled = ox.Concat(behind, front, axis=axis)
    rolled.set_shape(x.shape)
    return rolled


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The first ``seq_lengths[i]`` elements of entry ``i`` in reverse order, the rest as it is.

    Args:
        input: Tensor of rank 2 or more.
        seq_lengths: One length for each entry of the batch axis.
        seq_axis: The axis along which elements change places.
        batch_axis: The axis of the entries; None means 0.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: an axis or a length out of range.

    Example:
        >>> import tfx as tf
        >>> tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1).numpy()
        array([[2, 1, 3],
               [6, 5, 4]], dtype=int32)
    """
    x, lengths = tensor(input), cast_to(tensor(seq_lengths), dtypes.int64)
    if seq_axis is None:
        raise InvalidArgumentError("reverse_sequence needs seq_axis; got None.")
    rank = known_rank(x, "reverse_sequence")
    time = single_axis(seq_axis, x, "ReverseSequence")
    batch = single_axis(batch_axis or 0, x, "ReverseSequence")
    if time == batch:
        raise InvalidArgumentError(
            f"batch_dim == seq_dim == {time}; they must be two axes.", op="ReverseSequence"
        )
    _check_lengths(x, lengths, time, batch)
    if {time, batch} == {0, 1}:
        return _reverse_sequence(x, lengths, time)
    order = [batch, time, *(i for i in range(rank) if i not in (batch, time))]
    back = sorted(range(rank), key=order.__getitem__)
    moved = ox.Transpose(x, perm=tuple(order))
    return ox.Transpose(_reverse_sequence(moved, lengths, 1), perm=tuple(back))


def _reverse_sequence(x: Tensor, lengths: Tensor, time: int) -> Tensor:
    attrs = {"time_axis": time, "batch_axis": 1 - time}
    return cast_to(ox.ReverseSequence(movable(x), lengths, **attrs), x.dtype)


def _check_lengths(x: Tensor, lengths: Tensor, time: int, batch: int) -> None:
    known, shape = static_ints(lengths), raw_shape(x)
    if known is None or shape is None:
        return
    if isinstance(shape[batch], int) and len(known) != shape[batch]:
        raise InvalidArgumentError(
            f"Length of seq_lens != input.dims({batch}), ({len(known)} vs. {shape[batch]})",
            op="ReverseSequence",
        )
    size = shape[time]
    for i, length in enumerate(known):
        if length < 0 or (isinstance(size, int) and length > size):
            raise InvalidArgumentError(
                f"seq_lens({i}) = {length} must be in [0, {size}], the length of "
                f"input.dims({time}).",
                op="ReverseSequence",
            )


@gradient("ReverseSequence")
def _reverse_sequence_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    return ox.ReverseSequence(dy, op.inputs[1], **op.attrs), None


linear("ReverseSequence", inputs=(0,))


@batching("ReverseSequence")
def _reverse_sequence_batching(op: BatchedOp) -> Results:
    """The rows of all elements together, rows first."""
    rank = op.rank(0)
    swapped = op.attrs.get("batch_axis", 1) == 1
    swap = (0, 2, 1, *range(3, rank + 1))
    x = op.full(0)
    if swapped:
        x = ox.Transpose(x, perm=swap)
    shape = ox.Shape(x)
    rest = ox.Shape(x, start=2)
    merged = ox.Concat(int64_constant([-1]), rest, axis=0)
    rows = ox.Reshape(x, merged)
    lengths = ox.Reshape(op.full(1), int64_constant([-1]))
    found = op.apply((rows, lengths), {"batch_axis": 0, "time_axis": 1})[0]
    found = ox.Reshape(found, shape)
    return ox.Transpose(found, perm=swap) if swapped else found


@batching("Transpose")
def _transpose_batching(op: BatchedOp) -> Results:
    perm = op.attrs.get("perm")
    if perm is None:
        perm = range(op.rank(0))[::-1]
    return op.apply(op.inputs, {"perm": (0, *(p + 1 for p in perm))})
