"""Rules of operators that no public operation's own gradient test goes through."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx import raw
from tfx.testing import check_grads


@pytest.mark.parametrize(
    "f",
    [
        lambda x: raw.Elu(x, alpha=1.5),
        lambda x: raw.Selu(x),
        lambda x: raw.LeakyRelu(x, alpha=0.1),
    ],
    ids=["Elu", "Selu", "LeakyRelu"],
)
def test_piecewise(f, rng):
    x = rng.uniform(0.2, 2.0, (3, 4)) * rng.choice([-1.0, 1.0], (3, 4))
    # float32 kernels only: the tolerance is theirs.
    check_grads(f, (tf.constant(x),), order=1, rtol=1e-3, atol=1e-4, eps=1e-3)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate, rng):
    x = tf.constant(rng.uniform(-2, 2, (5,)))
    check_grads(
        lambda v: raw.Gelu(v, approximate=approximate),
        (x,),
        order=1,
        rtol=1e-3,
        atol=1e-4,
        eps=1e-3,
    )


def test_sum_of_broadcast_inputs(rng):
    x, y = rng.uniform(size=(2, 3)), rng.uniform(size=(3,))
    check_grads(lambda a, b: raw.Sum(a, b, a), (tf.constant(x), tf.constant(y)), order=2)


def test_cast_passes_gradients_in_the_input_dtype():
    x = tf.constant([1.0, 2.0], tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(x, tf.float64) ** 2
    gradient = tape.gradient(y, x)
    assert gradient.dtype == tf.float32
    np.testing.assert_allclose(gradient.numpy(), [2.0, 4.0])
