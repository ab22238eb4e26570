"""What functions of elements make of ``tf.SparseTensor`` and ``tf.IndexedSlices``.

Owns the facts of which results are sparse, and the three ways in which two arguments meet: where
either has an element, where both have one, and division, which tells zeros from nothing. What no
fact is known of gets the dense tensor. Functions are given, so nothing of them is imported here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tfx as tf

KINDS = frozenset({tf.SparseTensor, tf.IndexedSlices})

# Functions that give 0 for 0, whose results Keras declares sparse where the argument is.
_KEEP_ZERO = frozenset(
    (
        *("absolute", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "conjugate", "copy"),
        *("expm1", "fabs", "floor", "imag", "log1p", "negative", "real", "round", "sign"),
        *("signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
    )
)
# Of these, those for which it makes no difference whether rows that repeat are added up before.
_ADDITIVE = frozenset(("add", "subtract", "conjugate", "copy", "imag", "negative", "real"))

Function = Callable[..., Any]


def is_sparse(x: Any) -> bool:
    """True for a ``SparseTensor``: not for slices."""
    return type(x) is tf.SparseTensor


def dense(x: Any) -> Any:
    """The dense tensor of a sparse tensor or of slices; anything else as it is."""
    if type(x) is tf.SparseTensor:
        if x.shape.rank == 0:
            return tf.reduce_sum(x.values)
        found = tf.sparse.to_dense(x)
        found.set_shape(x.shape)
        return found
    return tf.convert_to_tensor(x) if type(x) is tf.IndexedSlices else x


def with_values(x: Any, values: Any) -> Any:
    """Other elements in the places of a sparse tensor or of slices."""
    if type(x) is tf.SparseTensor:
        return x.with_values(values)
    if hasattr(x, "rows_differ"):
        return _of_rows(values, x.indices, x.dense_shape)
    return tf.IndexedSlices(values, x.indices, x.dense_shape)


def _of_rows(values: Any, rows: Any, shape: Any) -> Any:
    """Slices of which it is known, and noted, that no row repeats."""
    found: Any = tf.IndexedSlices(values, rows, shape)
    found.rows_differ = True
    return found


def rows_once(x: Any) -> Any:
    """Slices in which each row is there once: those that repeat are added up."""
    if hasattr(x, "rows_differ"):
        return x
    rows = tf.convert_to_tensor(x.indices)
    known = tf.get_static_value(rows)
    if known is not None and len(set(known.tolist())) == known.size:
        return _of_rows(x.values, x.indices, x.dense_shape)
    distinct, at = tf.unique(rows)
    values = tf.math.unsorted_segment_sum(x.values, at, tf.size(distinct))
    return _of_rows(values, distinct, x.dense_shape)


def of_one(name: str, function: Function, x: Any, *args: Any) -> Any:
    """A function of each element of a sparse tensor or of slices.

    Args:
        name: Its name in Keras.
        function: Carries it out for dense tensors.
        x: The sparse tensor, or slices.
        *args: Its other arguments.
    """
    if name not in _KEEP_ZERO:
        return function(dense(x), *args)
    if type(x) is tf.IndexedSlices and name not in _ADDITIVE:
        x = rows_once(x)
    return with_values(x, function(x.values, *args))


def of_two(name: str, function: Function, x1: Any, x2: Any) -> Any:
    """A function of the elements of two tensors of one dtype, of which one at least is sparse.

    Args:
        name: Its name in Keras.
        function: Carries it out for dense tensors.
        x1: A sparse tensor, slices or a tensor.
        x2: The same.
    """
    rule = _RULES.get(name)
    if rule is None:
        return function(dense(x1), dense(x2))
    if type(x1) is type(x2) is tf.IndexedSlices and name not in _ADDITIVE:
        x1, x2 = rows_once(x1), rows_once(x2)
    return rule(name, function, x1, x2)


def _either(name: str, function: Function, x1: Any, x2: Any) -> Any:
    """Where one of them has an element; dense beside a dense one."""
    if type(x1) is not type(x2):
        return function(dense(x1), dense(x2))
    if x1.indices is x2.indices:
        return with_values(x1, function(x1.values, x2.values))
    if type(x1) is tf.SparseTensor:
        return _stated(_SPARSE[name](x1, x2), x1)
    indices, first, second = _united(x1, x2)
    return _of_rows(function(first, second), indices, x1.dense_shape)


def _difference(x1: Any, x2: Any) -> Any:
    return tf.sparse.add(x1, x2.with_values(-x2.values))


_SPARSE: dict[str, Function] = {
    "add": tf.sparse.add,
    "subtract": _difference,
    "maximum": tf.sparse.maximum,
    "minimum": tf.sparse.minimum,
}


def _stated(found: Any, x: Any) -> Any:
    found.set_shape(x.shape)
    return found


def _united(x1: Any, x2: Any) -> tuple[Any, Any, Any]:
    """The rows that one of them has, and what each has in them."""
    rows, at = tf.unique(tf.concat([_rows(x1), _rows(x2)], 0))
    count, border = tf.size(rows), tf.size(x1.indices)
    first = tf.math.unsorted_segment_sum(x1.values, at[:border], count)
    return rows, first, tf.math.unsorted_segment_sum(x2.values, at[border:], count)


def _rows(x: Any) -> Any:
    return tf.cast(tf.convert_to_tensor(x.indices), tf.int64)


def _both(name: str, function: Function, x1: Any, x2: Any) -> Any:
    """Where both have an element: beside a dense one where the other has one."""
    if type(x1) is not type(x2):
        if type(x1) in KINDS and type(x2) in KINDS:
            return function(dense(x1), dense(x2))
        if type(x1) in KINDS:
            return _beside_dense(function, x1, x2)
        return _beside_dense(lambda a, b: function(b, a), x2, x1)
    if x1.indices is x2.indices:
        return with_values(x1, function(x1.values, x2.values))
    if type(x1) is tf.SparseTensor:
        left, right = _common(_places(x1), _places(x2))
        values = function(tf.gather(x1.values, left), tf.gather(x2.values, right))
        return _stated(tf.SparseTensor(tf.gather(x1.indices, left), values, x1.dense_shape), x1)
    left, right = _common(_rows(x1), _rows(x2))
    values = function(tf.gather(x1.values, left), tf.gather(x2.values, right))
    return _of_rows(values, tf.gather(_rows(x1), left), x1.dense_shape)


def _places(x: Any) -> Any:
    """A number for the place of each element."""
    strides = tf.math.cumprod(x.dense_shape, exclusive=True, reverse=True)
    return tf.reduce_sum(x.indices * strides, 1)


def _common(first: Any, second: Any) -> tuple[Any, Any]:
    """Where the numbers that are in both of two vectors stand in each of them."""
    border = tf.size(first)
    # Those of the first vector differ, and are numbered in their order.
    _, at = tf.unique(tf.concat([first, second], 0))
    behind = tf.range(1, tf.size(second) + 1)
    beside = tf.scatter_nd(at[border:, None], behind, [tf.size(at)])[:border]
    left = tf.where(beside > 0)[:, 0]
    return left, tf.gather(beside, left) - 1


def _beside_dense(function: Function, x: Any, other: Any) -> Any:
    """Elements with those of a dense tensor that stand in the same places."""
    if other.shape.rank == 0:
        return with_values(x, function(x.values, other))
    if not _covers(x.shape, other.shape):
        return function(dense(x), other)
    if type(x) is tf.IndexedSlices:
        own = other.shape.rank < x.shape.rank or other.shape[0] == 1
        return with_values(x, function(x.values, other if own else tf.gather(other, _rows(x))))
    return with_values(x, function(x.values, _at(x, other)))


def _at(x: Any, other: Any) -> Any:
    """The elements of a dense tensor in the places of a sparse one, to which it is broadcast."""
    if other.dtype != tf.bool:
        ones = x.with_values(tf.ones_like(x.values, other.dtype))
        return (ones * other).values
    return tf.gather_nd(tf.broadcast_to(other, x.dense_shape), x.indices)


def _covers(shape: Any, other: Any) -> bool:
    """Whether a tensor of the other shape is broadcast to this one, as far as is known."""
    if other.rank is None or shape.rank is None or other.rank > shape.rank:
        return False
    pairs = zip(shape[shape.rank - other.rank :], other, strict=True)
    return all(size != 1 or another in (1, None) for size, another in pairs)


def _division(name: str, function: Function, x1: Any, x2: Any) -> Any:
    """By something sparse dense; by something dense also where that is 0 or no number."""
    if type(x2) in KINDS:
        return function(dense(x1), dense(x2))
    if x2.shape.rank == 0:
        return with_values(x1, function(x1.values, x2))
    if not _covers(x1.shape, x2.shape):
        return function(dense(x1), x2)
    shape = tf.cast(x1.dense_shape, tf.int64)
    divisor = tf.broadcast_to(x2, shape)
    telling = tf.equal(divisor, 0) | tf.math.is_nan(divisor)
    if type(x1) is tf.SparseTensor:
        places = tf.where(telling)
        nothing = tf.zeros([tf.shape(places)[0]], x1.dtype)
        x1 = _stated(tf.sparse.add(x1, tf.SparseTensor(places, nothing, x1.dense_shape)), x1)
        return with_values(x1, function(x1.values, tf.gather_nd(divisor, x1.indices)))
    inner = list(range(1, len(divisor.shape)))
    rows = tf.where(tf.reduce_any(telling, inner))[:, 0]
    nothing = tf.zeros_like(tf.gather(divisor, rows))
    indices, values, _ = _united(x1, tf.IndexedSlices(nothing, rows, x1.dense_shape))
    return tf.IndexedSlices(function(values, tf.gather(divisor, indices)), indices, x1.dense_shape)


_RULES: dict[str, Function] = {
    "add": _either,
    "subtract": _either,
    "maximum": _either,
    "minimum": _either,
    "multiply": _both,
    "divide": _division,
}
