"""How alike images are, at several scales."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf


def test_similarity_at_several_scales():
    """Against numbers of TensorFlow 2.21."""
    rng = np.random.default_rng(0)
    a = rng.random((2, 180, 199, 3)).astype("float32")
    b = np.clip(a + rng.normal(0, 0.2, a.shape), 0, 1).astype("float32")
    np.testing.assert_allclose(tf.image.ssim_multiscale(a, b, 1.0), [0.84849, 0.84055], atol=1e-5)
    two = tf.image.ssim_multiscale(a[0], b[0], 1.0, (0.3, 0.7), filter_size=7)
    np.testing.assert_allclose(two, 0.82122, atol=1e-5)
    u, v = (a * 255).astype("uint8"), (b * 255).astype("uint8")
    np.testing.assert_allclose(tf.image.ssim_multiscale(u, v, 255), [0.84848, 0.84052], atol=1e-5)
    assert tf.image.ssim_multiscale(a, 1 - a, 1.0).numpy().tolist() == [0, 0]
    with pytest.raises(ValueError, match="at least 11 by 11"):
        tf.image.ssim_multiscale(a[:, :100], b[:, :100], 1.0)


def test_several_unknown_leading_sizes():
    x = np.random.default_rng(0).random((2, 3, 192, 192, 1)).astype("float32")
    spec = tf.TensorSpec([None, None, 192, 192, 1])
    for measure in (tf.image.ssim, tf.image.ssim_multiscale):
        f = tf.function(lambda x, m=measure: m(x, x, 1.0), input_signature=[spec])
        np.testing.assert_allclose(f(x), np.ones((2, 3)), rtol=1e-6)
