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
