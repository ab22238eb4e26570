"""Bessel functions against SciPy, and their gradients against central differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import tfx as tf
from tfx.core.errors import InvalidArgumentError
from tfx.ops.math import bessel
from tfx.testing import assert_close, check_grads

KINDS = ("i0", "i0e", "i1", "i1e", "k0", "k0e", "k1", "k1e", "j0", "j1", "y0", "y1")


def _function(kind):
    return getattr(bessel, f"bessel_{kind}"), getattr(scipy.special, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_values(kind, rng):
    f, reference = _function(kind)
    x = np.concatenate(
        [10.0 ** rng.uniform(-12, 3, 600), rng.uniform(0, 60, 600), [40.0, 40.0000001, 0.5, 1e-8]]
    )
    if kind[0] in "ij":
        x = np.concatenate([x, -x])
    expected = reference(x)
    kept = np.isfinite(expected)
    # Where a wave passes through 0 only so many digits are left.
    floor = 0.01 if kind[0] in "jy" else 1e-300
    error = np.abs(f(x).numpy()[kept] - expected[kept])
    assert np.all(error <= 1e-11 * np.maximum(np.abs(expected[kept]), floor))


@pytest.mark.parametrize("kind", KINDS)
def test_zero_infinity_and_nan(kind):
    f, reference = _function(kind)
    expected = reference([0.0, np.inf, np.nan])
    if kind[0] in "jy":
        expected[1] = 0.0  # the limit; SciPy says NaN
    if kind in ("i0", "i1"):
        expected[1] = np.nan  # 0 times infinity, as TensorFlow has it
    assert_close(f([0.0, np.inf, np.nan]), expected)


@pytest.mark.parametrize(
    ("kind", "limit"), [("k0", np.inf), ("k1e", np.inf), ("y0", -np.inf), ("y1", -np.inf)]
)
def test_below_zero_as_tensorflow_has_it(kind, limit):
    assert_close(_function(kind)[0]([-1.0, -100.0]), [limit, limit])


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    x = [0.3, 1.0, 4.5, 39.0, 45.0]
    check_grads(_function(kind)[0], [np.array(x if kind not in ("i0", "i1") else x[:3])], order=2)


@pytest.mark.parametrize("kind", ["i1", "i1e", "j1"])
def test_slope_of_order_1_at_zero(kind):
    x = tf.constant([0.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = _function(kind)[0](x)
    assert_close(tape.gradient(y, x), [0.5])


@pytest.mark.parametrize("kind", ["i1", "i1e", "j1"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_odd_functions_keep_the_sign_of_zero(kind, dtype):
    found = _function(kind)[0](np.array([-0.0, 0.0], dtype)).numpy()
    assert np.signbit(found).tolist() == [True, False]


def test_in_a_function():
    x = tf.constant([0.5, 2.0])

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.math.bessel_i0e(x)
        return y, tape.gradient(y, x)

    y, dx = slope(x)
    i0e, i1e = scipy.special.i0e([0.5, 2.0]), scipy.special.i1e([0.5, 2.0])
    assert_close(y, i0e.astype(np.float32))
    assert_close(dx, (i1e - i0e).astype(np.float32))


def test_the_names_of_tensorflow():
    for kind in KINDS:
        assert getattr(tf.math.special, f"bessel_{kind}") is _function(kind)[0]
    for kind in KINDS[:4]:
        assert getattr(tf.math, f"bessel_{kind}") is _function(kind)[0]


def test_only_floats():
    with pytest.raises(InvalidArgumentError, match="int32 is not allowed by BesselI0e"):
        bessel.bessel_i0e(1)
