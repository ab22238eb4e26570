"""Inside of a vectorized function shapes may depend on what an element contains; of results not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx import errors

X = tf.constant([[1.0, 1.0, 0.0], [2.0, 3.0, 0.0], [-1.0, 4.0, 2.0]])
N = tf.constant([1, 3, 0])


def _above(x: Any) -> Any:
    return tf.boolean_mask(x, x > 1.5)


def _collected(n: Any) -> Any:
    array = tf.TensorArray(tf.float32, size=4, element_shape=[])
    body = lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) + 1.0))  # noqa: E731
    _, array = tf.while_loop(lambda i, _: i < n, body, (0, array))
    return tf.reduce_sum(array.stack())


CASES: list[tuple[str, Callable[[Any], Any], Any, list[float]]] = [
    ("masked", lambda x: tf.reduce_sum(_above(x)), X, [0, 5, 6]),
    ("counted", lambda x: tf.size(_above(x)), X, [0, 2, 2]),
    ("places", lambda x: tf.reduce_sum(tf.where(x > 1.5)), X, [0, 1, 3]),
    ("unique", lambda x: tf.size(tf.unique(x)[0]), X, [2, 3, 3]),
    ("range", lambda n: tf.reduce_sum(tf.range(n)), N, [0, 3, 0]),
    ("sliced", lambda n: tf.reduce_sum(tf.constant([1.0, 2.0, 3.0])[:n]), N, [1, 6, 0]),
    ("filled", lambda n: tf.reduce_sum(tf.ones([n, 2])), N, [2, 6, 0]),
    ("collected", _collected, N, [1, 6, 0]),
    (
        "in_branch",
        lambda x: tf.cond(x[0] > 0.0, lambda: tf.reduce_sum(_above(x)), lambda: 7.0),
        X,
        [0, 5, 7],
    ),
]


@pytest.mark.parametrize(
    ("f", "elems", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_each_element_has_its_own_shape(
    f: Callable[[Any], Any], elems: Any, expected: list[float]
) -> None:
    whole = lambda x: tf.vectorized_map(f, x, warn=False)  # noqa: E731
    for found in (whole(elems), tf.function(whole)(elems)):
        np.testing.assert_array_equal(found.numpy().astype(float), expected)


def test_gradients_of_parts_of_other_sizes() -> None:
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = tf.vectorized_map(lambda x: tf.reduce_sum(_above(x) ** 2), X, warn=False)
    expected = np.where(X.numpy() > 1.5, 2 * X.numpy(), 0)
    np.testing.assert_array_equal(tape.gradient(y, X), expected)


def test_one_warning_says_what_runs_in_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tfx"):
        tf.vectorized_map(lambda x: tf.reduce_sum(_above(x)) + tf.reduce_sum(_above(-x)), X)
    (told,) = [r.getMessage() for r in caplog.records]
    assert "Compress" in told
    assert "test_shapes_that_differ.py" in told
    assert "The whole function runs for one element after another" in told
    with pytest.raises(ValueError, match=r"Compress.*another shape"):
        tf.vectorized_map(_above, X, fallback_to_while_loop=False)


def test_a_result_that_nothing_uses_may_have_any_shape() -> None:
    """The values of ``unique`` differ in number; their places do not, and are collected alone."""
    x = tf.constant([[1.0, 1.0], [2.0, 3.0]])
    places = lambda x: tf.vectorized_map(lambda r: tf.unique(r)[1], x, warn=False)  # noqa: E731
    for found in (places(x), tf.function(places)(x)):
        np.testing.assert_array_equal(found, [[0, 0], [0, 1]])


@pytest.mark.parametrize("rows", [[[1.0, 1.0], [2.0, 3.0]], [[2.0, 3.0], [1.0, 1.0]]])
def test_results_of_other_shapes_are_refused(rows: Any) -> None:
    """ONNX Runtime stacks them all the same: empty ones are what the memory held."""
    x = tf.constant(rows)

    def written(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, 2, infer_shape=False)
        for i in tf.range(2):
            array = array.write(i, _above(x[i]))
        return array.stack()

    for f in (
        lambda x: tf.vectorized_map(_above, x, warn=False),
        lambda x: tf.map_fn(_above, x),
        written,
    ):
        with pytest.raises(errors.InvalidArgumentError, match="stacked differ in shape"):
            tf.function(f)(x)


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 2, 2)], ids=["scalar", "vector", "matrix"])
def test_loops_of_other_lengths_carry_values_of_a_rank_that_only_a_run_tells(
    shape: tuple[int, ...], wrap: Any
) -> None:
    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec([])])
    def doubled(x: Any, n: Any) -> Any:
        for _ in tf.range(tf.cast(n, tf.int32)):
            x = x * 2.0
        return x

    def value(pair: Any) -> Any:
        return doubled(pair[0] * pair[0], pair[1])

    def slope(pair: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(pair[0])
            y = value(pair)
        return tape.gradient(y, pair[0])

    xs = np.arange(1.0, 1.0 + np.prod(shape), dtype=np.float32).reshape(shape)
    times = np.array([0.0, 1.0, 3.0], np.float32)
    factors = 2.0 ** times.reshape(3, *[1] * (len(shape) - 1))
    for f, wanted in ((value, xs * xs * factors), (slope, 2 * xs * factors)):
        mapped = wrap(lambda xs, times, f=f: tf.vectorized_map(f, (xs, times)))
        np.testing.assert_allclose(mapped(tf.constant(xs), tf.constant(times)), wanted)


def test_no_loop_runs_for_values_of_a_rank_that_only_a_run_tells() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec([], tf.int32)])
    def doubled(x: Any, n: Any) -> Any:
        return tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * 2.0), [0, x])[1]

    found = tf.vectorized_map(
        lambda pair: doubled(*pair), (tf.zeros([0, 2]), tf.zeros([0], tf.int32))
    )
    assert found.shape[0] == 0
