"""``check_numerics``: eagerly, in graphs, and with gradients through it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf

debug = tf.debugging
BAD = [([np.nan], "NaN"), ([1.0, -np.inf], "Inf"), ([np.nan, np.inf], "Inf and NaN")]


def test_what_is_fine_is_returned() -> None:
    x = tf.constant([1.0])
    assert debug.check_numerics(x, "x") is x
    assert debug.assert_all_finite(x, "x") is x
    with pytest.raises(tf.errors.InvalidArgumentError, match="floating"):
        debug.check_numerics(tf.constant([1]), "x")


@pytest.mark.parametrize(("values", "found"), BAD)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_kinds(values: list[float], found: str, dtype: str) -> None:
    x = tf.constant(values, dtype)
    f = tf.function(lambda x: debug.check_numerics(x * 1, "weights"))
    for check, where in (
        (lambda x: debug.check_numerics(x, "weights"), ""),
        (f, " .test_check_numerics"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            check(x)
        text = f"weights : Tensor had {found} values"
        assert str(caught.value).startswith(text)
        assert bool(where) == ("test_check_numerics.py" in str(caught.value))
    assert f(tf.zeros_like(x)).dtype is x.dtype


def test_gradients_pass() -> None:
    def cube(x: tf.Tensor) -> tf.Tensor:
        return debug.check_numerics(x * x, "square") * x

    def slope(f: Any, x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    x = tf.constant(2.0)
    traced = tf.function(cube)
    both = tf.function(lambda x: slope(traced, x))
    assert [float(v) for v in (slope(cube, x), slope(traced, x), both(x))] == [12.0] * 3


def test_gradients_are_checked() -> None:
    def root(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(debug.check_numerics(tf.identity(x), "mine"))

    def slope(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = root(x)
        return tape.gradient(y, x)

    for f in (slope, tf.function(slope)):
        assert float(f(tf.constant(4.0))) == 0.25
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"in gradient. mine : .*Inf"):
            f(tf.constant(0.0))


def test_a_failed_check_changes_no_variable() -> None:
    v = tf.Variable([1.0])

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        return debug.check_numerics(v.assign(x / 0.0), "quotient")

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"quotient : .*Inf"):
        f(tf.constant([1.0]))
    assert v.numpy().tolist() == [1.0]
