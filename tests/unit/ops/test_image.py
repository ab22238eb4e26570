"""Images against NumPy and formulas; numbers of TensorFlow 2.21 where a formula is its own."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.ops.agreement import check

X = np.random.default_rng(0).random((2, 8, 6, 3)).astype(np.float32)
ONE = np.arange(6, dtype=np.float32).reshape(2, 3, 1)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (tf.image.flip_left_right, X[:, :, ::-1]),
        (tf.image.flip_up_down, X[:, ::-1]),
        (tf.image.transpose, X.swapaxes(1, 2)),
        (tf.image.rot90, np.rot90(X, axes=(1, 2))),
        (lambda x: tf.image.rot90(x, 3), np.rot90(X, 3, axes=(1, 2))),
        (lambda x: tf.image.rot90(x, 2), np.rot90(X, 2, axes=(1, 2))),
        (tf.image.grayscale_to_rgb, None),
        (lambda x: tf.image.adjust_brightness(x, 0.1), X + np.float32(0.1)),
        (lambda x: tf.image.adjust_gamma(x, 2.0, 3.0), 3 * X**2),
    ],
    ids=["left", "up", "turn", "rot1", "rot3", "rot2", "grey", "bright", "gamma"],
)
def test_simple(f: Any, expected: Any) -> None:
    if expected is None:
        check(f, [X[..., :1]], np.repeat(X[..., :1], 3, -1))
    else:
        check(f, [X], np.ascontiguousarray(expected))


def test_of_single_images() -> None:
    np.testing.assert_array_equal(tf.image.flip_left_right(ONE), ONE[:, ::-1])
    np.testing.assert_array_equal(tf.image.rot90(ONE), np.rot90(ONE))


def test_hue_of_small_integers_keeps_the_extremes() -> None:
    image = np.arange(1, 7, dtype=np.int32).reshape(1, 2, 3)
    found = tf.image.adjust_hue(image, 0.2).numpy().ravel()
    assert found.tolist() == [2, 1, 3, 5, 4, 6]  # TensorFlow's numbers


def test_hue_saturation_value() -> None:
    pixels = X.reshape(-1, 3)
    expected = np.array([colorsys.rgb_to_hsv(*p) for p in pixels.tolist()], np.float32)
    found = tf.image.rgb_to_hsv(pixels)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(tf.image.hsv_to_rgb(found), pixels, atol=1e-6)
    grey = np.full((1, 1, 3), 0.5, np.float32)
    np.testing.assert_array_equal(tf.image.rgb_to_hsv(grey), [[[0.0, 0.0, 0.5]]])
    np.testing.assert_allclose(tf.image.adjust_hue(X, 1.0), X, atol=1e-6)
    np.testing.assert_allclose(tf.image.adjust_saturation(X, 1.0), X, atol=1e-6)


@pytest.mark.parametrize("space", ["yiq", "yuv"])
def test_spaces_of_television(space: str) -> None:
    there, back = getattr(tf.image, f"rgb_to_{space}"), getattr(tf.image, f"{space}_to_rgb")
    np.testing.assert_allclose(back(there(X)), X, atol=1e-3)  # as TensorFlow rounds
    grey = np.einsum("...c,c", X, [0.299, 0.587, 0.114])
    np.testing.assert_allclose(there(X)[..., 0], grey, rtol=1e-5)


def test_contrast_and_its_gradients() -> None:
    mean = X.mean((1, 2), keepdims=True)
    np.testing.assert_allclose(tf.image.adjust_contrast(X, 1.5), (X - mean) * 1.5 + mean, atol=1e-6)
    tf.testing.check_grads(
        tf.image.adjust_contrast, [tf.constant(X.astype(float)), tf.constant(1.5, tf.float64)]
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: tf.image.adjust_saturation(x, 0.7),
        lambda x: tf.image.adjust_hue(x, 0.1),
        tf.image.sobel_edges,
        tf.image.total_variation,
        tf.image.per_image_standardization,
        lambda x: tf.image.psnr(x, X.astype(float)[:, ::-1], 1.0),
    ],
    ids=["saturation", "hue", "sobel", "variation", "standard", "psnr"],
)
def test_gradients(f: Any) -> None:
    x = tf.constant(X.astype(float))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(f(x))
    gradient = tape.gradient(y, x)
    assert np.isfinite(gradient.numpy()).all()
    assert (gradient.numpy() != 0).any()


def test_dtypes_of_pixels() -> None:
    found = tf.image.convert_image_dtype(tf.constant([0, 128, 255], tf.uint8), tf.float32)
    np.testing.assert_allclose(found, [0.0, 128 / 255, 1.0], rtol=1e-6)
    wide = tf.image.convert_image_dtype(tf.constant([0, 128, 255], tf.uint8), tf.uint16)
    np.testing.assert_array_equal(wide, [0, 128 * 256, 255 * 256])
    np.testing.assert_array_equal(tf.image.convert_image_dtype(wide, tf.uint8), [0, 128, 255])
    found = tf.image.convert_image_dtype([2.0, -1.0], tf.uint8, saturate=True)
    np.testing.assert_array_equal(found, [255, 0])
    with pytest.raises(AttributeError, match="floating point or integer"):
        tf.image.convert_image_dtype(["a"], tf.uint8)


def test_crops_and_pads() -> None:
    np.testing.assert_array_equal(tf.image.central_crop(X, 0.5), X[:, 2:6, 1:5])
    np.testing.assert_array_equal(tf.image.crop_to_bounding_box(X, 1, 2, 4, 3), X[:, 1:5, 2:5])
    around = ((0, 0), (1, 3), (2, 2), (0, 0))
    np.testing.assert_array_equal(tf.image.pad_to_bounding_box(X, 1, 2, 12, 10), np.pad(X, around))
    found = tf.image.resize_with_crop_or_pad(X, 6, 9)
    np.testing.assert_array_equal(found, np.pad(X[:, 1:7], ((0, 0), (0, 0), (1, 2), (0, 0))))
    part = tf.image.random_crop(X[0], [3, 2, 3]).numpy()
    places = [X[0, i : i + 3, j : j + 2] for i in range(6) for j in range(5)]
    assert any((part == p).all() for p in places)
    for f, same in ((tf.image.random_flip_left_right, 2), (tf.image.random_flip_up_down, 1)):
        found = f(X).numpy()
        for a, b in zip(found, X, strict=True):
            assert (a == b).all() or (a == np.flip(b, same - 1)).all()


# Of tf.image.resize(tf.reshape(tf.range(6.0), [2, 3, 1]), [3, 2], method)[:, :, 0].
RESIZED = {
    "nearest": [[0.0, 2.0], [3.0, 5.0], [3.0, 5.0]],
    "bilinear": [[0.25, 1.75], [1.75, 3.25], [3.25, 4.75]],
    "area": [[0.3333333, 1.6666666], [1.8333333, 3.1666665], [3.3333335, 4.6666665]],
}


@pytest.mark.parametrize("method", RESIZED)
def test_resize(method: str) -> None:
    expected = np.array(RESIZED[method], np.float32)[..., None]
    np.testing.assert_allclose(tf.image.resize(ONE, [3, 2], method), expected, rtol=1e-5)
    spec = tf.TensorSpec([2, 3, 1] if method == "area" else [None, None, 1])
    f = tf.function(lambda x: tf.image.resize(x, [3, 2], method), input_signature=[spec])
    np.testing.assert_allclose(f(ONE), expected, rtol=1e-5)


@pytest.mark.parametrize("method", [m.value for m in tf.image.ResizeMethod])
@pytest.mark.parametrize("antialias", [False, True], ids=["plain", "antialias"])
def test_one_colour_stays(method: str, antialias: bool) -> None:
    flat = np.full((1, 7, 5, 2), 0.25, np.float32)
    for size in ([3, 9], [14, 2]):
        found = tf.image.resize(flat, size, method, antialias=antialias)
        np.testing.assert_allclose(found, np.full((1, *size, 2), 0.25), rtol=1e-5)


@pytest.mark.parametrize("method", [m.value for m in tf.image.ResizeMethod])
@pytest.mark.parametrize("antialias", [False, True], ids=["plain", "antialias"])
def test_sizes_without_pixels_are_refused(method: str, antialias: bool) -> None:
    empty = np.zeros([2, 0, 3, 1], np.float32)
    for x, size, message in [(empty, [2, 2], "non-zero size"), (X, [0, 2], "must be positive")]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.image.resize(x, size, method, antialias=antialias)
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-zero size"):
        tf.image.resize(empty, [2, 2], method, preserve_aspect_ratio=True)
    assert tf.image.resize(empty, [0, 3], method).shape == (2, 0, 3, 1)  # the size stays
    assert tf.image.resize(empty[:0], [0, 3], method, antialias=antialias).shape == (0, 0, 3, 1)
    nothing = np.zeros([0, 2, 3, 1], np.float32)
    assert tf.image.resize(nothing, [4, 4], method, antialias=antialias).shape == (0, 4, 4, 1)
    with pytest.raises(TypeError, match="Images of numbers"):
        tf.image.resize(np.full([2, 2, 1], b"a"), [3, 3], "area")


def test_ratio_is_kept() -> None:
    assert tf.image.resize(X, [4, 100], preserve_aspect_ratio=True).shape == (2, 4, 3, 3)


def test_patches() -> None:
    found = tf.image.extract_patches(X, [1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 1, 1], "VALID")
    expected = [
        [X[:, i : i + 3, j : j + 2].reshape(2, -1) for j in range(5)] for i in range(0, 6, 2)
    ]
    np.testing.assert_array_equal(found, np.transpose(expected, (2, 0, 1, 3)))


def test_how_alike() -> None:
    noisy = (X * 0.9).astype(np.float32)
    error = ((X - noisy) ** 2).mean((1, 2, 3))
    np.testing.assert_allclose(tf.image.psnr(X, noisy, 1.0), 10 * np.log10(1 / error), rtol=1e-5)
    big = tf.image.resize(X, [16, 16])
    np.testing.assert_allclose(tf.image.ssim(big, big, 1.0), [1.0, 1.0], rtol=1e-5)
    assert (tf.image.ssim(big, 1.0 - big, 1.0).numpy() < 0.5).all()
    assert tf.image.ssim(big, big, 1.0, return_index_map=True).shape == (2, 6, 6)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: tf.image.flip_left_right([1.0]), "either 3 or 4"),
        (lambda: tf.image.resize(X, [2, 2], "best"), "expected one of 'bilinear'"),
        (lambda: tf.image.resize(X, [2]), "two integers"),
        (lambda: tf.image.central_crop(X, 0.0), "within"),
        (lambda: tf.image.crop_to_bounding_box(X, 0, 0, 99, 1), "target"),
        (lambda: tf.image.adjust_hue(X, 2.0), r"\[-1, 1\]"),
        (lambda: tf.image.adjust_gamma(X, -1.0), "non-negative"),
        (lambda: tf.image.ssim(X, X, 1.0), "at least 11"),
        (lambda: tf.image.grayscale_to_rgb(X), "one channel"),
    ],
    ids=["rank", "method", "size", "fraction", "box", "hue", "gamma", "small", "channels"],
)
def test_refused(f: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        f()


@pytest.mark.parametrize("name", ["brightness", "contrast", "saturation", "hue"])
def test_random_colours(name: str) -> None:
    limits = (0.2,) if name in ("brightness", "hue") else (0.5, 1.5)
    tf.random.set_seed(1)
    draw = getattr(tf.image, f"random_{name}")
    first, second = draw(X, *limits).numpy(), draw(X, *limits).numpy()
    assert not np.allclose(first, second)
    stateless = getattr(tf.image, f"stateless_random_{name}")
    found = stateless(X, *limits, seed=(1, 2))
    np.testing.assert_array_equal(found, stateless(X, *limits, seed=(1, 2)))
    assert not np.allclose(found, stateless(X, *limits, seed=(1, 3)))
    with pytest.raises(ValueError, match="got"):
        draw(X, *[-x for x in limits])


def _late(function, *given):
    """The result for an image of which a function knows the rank alone, and tensors of numbers."""
    signature = [tf.TensorSpec([None] * 4), *[tf.TensorSpec([], tf.int32)] * len(given)]
    return tf.function(function, input_signature=signature)(X, *given)


@pytest.mark.parametrize("size", [(4, 3), (16, 12), (5, 9), (8, 6)])
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
def test_sizes_that_only_a_run_tells(size, method):
    found = _late(lambda x, h, w: tf.image.resize(x, [h, w], method), *size)
    # Cubic ones of known sizes are rows and columns times weights.
    tolerance = 1e-5 if method == "bicubic" else 0
    np.testing.assert_allclose(found, tf.image.resize(X, size, method), atol=tolerance, rtol=0)


@pytest.mark.parametrize("sides", [(5, 7), (1, 4), (2, 9), (3, 3), (9, 18), (40, 13)])
def test_cubic_interpolation_is_that_of_matrices_of_weights(sides):
    from tfx.ops.image.interpolation import cubic
    from tfx.ops.image.resampling import weights

    height, width = sides
    image = np.random.default_rng(0).normal(size=(2, *sides, 3)).astype(np.float32)
    rows, columns = weights("bicubic", height, 8, False), weights("bicubic", width, 11, False)
    expected = np.einsum("yh,nhwc,xw->nyxc", rows, image, columns)
    found = cubic(tf.constant(image), list(sides), [8, 11])
    np.testing.assert_allclose(found, expected, atol=2e-6)


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
def test_several_functions_resize_alike(method):
    """What is known of sizes is remembered, and belongs to no graph."""
    first, second = (tf.function(lambda x: tf.image.resize(x, [11, 17], method)) for _ in range(2))
    np.testing.assert_array_equal(first(X), second(X))
    np.testing.assert_allclose(first(X), tf.image.resize(X, [11, 17], method), atol=1e-6)


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
def test_what_is_not_finite_stays_where_it_is(method):
    image = np.zeros((1, 20, 20, 1), np.float32)
    image[0, 10, 10, 0] = np.inf
    found = tf.image.resize(image, [30, 30], method).numpy()[0, ..., 0]
    rows, columns = np.nonzero(~np.isfinite(found))
    assert rows.size
    assert 11 <= min(rows.min(), columns.min()) <= max(rows.max(), columns.max()) <= 19


@pytest.mark.parametrize("part", [0.1, 0.3, 0.5, 0.77, 1.0])
def test_middles_of_images_of_unknown_size(part):
    rows, columns = (int((n - n * part) / 2) for n in (8, 6))
    expected = X[:, rows : 8 - rows, columns : 6 - columns]
    np.testing.assert_array_equal(_late(lambda x: tf.image.central_crop(x, part)), expected)


def test_rectangles_of_images_of_unknown_size():
    cut = tf.image.crop_to_bounding_box
    np.testing.assert_array_equal(_late(lambda x: cut(x, 1, 2, 5, 3)), X[:, 1:6, 2:5])
    np.testing.assert_array_equal(_late(cut, 3, 0, 5, 6), X[:, 3:])
    for wrong in [(4, 0, 5, 6), (-1, 0, 2, 2), (0, 0, 2, 7), (0, 0, -1, 2)]:
        with pytest.raises(tf.errors.InvalidArgumentError, match="inside of the tensor"):
            _late(cut, *wrong)
    with pytest.raises(tf.errors.InvalidArgumentError, match="inside of the tensor"):
        _late(lambda x: cut(x, 4, 0, 5, 6))


def test_borders_around_images_of_unknown_size():
    around = tf.image.pad_to_bounding_box
    expected = np.pad(X, ((0, 0), (2, 1), (0, 3), (0, 0)))
    np.testing.assert_array_equal(_late(lambda x: around(x, 2, 0, 11, 9)), expected)
    np.testing.assert_array_equal(_late(around, 2, 0, 11, 9), expected)
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
        _late(around, 2, 0, 9, 9)


@pytest.mark.parametrize("size", [(8, 6), (3, 2), (12, 11), (3, 9), (13, 5)])
def test_cropped_or_padded_images_of_unknown_size(size):
    expected = tf.image.resize_with_crop_or_pad(X, *size)
    np.testing.assert_array_equal(_late(tf.image.resize_with_crop_or_pad, *size), expected)
    found = _late(lambda x: tf.image.resize_with_crop_or_pad(x, *size))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", list(tf.image.ResizeMethod.__members__.values()))
def test_the_same_size(method: str) -> None:
    """Numbers are floats unless they are only picked; kernels that blur do so."""
    image = tf.constant([[[0], [200]], [[100], [40]]], tf.uint8)
    found = tf.image.resize(image, [2, 2], method)
    assert found.dtype == (tf.uint8 if method == "nearest" else tf.float32)
    blurs = str(method) in ("gaussian", "mitchellcubic")
    assert np.allclose(found, image.numpy(), atol=1e-3) != blurs


def test_a_size_of_unknown_length() -> None:
    specs = [tf.TensorSpec([None] * 3, tf.float32), tf.TensorSpec([None], tf.int32)]
    resize = tf.function(tf.image.resize, input_signature=specs)
    assert resize(np.zeros((2, 3, 1), np.float32), [4, 5]).shape == (4, 5, 1)


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize(
    "method", ["bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"]
)
def test_sizes_of_images_that_only_a_run_tells(method: str, antialias: bool) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None] * 4), tf.TensorSpec([2], tf.int32)])
    def resized(x: tf.Tensor, size: tf.Tensor) -> tuple[tf.Tensor, ...]:
        known = tf.image.resize(x, [5, 9], method, antialias=antialias)
        within = tf.image.resize(x, size, method, True, antialias)
        return known, tf.image.resize(x, size, method, antialias=antialias), within

    known, late, within = resized(X, [4, 9])
    assert known.shape == [2, 5, 9, 3]
    # The same numbers as for known sizes, which formulas above stand for.
    assert known.numpy() == pytest.approx(
        tf.image.resize(X, [5, 9], method, antialias=antialias).numpy(), abs=1e-5
    )
    assert late.numpy() == pytest.approx(
        tf.image.resize(X, [4, 9], method, antialias=antialias).numpy(), abs=1e-5
    )
    # 8 rows become 4, so 6 columns become 3.
    assert within.shape == [2, 4, 3, 3]
    assert tf.image.resize(X, [4, 9], method, True).shape == [2, 4, 3, 3]
    # Weights add up to 1: a plain image stays as it is.
    plain = resized(np.ones([1, 7, 5, 1], np.float32), [3, 3])
    assert all(y.numpy() == pytest.approx(1.0, abs=1e-5) for y in plain)


def test_patches_of_images_of_unknown_size() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None] * 4)])
    def patches(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        valid = tf.image.extract_patches(x, [1, 2, 3, 1], [1, 3, 1, 1], [1, 2, 1, 1], "VALID")
        return valid, tf.image.extract_patches(x, [1, 2, 2, 1], [1, 2, 2, 1], [1] * 4, "SAME")

    valid, same = patches(X)
    expected = [
        [X[:, y : y + 3 : 2, x : x + 3].reshape(2, -1) for x in range(4)] for y in range(0, 6, 3)
    ]
    assert np.array_equal(valid, np.moveaxis(np.array(expected), 2, 0))
    blocks = X.reshape(2, 4, 2, 3, 2, 3).swapaxes(2, 3).reshape(2, 4, 3, 12)
    assert np.array_equal(same, blocks)
