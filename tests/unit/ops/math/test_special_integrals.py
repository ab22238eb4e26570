"""Dawson's, Fresnel's and the exponential integral and the dilogarithm against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import tfx as tf
from tests.unit.ops.saved import check_saved
from tfx.ops.math import special_integrals
from tfx.testing import assert_close, check_grads

REFERENCES = {
    "dawsn": scipy.special.dawsn,
    "expint": scipy.special.expi,
    "fresnel_cos": lambda x: scipy.special.fresnel(x)[1],
    "fresnel_sin": lambda x: scipy.special.fresnel(x)[0],
    "spence": scipy.special.spence,
}


@pytest.mark.parametrize("name", REFERENCES)
def test_values(name, rng):
    x = np.concatenate(
        [10.0 ** rng.uniform(-12, 3, 600), rng.uniform(0, 60, 600), [6.0, 40.0, 0.2, 0.5, 1.0, 1.5]]
    )
    x = np.concatenate([x, -x])
    expected = REFERENCES[name](x)
    np.testing.assert_allclose(getattr(special_integrals, name)(x).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("name", REFERENCES)
def test_zero_infinity_and_nan(name):
    x = [0.0, np.inf, -np.inf, np.nan, 1e9]
    expected = REFERENCES[name](x)
    if name == "spence":
        expected[1] = -np.inf  # the limit; SciPy says NaN
    assert_close(getattr(special_integrals, name)(x), expected)


@pytest.mark.parametrize("name", REFERENCES)
def test_gradients(name):
    x = np.array([0.1, 0.3, 1.2, 3.0, 7.0])
    check_grads(getattr(special_integrals, name), [x], order=2)
    if name != "spence":
        check_grads(getattr(special_integrals, name), [-x])


def test_slope_of_the_dilogarithm_at_1():
    x = tf.constant([1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.special.spence(x)
    assert_close(tape.gradient(y, x), [-1.0])


@pytest.mark.parametrize("name", REFERENCES)
def test_in_a_function(name):
    f = getattr(tf.math.special, name)
    x = tf.constant([[0.5, 2.0]], tf.float16)
    y = tf.function(f, input_signature=[tf.TensorSpec([None, None], tf.float16)])(x)
    assert y.dtype == tf.float16
    assert_close(y, f(x))


@pytest.mark.parametrize("name", [*REFERENCES, "bessel_i0", "bessel_k1", "bessel_j1", "bessel_y0"])
def test_saved(name, tmp_path):
    check_saved(getattr(tf.math.special, name), tmp_path)


@pytest.mark.parametrize("name", REFERENCES)
def test_without_elements_and_of_unknown_rank(name):
    f = getattr(tf.math.special, name)
    assert f(tf.zeros([0, 3])).shape == (0, 3)
    g = tf.function(f, input_signature=[tf.TensorSpec(None, tf.float32)])
    assert_close(g(tf.constant([[0.5]])), f(tf.constant([[0.5]])))


@pytest.mark.parametrize("name", REFERENCES)
def test_forward_mode_and_batches(name):
    f = getattr(tf.math.special, name)
    x = tf.constant([0.5, 2.5], tf.float64)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = f(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        again = f(x)
    assert_close(accumulator.jvp(y), tape.gradient(again, x))
    assert_close(tf.vectorized_map(f, x), f(x))
