"""``tf.compat.v1.layers`` against NumPy, and the variables that layers make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1
layers = v1.layers
rng = np.random.default_rng(0)
X = rng.random((3, 4), np.float32)
IMAGES = rng.random((2, 6, 7, 3), np.float32)


def _built(build: Callable[[], Any], *, train: bool = False) -> tuple[Any, dict[str, Any], Any]:
    """What a graph gives, its variables by name, and the same after its updates ran."""
    with v1.Graph().as_default(), v1.Session() as session:
        outputs = build()
        session.run(v1.global_variables_initializer())
        for i, variable in enumerate(v1.global_variables()):
            drawn = np.random.default_rng(i).random(variable.shape.as_list(), np.float32)
            variable.load(drawn + 0.1, session)
        before = {v.name: session.run(v) for v in v1.global_variables()}
        found = session.run(outputs)
        session.run(v1.get_collection(v1.GraphKeys.UPDATE_OPS))
        after = {v.name: session.run(v) for v in v1.global_variables()}
        return found, before, after


def test_dense() -> None:
    found, values, _ = _built(lambda: layers.dense(tf.constant(X), 5, v1.nn.relu, name="d"))
    assert list(values) == ["d/kernel:0", "d/bias:0"]
    expected = np.maximum(X @ values["d/kernel:0"] + values["d/bias:0"], 0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_names_are_made_unique_and_shared_when_asked_for() -> None:
    def build() -> Any:
        with v1.variable_scope("net"):
            first = layers.dense(layers.dense(tf.constant(X), 4), 4)
        with v1.variable_scope("net", reuse=True):
            second = layers.dense(layers.dense(tf.constant(X), 4), 4)
        return first, second

    (first, second), values, _ = _built(build)
    assert list(values) == [
        "net/dense/kernel:0",
        "net/dense/bias:0",
        "net/dense_1/kernel:0",
        "net/dense_1/bias:0",
    ]
    np.testing.assert_array_equal(first, second)
    with v1.Graph().as_default():
        layers.dense(tf.constant(X), 2, name="same")
        with pytest.raises(ValueError, match="same/kernel already exists"):
            layers.dense(tf.constant(X), 2, name="same")


def test_regularizers_and_constraints_reach_the_variables() -> None:
    with v1.Graph().as_default():
        layer = layers.Dense(
            2,
            kernel_regularizer=lambda w: v1.reduce_sum(w * w),
            activity_regularizer=v1.reduce_sum,
            kernel_constraint=v1.nn.relu,
        )
        layer(tf.constant(X))
        assert len(layer.losses) == 2
        assert v1.losses.get_regularization_losses() == layer.losses
        assert layer.kernel.constraint is v1.nn.relu
        assert layer.trainable_weights == [layer.kernel, layer.bias]
        assert layer.scope_name == "dense"


@pytest.mark.parametrize("padding", ["valid", "same"])
def test_convolutions_are_those_of_nn(padding: str) -> None:
    found, values, _ = _built(
        lambda: layers.conv2d(tf.constant(IMAGES), 4, (2, 3), 2, padding, use_bias=False)
    )
    kernel = values["conv2d/kernel:0"]
    expected = tf.nn.conv2d(IMAGES, kernel, 2, padding.upper())
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("padding", ["valid", "same"])
def test_transposed_convolutions_undo_the_sizes(padding: str) -> None:
    def build() -> Any:
        x = v1.placeholder_with_default(IMAGES, [None, None, 7, 3])
        return layers.conv2d_transpose(x, 2, 3, 2, padding)

    found, values, _ = _built(build)
    kernel, bias = values["conv2d_transpose/kernel:0"], values["conv2d_transpose/bias:0"]
    assert kernel.shape == (3, 3, 2, 3)
    sizes = [2, 13, 15, 2] if padding == "valid" else [2, 12, 14, 2]
    expected = tf.nn.conv2d_transpose(IMAGES, kernel, sizes, 2, padding.upper()) + bias
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_separable_convolutions() -> None:
    found, values, _ = _built(
        lambda: layers.separable_conv2d(tf.constant(IMAGES), 4, 2, depth_multiplier=2)
    )
    depthwise, pointwise, bias = values.values()
    assert depthwise.shape == (2, 2, 3, 2) and pointwise.shape == (1, 1, 6, 4)
    expected = tf.nn.separable_conv2d(IMAGES, depthwise, pointwise, [1, 1, 1, 1], "VALID") + bias
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_pools_with_either_format() -> None:
    last = layers.average_pooling2d(tf.constant(IMAGES), 2, 2, "same")
    np.testing.assert_allclose(last, tf.nn.avg_pool2d(IMAGES, 2, 2, "SAME"))
    first = layers.average_pooling2d(
        tf.constant(IMAGES.transpose(0, 3, 1, 2)), 2, 2, "same", "channels_first"
    )
    np.testing.assert_allclose(first.numpy().transpose(0, 2, 3, 1), last)


@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_batch_normalization(training: bool, as_tensor: bool) -> None:
    def build() -> Any:
        flag = v1.placeholder_with_default(training, []) if as_tensor else training
        return layers.batch_normalization(
            tf.constant(IMAGES), momentum=0.75, epsilon=0.01, training=flag
        )

    found, before, after = _built(build)
    name = "batch_normalization/{}:0".format
    mean, variance = before[name("moving_mean")], before[name("moving_variance")]
    if training:
        elements = IMAGES.reshape(-1, 3)
        mean, variance = elements.mean(0), elements.var(0)
        sample = elements.var(0, ddof=1)
        for moving, new in (("moving_mean", mean), ("moving_variance", sample)):
            expected = 0.75 * before[name(moving)] + 0.25 * new
            np.testing.assert_allclose(after[name(moving)], expected, rtol=1e-5)
    else:
        for moving in ("moving_mean", "moving_variance"):
            np.testing.assert_array_equal(after[name(moving)], before[name(moving)])
    scaled = (IMAGES - mean) / np.sqrt(variance + 0.01)
    expected = scaled * before[name("gamma")] + before[name("beta")]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_dropout_only_while_training() -> None:
    ones = tf.ones([100, 100])
    np.testing.assert_array_equal(layers.dropout(ones), ones)
    dropped = layers.dropout(ones, 0.25, training=True).numpy()
    assert abs((dropped == 0).mean() - 0.25) < 0.03
    np.testing.assert_allclose(dropped[dropped > 0], 4 / 3, rtol=1e-6)


def test_flatten_keeps_what_is_known() -> None:
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 2, 3])
        assert layers.flatten(x).shape.as_list() == [None, 6]
        assert layers.flatten(v1.placeholder(tf.float32, [4, None, 3])).shape.as_list() == [4, None]


def test_refusals() -> None:
    with v1.Graph().as_default():
        with pytest.raises(ValueError, match="expected ndim=4, found ndim=2"):
            layers.conv2d(tf.constant(X), 2, 2)
        with pytest.raises(ValueError, match="'valid', 'same'"):
            layers.conv2d(tf.constant(IMAGES), 2, 2, padding="half")
        with pytest.raises(ValueError, match="last dimension"):
            layers.dense(v1.placeholder(tf.float32, [2, None]), 2)
        with pytest.raises(tf.errors.UnimplementedError, match="renorm"):
            layers.batch_normalization(tf.constant(X), renorm=True)
        with pytest.raises(TypeError, match="arguments twice"):
            layers.dense(tf.constant(X), 2, None, activation=None)


def test_a_layer_inside_of_a_loop_makes_its_variables_outside() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        layer = layers.Dense(4, use_bias=False, kernel_initializer=v1.initializers.identity())

        def body(i: Any, x: Any) -> Any:
            return i + 1, layer(x) * 2.0

        _, found = v1.while_loop(lambda i, _: i < 3, body, (0, tf.constant(X)))
        assert [v.name for v in v1.global_variables()] == ["dense/kernel:0"]
        (slope,) = v1.gradients(v1.reduce_sum(found), v1.trainable_variables())
        session.run(v1.global_variables_initializer())
        values = session.run([found, slope])
    np.testing.assert_allclose(values[0], X * 8)
    np.testing.assert_allclose(values[1], np.repeat(24 * X.sum(0)[:, None], 4, 1), rtol=1e-5)
