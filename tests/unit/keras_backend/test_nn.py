"""The functions of ``nn`` where Keras' own tests do not look: unknown sizes, slopes, extremes."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tests.unit.kernels.fused_graphs import needs_library

keras = tf.keras
nn = keras.src.backend.nn

X = np.random.default_rng(0).standard_normal((2, 6, 7, 4)).astype("float32")
K = np.random.default_rng(1).standard_normal((3, 3, 4, 4)).astype("float32")


def of(kernel, x):
    return tf.cast(kernel, x.dtype)


CASES = {
    "attention": lambda x: nn.dot_product_attention(x, x[:, :, :1], x[:, :, 1:2], is_causal=True),
    "average of uneven windows": lambda x: nn.adaptive_average_pool(x, 4),
    "celu": lambda x: nn.celu(x, 0.5),
    "elu": lambda x: nn.elu(x, 2.0),
    "convolution": lambda x: nn.conv(x, of(K, x), 2, "same", dilation_rate=2),
    "depthwise convolution": lambda x: nn.depthwise_conv(x, of(K, x), 1, "valid"),
    "fold": lambda x: nn.fold(nn.unfold(x, 2, padding=1), (7, 4), 2, padding=1),
    "greedy text": lambda x: nn.ctc_decode(x[:, :, 0], [6, 4])[0],
    "hard sigmoid": nn.hard_sigmoid,
    "hard shrink": nn.hard_shrink,
    "maximum of uneven windows": lambda x: nn.adaptive_max_pool(x, 4),
    "rearranged": lambda x: nn.space_to_depth(nn.depth_to_space(x, 2), 2),
    "soft shrink": nn.soft_shrink,
    "sparse plus": nn.sparse_plus,
    "sparsemax": lambda x: nn.sparsemax(x, 1),
    "softmax of all": lambda x: nn.softmax(x, None),
    "text of a search": lambda x: nn.ctc_decode(x[:, :, 0], [6, 4], "beam_search", 5, 2)[1],
    "transposed convolution": lambda x: nn.conv_transpose(x, of(K, x), 2, "same"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_graph_of_unknown_sizes_does_the_same(name):
    function = CASES[name]
    unknown = [None, 6, 7, 4] if name == "fold" else [None, None, None, 4]
    traced = tf.function(function, input_signature=[tf.TensorSpec(unknown, tf.float32)])
    np.testing.assert_allclose(traced(X), function(tf.constant(X)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", [n for n in CASES if "text" not in n])
def test_slopes_are_finite(name, dtype):
    x = tf.cast(tf.constant(X * 30), dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = CASES[name](x)
    slopes = tape.gradient(y, x)
    assert y.dtype == slopes.dtype == dtype
    assert slopes.shape == x.shape
    assert np.isfinite(np.array(slopes, "float32")).all()


def test_losses_look_behind_the_probabilities_they_are_given():
    scores = tf.constant([[90.0, 0.0, -90.0]])
    wrong, chances = tf.constant([[0.0, 0.0, 1.0]]), nn.softmax(scores)
    assert float(nn.categorical_crossentropy(wrong, chances)[0]) == 180.0
    assert float(nn.sparse_categorical_crossentropy([2], chances)[0]) == 180.0
    binary = nn.binary_crossentropy(wrong, nn.sigmoid(scores))
    np.testing.assert_allclose(binary, [[90.0, np.log(2), 90.0]])
    # Of a softmax along another axis, or of a sigmoid, the scores are not these.
    assert float(nn.categorical_crossentropy(wrong, nn.softmax(scores, 0))[0]) < 2
    assert float(nn.categorical_crossentropy(wrong, nn.sigmoid(scores))[0]) < 17
    with pytest.warns(UserWarning, match="result of a softmax"):
        nn.categorical_crossentropy(wrong, chances, from_logits=True)


def test_sparsemax_adds_up_to_one():
    np.testing.assert_allclose(tf.reduce_sum(nn.sparsemax(X, 2), 2), np.ones((2, 6, 4)), rtol=1e-5)


@pytest.mark.parametrize("flash", [False, True])
def test_a_query_that_may_look_at_nothing_sees_the_mean(flash):
    mask = np.zeros((1, 1, 6, 6), "bool")
    x = tf.constant(X)
    means = nn.dot_product_attention(x, x, x, mask=mask, flash_attention=flash)
    expected = np.broadcast_to(X.mean(1, keepdims=True), X.shape)
    np.testing.assert_allclose(means, expected, atol=1e-6)


@needs_library
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_layer_of_attention_trains_in_one_kernel_each_way(dropout):
    """Its masks and scales are what the plan looks for; dropout stands between, so all stays."""
    layer = keras.layers.MultiHeadAttention(2, 8, dropout=dropout)
    x = np.random.default_rng(2).standard_normal((4, 48, 16)).astype("float32")
    layer(x, x)

    def step(x):
        with tf.GradientTape() as tape:
            y = layer(x, x, use_causal_mask=True, training=True)
            loss = tf.reduce_sum(y * y)
        return y, *tape.gradient(loss, [v.value for v in layer.trainable_variables])

    ours, theirs = (tf.function(step, jit_compile=jit) for jit in (None, False))
    with tf.profile() as p:
        found = ours(x)
    ops = {node.op for node in p.nodes}
    assert ({"FlashAttention", "FlashAttentionGradient"} <= ops) is not bool(dropout)
    if not dropout:
        for a, b in zip(found, theirs(x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5 * np.abs(b).max() + 1e-5)
