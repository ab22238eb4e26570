"""igamma, igammac and betainc against SciPy, and their gradients against central differences."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.special

import tfx as tf
from tfx.core.errors import InvalidArgumentError
from tfx.ops.math import incomplete_gamma
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
        getattr(incomplete_gamma, name)(a, x).numpy()[kept], expected[kept], rtol=1e-10
    )


def test_edges_of_gammas_as_tensorflow_has_them():
    a = [1.0, 0.0, 0.0, -1.0, 1.0, 2.0]
    x = [0.0, 1.0, 0.0, 1.0, -1.0, np.inf]
    lower = np.array([0.0, np.nan, 0.0, np.nan, np.nan, 1.0])
    assert_close(incomplete_gamma.igamma(a, x), lower)
    assert_close(incomplete_gamma.igammac(a, x), 1 - lower)


def test_betas(rng):
    a, b = 10.0 ** rng.uniform(-2, 3, (2, 800))
    x = rng.uniform(size=800)
    found = incomplete_gamma.betainc(a, b, x).numpy()
    np.testing.assert_allclose(found, scipy.special.betainc(a, b, x), rtol=1e-9, atol=1e-10)


def test_edges_of_betas():
    a = [2.0, 2.0, -1.0, 1.0, 1.0, 1.0]
    b = [3.0, 3.0, 1.0, 0.0, 1.0, 1.0]
    x = [0.0, 1.0, 0.5, 0.5, 1.5, np.nan]
    assert_close(incomplete_gamma.betainc(a, b, x), [0.0, 1.0, np.nan, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("name", GAMMAS)
def test_gradients_of_gammas(name):
    a, x = np.array([[0.3], [2.0], [9.0]]), np.array([0.1, 1.7, 4.0, 30.0])
    check_grads(getattr(incomplete_gamma, name), [a, x], order=1)


def test_gradients_by_whole_orders_where_the_fraction_of_the_value_ends():
    a, x = np.array([[1.0], [3.0], [20.0]]), np.array([2.5, 4.0, 6.0, 30.0])
    check_grads(lambda a: incomplete_gamma.igamma(a, x), [a], order=1)
    slope = tf.raw_ops.IgammaGradA(a=tf.constant(3.0, tf.float64), x=tf.constant(4.0, tf.float64))
    assert float(slope) == pytest.approx(-0.178247357873, rel=1e-10)


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
    check_grads(lambda x: incomplete_gamma.igamma(2.5, x), [x], order=2)
    check_grads(lambda x: incomplete_gamma.betainc(2.5, 0.7, x), [x / 5], order=2)


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
    f = getattr(incomplete_gamma, name)
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
    y = incomplete_gamma.igamma(tf.constant(2.0, dtype), 3.0)
    assert y.dtype == dtype
    near = {tf.float16: 2**-11, tf.bfloat16: 2**-8, tf.float32: 1e-6}[dtype]  # rounded once
    assert_close(tf.cast(y, tf.float32), 0.8008517, rtol=near)


def test_only_floats():
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by Igamma"):
        incomplete_gamma.igamma(1, 2)


def test_a_tensor_among_values_decides_the_dtype():
    assert incomplete_gamma.betainc(1.0, 2.0, tf.constant(0.5, tf.float64)).dtype == tf.float64


def test_saving_is_refused_by_name(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: tf.math.igamma(2.0, x), input_signature=[tf.TensorSpec([])])
    with pytest.raises(tf.errors.OpError, match=r"math\.igamma"):
        tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.f)


EDGES = np.array(
    [0.0, -0.0, 5e-324, 1e-300, 1e-10, 0.3, 1.0, 20.0, 1e3, 1e5, 1e6, 1e10, 1e16, 1e100, 1.7e308,
     np.inf, -np.inf, np.nan, -0.5, -1.0],
)  # fmt: skip


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_every_argument_ends(kind):
    with np.errstate(over="ignore"):
        a, x = (g.ravel().astype(kind) for g in np.meshgrid(EDGES, EDGES))
        shares = np.array([0.0, 5e-324, 0.3, 0.5, 1 - 2.0**-24, 1.0]).astype(kind)
        triples = [g.ravel() for g in np.meshgrid(a[:20], EDGES.astype(kind), shares)]
    start = time.perf_counter()
    for name in GAMMAS:
        found = getattr(tf.math, name)(tf.constant(a), tf.constant(x)).numpy()
        inside = (a > 0) & (x >= 0) & (np.isfinite(a) | np.isfinite(x))
        assert ((found[inside] >= 0) & (found[inside] <= 1)).all()
    tf.math.betainc(*map(tf.constant, triples))
    assert time.perf_counter() - start < 10.0


def test_large_orders(rng):
    # SciPy's own are right to so many digits only up to there.
    a = 10.0 ** rng.uniform(4.9, 8, 300)
    x = a + np.clip(rng.normal(size=300), -1, 1) * np.sqrt(a) * 3
    for name, wanted in GAMMAS.items():
        found = getattr(tf.math, name)(tf.constant(a), tf.constant(x))
        np.testing.assert_allclose(found, wanted(a, x), rtol=3e-9)
    # At the order itself the share is a half and a third over the root of 2 pi a.
    a = tf.constant([1e10, 1e16, 1e100], "float64")
    wanted = 0.5 + 1 / (3 * np.sqrt(2 * np.pi * a.numpy()))
    np.testing.assert_allclose(tf.math.igamma(a, a), wanted, rtol=1e-13)


def test_the_upper_share_of_small_orders(rng):
    a, x = 10.0 ** rng.uniform(-300, -0.31, 400), 10.0 ** rng.uniform(-8, 0.04, 400)
    found = tf.math.igammac(tf.constant(a), tf.constant(x))
    np.testing.assert_allclose(found, scipy.special.gammaincc(a, x), rtol=2e-13)


def test_the_slope_by_large_orders():
    # mpmath: the derivative of gammainc, in 50 digits
    a, x = tf.constant([2e5, 1e5], "float64"), tf.constant([200500.0, 99500.0], "float64")
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = tf.math.igamma(a, x)
    wanted = [-0.00047738683460175927, -0.00036083940403825473]
    np.testing.assert_allclose(tape.gradient(y, a), wanted, rtol=1e-9)


def test_large_orders_of_beta(rng):
    a = 10.0 ** rng.uniform(5, 8, 200)
    b = np.maximum(a * 10.0 ** rng.uniform(-1, 1, 200), 1e5)
    x = a / (a + b) + np.sqrt(a * b / (a + b) ** 3) * rng.normal(size=200) * 3
    found = tf.math.betainc(*map(tf.constant, (a, b, x)))
    np.testing.assert_allclose(found, scipy.special.betainc(a, b, x), rtol=1e-8)
    half = tf.math.betainc(*[tf.constant(v, "float64") for v in (1e100, 1e100, 0.5)])
    np.testing.assert_allclose(half, 0.5, rtol=1e-12)
