"""The exponential of matrices against SciPy."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.linalg_ops.checks import check_both

scipy_linalg = pytest.importorskip("scipy.linalg")
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 20.0])
def test_values(scale: float) -> None:
    a = RNG.normal(size=(3, 4, 4)) * np.array([scale, scale / 3, 1e-3])[:, None, None]
    expected = np.stack([scipy_linalg.expm(x) for x in a])
    np.testing.assert_allclose(tf.linalg.expm(a), expected, rtol=1e-8)
    size = np.abs(expected).max((1, 2), keepdims=True)
    single = tf.linalg.expm(a.astype(np.float32)).numpy()
    np.testing.assert_allclose(single / size, expected / size, atol=1e-5)


def test_gradients() -> None:
    check_both(tf.linalg.expm, RNG.normal(size=(2, 3, 3)) * 0.3)
