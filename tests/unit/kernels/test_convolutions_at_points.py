"""Convolutions of filters that never change, by Winograd's algorithm: as float64 has them."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library
from tests.unit.kernels.test_windows import float64_convolution, operators
from tfx.graph.passes.kernel_operators.points import Sizes

pytestmark = needs_library
AT_POINTS = "ChannelsLastConvAtPoints"
SIDE, CHANNELS = 32, 64


def exact(x, w, padding="SAME"):
    less = 0 if padding == "SAME" else w.shape[0] - 1
    shape = (x.shape[0], x.shape[1] - less, x.shape[2] - less, w.shape[-1])
    return float64_convolution(x, w, np.zeros(shape), padding)[0]


def frozen(function, *args):
    """A function whose variables do not change any more, with its last result."""
    for _ in range(12):
        found = function(*args)
    return found


def image(rng, batch=2, channels=CHANNELS, side=SIDE):
    return rng.normal(size=(batch, side, side, channels)).astype(np.float32)


def weights(rng, channels=CHANNELS, filters=CHANNELS, taps=3):
    return rng.normal(size=(taps, taps, channels, filters)).astype(np.float32) / 20


@pytest.mark.parametrize("batch", [0, 1, 3])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("filters", [64, 72])
def test_a_layer_with_its_normalization_is_one_operator(batch, known, filters, rng):
    x, w = image(rng, batch, side=30), weights(rng, filters=filters)
    scale, offset, mean, variance = (
        tf.Variable(rng.uniform(0.5, 2, size=filters).astype(np.float32)) for _ in range(4)
    )
    variable = tf.Variable(w)

    @tf.function(input_signature=[tf.TensorSpec([batch if known else None, *x.shape[1:]])])
    def layer(x):
        y = tf.nn.conv2d(x, variable, 1, "SAME")
        return tf.nn.relu(tf.nn.batch_normalization(y, mean, variance, offset, scale, 1e-3))

    found = frozen(layer, x)
    factor = scale.numpy().astype(float) / np.sqrt(variance.numpy().astype(float) + 1e-3)
    expected = (exact(x, w) - mean.numpy()) * factor + offset.numpy()
    np.testing.assert_allclose(found, np.maximum(expected, 0), rtol=1e-4, atol=2e-5)
    if batch:
        used = operators(layer, x)
        assert AT_POINTS in used
        assert not used & {"Conv", "ChannelsLastConv", "Mul", "Add", "Relu", "Fused"}


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("side", [31, 32])
def test_results_are_off_by_two_millionths(padding, side, rng):
    x, w = np.maximum(image(rng, 2, side=side), 0), weights(rng)
    fixed = tf.constant(w)
    layer = tf.function(lambda x: tf.nn.conv2d(x, fixed, 1, padding))
    found, expected = layer(x).numpy(), exact(x, w, padding)
    assert AT_POINTS in operators(layer, x)
    assert np.sqrt(np.mean((found - expected) ** 2) / np.mean(expected**2)) < 2e-6


def test_an_image_that_is_added_and_layers_behind_each_other(rng):
    """A block of a residual network: nothing is brought into another order in between."""
    x = image(rng)
    filters, bias = [weights(rng) for _ in range(2)], rng.normal(size=CHANNELS).astype(np.float32)
    first, second = map(tf.constant, filters)

    @tf.function
    def block(x):
        x = tf.nn.relu(x)
        y = tf.nn.relu(tf.nn.conv2d(x, first, 1, "SAME") * 0.5 - bias)
        return tf.nn.relu(x + tf.nn.conv2d(y, second, 1, "SAME"))

    positive = np.maximum(x, 0)
    middle = np.maximum(exact(positive, filters[0]) * 0.5 - bias, 0).astype(np.float32)
    expected = np.maximum(positive + exact(middle, filters[1]), 0)
    np.testing.assert_allclose(block(x), expected, rtol=1e-4, atol=2e-5)
    used = operators(block, x)
    assert AT_POINTS in used and not used & {"Conv", "Transpose", "Add", "Sub"}


def test_what_is_used_before_the_end_stays(rng):
    x, w = image(rng), weights(rng)
    fixed = tf.constant(w)

    @tf.function
    def layer(x):
        y = tf.nn.conv2d(x, fixed, 1, "SAME")
        z = y + 1.0
        return y, z, tf.nn.relu(z)

    y = exact(x, w)
    for found, expected in zip(layer(x), (y, y + 1, np.maximum(y + 1, 0)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("added", [False, True])
def test_what_is_not_finite_stays_where_it_belongs(added, rng):
    x, w = image(rng, 1), weights(rng)
    fixed = tf.constant(w)
    layer = tf.function(
        lambda x: tf.nn.relu(tf.nn.conv2d(x, fixed, 1, "SAME") + (x if added else 0.0))
    )
    expected = np.asarray(exact(x, w) + (x if added else 0.0))
    x[0, 10, 11, 3], x[0, 20, 5, 0] = np.inf, np.nan
    found = layer(x).numpy()
    beside = np.ones((SIDE, SIDE), bool)
    beside[9:12, 10:13] = beside[19:22, 4:7] = False
    np.testing.assert_allclose(
        found[0, beside], np.maximum(expected, 0)[0, beside], rtol=1e-4, atol=2e-5
    )
    assert np.isnan(found[0, 19:22, 4:7]).all()
    np.testing.assert_array_equal(found[0, 11, 12], np.where(w[0, 0, 3] > 0, np.inf, 0))


def test_a_filter_that_is_not_finite_at_a_point_is_not_brought_there(rng):
    x, w = image(rng, 1), weights(rng)
    w[0, 0, 0, 0] = np.inf
    fixed = tf.constant(w)
    layer = tf.function(lambda x: tf.nn.conv2d(x, fixed, 1, "SAME"))
    found = layer(np.abs(x)).numpy()
    assert AT_POINTS not in operators(layer, x)
    assert np.isinf(found[0, 5, 5, 0]) and np.isfinite(found[..., 1:]).all()


def test_variables_that_change_are_noticed(rng):
    x, w = image(rng, 1), weights(rng)
    variable = tf.Variable(w)
    layer = tf.function(lambda x: tf.nn.conv2d(x, variable, 1, "SAME"))
    np.testing.assert_allclose(frozen(layer, x), exact(x, w), rtol=1e-4, atol=2e-5)
    variable.assign(-w)
    np.testing.assert_allclose(layer(x), exact(x, -w), rtol=1e-4, atol=2e-5)


def test_wide_windows_are_brought_there_too(rng):
    x, w = image(rng, 2, 32, 16), weights(rng, 32, 64, 5)
    fixed = tf.constant(w)
    layer = tf.function(lambda x: tf.nn.relu(tf.nn.conv2d(x, fixed, 1, "SAME")))
    np.testing.assert_allclose(layer(x), np.maximum(exact(x, w), 0), rtol=1e-4, atol=2e-5)
    assert AT_POINTS in operators(layer, x)


def test_where_it_pays():
    def saves(side, channels, filters, taps=3, stride=1):
        sizes = Sizes((taps, taps), (stride, stride), (1, 1), channels, filters, (side, side))
        return sizes.saved_at_points() > 0

    assert saves(56, 64, 64) and saves(28, 128, 128) and saves(16, 32, 64, 5)
    assert not saves(56, 64, 64, stride=2) and not saves(56, 64, 64, 1)
    # What takes more memory than it is worth, no whole vectors, and few tiles.
    assert not saves(14, 256, 256) and not saves(56, 60, 64) and not saves(4, 64, 64)


def test_saved_models_have_none_of_it(tmp_path, rng):
    x, module = image(rng, 1), tf.Module()
    module.w = tf.Variable(weights(rng))
    module.serve = tf.function(
        lambda x: tf.nn.conv2d(x, module.w, 1, "SAME"),
        input_signature=[tf.TensorSpec([None, *x.shape[1:]])],
    )
    expected = frozen(module.serve, x)
    tf.saved_model.save(module, str(tmp_path))
    files = list(tmp_path.rglob("*.onnx"))
    assert files and not any(b"ChannelsLast" in file.read_bytes() for file in files)
    loaded = tf.saved_model.load(str(tmp_path))
    np.testing.assert_allclose(loaded.serve(x), expected, rtol=1e-4, atol=1e-5)
    assert AT_POINTS in operators(loaded.serve, x)
