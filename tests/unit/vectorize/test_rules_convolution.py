"""Batching rules of convolutions, whichever of image, filter and bias differ."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.vectorize.elementwise import Case, check_all, normal
from tfx.core.errors import NotFoundError, OpError

WINDOW = {"pads": (1, 0, 1, 1), "strides": (2, 1), "kernel_shape": (3, 2)}
CASES = [
    *(
        Case("Conv", {**WINDOW, "group": g},
             (normal(2, 4, 6, 5), normal(6, 4 // g, 3, 2), b), (0, 1, 2) if b else (0, 1))
        for g in (1, 2)
        for b in (None, normal(6))
    ),
    *(
        Case("ConvTranspose", {**WINDOW, "group": g},
             (normal(2, 4, 4, 5), normal(4, 3, 3, 2), b), (0, 1, 2) if b else (0, 1))
        for g in (1, 2)
        for b in (None, normal(3 * g))
    ),
    Case("Conv", {}, (normal(2, 4, 6), normal(6, 4, 3)), (0, 1)),
    Case("Conv", {"group": 4}, (normal(1, 4, 5, 5), normal(4, 1, 2, 2)), (0, 1)),
    Case("DeformConv", {"kernel_shape": (3, 2)},
         (normal(2, 4, 6, 5), normal(6, 4, 3, 2), normal(2, 12, 4, 4), normal(6),
          normal(2, 6, 4, 4)), (0, 2, 4)),
    Case("DeformConv", {"kernel_shape": (3, 2)},
         (normal(1, 2, 4, 4), normal(2, 2, 3, 2), normal(1, 12, 2, 3)), (1,)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_convolution(number):
    check_all(CASES[number])


def test_filters_of_an_unknown_number_of_elements():
    """Groups are an attribute: their number must be known."""

    def every(x, w):
        return tf.vectorized_map(lambda e: tf.raw.Conv(*e), (x, w), fallback_to_while_loop=False)

    kind = tf.TensorSpec([None, 1, 2, 4, 4])
    with pytest.raises((OpError, ValueError, NotFoundError), match="run time"):
        tf.function(every, input_signature=[kind, tf.TensorSpec([None, 3, 2, 2, 2])])(
            np.ones((2, 1, 2, 4, 4), np.float32), np.ones((2, 3, 2, 2, 2), np.float32)
        )


def test_jacobian_of_a_convolution():
    x = tf.constant(np.random.default_rng(0).standard_normal((1, 4, 4, 2)).astype(np.float32))
    w = tf.constant(np.random.default_rng(1).standard_normal((2, 2, 2, 3)).astype(np.float32))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch((x, w))
        y = tf.reshape(tf.nn.conv2d(x, w, 1, "VALID"), [-1])
    for source in (x, w):
        fast = tape.jacobian(y, source)
        slow = tape.jacobian(y, source, experimental_use_pfor=False)
        np.testing.assert_allclose(fast.numpy(), slow.numpy(), rtol=1e-5, atol=1e-5)
