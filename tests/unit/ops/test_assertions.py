"""Checks of contents: what passes, what is raised, what a trace knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

debug = tf.debugging

PASS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (debug.assert_equal, ([1, 2], [1, 2])),
    (debug.assert_equal, ([[1, 1], [1, 1]], 1)),
    (debug.assert_equal, ("a", "a")),
    (debug.assert_none_equal, ([1, 2], [3, 4])),
    (debug.assert_less, ([1, 2], 3)),
    (debug.assert_less_equal, ([1, 2], 2)),
    (debug.assert_greater, (tf.constant([2.0]), 1)),
    (debug.assert_greater_equal, (2, [1, 2])),
    (debug.assert_positive, ([1, 2],)),
    (debug.assert_positive, ([],)),
    (debug.assert_negative, (-1.0,)),
    (debug.assert_non_negative, ([0, 1],)),
    (debug.assert_non_positive, ([0.0, -1.0],)),
    (debug.assert_near, (1.0, 1.0000001)),
    (debug.assert_near, ([1.0, 2.0], [1.0, 2.1], 0.1)),
    (debug.assert_near, (tf.constant(1.0, tf.bfloat16), 1.01)),
    (debug.assert_near, (float("inf"), float("inf"))),
    (debug.Assert, (True, [1])),
    (tf.Assert, (tf.constant([1]) > 0, ["x"])),
]

FAIL: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
    (debug.assert_none_equal, ([1, 2], [3, 2]), r"Condition x != y did not hold"),
    (debug.assert_less, ([1, 2], [2, 2]), "Condition x < y did not hold"),
    (debug.assert_less_equal, (3, 2), "Condition x <= y did not hold"),
    (debug.assert_greater, (1, 2), "Condition x > y did not hold"),
    (debug.assert_greater_equal, (1, 2), "Condition x >= y did not hold"),
    (debug.assert_positive, ([1, 0],), "did not hold"),
    (debug.assert_negative, ([1.0],), "did not hold"),
    (debug.assert_non_negative, ([-1, 2],), "did not hold"),
    (debug.assert_non_positive, ([1],), "did not hold"),
    (debug.assert_near, (1.0, 1.1), "tolerance rtol = 1.19"),
    (debug.assert_near, (1.0, float("nan")), "did not hold"),
    (debug.assert_near, (1, 1), "floating"),
    (debug.assert_equal, ([1, 2], [1, 2, 3]), r"Incompatible shapes: \(2,\) vs. \(3,\)"),
    (debug.assert_equal, (1.0, tf.constant(2)), "int32"),
    (debug.assert_positive, ("a",), "number dtype"),
    (debug.Assert, (False, [tf.constant([1, 2]), "x"]), r"(?s)to be true.*\[1 2\].*x"),
]


@pytest.mark.parametrize(("check", "args"), PASS)
def test_what_holds(check: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert check(*args) is None


@pytest.mark.parametrize(("check", "args", "message"), FAIL)
def test_what_does_not(check: Callable[..., Any], args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        check(*args)


def test_the_whole_message() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        debug.assert_equal([1, 2, 5, 4], [1, 3, 6, 7], message="my message", summarize=2)
    assert str(caught.value) == (
        "my message\nCondition x == y did not hold.\n"
        "Indices of first 2 different values:\n[[1]\n [2]]\n"
        "Corresponding x values:\n[2 5]\nCorresponding y values:\n[3 6]\n"
        "First 2 elements of x:\n[1 2]\nFirst 2 elements of y:\n[1 3]"
    )


def test_a_condition_that_is_no_scalar() -> None:
    with pytest.raises(ValueError, match="reduce_all"):
        tf.Assert([True, False], ["x"])


def test_finite_numbers() -> None:
    x = tf.constant([1.0])
    assert debug.check_numerics(x, "x") is x
    assert debug.assert_all_finite(x, "x") is x
    for values, found in (([np.nan], "NaN"), ([-np.inf], "Inf"), ([np.nan, np.inf], "Inf and NaN")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"weights : .* {found} values"):
            debug.check_numerics(tf.constant(values, tf.float32), "weights")
    with pytest.raises(tf.errors.InvalidArgumentError, match="floating"):
        debug.check_numerics(tf.constant([1]), "x")


def test_in_a_function_what_is_known_is_checked() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        debug.assert_equal(tf.shape(x)[0], 2)
        debug.assert_equal(x.shape, [2])
        return x

    f(tf.ones([2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="x == y did not hold"):
        f(tf.ones([3]))

    @tf.function
    def g(x: tf.Tensor) -> tf.Tensor:
        debug.assert_positive(x)
        return x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="when the function runs"):
        g(tf.ones([2]))
