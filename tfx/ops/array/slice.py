"""``slice`` and ``strided_slice``, and the gradient of ONNX's ``Slice``."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from tfx.core.dims import Dim, is_static
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.context import using
from tfx.framework.convert import int64_constant
from tfx.framework.guards import not_negative, refused_unless
from tfx.framework.rules import OpRecord, gradient, linear
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.formulas.shapes import reversed_along
from tfx.ops.array.gather import gathered
from tfx.ops.array.index_positions import put_back, scatter_along
from tfx.ops.array.indexing import index_with
from tfx.ops.common.arguments import INT64_MAX, INT64_MIN, static_ints, tensor
from tfx.ops.common.batching import (
    BatchedOp,
    CannotBatchError,
    Results,
    as_int64,
    batching,
    shifted_axes,
)
from tfx.ops.common.shapes import (
    RawDims,
    as_int64_shape,
    concat_shape,
    dimension,
    raw_shape,
    shape_argument,
    shape_vector,
    symbolic_items,
)


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """The block of ``size`` elements per axis that starts at ``begin``.

    Args:
        input_: Tensor.
        begin: One start per axis, 0 or more.
        size: One length per axis; -1 means all that is left.
        name: Accepted for compatibility.

    Returns:
        The block.

    Raises:
        InvalidArgumentError: the block is not inside of the tensor.

    Example:
        >>> import tfx as tf
        >>> tf.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [-1, 2]).numpy()
        array([[2, 3],
               [5, 6]], dtype=int32)
    """
    x = tensor(input_)
    starts, sizes = shape_argument(begin, "Slice"), shape_argument(size, "Slice")
    known_starts, known_sizes = static_ints(starts), static_ints(sizes)
    _check_block(x, known_starts, known_sizes)
    if known_starts == [] and known_sizes == []:
        return x
    first = symbolic_items(starts)
    starts = _inside(x, starts, sizes)
    if known_starts is not None and known_sizes is not None:
        pairs = zip(known_starts, known_sizes, strict=True)
        ends = int64_constant([INT64_MAX if n == -1 else b + n for b, n in pairs])
    else:
        ends = ox.Add(starts, sizes)
        if known_sizes is None or -1 in known_sizes:
            open_end = ox.Equal(sizes, int64_constant(-1))
            ends = ox.Where(open_end, int64_constant(INT64_MAX), ends)
    result = ox.Slice(x, starts, ends)
    if isinstance(result, SymbolicTensor):
        _keep_known(result, x, first, symbolic_items(sizes))
    return result


def _inside(x: Tensor, starts: Tensor, sizes: Tensor) -> Tensor:
    """The starts of a block, which a run refuses if the block is not inside of the tensor."""
    parts = raw_shape(x), symbolic_items(starts), symbolic_items(sizes)
    if None not in parts and all(map(_surely_inside, *parts)):  # type: ignore[arg-type]
        return starts
    with using(tapes=()):
        whole = ox.Max(sizes, int64_constant(0))
        room = ox.Sub(ox.Sub(ox.Shape(x), starts), whole)
        at_least = ox.Add(sizes, int64_constant(1))
        inside = not_negative(ox.Concat(starts, room, at_least, axis=0))
    return refused_unless(inside, starts, Refusal.SLICED)


def _surely_inside(dim: Dim, first: Dim, length: Dim) -> bool:
    """True if this is known of one axis; what are numbers is checked by now."""
    if isinstance(dim, int) and isinstance(first, int) and isinstance(length, int):
        return True
    return first == 0 and length is not None and length in (-1, dim)


def _keep_known(
    block: SymbolicTensor, x: Tensor, begin: RawDims | None, size: RawDims | None
) -> None:
    """Give a block the lengths that are known, whatever is unknown of other axes."""
    shape = raw_shape(x)
    if size is None or (shape is not None and len(shape) != len(size)):
        return
    found: list[int | None] = []
    for i, length in enumerate(size):
        first = None if begin is None else begin[i]
        dim = None if shape is None else shape[i]
        if length == -1 and isinstance(first, int) and isinstance(dim, int):
            length = dim - first
        found.append(length if isinstance(length, int) and length >= 0 else None)
    block.set_shape(found)


def _check_block(x: Tensor, begin: list[int] | None, size: list[int] | None) -> None:
    shape = raw_shape(x)
    if shape is None:
        return
    for given in (begin, size):
        if given is not None and len(given) != len(shape):
            raise InvalidArgumentError(
                f"Expected begin and size arguments to be 1-D tensors of size {len(shape)}, but "
                f"got begin={begin} and size={size} instead.",
                op="Slice",
            )
    for i, dim in enumerate(shape):
        first = None if begin is None else begin[i]
        if not isinstance(dim, int) or first is None:
            continue
        if not 0 <= first <= dim:
            raise InvalidArgumentError(
                f"Expected begin[{i}] in [0, {dim}], but got {first}.", op="Slice"
            )
        if size is not None and size[i] != -1 and not 0 <= size[i] <= dim - first:
            raise InvalidArgumentError(
                f"Expected size[{i}] in [0, {dim - first}], but got {size[i]}.", op="Slice"
            )


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Slice a tensor like ``input_[begin:end:strides, ...]``, given as numbers and bit masks.

    Args:
        input_: Tensor.
        begin: One start for each of the leading axes.
        end: One end (exclusive) for each.
        strides: One step for each; None means 1.
        begin_mask: Bit ``i`` set: ``begin[i]`` is ignored, start as far out as possible.
        end_mask: Bit ``i`` set: ``end[i]`` is ignored, go as far as possible.
        ellipsis_mask: Bit ``i`` set: entry ``i`` stands for ``...``.
        new_axis_mask: Bit ``i`` set: entry ``i`` inserts an axis of length 1.
        shrink_axis_mask: Bit ``i`` set: entry ``i`` picks ``begin[i]`` and removes the axis.
        var: Must be None; assign to variables with ``Variable.scatter_nd_update``.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: a picked index out of range, a stride of zero, more entries than axes.

    Example:
        >>> import tfx as tf
        >>> tf.strided_slice([[1, 2, 3], [4, 5, 6]], [0, 0], [2, 3], [1, 2]).numpy()
        array([[1, 3],
               [4, 6]], dtype=int32)
    """
    if var is not None:
        raise InvalidArgumentError(
            f"strided_slice takes no var; got {var!r}. Use Variable.scatter_nd_update."
        )
    x = tensor(input_)
    starts, ends = _entries(begin), _entries(end)
    steps = [1] * len(starts) if strides is None else _entries(strides)
    if not len(starts) == len(ends) == len(steps):
        raise InvalidArgumentError(
            "Expected begin, end, and strides to be 1D equal size tensors, but got lengths "
            f"{len(starts)}, {len(ends)} and {len(steps)}.",
            op="StridedSlice",
        )
    key: list[Any] = []
    for i, (first, last, step) in enumerate(zip(starts, ends, steps, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            if isinstance(step, int) and step <= 0:
                raise InvalidArgumentError(
                    f"only stride 1 allowed on non-range indexing; got strides[{i}] = {step}.",
                    op="StridedSlice",
                )
            key.append(first)
        else:
            key.append(
                builtins.slice(
                    None if begin_mask & bit else first, None if end_mask & bit else last, step
                )
            )
    return index_with(x, key)


def _entries(bounds: Any) -> list[int | Tensor]:
    """A vector of bounds one by one: numbers where they are known."""
    vector = shape_argument(bounds, "StridedSlice")
    known = static_ints(vector)
    if known is not None:
        return list(known)
    if isinstance(bounds, list | tuple):
        return [b if isinstance(b, int) else tensor(b) for b in bounds]
    shape = raw_shape(vector)
    if shape is None or not isinstance(shape[0], int):
        raise InvalidArgumentError(
            f"strided_slice needs bounds of known length; got {bounds!r}.", op="StridedSlice"
        )
    return [ox.Gather(vector, int64_constant(i)) for i in range(shape[0])]


@gradient("Slice")
def _slice_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """Zeros around the slice; a step of -1 turns around, any other goes back place by place."""
    x, starts, ends, *rest = op.inputs
    axes = _axes(rest[0] if rest else None, starts)
    if axes is None:
        return (put_back(op, dy), *[None] * (len(op.inputs) - 1))
    steps = [1] * len(axes) if len(rest) < 2 else static_ints(rest[1])
    cut: list[int] = []
    for i, axis in enumerate(axes):
        if steps is not None and steps[i] == 1:
            cut.append(i)
        elif steps is not None and _turns_around(x, axis, starts, ends, i, steps[i]):
            dy = reversed_along(ox, dy, [axis])
        else:
            dy = _placed(x, dy, axis, [_item(v, i) for v in (starts, ends, rest[1])])
    # Axes of known length first: that is a node with constant numbers.
    for places in _by_knowledge(x, [(i, axes[i]) for i in cut]):
        if places:
            along = [axes[i] for i in places]
            dy = _padded(x, dy, along, _items(starts, places), _items(ends, places))
    return (dy, *[None] * (len(op.inputs) - 1))


linear("Slice", inputs=(0,))


def _by_knowledge(x: Tensor, cuts: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Positions of the cuts whose axes have a static length, and of the others."""
    shape = raw_shape(x)
    known = [shape is not None and isinstance(shape[axis], int) for _, axis in cuts]
    pairs = list(zip(cuts, known, strict=True))
    return [i for (i, _), k in pairs if k], [i for (i, _), k in pairs if not k]


def _axes(axes: Tensor | None, starts: Tensor) -> list[int] | None:
    """The axes, None if they are known at run time only."""
    known = None if axes is None else static_ints(axes)
    if known is not None:
        return known
    shape = raw_shape(starts)
    if axes is not None or shape is None or not isinstance(shape[0], int):
        return None
    return list(range(shape[0]))


def _turns_around(x: Tensor, axis: int, starts: Tensor, ends: Tensor, i: int, step: int) -> bool:
    """True if a slice reverses a whole axis."""
    first, last, shape = static_ints(starts), static_ints(ends), raw_shape(x)
    if step != -1 or first is None or last is None:
        return False
    dim = None if shape is None else shape[axis]
    size = dim if isinstance(dim, int) else INT64_MAX
    whole = first[i] == -1 or first[i] >= size - 1
    return whole and (last[i] == INT64_MIN or last[i] < -size)


def _item(vector: Tensor, i: int) -> Tensor:
    return _items(vector, [i])


def _items(vector: Tensor, places: list[int]) -> Tensor:
    """Some elements of a vector of bounds."""
    known = static_ints(vector)
    if known is not None:
        return int64_constant([known[i] for i in places])
    return ox.Gather(as_int64_shape(vector), int64_constant(places))


def _placed(x: Tensor, dy: Tensor, axis: int, bounds: list[Tensor]) -> Tensor:
    """``dy`` put back along one axis of any step: to where the slice took 0, 1, 2... from."""
    start, end, step = bounds
    size = dimension(x, axis)
    scalar = ox.Squeeze(size, int64_constant([0]))
    places = ox.Range(int64_constant(0), scalar, int64_constant(1))
    places = ox.Slice(places, start, end, int64_constant([0]), step)
    behind = [] if axis == -1 else [shape_vector(dy, axis + 1)]
    shape = concat_shape(*([shape_vector(dy, 0, axis)] if axis else []), size, *behind)
    return scatter_along(shape, places, dy, axis)


def _padded(x: Tensor, dy: Tensor, axes: list[int], starts: Tensor, ends: Tensor) -> Tensor:
    """``dy`` with the zeros in front and behind that make it as long as ``x`` along some axes."""
    sizes, lengths = _sizes(x, axes), _sizes(dy, axes)
    first, size_ints, length_ints = map(static_ints, (starts, sizes, lengths))
    if first is not None and size_ints is not None and length_ints is not None:
        front = [
            min(max(s + n if s < 0 else s, 0), n) for s, n in zip(first, size_ints, strict=True)
        ]
        back = [n - f - m for n, f, m in zip(size_ints, front, length_ints, strict=True)]
        if not any(front) and not any(back):
            return dy
        pads = int64_constant(front + back)
    else:
        pads = _dynamic_pads(starts, ends, sizes, lengths)
    return ox.Pad(dy, pads, None, int64_constant(axes))


def _dynamic_pads(starts: Tensor, ends: Tensor, sizes: Tensor, lengths: Tensor) -> Tensor:
    first, last = static_ints(starts), static_ints(ends)
    missing = ox.Sub(sizes, lengths)
    zero = int64_constant(0)
    if first is not None and not any(first):
        parts = [int64_constant([0] * len(first)), missing]
    elif last is not None and all(e == INT64_MAX for e in last):
        parts = [missing, int64_constant([0] * len(last))]
    else:
        counted = ox.Where(ox.Less(starts, zero), ox.Add(starts, sizes), starts)
        front = ox.Min(ox.Max(counted, zero), sizes)
        parts = [front, ox.Sub(missing, front)]
    return ox.Concat(*parts, axis=0)


def _sizes(x: Tensor, axes: list[int]) -> Tensor:
    """The dimensions of some axes."""
    shape = raw_shape(x)
    known = None if shape is None else tuple(shape[a] for a in axes)
    if is_static(known):
        return int64_constant(known)
    if len(axes) == 1:
        return dimension(x, axes[0])
    return ox.Gather(ox.Shape(x), int64_constant(axes))


@batching("Slice")
def _slice_batching(op: BatchedOp) -> Results:
    """The same axes, one further back; they are the first ones where none are named."""
    if any(op.batched[1:]):
        return _parts_of_their_own(op)
    x, starts, ends, *_ = op.inputs
    steps = op.inputs[4] if op.given(4) else None
    first = range(1, 1 if op.given(3) else _count(op) + 1)
    axes = shifted_axes(op.input(3)) if op.given(3) else int64_constant(first)
    if axes.dtype is not op.input(1).dtype:
        axes = ox.Cast(axes, to=op.input(1).dtype.onnx)
    return op.apply((x, starts, ends, axes, *([] if steps is None else [steps])))


def _count(op: BatchedOp) -> int:
    """Return the number of sliced axes."""
    shape = op.input(1).shape
    count: int | None = shape[-1] if shape.rank else None
    if count is None:
        raise CannotBatchError("the number of axes is known at run time only")
    return count


def _parts_of_their_own(op: BatchedOp) -> Tensor:
    sizes = op.static_shape()
    if sizes is None:
        raise CannotBatchError("the size of the slice is known at run time only")
    op.only(0, 1, 2)
    count, rank = _count(op), op.rank(0)
    axes = static_ints(op.input(3)) if op.given(3) else list(range(count))
    steps = static_ints(op.input(4)) if op.given(4) else [1] * count
    if axes is None or steps is None:
        raise CannotBatchError("axes or steps are known at run time only")
    starts = as_int64(op.full(1))
    x, batched = op.input(0), op.batched[0]
    for number, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        at = axis % rank
        column = ox.Gather(starts, int64_constant([number]), axis=1)
        places = _places(x, at + batched, column, step, sizes[at])
        x, batched = gathered(x, places, at, (batched, True), rank, 1), True
    return x


def _places(x: Tensor, axis: int, starts: Tensor, step: int, size: int) -> Tensor:
    """``[batch, size]``: what a slice from ``starts``, ``[batch, 1]``, takes along an axis."""
    length = ox.Shape(x, start=axis, end=axis + 1)
    zero, last = int64_constant([0]), ox.Sub(length, int64_constant([1]))
    below = ox.Less(starts, zero)
    first = ox.Where(below, ox.Add(starts, length), starts)
    # A start beyond the end means the end; there are no places then, or it is the last one.
    first = ox.Max(ox.Min(first, length if step > 0 else last), zero)
    places = ox.Add(first, int64_constant([step * i for i in range(size)]))
    return ox.Max(ox.Min(places, last), zero)
