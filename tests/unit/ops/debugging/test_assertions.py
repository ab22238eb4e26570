"""Checks of contents: what passes, what is raised, what a trace knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.strategies as st
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
    (
        debug.Assert,
        (False, [tf.constant([[1, 2], [3, 4]]), 1.5, "x"]),
        r"Expected 'False' to be true. Summarized data: 1, 2, 3, \.\.\.\n1\.5\nb'x'$",
    ),
    (
        debug.Assert,
        (tf.constant(2) > 3, [11]),
        r"Expected 'tf.Tensor\(False, shape=\(\), dtype=bool\)' to be true.*: 11$",
    ),
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


def test_in_a_function_what_is_known_is_checked() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        debug.assert_equal(tf.shape(x)[0], 2)
        debug.assert_equal(x.shape, [2])
        return x

    f(tf.ones([2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="x == y did not hold"):
        f(tf.ones([3]))


def test_what_a_trace_knows_costs_nothing() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        debug.assert_less(tf.shape(x)[0], 3)
        debug.assert_near(tf.constant(1.0), 1.0)
        return x

    kinds = [op.type for op in f.get_concrete_function(tf.TensorSpec([2])).graph.get_operations()]
    assert "assert" not in kinds
    # As in TensorFlow: an Assert that cannot hold may stand where the program never comes.
    fails = tf.function(lambda: tf.Assert(False, ["never"]))
    concrete = fails.get_concrete_function()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[never\]"):
        concrete()


VALUES = st.lists(st.integers(-3, 3), min_size=0, max_size=5)
RELATIONS: list[tuple[Callable[..., Any], Callable[[Any, Any], Any]]] = [
    (debug.assert_equal, np.equal),
    (debug.assert_none_equal, np.not_equal),
    (debug.assert_less, np.less),
    (debug.assert_less_equal, np.less_equal),
    (debug.assert_greater, np.greater),
    (debug.assert_greater_equal, np.greater_equal),
]


@hypothesis.settings(max_examples=40)
@hypothesis.given(VALUES, st.integers(-3, 3), st.sampled_from(RELATIONS))
def test_a_graph_decides_as_numpy(
    x: list[int], y: int, relation: tuple[Callable[..., Any], Callable[[Any, Any], Any]]
) -> None:
    check, holds = relation
    traced = TRACED[check]
    array = np.array(x, np.int32)
    if holds(array, y).all():
        assert traced(array, y) is None
        return
    with pytest.raises(tf.errors.InvalidArgumentError) as eager:
        check(array, y)
    with pytest.raises(tf.errors.InvalidArgumentError) as graph:
        traced(array, y)
    assert str(graph.value).startswith(f"assertion failed: {eager.value} [test_assertions.py:")


def _traced(check: Callable[..., Any]) -> Any:
    spec = [tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)]
    return tf.function(lambda x, y: check(x, y), input_signature=spec)


TRACED = {check: _traced(check) for check, _ in RELATIONS}
SIGNS = [
    (debug.assert_positive, 1.0, 0.0),
    (debug.assert_negative, -1.0, 0.0),
    (debug.assert_non_negative, 0.0, -1.0),
    (debug.assert_non_positive, 0.0, 1.0),
]


@pytest.mark.parametrize(("check", "good", "bad"), SIGNS)
def test_signs_in_a_graph(check: Callable[..., Any], good: float, bad: float) -> None:
    f = tf.function(lambda x: check(x + 0.0, "mine"))
    assert f(tf.constant([good])) is None
    with pytest.raises(tf.errors.InvalidArgumentError, match="mine\nCondition x"):
        f(tf.constant([good, bad]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_near_in_a_graph(dtype: str) -> None:
    f = tf.function(lambda x, y, rtol: debug.assert_near(x, y, rtol=rtol, atol=0.0))
    x, y = (tf.constant(v, dtype) for v in ([1.0, 2.0, np.inf], [1.0, 2.25, np.inf]))
    f(x, y, 0.25)
    f(x, y, tf.constant(0.25))
    for given in (x, y, 0.0625), (x, y, tf.constant(0.0625)), (x - x, y, 0.25):
        with pytest.raises(tf.errors.InvalidArgumentError, match="tolerance rtol"):
            f(*given)


def test_strings_in_a_graph() -> None:
    f = tf.function(lambda x: debug.assert_equal(x, "a"))
    f(tf.constant(["a", "a"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        f(tf.constant(["a", "b"]))


def test_a_large_tensor_that_is_computed_shows_its_first_elements() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def f(x: tf.Tensor) -> tf.Tensor:
        debug.assert_less(x + 1, 3, summarize=2)
        return x

    f(tf.zeros([1000], tf.int32))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"of x:\s\[1 2\]\sFirst 1 ele.*\s\[3"):
        f(tf.range(1000))
    host = [op for op in f.get_concrete_function().graph.get_operations() if op.type == "assert"]
    assert [x.shape.num_elements() for x in host[0].inputs][::2] == [1, 1]


def test_assert_in_a_graph() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        tf.Assert(tf.reduce_all(x < 5), ["below 5:", x, x * 2], summarize=2)
        return x

    f(tf.constant([1, 2]))
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        f(tf.constant([1, 7, 3]))
    assert str(caught.value).startswith(
        "assertion failed: [below 5:] [1 7...] [2 14...] [test_assertions.py:"
    )


def test_a_failed_assertion_changes_no_variable() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        v.assign_add(x)
        debug.assert_positive(v, "still positive")
        v.assign_add(10.0)
        return v.value()

    assert float(step(1.0)) == 12.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="still positive"):
        step(-50.0)
    assert float(v) == 12.0


def test_an_assertion_speaks_before_the_error_it_guards_against() -> None:
    @tf.function
    def f(x: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        debug.assert_less(i, tf.size(x), "index too large")
        return tf.gather(x, i)

    assert int(f(tf.constant([1, 2]), tf.constant(1))) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="index too large"):
        f(tf.constant([1, 2]), tf.constant(2))


def test_nested_and_under_a_tape() -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([debug.assert_positive(x)]):
            return x * x

    outer = tf.function(lambda x: inner(x) + inner(x + 1.0))
    for f in (inner, outer):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert float(tape.gradient(y, x)) == (4.0 if f is inner else 10.0)
        with (
            pytest.raises(tf.errors.InvalidArgumentError, match="x > y"),
            tf.GradientTape() as tape,
        ):
            tape.watch(x)
            f(x - 5.0)
