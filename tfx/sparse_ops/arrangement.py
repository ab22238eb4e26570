"""Sparse tensors with their entries in other places: order, shape, axes, parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.concat import concat as concat_tensors
from tfx.ops.array.gather import gather
from tfx.ops.common.arguments import as_int64, static_ints, tensor
from tfx.ops.common.shapes import product, shape_argument
from tfx.sparse_ops import positions
from tfx.sparse_ops.sparse_tensor import SparseTensor, known_rank_of, made, require_sparse


def reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The entries in row-major order.

    Raises:
        TypeError: not a sparse tensor.
        InvalidArgumentError: a ``dense_shape`` of more than ``2**63 - 1`` elements.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[1, 0], [0, 1]], [5, 6], [2, 2])
        >>> tf.sparse.reorder(x).values.numpy()
        array([6, 5], dtype=int32)
    """
    return positions.ordered(require_sparse(sp_input, "sparse.reorder"), "SparseReorder")


def reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same entries in another shape of the whole.

    Args:
        sp_input: ``SparseTensor``.
        shape: The new shape; -1 for one size that follows from the others.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: a shape of another number of elements, or of more than ``2**63 - 1``.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 1], [1, 2]], [5, 6], [2, 3])
        >>> tf.sparse.reshape(x, [3, -1]).indices.numpy().tolist()
        [[0, 1], [2, 1]]
    """
    x = require_sparse(sp_input, "sparse.reshape")
    rank = known_rank_of(x, "sparse.reshape")
    wanted = shape_argument(shape, "sparse.reshape")
    count = wanted.shape[0] if wanted.shape.rank == 1 else None
    if count is None:
        raise InvalidArgumentError(f"sparse.reshape needs a shape of known length; got {shape!r}.")
    total = product(positions.numbered(x.dense_shape, rank))
    wanted = positions.numbered(wanted, count)
    one, unknown = int64_constant(1), ox.Less(wanted, int64_constant(0))
    known = product(ox.Where(unknown, one, wanted))
    free = ox.Div(total, ox.Max(known, one))
    new = ox.Where(unknown, free, wanted)
    fits = ox.Equal(product(new), total)
    if not isinstance(fits, EagerTensor):
        new = refused_unless(fits, new, Refusal.SPARSE_RESHAPE)
    elif not fits.view().all():
        had, asked = _ints(x.dense_shape), _ints(wanted)
        raise InvalidArgumentError(
            f"Input to reshape is a tensor with {_ints(total)[0]} dense values, but the requested "
            f"shape has {_ints(product(new))[0]}. input_shape={_listed(had)} "
            f"output_shape={_listed(asked)}",
            op="SparseReshape",
        )
    places = positions.places_of(x.indices, x.dense_shape, rank)
    return made(positions.indices_at(places, new, count), x.values, new)


def _ints(x: Tensor) -> list[int]:
    return static_ints(x) or []


def _listed(numbers: Sequence[Any]) -> str:
    return "[" + ",".join(map(str, numbers)) + "]"


def transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The axes in another order.

    Args:
        sp_input: ``SparseTensor``.
        perm: The axes of the input in the order of the result's; None: reversed.
        name: Accepted for compatibility.

    Raises:
        ValueError: not each axis once.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 3])
        >>> y = tf.sparse.transpose(x)
        >>> y.indices.numpy().tolist(), y.values.numpy(), y.shape
        ([[0, 1], [1, 0]], array([6, 5], dtype=int32), TensorShape([3, 2]))
    """
    x = require_sparse(sp_input, "sparse.transpose")
    rank = known_rank_of(x, "sparse.transpose")
    order = list(range(rank))[::-1] if perm is None else static_ints(as_int64(perm))
    if order is None or sorted(n % rank if -rank <= n < rank else n for n in order) != list(
        range(rank)
    ):
        raise InvalidArgumentError(f"perm must have each of the {rank} axes once; got {perm!r}.")
    order = [n % rank for n in order]
    shape = ox.Gather(x.dense_shape, int64_constant(order), axis=0)
    turned = made(positions.columns(x.indices, order), x.values, shape)
    return positions.ordered(turned, "SparseTranspose")


def expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """A new axis of size 1.

    Args:
        sp_input: ``SparseTensor``.
        axis: Where it is put, from ``-rank - 1`` to ``rank``; None: at the end.
        name: Accepted for compatibility.

    Raises:
        ValueError: another axis.

    Example:
        >>> import tfx as tf
        >>> tf.sparse.expand_dims(tf.SparseTensor([[1]], [5], [3]), 0).shape
        TensorShape([1, 3])
    """
    x = require_sparse(sp_input, "sparse.expand_dims")
    rank = known_rank_of(x, "sparse.expand_dims")
    place = rank if axis is None else int(axis)
    if not -rank - 1 <= place <= rank:
        raise InvalidArgumentError(f"Dimension {axis} must be in [{-rank - 1}, {rank}] for {x!r}.")
    place %= rank + 1
    zero = ox.Expand(int64_constant(0), ox.Concat(_count(x), int64_constant([1]), axis=0))
    axes = list(range(rank))
    before, after = axes[:place], axes[place:]
    parts = [positions.columns(x.indices, before), zero, positions.columns(x.indices, after)]
    sizes = [_sizes(x, before), int64_constant([1]), _sizes(x, after)]
    return made(ox.Concat(*parts, axis=1), x.values, ox.Concat(*sizes, axis=0))


def _count(x: SparseTensor) -> Tensor:
    """The number of entries, as a vector of one element."""
    return ox.Shape(x.values)


def _sizes(x: SparseTensor, axes: list[int]) -> Tensor:
    return ox.Gather(x.dense_shape, int64_constant(axes), axis=0)


def _axis(x: SparseTensor, axis: Any, op: str) -> int:
    rank = known_rank_of(x, op)
    known = static_ints(as_int64(axis))
    place = None if known is None else known[0]
    if place is None or not -rank <= place < rank:
        raise InvalidArgumentError(
            f"{op}: the axis must be a number in [{-rank}, {rank}); got {axis!r}.", op=op
        )
    return place % rank


def concat(
    axis: Any, sp_inputs: Any, expand_nonconcat_dims: bool = False, name: str | None = None
) -> SparseTensor:
    """Sparse tensors one behind the other along an axis.

    Args:
        axis: The axis.
        sp_inputs: The sparse tensors, of one dtype.
        expand_nonconcat_dims: Make the other axes as long as the longest, instead of refusing
            sizes that differ.
        name: Accepted for compatibility.

    Raises:
        TypeError: something else than sparse tensors.
        InvalidArgumentError: sizes that differ.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 1]], [5], [1, 2])
        >>> tf.sparse.to_dense(tf.sparse.concat(1, [x, x])).numpy()
        array([[0, 5, 0, 5]], dtype=int32)
    """
    given = sp_inputs if isinstance(sp_inputs, list | tuple) else [sp_inputs]
    inputs = [require_sparse(x, "sparse.concat") for x in given]
    if not inputs:
        raise InvalidArgumentError("sparse.concat takes at least one SparseTensor; got none.")
    if len(inputs) == 1:
        return inputs[0]
    place = _axis(inputs[0], axis, "SparseConcat")
    rank = known_rank_of(inputs[0], "SparseConcat")
    for i, x in enumerate(inputs):
        if x.rank != rank:
            raise InvalidArgumentError(
                f"Ranks of all input tensors must match: expected {rank} but got {x.rank} at "
                f"position {i}",
                op="SparseConcat",
            )
    shapes = [x.dense_shape for x in inputs]
    if not expand_nonconcat_dims:
        shapes = [shapes[0], *_matched(shapes, place, rank)]
    start: Tensor = int64_constant([0])
    moved = []
    for x, shape in zip(inputs, shapes, strict=True):
        others = int64_constant([int(a == place) for a in range(rank)])
        moved.append(ox.Add(x.indices, ox.Mul(start, others)))
        start = ox.Add(start, positions.axis_size(shape, place))
    most = shapes[0] if not expand_nonconcat_dims else ox.Max(*shapes)
    sizes = [positions.axis_size(most, a) if a != place else start for a in range(rank)]
    whole = ox.Concat(*sizes, axis=0) if rank > 1 else start
    values = concat_tensors([x.values for x in inputs], 0)
    joined = made(ox.Concat(*moved, axis=0), values, whole)
    return positions.ordered(joined, "SparseConcat")


def _matched(shapes: Sequence[Tensor], place: int, rank: int) -> list[Tensor]:
    """The shapes but the first, checked to be as the first one along the other axes."""
    found = []
    others = int64_constant([a for a in range(rank) if a != place])
    first = ox.Gather(shapes[0], others, axis=0)
    for i, shape in enumerate(shapes[1:], 1):
        same = ox.Equal(first, ox.Gather(shape, others, axis=0))
        if not isinstance(same, EagerTensor):
            found.append(refused_unless(same, shape, Refusal.SPARSE_SHAPES) if rank > 1 else shape)
            continue
        if not same.view().all():
            bad = int((~same.view()).argmax())
            axis = _ints(others)[bad]
            raise InvalidArgumentError(
                f"Input shapes must match: expected {_ints(first)[bad]} for dimension {axis} but "
                f"got {_ints(shape)[axis]} at position {i}; expand_nonconcat_dims=True makes them "
                "as long as the longest.",
                op="SparseConcat",
            )
        found.append(shape)
    return found


def slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """A part of a sparse tensor.

    Args:
        sp_input: ``SparseTensor``.
        start: The first index of each axis.
        size: The size of each axis; what goes beyond the end is cut off.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 1], [1, 2], [2, 0]], [5, 6, 7], [3, 3])
        >>> y = tf.sparse.slice(x, [1, 0], [2, 2])
        >>> y.indices.numpy().tolist(), y.values.numpy(), y.shape
        ([[1, 0]], array([7], dtype=int32), TensorShape([2, 2]))
    """
    x = require_sparse(sp_input, "sparse.slice")
    known_rank_of(x, "sparse.slice")
    first, count = as_int64(start), as_int64(size)
    zero = int64_constant(0)
    shape = ox.Max(ox.Min(count, ox.Sub(x.dense_shape, first)), zero)
    return _between(x, first, shape)


def _between(x: SparseTensor, first: Tensor, shape: Tensor) -> SparseTensor:
    moved = ox.Sub(x.indices, first)
    inside = ox.And(ox.GreaterOrEqual(moved, int64_constant(0)), ox.Less(moved, shape))
    wanted = positions.where_true(all_of_rows(inside))
    return made(ox.Gather(moved, wanted, axis=0), gather(x.values, wanted), shape)


def all_of_rows(mask: Tensor) -> Tensor:
    """Whether all of each row of a boolean matrix is true."""
    least = ox.ReduceMin(ox.Cast(mask, to=dtypes.int32.onnx), int64_constant([1]), keepdims=0)
    return ox.Cast(least, to=dtypes.bool.onnx)


def split(
    sp_input: Any = None, num_split: Any = None, axis: Any = None, name: str | None = None
) -> list[SparseTensor]:
    """Parts of a sparse tensor along an axis; the first ones are one longer if it does not divide.

    Args:
        sp_input: ``SparseTensor``.
        num_split: How many parts.
        axis: The axis.
        name: Accepted for compatibility.

    Returns:
        A list of ``SparseTensor``.

    Raises:
        ValueError: something was not given.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 2], [0, 4]], [5, 6], [1, 5])
        >>> [y.shape.as_list() for y in tf.sparse.split(x, 2, 1)]
        [[1, 3], [1, 2]]
    """
    for given, called in ((sp_input, "sp_input"), (num_split, "num_split"), (axis, "axis")):
        if given is None:
            raise InvalidArgumentError(f"{called} is required for sparse.split")
    x = require_sparse(sp_input, "sparse.split")
    place, rank = _axis(x, axis, "SparseSplit"), known_rank_of(x, "SparseSplit")
    count = int(num_split)
    if count < 1 or (x.shape[place] is not None and count > x.shape[place]):
        raise InvalidArgumentError(
            f"Number of splits should be in [1, {x.shape[place]}]; got {num_split}.",
            op="SparseSplit",
        )
    size, many = positions.axis_size(x.dense_shape, place), int64_constant([count])
    least, more = ox.Div(size, many), ox.Mod(size, many)
    parts = []
    start: Tensor = int64_constant([0])
    for i in range(count):
        longer = ox.Cast(ox.Less(int64_constant([i]), more), to=dtypes.int64.onnx)
        width = ox.Add(least, longer)
        shape = [
            positions.axis_size(x.dense_shape, a) if a != place else width for a in range(rank)
        ]
        first = [start if a == place else int64_constant([0]) for a in range(rank)]
        parts.append(_between(x, _joined(first), _joined(shape)))
        start = ox.Add(start, width)
    return parts


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return ox.Concat(*parts, axis=0) if len(parts) > 1 else parts[0]


def retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The entries for which a vector of booleans is true.

    Args:
        sp_input: ``SparseTensor``.
        to_retain: A boolean for each entry.

    Raises:
        ValueError: another number of them.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0], [2]], [5, 6], [3])
        >>> tf.sparse.retain(x, [False, True]).values.numpy()
        array([6], dtype=int32)
    """
    x = require_sparse(sp_input, "sparse.retain")
    mask = convert_to_tensor(to_retain, dtypes.bool)
    have, given = x.values.shape, mask.shape
    if given.rank == 1 and given[0] is not None and have[0] not in (None, given[0]):
        raise InvalidArgumentError(f"Dimensions {have[0]} and {given[0]} are not compatible")
    return positions.taken(x, positions.where_true(mask))


def reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same entries in a larger shape, or in the smallest one that has room for them.

    Args:
        sp_input: ``SparseTensor``.
        new_shape: A shape that is nowhere smaller; None: the smallest that has room.

    Raises:
        ValueError: a shape that is smaller, or of another rank.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 1]], [5], [4, 4])
        >>> tf.sparse.reset_shape(x).shape, tf.sparse.reset_shape(x, [5, 9]).shape
        (TensorShape([1, 2]), TensorShape([5, 9]))
    """
    x = require_sparse(sp_input, "sparse.reset_shape")
    rank = known_rank_of(x, "sparse.reset_shape")
    if new_shape is None:
        none = convert_to_tensor([[-1] * rank], dtypes.int64)
        last = ox.ReduceMax(ox.Concat(x.indices, none, axis=0), int64_constant([0]), keepdims=0)
        return made(x.indices, x.values, ox.Add(last, int64_constant(1)))
    shape = shape_argument(new_shape, "sparse.reset_shape")
    if shape.shape.rank == 1 and shape.shape[0] not in (None, rank):
        raise InvalidArgumentError(f"new_shape must have {rank} sizes; got {new_shape!r}.")
    fits = ox.GreaterOrEqual(shape, x.dense_shape)
    if not isinstance(fits, EagerTensor):
        shape = refused_unless(fits, shape, Refusal.SPARSE_RESET)
    elif not fits.view().all():
        raise InvalidArgumentError(
            "Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape "
            f"({_listed(_ints(shape))}), sp_input.shape ({_listed(_ints(x.dense_shape))})."
        )
    return made(x.indices, x.values, shape)


def mask(a: Any, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """``IndexedSlices`` without some of their rows.

    Args:
        a: ``IndexedSlices``.
        mask_indices: The indices to leave out.
        name: Accepted for compatibility.

    Raises:
        TypeError: not ``IndexedSlices``.

    Example:
        >>> import tfx as tf
        >>> rows = tf.IndexedSlices(values=tf.constant([5, 6]), indices=tf.constant([0, 3]))
        >>> tf.sparse.mask(rows, [3]).indices.numpy()
        array([0], dtype=int32)
    """
    if not isinstance(a, IndexedSlices):
        raise TypeError(f"sparse.mask takes IndexedSlices; got {a!r}.")
    indices = tensor(a.indices)
    left_out = convert_to_tensor(mask_indices, indices.dtype)
    side = ox.Unsqueeze(indices, int64_constant([1]))
    never = ox.Not(ox.Equal(side, ox.Unsqueeze(left_out, int64_constant([0]))))
    none = ox.Expand(convert_to_tensor(True), ox.Concat(ox.Shape(indices), ox.ints([1]), axis=0))
    kept = positions.where_true(all_of_rows(ox.Concat(never, none, axis=1)))
    return IndexedSlices(gather(a.values, kept), gather(indices, kept), a.dense_shape)
