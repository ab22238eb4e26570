"""Between which numbers elements are: what is told holds for all inputs, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfx as tf
from tfx.graph.ir import Value
from tfx.graph.value_ranges import Limits, value_range


def limits(function: Callable[[Any], Any]) -> Limits | None:
    spec = tf.TensorSpec([3], tf.float32)
    return value_range(tf.function(function).get_concrete_function(spec).graph.graph.outputs[0])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        pytest.param(tf.sigmoid, (0, 1), id="sigmoid"),
        pytest.param(tf.tanh, (-1, 1), id="tanh"),
        pytest.param(tf.nn.softmax, (0, 1), id="softmax"),
        pytest.param(lambda x: 1.0 - tf.sigmoid(x), (0, 1), id="complement"),
        pytest.param(lambda x: 1.0 - tf.square(tf.tanh(x)), (0, 1), id="slope-of-tanh"),
        pytest.param(lambda x: tf.sigmoid(x) - tf.tanh(x), (-1, 2), id="difference"),
        pytest.param(lambda x: -2.0 * tf.tanh(x), (-2, 2), id="negative-factor"),
        pytest.param(lambda x: tf.reshape(tf.tanh(x), [3, 1]), (-1, 1), id="reshape"),
        pytest.param(lambda x: tf.tanh(x) * x, None, id="one-is-not-known"),
        pytest.param(tf.nn.relu, None, id="relu"),
        pytest.param(tf.identity, None, id="argument"),
    ],
)
def test_what_operators_tell(function: Callable[[Any], Any], expected: Limits | None) -> None:
    assert limits(function) == expected


def test_a_loops_rows_are_what_its_body_makes() -> None:
    def collected(x: Any, number: int) -> Any:
        rows = [tf.TensorArray(tf.float32, 4, element_shape=[3]) for _ in range(2)]

        def body(t: Any, h: Any, one: Any, other: Any) -> Any:
            return t + 1, h + x, one.write(t, tf.sigmoid(h)), other.write(t, h)

        found = tf.while_loop(lambda t, *_: t < 4, body, (0, x, *rows))
        return found[1] if number == 2 else found[2 + number].stack()

    assert limits(lambda x: collected(x, 0)) == (0, 1)
    assert limits(lambda x: collected(x, 1)) is None
    assert limits(lambda x: collected(x, 2)) is None


def test_a_constant_is_its_number() -> None:
    def constant(array: Any) -> Value:
        return Value("c", 1, array.shape, const=array)

    assert value_range(constant(np.float32(0.5).reshape(1))) == (0.5, 0.5)
    assert value_range(constant(np.zeros(3, np.float32))) is None
    assert value_range(constant(np.zeros((), np.int64))) is None


UNARY: list[Callable[[Any], Any]] = [tf.sigmoid, tf.tanh, tf.square, lambda x: 0.5 - x, tf.identity]
BINARY: list[Callable[[Any, Any], Any]] = [tf.add, tf.subtract, tf.multiply]


@given(
    st.lists(st.sampled_from(UNARY), min_size=1, max_size=3),
    st.sampled_from(BINARY),
    st.lists(st.sampled_from(UNARY), min_size=1, max_size=3),
)
def test_no_element_is_outside(one: list[Any], combine: Any, other: list[Any]) -> None:
    x = tf.constant(np.float32([-300, -7, -1, -0.3, 0, 1e-30, 0.4, 2, 80]))

    def function(x: Any) -> Any:
        a = b = x
        for f in one:
            a = f(a)
        for f in other:
            b = f(b)
        return combine(a, b)

    concrete = tf.function(function).get_concrete_function(x)
    found = value_range(concrete.graph.graph.outputs[0])
    if found is not None:
        y = concrete(x).numpy()
        assert found[0] - 1e-6 <= y.min()
        assert y.max() <= found[1] + 1e-6
