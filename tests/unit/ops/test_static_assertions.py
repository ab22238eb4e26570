"""Checks of dtypes and shapes, eager and traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

debug = tf.debugging
X = tf.ones([2, 3])

PASS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (debug.assert_rank, (X, 2)),
    (debug.assert_rank, (X, tf.constant(2))),
    (debug.assert_rank_at_least, (X, 1)),
    (debug.assert_rank_in, (X, (0, 2))),
    (debug.assert_scalar, (1,)),
    (debug.assert_type, (X, tf.float32)),
    (debug.assert_type, (X, "float32")),
    (debug.assert_integer, (1,)),
    (debug.assert_same_float_dtype, ([X, None, X], tf.float32)),
    (debug.assert_proper_iterable, ([1],)),
    (debug.assert_proper_iterable, ({1},)),
    (debug.assert_shapes, ([(X, ("N", "Q")), (tf.ones([2]), ("N",))],)),
    (debug.assert_shapes, ([(X, "NQ"), (X, (2, np.int64(3)))],)),
    (debug.assert_shapes, ([(X, (..., 3)), (X, ("*", 3)), (X, ("N", None)), (X, (2, "."))],)),
    (debug.assert_shapes, ([(tf.ones([]), ())],)),
]

FAIL: list[tuple[Callable[..., Any], tuple[Any, ...], type[Exception], str]] = [
    (debug.assert_rank, (X, 1), ValueError, r"must have rank 1.  Received rank 2, shape \(2, 3"),
    (debug.assert_rank, (X, 1, "mine"), ValueError, "^mine.  Tensor"),
    (debug.assert_rank, (X, [2]), ValueError, "Rank must be a scalar"),
    (debug.assert_rank, (X, 1.5), TypeError, "tf.int32; got tf.float32"),
    (debug.assert_rank_at_least, (X, 3), ValueError, "rank at least 3"),
    (debug.assert_rank_in, (X, (0, 1)), ValueError, r"rank in \(0, 1\)"),
    (debug.assert_scalar, (X,), ValueError, r"Expected scalar shape, saw shape: \(2, 3\)"),
    (debug.assert_type, (X, tf.int32), TypeError, "must be of type tf.int32; got tf.float32"),
    (debug.assert_type, (X, tf.int32, "mine"), TypeError, "^mine.  tensor"),
    (debug.assert_integer, (1.0,), TypeError, 'Expected "x" to be integer type'),
    (
        debug.assert_same_float_dtype,
        ([X, tf.constant(1.0, tf.float64)],),
        ValueError,
        "must be of the same type",
    ),
    (debug.assert_same_float_dtype, ([], tf.int32), ValueError, "Expected floating point type"),
    (debug.assert_proper_iterable, (1,), TypeError, "to be iterable"),
    (debug.assert_proper_iterable, ("a",), TypeError, '"proper" iterable'),
    (debug.assert_proper_iterable, (X,), TypeError, '"proper" iterable'),
    (
        debug.assert_shapes,
        ([(X, ("N", "Q")), (tf.ones([3]), ("N",))],),
        ValueError,
        r"Specified by tensor shape=\(2, 3\).*must have size 2.  Received size 3",
    ),
    (debug.assert_shapes, ([(X, ("N", 4))],), ValueError, "Specified explicitly.*size 4"),
    (debug.assert_shapes, ([(X, ("N",))],), ValueError, "must have rank 1.  Received rank 2"),
    (debug.assert_shapes, ([(X, (..., 1, 2, 3))],), ValueError, "rank at least 3"),
    (debug.assert_shapes, ([(X, ("N", ...))],), ValueError, "only allowed as the first"),
    (debug.assert_shapes, ([(X, 2)],), ValueError, "must be an iterable"),
]


@pytest.mark.parametrize(("check", "args"), PASS)
def test_what_holds(check: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(*args)


@pytest.mark.parametrize(("check", "args", "error", "message"), FAIL)
def test_what_does_not(
    check: Callable[..., Any], args: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        check(*args)


def test_results() -> None:
    assert debug.assert_same_float_dtype([]) is tf.float32
    assert debug.is_numeric_tensor(X)
    for other in (1, tf.constant("a"), tf.constant(True)):
        assert not debug.is_numeric_tensor(other)


def test_in_a_function() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        debug.assert_rank(x, 2)
        debug.assert_type(x, tf.float32)
        debug.assert_shapes([(x, (..., 3))])
        debug.assert_scalar(x[0, 0])
        debug.assert_integer(tf.shape(x))
        return x

    f.get_concrete_function(tf.TensorSpec([None, 3]))
    with pytest.raises(ValueError, match="Tensor x:0 must have rank 2"):
        f.get_concrete_function(tf.TensorSpec([3]))
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="input_signature"):
        f.get_concrete_function(tf.TensorSpec(None))
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="dimension 1"):
        f.get_concrete_function(tf.TensorSpec([2, None]))
