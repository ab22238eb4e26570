"""zeta and polygamma against SciPy, and their gradients against central differences."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import tfx as tf
from tests.unit.ops.saved import check_saved
from tfx.ops.math import zeta
from tfx.testing import assert_close, check_grads


def test_zeta(rng):
    x, q = 1 + 10.0 ** rng.uniform(-3, 3, 1500), 10.0 ** rng.uniform(-3, 3, 1500)
    expected = scipy.special.zeta(x, q)
    kept = np.isfinite(expected) & (expected > 1e-300)
    np.testing.assert_allclose(zeta.zeta(x, q).numpy()[kept], expected[kept], rtol=1e-12)


def test_where_zeta_is_infinite_or_nothing():
    x = [1.0, 0.5, 2.0, 2.0, 3.0, 2.5, np.nan]
    q = [1.0, 1.0, 0.0, -1.5, -1.5, -1.5, 1.0]
    assert_close(zeta.zeta(x, q), scipy.special.zeta(x, q))


def test_polygamma(rng):
    n = rng.integers(0, 12, 800).astype(float)
    x = 10.0 ** rng.uniform(-2, 2, 800)
    expected = scipy.special.polygamma(n.astype(int), x)
    np.testing.assert_allclose(zeta.polygamma(n, x).numpy(), expected, rtol=1e-12, atol=1e-13)


def test_orders_that_are_none_and_arguments_below_zero():
    found = zeta.polygamma([0.0, 1.0, 0.5, -1.0], [-1.5, -1.5, 1.0, 1.0])
    assert_close(found, [0.7031566, 9.379247, np.nan, np.nan], rtol=1e-6)


def test_gradients():
    q = np.array([0.3, 1.0, 4.5, 30.0])
    check_grads(lambda q: zeta.zeta(2.5, q), [q], order=2)
    for order in (0.0, 1.0, 3.0):
        check_grads(lambda x, order=order: zeta.polygamma(order, x), [q], order=2)


def test_no_gradient_by_the_order():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.zeta(x, 1.0)
    assert tape.gradient(y, x) is None


def test_in_a_function():
    f = tf.function(tf.math.polygamma)
    x = tf.constant([[1.0], [2.0]])
    assert_close(f(x, [0.5, 1.5]), tf.math.polygamma(x, [0.5, 1.5]))


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_every_argument_ends(kind: str) -> None:
    edges = np.array(
        [0.0, -0.0, 5e-324, 1e-300, 0.5, 1.0, 1.5, 2.0, 170.0, 1e3, 1e6, 1e10, 1e16, 1e100, 1.7e308,
         np.inf, -np.inf, np.nan, -0.5, -1.0, -1.5, -2.0, -100.5, -1e5 - 0.5, -1e10, -1e300],
    )  # fmt: skip
    with np.errstate(over="ignore"):
        a, x = (tf.constant(g.ravel().astype(kind)) for g in np.meshgrid(edges, edges))
    for function in (tf.math.zeta, tf.math.polygamma):
        start = time.perf_counter()
        missing = np.isnan(function(a, x).numpy()) | (a.numpy() == 1)  # zeta's pole
        assert time.perf_counter() - start < 5.0
        given = np.isnan(a.numpy()) | np.isnan(x.numpy())
        assert missing[given].all()


@pytest.mark.parametrize(
    ("order", "x", "wanted"),
    [
        # mpmath.polygamma and mpmath.zeta, 30 digits
        (3.0, 1e100, 2e-300),
        (150.0, 3415.8948831839125, -3.6696825746802775e-270),
        (190.0, 53.671856261217556, -4.142700370337976e21),
        (2.0, -100.5, -9.802720262719758e-05),
        (1e10, -0.5, -math.inf),
        (1e10, 2.0, -math.inf),
        (5.0, math.inf, 0.0),
    ],
)
def test_polygamma_far_out(order: float, x: float, wanted: float) -> None:
    found = tf.math.polygamma(tf.constant(order, "float64"), tf.constant(x, "float64"))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_zeta_below_zero() -> None:
    """By a sum of all terms, of which those of odd powers cancel."""
    k = np.arange(0, 2_000_000)
    for x, q in ((3.0, -100.5), (4.0, -7.25), (3.0, -7.25)):
        terms = (q + k) ** -x
        rest = (q + k[-1] + 0.5) ** (1 - x) / (x - 1)
        found = tf.math.zeta(tf.constant(x, "float64"), tf.constant(q, "float64"))
        np.testing.assert_allclose(found, math.fsum(terms) + rest, rtol=1e-11)


def test_what_is_saved(tmp_path: Path) -> None:
    check_saved(
        lambda x: tf.math.zeta(3.0, x) + tf.math.polygamma(2.0, x), tmp_path, by_nodes=False
    )


@pytest.mark.parametrize(
    ("exponent", "start", "wanted"),
    [
        (27.0, 192.46349286795572, None),
        (2.0, 1.7e308, 1 / 1.7e308),
        (300.0, 50.0, None),
        (1.5, 1e12, None),
    ],
)
def test_zeta_far_out(exponent: float, start: float, wanted: float | None) -> None:
    if wanted is None:
        wanted = scipy.special.zeta(exponent, start)
    found = tf.math.zeta(tf.constant(exponent, "float64"), tf.constant(start, "float64"))
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize(
    "around",
    [
        lambda f: tf.function(lambda x: tf.function(f)(x)),
        lambda f: tf.function(lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: f(x), lambda: x)),
        lambda f: tf.function(lambda x: tf.map_fn(f, x)),
    ],
    ids=["nested", "branch", "map"],
)
def test_no_gradient_flows_to_exponents_through_functions(around):
    """Through a traced function the formula was differentiated, not the function's own slopes."""
    x = tf.constant([0.3, 1.2, 2.7, 0.9])
    traced = around(lambda x: tf.math.zeta(x + 1.5, x))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(traced(x))
        first = tape.gradient(y, x)
    second = outer.gradient(first, x)
    s, q = x.numpy().astype(float) + 1.5, x.numpy().astype(float)
    zeta_of = scipy.special.zeta
    np.testing.assert_allclose(first, -s * zeta_of(s + 1, q), rtol=1e-5)
    # The factor of the slope depends on the exponent, the sum in it does not.
    expected = s * (s + 1) * zeta_of(s + 2, q) - zeta_of(s + 1, q)
    np.testing.assert_allclose(second, expected, rtol=1e-5)
