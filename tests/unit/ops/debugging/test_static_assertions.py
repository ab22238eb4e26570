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
    (debug.assert_type, (tf.sparse.eye(2), tf.float32)),
    (debug.assert_type, (tf.ragged.constant([[1], []]), tf.int32)),
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


RANKS: list[tuple[Callable[[tf.Tensor], Any], str]] = [
    (lambda x: debug.assert_rank(x, 2, "mine"), "mine.  Tensor x:0 must have rank 2.  Received"),
    (lambda x: debug.assert_rank_at_least(x, 2), "rank at least 2"),
    (lambda x: debug.assert_rank_in(x, [2, 3]), r"rank in \(2, 3\)"),
    (lambda x: debug.assert_shapes([(x, (..., "N", 3))]), "rank at least 2"),
    (lambda x: debug.assert_shapes([(x, ("N", None))]), r"rank 2.  Received rank 1, shape \(4,\)"),
]


@pytest.mark.parametrize(("check", "message"), RANKS, ids=range(len(RANKS)))
def test_an_unknown_rank_is_checked_by_the_run(
    check: Callable[[tf.Tensor], Any], message: str
) -> None:
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def f(x: tf.Tensor) -> tf.Tensor:
        check(x)
        return x

    f(tf.ones([2, 3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=message) as caught:
        f(tf.ones([4]))
    assert "test_static_assertions.py" in str(caught.value)


def test_a_scalar_of_unknown_rank() -> None:
    f = tf.function(debug.assert_scalar, input_signature=[tf.TensorSpec(None)])
    assert float(f(2.0)) == 2.0
    with pytest.raises(ValueError, match=r"Expected scalar shape, saw shape: \(1,\)"):
        f([2.0])


def test_a_rank_that_is_an_argument() -> None:
    f = tf.function(lambda x, rank: debug.assert_rank(x, rank))
    f(X, tf.constant(2))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"rank 1.  Received rank 2"):
        f(X, tf.constant(1))


def test_unknown_sizes() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None])])
    def f(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        debug.assert_shapes([(x, ("N", "M")), (y, ("N",)), (tf.transpose(x), (None, 2))])
        return x

    f(tf.ones([2, 5]), tf.ones([2]))
    wrong = [
        (tf.ones([2, 5]), tf.ones([3]), r"Specified by tensor x:0.*dimension 0 .*size 2.*size 3"),
        (tf.ones([3, 5]), tf.ones([3]), "Specified explicitly.*dimension 1 must have size 2"),
    ]
    for x, y, message in wrong:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            f(x, y)


def test_what_is_known_of_a_shape_is_checked_while_tracing() -> None:
    def trace(spec: tf.TensorSpec, shape: Any) -> Any:
        f = tf.function(lambda x: debug.assert_shapes([(x, shape)]))
        return f.get_concrete_function(spec)

    with pytest.raises(ValueError, match="Specified explicitly"):
        trace(tf.TensorSpec([None, 3]), (5, 4))
    with pytest.raises(ValueError, match="must have size 3"):
        trace(tf.TensorSpec([3, None, 4]), ("N", None, "N"))
    # A name that stands alone asks for nothing: no host call.
    operations = trace(tf.TensorSpec([None, 3]), ("N", 3)).graph.get_operations()
    assert [op.type for op in operations] == ["Placeholder"]
