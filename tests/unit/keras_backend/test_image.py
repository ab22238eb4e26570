"""Images: graphs of unknown heights and widths, slopes, and pixels far outside."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

keras = tf.keras
image = keras.src.backend.image

X = np.random.default_rng(0).uniform(0.1, 0.9, (2, 7, 9, 3)).astype("float32")
TURN = np.array([0.9, 0.2, 0.3, -0.2, 0.9, 1.1, 0.01, 0.02], "float32")
CORNERS = np.array([[0, 0], [8, 0], [0, 6], [8, 6]], "float32")

CASES = {
    "area": lambda x: image.resize(x, (3, 4), "area"),
    "bicubic": lambda x: image.resize(x, (5, 12), "bicubic"),
    "blurred": lambda x: image.gaussian_blur(x, (3, 5), (1.0, 2.0)),
    "cropped": lambda x: image.resize(x, (4, 4), crop_to_aspect_ratio=True),
    "elastic": lambda x: image.elastic_transform(x, seed=3),
    "grey": image.rgb_to_grayscale,
    "hue": lambda x: image.hsv_to_rgb(image.rgb_to_hsv(x)),
    "lanczos": lambda x: image.resize(x, (4, 12), "lanczos3", antialias=True),
    "mapped": lambda x: image.map_coordinates(x[0, :, :, 0], CORNERS.T[::-1] / 1.3, 1, "mirror"),
    "padded": lambda x: image.resize(x, (8, 8), pad_to_aspect_ratio=True, fill_value=0.5),
    "perspective": lambda x: image.perspective_transform(x, CORNERS, CORNERS * 0.8 + 0.3),
    "scaled": lambda x: image.scale_and_translate(
        x, (2, 5, 6, 3), [0.7, 0.8], [0.1, 0.2], (1, 2), "cubic"
    ),
    "sobel": image.sobel_edges,
    **{
        f"turned, {mode}": lambda x, mode=mode: image.affine_transform(x, TURN, fill_mode=mode)
        for mode in ("constant", "nearest", "wrap", "mirror", "reflect")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_a_graph_of_unknown_sizes_does_the_same(name):
    function = CASES[name]
    traced = tf.function(function, input_signature=[tf.TensorSpec([None, None, None, 3])])
    np.testing.assert_allclose(traced(X), function(tf.constant(X)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_slopes_are_finite(name):
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = CASES[name](x)
    slopes = np.array(tape.gradient(y, x))
    assert slopes.shape == X.shape
    assert np.isfinite(slopes).all()
    assert slopes.any()


def test_channels_come_first_or_last():
    turned = X.transpose(0, 3, 1, 2)
    for function in (image.gaussian_blur, image.rgb_to_grayscale, image.rgb_to_hsv):
        last = np.array(function(X, data_format="channels_last"))
        first = function(turned, data_format="channels_first")
        np.testing.assert_allclose(first, last.transpose(0, 3, 1, 2), atol=1e-6)


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
def test_coordinates_that_are_no_numbers_stay_inside(mode):
    far = np.array([[np.nan, np.inf, -np.inf, 1e30]] * 2, "float32")
    found = np.array(image.map_coordinates(X[0, :, :, 0], far, 1, mode, 0.5))
    assert np.isfinite(found).all()
    assert mode != "constant" or (found == 0.5).all()


def test_whole_numbers_are_rounded_and_bounded():
    pixels = np.array([[[0], [255]], [[255], [0]]], "uint8")
    found = image.resize(pixels, (3, 3), "nearest")
    assert found.dtype == "uint8"
    assert image.affine_transform(pixels, TURN).dtype == "uint8"
