"""Dilation, erosion and patches of volumes: TensorFlow 2.21's numbers, and NumPy's windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx.testing import assert_close, check_grads

IMAGE = (np.arange(2 * 5 * 4 * 2) * 7 % 11).reshape(2, 5, 4, 2).astype(np.float32)
FILTER = (np.arange(12) * 5 % 3).reshape(3, 2, 2).astype(np.float32)
# The first channel of the first image, and the gradient of the filter.
SAME_LARGEST = (
    [[6, 9, 12, 11], [8, 11, 11, 10], [7, 10, 12, 4]],
    [1, 8, 6, 1, 9, 3, 0, 12, 0, 0, 8, 0],
)
SAME_LEAST = [[0, 3, 6, 9], [-1, 2, -2, 0], [1, 4, 0, -1]], [1, 2, 1, 2, 2, 1, 8, 6, 2, 2, 10, 11]
CASES = [
    (tf.nn.dilation2d, "SAME", 2, 1, *SAME_LARGEST),
    (tf.nn.erosion2d, "SAME", 2, 1, SAME_LEAST[0], [-n for n in SAME_LEAST[1]]),
    (tf.nn.dilation2d, "VALID", 1, 2, [[9, 12, 11]], [0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 3, 2]),
    (
        tf.nn.erosion2d,
        "VALID",
        1,
        2,
        [[-2, 1, -2]],
        [-n for n in [1, 1, 0, 0, 1, 2, 0, 1, 1, 0, 3, 2]],
    ),
]


@pytest.mark.parametrize("function, padding, step, rate, expected, slopes", CASES)
def test_numbers_and_gradients_of_tensorflow(
    function: Any, padding: str, step: int, rate: int, expected: Any, slopes: Any
) -> None:
    def run(x: Any, w: Any) -> Any:
        return function(x, w, [1, step, 1, 1], padding, "NHWC", [1, rate, 1, 1])

    loose = [tf.TensorSpec([None, None, None, 2]), tf.TensorSpec([3, 2, 2])]
    for each in (run, tf.function(run), tf.function(run, input_signature=loose)):
        x, w = tf.constant(IMAGE), tf.constant(FILTER)
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            y = each(x, w)
        assert_close(y[0, :, :, 0], np.array(expected, np.float32))
        assert_close(tf.reshape(tape.gradient(y, w), [-1]), np.array(slopes, np.float32))


def test_gradients_of_pixels(rng: Any) -> None:
    x, w = rng.standard_normal((1, 5, 4, 2)), rng.standard_normal((2, 2, 2))
    ones = [1, 1, 1, 1]
    check_grads(lambda x, w: tf.nn.dilation2d(x, w, ones, "SAME", "NHWC", ones), [x, w])


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_patches_of_volumes(padding: str, rng: Any) -> None:
    x = rng.standard_normal((2, 4, 5, 6, 2))
    sizes, steps = (2, 3, 2), (2, 1, 3)

    def run(x: Any) -> Any:
        return tf.extract_volume_patches(x, [1, *sizes, 1], [1, *steps, 1], padding)

    around = [(0, 0), (1, 1), (0, 0)] if padding == "SAME" else [(0, 0)] * 3
    wide = np.pad(x, [(0, 0), *around, (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(wide, sizes, axis=(1, 2, 3))
    windows = windows[:, :: steps[0], :: steps[1], :: steps[2]]
    expected = np.moveaxis(windows, 4, -1).reshape(*windows.shape[:4], -1)
    traced = tf.function(run, input_signature=[tf.TensorSpec([None] * 5, tf.float64)])
    for found in (run(x), tf.function(run)(x), traced(x)):
        assert_close(found, expected)
    check_grads(run, [x])


def test_what_does_not_fit() -> None:
    ones = [1, 1, 1, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have the same depth"):
        tf.nn.dilation2d(IMAGE, FILTER[..., :1], ones, "SAME", "NHWC", ones)
    with pytest.raises(tf.errors.InvalidArgumentError, match="batch, height, width, channels"):
        tf.nn.erosion2d(IMAGE[0], FILTER, ones, "SAME", "NHWC", ones)
    with pytest.raises(ValueError, match="NHWC"):
        tf.nn.dilation2d(IMAGE, FILTER, ones, "SAME", "NCHW", ones)
    with pytest.raises(ValueError, match="'SAME' or 'VALID'"):
        tf.nn.dilation2d(IMAGE, FILTER, ones, "FULL", "NHWC", ones)
    with pytest.raises(tf.errors.InvalidArgumentError, match="planes, rows, columns"):
        tf.extract_volume_patches(IMAGE, [1] * 5, [1] * 5, "SAME")
