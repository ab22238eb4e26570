"""``tfx.sets``: what rows of two tensors have in common, and what not.

The decision: each element becomes one number, of its row and of its place among all distinct
elements, and operations on sets are operations on sorted vectors of these.
"""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.gather import gather
from tfx.ops.common.arguments import cast_to, static_ints, tensor
from tfx.ops.common.shapes import filled, known_rank, reshape_to, shape_vector
from tfx.sparse_ops import positions
from tfx.sparse_ops.sparse_tensor import (
    SparseTensor,
    known_rank_of,
    made,
    require_sparse,
    strings_or_integers,
)

_KINDS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "string")


def intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that rows of both tensors have.

    Args:
        a: Tensor or ``SparseTensor`` of integers or strings, whose last axis has the elements of a
            set.
        b: The same, with the same sizes of the other axes.
        validate_indices: Accepted for compatibility.

    Returns:
        A ``SparseTensor`` with each row's elements in order.

    Raises:
        TypeError: another dtype, or two.
        InvalidArgumentError: other sizes.

    Example:
        >>> import tfx as tf
        >>> found = tf.sets.intersection(tf.constant([[1, 2, 3, 3]]), tf.constant([[3, 1, 9]]))
        >>> found.values.numpy()
        array([1, 3], dtype=int32)
    """
    pair = _Pair(a, b)
    both = ox.Concat(pair.first, pair.second, axis=0)
    return pair.where_count(both, 2)


def difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The elements of rows of one tensor that those of the other do not have.

    Args:
        a: As for ``intersection``.
        b: As for ``intersection``.
        aminusb: Whether ``b`` is taken from ``a``, or the other way round.
        validate_indices: Accepted for compatibility.

    Returns:
        A ``SparseTensor`` with each row's elements in order.

    Example:
        >>> import tfx as tf
        >>> tf.sets.difference(tf.constant([[1, 2, 3]]), tf.constant([[3, 1, 9]])).values.numpy()
        array([2], dtype=int32)
    """
    pair = _Pair(a, b) if aminusb else _Pair(b, a)
    return pair.where_count(ox.Concat(pair.first, pair.second, pair.second, axis=0), 1)


def union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that rows of one of the tensors have.

    Args:
        a: As for ``intersection``.
        b: As for ``intersection``.
        validate_indices: Accepted for compatibility.

    Returns:
        A ``SparseTensor`` with each row's elements in order.

    Example:
        >>> import tfx as tf
        >>> tf.sets.union(tf.constant([["b", "a"]]), tf.constant([["a", "c"]])).values.numpy()
        array([b'a', b'b', b'c'], dtype=object)
    """
    pair = _Pair(a, b)
    return pair.where_count(ox.Concat(pair.first, pair.second, axis=0), None)


def size(a: Any, validate_indices: bool = True) -> Tensor:
    """How many different elements each row of a sparse tensor has.

    Args:
        a: ``SparseTensor`` of integers or strings.
        validate_indices: Accepted for compatibility.

    Returns:
        int32, of the shape of ``a`` without its last axis.

    Example:
        >>> import tfx as tf
        >>> tf.sets.size(tf.sparse.from_dense([[1, 2, 1], [0, 5, 0]])).numpy()
        array([2, 1], dtype=int32)
    """
    x = require_sparse(a, "sets.size")
    groups, values, outer = _parts(x)
    distinct, _, rank, _ = ox.Unique(strings_or_integers(values), sorted=1, outputs=4)
    codes = _distinct(_codes(groups, rank, ox.Size(distinct)))
    found = ox.Div(codes, ox.Max(ox.Size(distinct), int64_constant(1)))
    return reshape_to(cast_to(_counts(found, outer), dtypes.int32), outer)


class _Pair:
    """The sets of two tensors as sorted numbers."""

    def __init__(self, a: Any, b: Any) -> None:
        x, y = [v if isinstance(v, SparseTensor) else tensor(v) for v in (a, b)]
        if x.dtype is not y.dtype:
            raise TypeError(f"Types don't match, {x.dtype!r} vs {y.dtype!r}.")
        first, self.own, self.outer = _parts(x)
        second, other, outer = _parts(y)
        _check_outer(self.outer, outer)
        count = ox.Shape(self.own)
        self.own = concat([self.own, other], 0)
        keys = strings_or_integers(self.own)
        _, place, rank, _ = ox.Unique(keys, sorted=1, outputs=4)
        self.place = place  # of the first occurrence of each distinct element
        self.size = ox.Size(place)
        ends = ox.Concat(count, ox.Sub(ox.Shape(rank), count), axis=0)
        ranks = ox.Split(rank, ends, axis=0, outputs=2)
        self.first = _distinct(_codes(first, ranks[0], self.size))
        self.second = _distinct(_codes(second, ranks[1], self.size))

    def where_count(self, codes: Tensor, wanted: int | None) -> SparseTensor:
        """The sets of what occurs so often."""
        found, _, _, counts = ox.Unique(codes, sorted=1, outputs=4)
        if wanted is not None:
            found = ox.Gather(found, positions.where_true(ox.Equal(counts, int64_constant(wanted))))
        many = ox.Max(self.size, int64_constant(1))
        groups = ox.Div(found, many)
        values = gather(self.own, ox.Gather(self.place, ox.Mod(found, many)))
        counts = _counts(groups, self.outer)
        starts = ox.Sub(ox.CumSum(counts, int64_constant(0)), counts)
        inside = ox.Sub(_numbers(groups), ox.Gather(starts, groups))
        longest = ox.ReduceMax(ox.Concat(counts, int64_constant([0]), axis=0), keepdims=1)
        rank = self.outer.shape[0]
        assert rank is not None
        last = ox.Unsqueeze(inside, int64_constant([1]))
        parts = [positions.indices_at(groups, self.outer, rank), last] if rank else [last]
        indices = ox.Concat(*parts, axis=1) if rank else last
        return made(indices, values, ox.Concat(self.outer, longest, axis=0))


def _parts(x: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The row of each element, the elements, and the shape of the rows."""
    if x.dtype.name not in _KINDS:
        raise TypeError(
            f"Invalid dtype `{x.dtype!r}` not in supported dtypes: {', '.join(_KINDS)}."
        )
    if isinstance(x, SparseTensor):
        rank = known_rank_of(x, "Set operations")
        axes = list(range(rank - 1))
        outer = ox.Gather(x.dense_shape, int64_constant(axes), axis=0)
        if rank < 2:
            return ox.Expand(int64_constant(0), ox.Shape(x.values)), x.values, outer
        groups = positions.places_of(positions.columns(x.indices, axes), outer, rank - 1)
        return groups, x.values, outer
    rank = known_rank(x, "Set operations")
    if rank < 1:
        raise InvalidArgumentError("Set operations take tensors of one axis or more; got a scalar.")
    outer, shape = shape_vector(x, 0, rank - 1), ox.Shape(x)
    values = ox.Reshape(x, int64_constant([-1]))
    width = ox.Max(positions.axis_size(shape, rank - 1), int64_constant(1))
    return ox.Div(_numbers(values), width), values, outer


def _check_outer(a: Tensor, b: Tensor) -> None:
    known, other = static_ints(a), static_ints(b)
    if a.shape[0] != b.shape[0] or (known is not None and other is not None and known != other):
        raise InvalidArgumentError(
            f"Mismatched group shapes: {known} vs {other}: set operations take tensors that differ "
            "in their last axis alone.",
            op="DenseToDenseSetOperation",
        )


def _codes(groups: Tensor, rank: Tensor, count: Tensor) -> Tensor:
    return ox.Add(ox.Mul(groups, count), rank)


def _distinct(codes: Tensor) -> Tensor:
    return ox.Unique(codes, sorted=1)


def _numbers(x: Tensor) -> Tensor:
    """0, 1, 2, ... for each element of a vector."""
    return ox.Range(int64_constant(0), ox.Size(x), int64_constant(1))


def _counts(groups: Tensor, outer: Tensor) -> Tensor:
    """How many elements each group has."""
    total = ox.ReduceProd(outer, keepdims=1) if outer.shape[0] else int64_constant([1])
    ones = ox.Expand(int64_constant(1), ox.Shape(groups))
    none = filled(total, 0, dtypes.int64)
    return ox.ScatterElements(none, groups, ones, axis=0, reduction="add")
