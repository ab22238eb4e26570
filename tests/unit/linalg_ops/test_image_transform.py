"""``raw_ops.ImageProjectiveTransformV3`` against a reading of pixels one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tfx as tf

transform = tf.raw_ops.ImageProjectiveTransformV3
X = np.random.default_rng(0).normal(size=(2, 4, 5, 3)).astype(np.float32)
T = np.float32([[0.9, 0.1, 0.3, -0.2, 1.1, 0.2, 0.05, -0.02], [1.5, 0, -2.5, 0, 0.5, 3, 0, 0]])


def _folded(x, n, mode):
    if mode == "REFLECT" and not 0 <= x <= n - 1:
        x -= 2 * n * math.trunc(x / (2 * n))
        if x < 0:
            x = x + 2 * n if x < -n else -x - 1
        elif x >= n:
            x = 2 * n - x - 1
    elif mode == "WRAP" and x < 0:
        x += n * (math.trunc(-x / (n - 1)) + 1)
    elif mode == "WRAP" and x > n - 1:
        x -= n * math.trunc(x / (n - 1))
    return x if mode == "CONSTANT" else min(max(x, 0), n - 1)


def _one_by_one(images, transforms, size, fill, interpolation, mode):
    found = np.full((len(images), *size, images.shape[3]), fill, np.float64)
    height, width = images.shape[1:3]

    def pixel(i, y, x):
        return images[i, y, x] if 0 <= x < width and 0 <= y < height else fill

    for i, row, column in np.ndindex(found.shape[:3]):
        a0, a1, a2, b0, b1, b2, c0, c1 = transforms[i].astype(np.float64)
        depth = c0 * column + c1 * row + 1
        if depth == 0:
            continue
        x = _folded((a0 * column + a1 * row + a2) / depth, width, mode)
        y = _folded((b0 * column + b1 * row + b2) / depth, height, mode)
        if interpolation == "NEAREST":
            nearest = [int(math.copysign(math.floor(abs(v) + 0.5), v)) for v in (y, x)]
            found[i, row, column] = pixel(i, *nearest)
        else:
            top, left = math.floor(y), math.floor(x)
            found[i, row, column] = sum(
                (1 - abs(y - v)) * (1 - abs(x - u)) * pixel(i, v, u)
                for v in (top, top + 1)
                for u in (left, left + 1)
            )
    return found


@pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT", "WRAP", "NEAREST"])
@pytest.mark.parametrize("interpolation", ["NEAREST", "BILINEAR"])
def test_pixels_are_read_where_the_transform_says(interpolation, mode):
    expected = _one_by_one(X, T, (6, 7), 2.0, interpolation, mode)

    def call(images, size):
        return transform(
            images=images, transforms=T, output_shape=size, fill_value=2.0,
            interpolation=interpolation, fill_mode=mode,
        )  # fmt: skip

    signature = [tf.TensorSpec(None), tf.TensorSpec([2], tf.int32)]
    for run in (call, tf.function(call), tf.function(call, input_signature=signature)):
        np.testing.assert_allclose(run(tf.constant(X), tf.constant([6, 7])), expected, atol=1e-5)


def test_integers_lose_their_fraction_and_a_point_at_infinity_is_filled():
    flat = np.float32([[1, 0, 0, 0, 1, 0, -1, 0]])  # no depth in column 1
    images = np.uint8([[[[10], [21]]]])
    half = np.float32([[1, 0, 0.5, 0, 1, 0, 0, 0]])
    given = {"images": images, "output_shape": [1, 2], "fill_value": 7.9}
    read = transform(transforms=half, interpolation="BILINEAR", **given)
    assert read.dtype == tf.uint8
    assert read.numpy().ravel().tolist() == [15, 14]
    for how in ("BILINEAR", "NEAREST"):
        read = transform(transforms=flat, interpolation=how, fill_mode="REFLECT", **given)
        assert read.numpy().ravel().tolist() == [10, 7]


def test_images_without_pixels_are_filled():
    given = {"transforms": T[:1], "output_shape": [2, 2], "interpolation": "BILINEAR"}
    for mode in ("CONSTANT", "REFLECT", "WRAP"):
        read = transform(images=X[:, :0], fill_value=3.5, fill_mode=mode, **given)
        np.testing.assert_array_equal(read, np.full((2, 2, 2, 3), 3.5))
    assert transform(images=X[:0], fill_value=0.0, **given).shape == (0, 2, 2, 3)


def test_the_gradient_goes_back_through_the_inverse_transform():
    dy = np.random.default_rng(1).normal(size=(2, 6, 7, 3)).astype(np.float32)
    back = []
    for row in T:
        whole = np.linalg.inv(np.append(row, 1).reshape(3, 3).astype(np.float64))
        back.append((whole / whole[2, 2]).ravel()[:8])
    expected = _one_by_one(dy, np.stack(back), (4, 5), 0.0, "BILINEAR", "CONSTANT")

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.raw_ops.ImageProjectiveTransformV2(
                images=x, transforms=T, output_shape=[6, 7], interpolation="BILINEAR"
            )
        return tape.gradient(y, x, dy)

    np.testing.assert_allclose(slope(tf.constant(X)), expected, atol=2e-4)
    np.testing.assert_allclose(slope.python_function(tf.constant(X)), expected, atol=2e-4)


def test_each_image_of_a_batch():
    def call(x):
        return transform(
            images=x[None], transforms=T[:1], output_shape=[3, 3], fill_value=0.0,
            interpolation="BILINEAR",
        )[0]  # fmt: skip

    batched = tf.vectorized_map(call, tf.constant(X))
    np.testing.assert_allclose(batched, tf.stack([call(x) for x in X]), atol=1e-6)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"images": X[0]}, "expected rank 4|height, width"),
        ({"images": X.astype(np.int8)}, "int8"),
        ({"transforms": T[0]}, r"\[1, 8\]"),
        ({"transforms": np.concatenate([T, T])}, "for each image"),
        ({"output_shape": [3]}, "a height and a width"),
        ({"output_shape": [0, 3]}, "above 0"),
        ({"fill_mode": "constant"}, "CONSTANT"),
        ({"interpolation": "BICUBIC"}, "BILINEAR"),
    ],
)
def test_refusals(changed, says):
    given = {"images": X, "transforms": T, "output_shape": [2, 2], "fill_value": 0.0}
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        transform(**(given | {"interpolation": "NEAREST"} | changed))
