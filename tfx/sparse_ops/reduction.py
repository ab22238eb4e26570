"""Sums and maxima of sparse tensors along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.scatter import tensor_scatter_nd_add, tensor_scatter_nd_update
from tfx.ops.common.arguments import static_ints, tensor
from tfx.ops.common.shapes import filled, reshape_to
from tfx.ops.math.segments import unsorted_segment_max, unsorted_segment_sum
from tfx.sparse_ops import positions
from tfx.sparse_ops.sparse_tensor import SparseTensor, known_rank_of, made, require_sparse

_Fold = Callable[[Any, Any, Any], Tensor]


def reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The sum of the elements along axes.

    Args:
        sp_input: ``SparseTensor`` of a number dtype.
        axis: An axis or several; None: all.
        keepdims: Keep the axes with size 1.
        output_is_sparse: Return a ``SparseTensor``, with an entry wherever one was summed.
        name: Accepted for compatibility.

    Raises:
        TypeError: not a sparse tensor.
        InvalidArgumentError: no such axis.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [1, 1, 1], [2, 3])
        >>> tf.sparse.reduce_sum(x, 0).numpy(), int(tf.sparse.reduce_sum(x))
        (array([1, 1, 1], dtype=int32), 3)
    """
    x = require_sparse(sp_input, "sparse.reduce_sum")
    return _reduced(x, axis, bool(keepdims), output_is_sparse, unsorted_segment_sum)


def reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The largest of the entries along axes; 0 where there is no entry.

    What is not written down does not take part: the maximum of -1 and no other entry is -1.

    Args:
        sp_input: ``SparseTensor`` of a number dtype.
        axis: An axis or several; None: all.
        keepdims: Keep the axes with size 1.
        output_is_sparse: Return a ``SparseTensor``.
        name: Accepted for compatibility.

    Raises:
        TypeError: not a sparse tensor.
        InvalidArgumentError: no such axis.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 1], [0, 2]], [-3, -1], [2, 3])
        >>> tf.sparse.reduce_max(x, 1).numpy()
        array([-1,  0], dtype=int32)
    """
    x = require_sparse(sp_input, "sparse.reduce_max")
    return _reduced(x, axis, bool(keepdims), output_is_sparse, unsorted_segment_max)


def _axes(axis: Any, rank: int) -> list[int]:
    if axis is None:
        return list(range(rank))
    known = static_ints(tensor(np.array(axis) if isinstance(axis, list | tuple) else axis))
    for a in known or ():
        if not -rank <= a < rank:
            raise InvalidArgumentError(
                f"Invalid reduction dimension {a}, for input with {rank} dimensions.",
                op="SparseReduce",
            )
    if known is None:
        raise InvalidArgumentError(
            f"The axes of a sparse reduction must be numbers; got {axis!r}.", op="SparseReduce"
        )
    return sorted({a % rank for a in known})


def _reduced(x: SparseTensor, axis: Any, keepdims: bool, as_sparse: bool, fold: _Fold) -> Any:
    rank = known_rank_of(x, "SparseReduce")
    axes = _axes(axis, rank)
    kept = [a for a in range(rank) if a not in axes]
    shape = ox.Gather(x.dense_shape, int64_constant(kept), axis=0)
    if kept:
        places = positions.places_of(positions.columns(x.indices, kept), shape, len(kept))
    else:
        places = ox.Expand(int64_constant(0), ox.Shape(x.values))
    distinct, _, at, _ = ox.Unique(places, sorted=1, outputs=4)
    values = fold(x.values, at, ox.Size(distinct))
    indices = positions.indices_at(distinct, shape, len(kept)) if kept else None
    full = shape
    if keepdims:
        one = int64_constant([1])
        parts = [one if a in axes else positions.axis_size(x.dense_shape, a) for a in range(rank)]
        full = ox.Concat(*parts, axis=0) if rank > 1 else parts[0] if parts else shape
    if as_sparse:
        return _as_sparse(distinct, values, full, rank if keepdims else len(kept))
    if indices is None:
        # One number: the sum over the single segment, and 0 if there is no entry at all.
        values = fold(x.values, places, int64_constant(1))
        if fold is unsorted_segment_max:
            zero = convert_to_tensor(0, x.dtype)
            some = ox.Less(int64_constant(0), ox.Size(x.values))
            values = ox.Where(some, values, zero)
        return reshape_to(values, full)
    nothing = filled(shape, 0, x.dtype)
    put = tensor_scatter_nd_add if fold is unsorted_segment_sum else tensor_scatter_nd_update
    found = put(nothing, indices, values)
    found.set_shape([x.shape[a] for a in kept])
    return reshape_to(found, full) if keepdims else found


def _as_sparse(places: Tensor, values: Tensor, shape: Tensor, rank: int) -> SparseTensor:
    if not rank:
        none = ox.Concat(ox.Shape(values), int64_constant([0]), axis=0)
        return made(ox.ConstantOfShape(none, value=np.array([0], np.int64)), values, shape)
    return made(positions.indices_at(places, shape, rank), values, shape)
