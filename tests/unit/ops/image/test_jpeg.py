"""Images as JPEG files show them, and parts of such files."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

PIXELS = np.linspace(0, 255, 48 * 40 * 3).reshape(48, 40, 3).astype("uint8")


@pytest.fixture(scope="module")
def data():
    return tf.io.encode_jpeg(PIXELS)


def test_quality():
    good, bad = (
        np.abs(tf.image.adjust_jpeg_quality(PIXELS, q).numpy() - PIXELS.astype(int)).mean()
        for q in (95, 5)
    )
    assert good < 2 < bad
    grey = tf.image.adjust_jpeg_quality(PIXELS[..., :1], tf.constant(50))
    assert grey.shape == (48, 40, 1)


def test_floats_are_the_same_image():
    whole = tf.image.adjust_jpeg_quality(PIXELS, 30)
    part = tf.image.adjust_jpeg_quality((PIXELS / 255).astype("float32"), 30)
    assert part.dtype is tf.float32
    np.testing.assert_allclose(part * 255, whole, atol=1e-3)


def test_random_quality():
    found = tf.image.stateless_random_jpeg_quality(PIXELS, 40, 60, seed=(1, 2))
    options = [tf.image.adjust_jpeg_quality(PIXELS, q).numpy() for q in range(40, 60)]
    assert any(np.array_equal(found, option) for option in options)
    again = tf.image.stateless_random_jpeg_quality(PIXELS, 40, 60, seed=(1, 2))
    np.testing.assert_array_equal(found, again)
    assert tf.image.random_jpeg_quality(PIXELS, 40, 60).shape == PIXELS.shape


def test_shape_without_pixels(data):
    assert tf.io.extract_jpeg_shape(data).numpy().tolist() == [48, 40, 3]
    grey = tf.io.encode_jpeg(PIXELS[..., :1])
    found = tf.image.extract_jpeg_shape(grey, output_type=tf.int64)
    assert found.dtype is tf.int64
    assert found.numpy().tolist() == [48, 40, 1]
    broken = data.numpy()[:20]
    with pytest.raises(tf.errors.InvalidArgumentError, match="JPEG"):
        tf.io.extract_jpeg_shape(broken)


@pytest.mark.parametrize("channels", [0, 1, 3])
def test_parts(data, channels):
    whole = tf.io.decode_jpeg(data, channels)
    found = tf.io.decode_and_crop_jpeg(data, [3, 5, 20, 16], channels)
    np.testing.assert_array_equal(found, whole[3:23, 5:21])
    traced = tf.function(lambda d: tf.image.decode_and_crop_jpeg(d, [0, 0, 4, 5], channels=3))
    assert traced.get_concrete_function(tf.TensorSpec([], tf.string)).outputs[0].shape == (4, 5, 3)


@pytest.mark.parametrize(
    ("window", "what"),
    [
        ([40, 5, 20, 16], "not within an image of 48 rows and 40 columns"),
        ([-1, 0, 4, 4], "not within"),
        ([0, 0, 0, 4], "not within"),
        ([0, 5, 20], "shape"),
    ],
)
def test_windows_that_are_none(data, window, what):
    with pytest.raises(tf.errors.InvalidArgumentError, match=what):
        tf.io.decode_and_crop_jpeg(data, window)


def test_bad_arguments():
    with pytest.raises(ValueError, match="must be less than"):
        tf.image.random_jpeg_quality(PIXELS, 90, 40)
    with pytest.raises(ValueError, match="between 0 and 100"):
        tf.image.random_jpeg_quality(PIXELS, 0, 101)
    with pytest.raises(tf.errors.InvalidArgumentError, match="0 to 100"):
        tf.image.adjust_jpeg_quality(PIXELS, 101)
    with pytest.raises(TypeError, match="int32 or int64"):
        tf.io.extract_jpeg_shape(b"", output_type=tf.float32)


def test_an_image_without_pixels_is_no_file():
    for write in (tf.io.encode_jpeg, lambda x: tf.image.adjust_jpeg_quality(x, 50)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="is no JPEG file"):
            write(np.zeros((0, 5, 3), "uint8"))
