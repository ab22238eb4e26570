"""zeta and polygamma against SciPy, and their gradients against central differences."""

from __future__ import annotations

import numpy as np
import scipy.special

import tfx as tf
from tfx.ops import zeta
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
