"""Normal numbers between bounds: where they are, and how they are spread."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tfx as tf

BOUNDS = [(0.0, 1.0, -2.0, 2.0), (0.5, 1.0, 1.0, 3.0), (-1.0, 0.5, -1.5, np.inf)]


@pytest.mark.parametrize("mean, deviation, low, high", BOUNDS)
def test_shares(mean: float, deviation: float, low: float, high: float) -> None:
    @tf.function
    def draw() -> tf.Tensor:
        return tf.random.stateless_parameterized_truncated_normal(
            [50_000], [1, 2], mean, deviation, low, high
        )

    found = np.sort(draw())
    assert low <= found[0] and found[-1] <= high

    def below(x: float) -> float:
        return 0.5 * (1.0 + math.erf((x - mean) / deviation / math.sqrt(2.0)))

    first, last = below(low), below(high)
    shares = [(below(x) - first) / (last - first) for x in found[::500]]
    np.testing.assert_allclose(shares, np.arange(0, 1, 0.01), atol=0.01)


def test_parameters_broadcast_and_numbers_follow_from_the_seed() -> None:
    function = tf.random.stateless_parameterized_truncated_normal
    low = tf.constant([0.0, 5.0], tf.float64)
    found = function([3, 2], [1, 2], means=low, minvals=low, maxvals=low + 1.0)
    assert found.dtype is tf.float64
    assert ((found >= low) & (found <= low + 1.0)).numpy().all()
    again = function([3, 2], [1, 2], means=low, minvals=low, maxvals=low + 1.0)
    np.testing.assert_array_equal(found, again)
