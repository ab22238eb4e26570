"""igamma, igammac and betainc against SciPy, and their gradients against central differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import tfx as tf
from tfx.core.errors import InvalidArgumentError
from tfx.ops import incomplete
from tfx.testing import assert_close, check_grads

GAMMAS = {"igamma": scipy.special.gammainc, "igammac": scipy.special.gammaincc}


def _orders(rng, size=800):
    a = 10.0 ** rng.uniform(-3, 4, size)
    x = a * 10.0 ** rng.uniform(-1, 1, size)
    x[: size // 4] = a[: size // 4] * (1 + 0.1 * rng.normal(size=size // 4))
    return a, x


@pytest.mark.parametrize("name", GAMMAS)
def test_gammas(name, rng):
    a, x = _orders(rng)
    expected = GAMMAS[name](a, x)
    kept = expected > 1e-250
    np.testing.assert_allclose(
        getattr(incomplete, name)(a, x).numpy()[kept], expected[kept], rtol=1e-10
    )


def test_edges_of_gammas_as_tensorflow_has_them():
    a = [1.0, 0.0, 0.0, -1.0, 1.0, 2.0]
    x = [0.0, 1.0, 0.0, 1.0, -1.0, np.inf]
    lower = np.array([0.0, np.nan, 0.0, np.nan, np.nan, 1.0])
    assert_close(incomplete.igamma(a, x), lower)
    assert_close(incomplete.igammac(a, x), 1 - lower)


def test_betas(rng):
    a, b = 10.0 ** rng.uniform(-2, 3, (2, 800))
    x = rng.uniform(size=800)
    found = incomplete.betainc(a, b, x).numpy()
    np.testing.assert_allclose(found, scipy.special.betainc(a, b, x), rtol=1e-9, atol=1e-10)


def test_edges_of_betas():
    a = [2.0, 2.0, -1.0, 1.0, 1.0, 1.0]
    b = [3.0, 3.0, 1.0, 0.0, 1.0, 1.0]
    x = [0.0, 1.0, 0.5, 0.5, 1.5, np.nan]
    assert_close(incomplete.betainc(a, b, x), [0.0, 1.0, np.nan, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("name", GAMMAS)
def test_gradients_of_gammas(name):
    a, x = np.array([[0.3], [2.0], [9.0]]), np.array([0.1, 1.7, 4.0, 30.0])
    check_grads(getattr(incomplete, name), [a, x], order=1)


def test_a_second_derivative_by_the_order_is_refused():
    a = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(a)
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = tf.math.igamma(a, 3.0)
        slope = tape.gradient(y, a)
    with pytest.raises(LookupError, match="IgammaGradA"):
        outer.gradient(slope, a)


def test_second_derivatives_by_the_bound():
    x = np.array([0.1, 1.7, 4.0])
    check_grads(lambda x: incomplete.igamma(2.5, x), [x], order=2)
    check_grads(lambda x: incomplete.betainc(2.5, 0.7, x), [x / 5], order=2)


def test_values_and_gradients_as_tensorflow_gives_them():
    a, x = tf.constant([0.5, 2.0, 10.0]), tf.constant([0.4, 3.0, 8.0])
    with tf.GradientTape() as tape:
        tape.watch([a, x])
        y = tf.math.igamma(a, x)
    by_a, by_x = tape.gradient(y, [a, x])
    assert_close(y, [0.6289066, 0.8008517, 0.2833755])
    # TensorFlow's derivative by the order has four digits; check_grads has more.
    assert_close(by_a, [-0.7095350, -0.1974254, -0.1126057], rtol=1e-3)
    assert_close(by_x, [0.5979671, 0.1493612, 0.1240769], rtol=1e-5)


@pytest.mark.parametrize("name", [*GAMMAS, "betainc"])
def test_in_functions_as_outside(name):
    f = getattr(incomplete, name)
    count = 3 if name == "betainc" else 2

    def slopes(*xs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = f(*xs)
        return y, tape.gradient(y, xs[-1])

    xs = [tf.constant(v) for v in ([[0.5], [2.0]], [0.25, 0.75, 0.5], 0.5)[:count]]
    spec = [tf.TensorSpec([None] * x.shape.rank) for x in xs]
    eager, traced = slopes(*xs), tf.function(slopes, input_signature=spec)(*xs)
    for one, other in zip(eager, traced, strict=True):
        assert_close(one, other)
    assert eager[0].shape == (2, 3)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32])
def test_dtypes(dtype):
    y = incomplete.igamma(tf.constant(2.0, dtype), 3.0)
    assert y.dtype == dtype
    assert_close(tf.cast(y, tf.float32), 0.8008517, rtol=1e-2)


def test_only_floats():
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by Igamma"):
        incomplete.igamma(1, 2)


def test_a_tensor_among_values_decides_the_dtype():
    assert incomplete.betainc(1.0, 2.0, tf.constant(0.5, tf.float64)).dtype == tf.float64


def test_saving_is_refused_by_name(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: tf.math.igamma(2.0, x), input_signature=[tf.TensorSpec([])])
    with pytest.raises(tf.errors.OpError, match=r"math\.igamma"):
        tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.f)
