"""Sizes of images in TensorFlow 1 against the numbers of TensorFlow 2.21's ``compat.v1``."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

image = tf.compat.v1.image
X = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1) ** 2 / 7

# fmt: off
NUMBERS = {
    ("resize_bilinear", False, (5, 6)): [
        0.0, 0.0952, 0.2857, 0.5714, 1.0476, 1.2857, 1.3714, 1.9238, 2.5714,
        3.3143, 4.2476, 4.7143, 3.6571, 4.6667, 5.7714, 6.9714, 8.3619, 9.0571,
        7.7714, 9.2381, 10.8, 12.4571, 14.3048, 15.2286, 9.1429, 10.7619, 12.4762,
        14.2857, 16.2857, 17.2857,
    ],
    ("resize_bilinear", False, (2, 3)): [
        0.0, 0.2857, 1.0476, 5.7143, 8.2857, 11.3333,
    ],
    ("resize_bilinear", True, (5, 6)): [
        0.0, 0.0857, 0.2286, 0.4857, 0.8571, 1.2857, 1.1429, 1.5714, 2.0571,
        2.6571, 3.3714, 4.1429, 2.2857, 3.0571, 3.8857, 4.8286, 5.8857, 7.0,
        5.7143, 6.8286, 8.0, 9.2857, 10.6857, 12.1429, 9.1429, 10.6, 12.1143,
        13.7429, 15.4857, 17.2857,
    ],
    ("resize_bilinear", True, (2, 3)): [
        0.0, 0.3571, 1.2857, 9.1429, 12.9286, 17.2857,
    ],
    ("resize_nearest_neighbor", False, (5, 6)): [
        0.0, 0.0, 0.1429, 0.5714, 0.5714, 1.2857, 0.0, 0.0, 0.1429,
        0.5714, 0.5714, 1.2857, 2.2857, 2.2857, 3.5714, 5.1429, 5.1429, 7.0,
        2.2857, 2.2857, 3.5714, 5.1429, 5.1429, 7.0, 9.1429, 9.1429, 11.5714,
        14.2857, 14.2857, 17.2857,
    ],
    ("resize_nearest_neighbor", False, (2, 3)): [
        0.0, 0.1429, 0.5714, 2.2857, 3.5714, 5.1429,
    ],
    ("resize_nearest_neighbor", True, (5, 6)): [
        0.0, 0.1429, 0.1429, 0.5714, 0.5714, 1.2857, 2.2857, 3.5714, 3.5714,
        5.1429, 5.1429, 7.0, 2.2857, 3.5714, 3.5714, 5.1429, 5.1429, 7.0,
        9.1429, 11.5714, 11.5714, 14.2857, 14.2857, 17.2857, 9.1429, 11.5714, 11.5714,
        14.2857, 14.2857, 17.2857,
    ],
    ("resize_nearest_neighbor", True, (2, 3)): [
        0.0, 0.5714, 1.2857, 9.1429, 14.2857, 17.2857,
    ],
    ("resize_bicubic", False, (5, 6)): [
        0.0, 0.0503, 0.2539, 0.5714, 1.0849, 1.3651, 0.6575, 1.0385, 1.7,
        2.38, 3.32, 3.8132, 3.7134, 4.599, 5.9594, 7.1928, 8.7837, 9.602,
        7.9896, 9.253, 11.1369, 12.7847, 14.863, 15.9248, 9.8832, 11.3174, 13.4378,
        15.2728, 17.5714, 18.7432,
    ],
    ("resize_bicubic", False, (2, 3)): [
        0.0, 0.2539, 1.0849, 5.9286, 8.678, 12.006,
    ],
    ("resize_bicubic", True, (5, 6)): [
        0.0, 0.0411, 0.2149, 0.4308, 0.8952, 1.2857, 0.5, 0.7749, 1.2944,
        1.7441, 2.5542, 3.1786, 2.2857, 2.9024, 3.9271, 4.7185, 6.0339, 7.0,
        5.9286, 6.8869, 8.417, 9.5501, 11.3707, 12.6786, 9.1429, 10.335, 12.2108,
        13.5777, 15.7441, 17.2857,
    ],
    ("resize_bicubic", True, (2, 3)): [
        0.0, 0.3036, 1.2857, 9.1429, 12.875, 17.2857,
    ],
    ("resize_area", False, (5, 6)): [
        0.0, 0.0714, 0.1429, 0.5714, 0.9286, 1.2857, 0.7619, 1.0238, 1.2857,
        2.0952, 2.6429, 3.1905, 2.2857, 2.9286, 3.5714, 5.1429, 6.0714, 7.0,
        6.8571, 7.8809, 8.9048, 11.2381, 12.5476, 13.8571, 9.1429, 10.3571, 11.5714,
        14.2857, 15.7857, 17.2857,
    ],
    ("resize_area", False, (2, 3)): [
        0.8929, 1.6905, 2.9167, 7.3691, 10.0714, 13.2024,
    ],
}
# fmt: on


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("case", NUMBERS, ids=str)
def test_numbers(case, traced):
    name, corners, size = case

    def f(x):
        return getattr(image, name)(x, size, corners)

    if traced:
        spec = tf.TensorSpec([None, 3, 4, None] if name == "resize_area" else [None] * 4)
        f = tf.function(f, input_signature=[spec])
    found = f(tf.constant(X))
    # TensorFlow takes the weights of cubic functions from a table of 1024 places.
    tolerance = 5e-3 if name == "resize_bicubic" else 1e-4
    np.testing.assert_allclose(found.numpy().ravel(), NUMBERS[case], atol=tolerance)
    assert found.shape == [1, *size, 1]
    number = ["bilinear", "nearest_neighbor", "bicubic", "area"].index(name[7:])
    again = image.resize_images(X[0], size, number, corners)
    np.testing.assert_allclose(again, found[0], rtol=1e-6)


def test_pixels_at_their_centers_are_tensorflow_2():
    for name, method in [
        ("bilinear", "bilinear"),
        ("nearest_neighbor", "nearest"),
        ("bicubic", "bicubic"),
    ]:
        found = getattr(image, f"resize_{name}")(X, [5, 7], half_pixel_centers=True)
        np.testing.assert_array_equal(found, tf.image.resize(X, [5, 7], method))


def test_sizes_and_dtypes():
    whole = tf.cast(X, tf.uint8)
    assert image.resize(whole, [3, 4]) is whole
    assert image.resize(whole, [6, 6], image.ResizeMethod.NEAREST_NEIGHBOR).dtype == tf.uint8
    assert image.resize_bilinear(whole, [3, 4]).dtype == tf.float32
    assert image.resize(X, [6, 6], preserve_aspect_ratio=True).shape == [1, 4, 6, 1]
    late = tf.function(lambda x, n: image.resize(x, [n, 6]))
    np.testing.assert_array_equal(late(X, tf.constant(5)), image.resize(X, [5, 6]))
    assert image.resize_image_with_crop_or_pad is tf.image.resize_with_crop_or_pad


SIZED = [image.resize_bilinear, image.resize_nearest_neighbor, image.resize_bicubic]


@pytest.mark.parametrize("resize", [*SIZED, image.resize_area, image.resize])
def test_sizes_without_pixels_are_refused(resize):
    for size in ([-1, 2], [0, 2]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
            resize(X, size)
    for empty in (np.zeros([1, 0, 3, 1]), np.zeros([2, 3, 0, 1])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="non-zero size"):
            resize(empty, [2, 2])
    for size in ([2], 2, [2.0, 2.0], [[2, 2]]):
        with pytest.raises(ValueError, match="two integers"):
            resize(X, size)
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-zero size"):
        image.resize(np.zeros([0, 3, 1]), [2, 2], preserve_aspect_ratio=True)


def test_what_is_refused():
    with pytest.raises(TypeError, match="Images of numbers"):
        image.resize_area(np.full([2, 2, 1], b"a"), [3, 3])

    with pytest.raises(ValueError, match="not implemented: 4"):
        image.resize(X, [2, 2], 4)
    with pytest.raises(ValueError, match="align_corners=False"):
        image.resize_area(X, [2, 2], True)
    with pytest.raises(ValueError, match="align_corners must be False"):
        image.resize_bilinear(X, [2, 2], True, half_pixel_centers=True)


@pytest.mark.parametrize(
    ("size", "offsets", "centered", "normalized", "begin"),
    [
        ((2, 2), [1.0, 1.0], False, False, (0, 0)),
        ((3, 2), [2.0, 3.0], False, False, (0, 2)),
        ((2, 2), [0.5, 0.5], False, True, (1, 1)),
        ((2, 2), [2.0, 3.0], True, False, (2, 3)),
        ((3, 3), [0.5, -0.5], True, False, (1, 0)),
        ((3, 2), [0.5, -0.5], True, True, (2, 0)),
    ],
)
def test_offsets_of_glimpses_are_those_of_their_middle(size, offsets, centered, normalized, begin):
    whole = np.arange(25, dtype=np.float32).reshape(1, 5, 5, 1)
    found = image.extract_glimpse(whole, size, [offsets], centered, normalized)
    top, left = begin
    expected = whole[:, top : top + size[0], left : left + size[1]]
    np.testing.assert_array_equal(found, expected)
