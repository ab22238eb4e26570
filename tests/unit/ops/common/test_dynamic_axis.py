"""Axes, orders and sizes that are tensors: known at once, known in a trace, known to a run alone.

The expected values are NumPy's, the static shapes those that TensorFlow 2.21 gives.
"""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7.0
_FLIPPED = X[..., ::-1]

_WINDOWS = np.lib.stride_tricks.sliding_window_view(X, 3, axis=2)
_LINE = np.linspace(X, -X, 3, axis=-1)

# name: the operation of a tensor and the number of its last axis, what it gives for X.
CASES = {
    "gather": (lambda x, a: tf.gather(x, [2, 0], axis=a), X[..., [2, 0]]),
    "gather rows": (lambda x, a: tf.gather(x, [[1], [0]], axis=a - 2), X[[[1], [0]]]),
    "reverse": (lambda x, a: tf.reverse(x, [a]), _FLIPPED),
    "reverse two": (lambda x, a: tf.reverse(x, tf.stack([a, 0])), _FLIPPED[::-1]),
    "roll": (lambda x, a: tf.roll(x, 1, a), np.roll(X, 1, 2)),
    "roll two": (lambda x, a: tf.roll(x, [1, -1], [a, 1]), np.roll(X, (1, -1), (2, 1))),
    "concat": (lambda x, a: tf.concat([x, x[..., :1]], a), np.concatenate([X, X[..., :1]], 2)),
    "split": (lambda x, a: tf.split(x, 2, a)[1], X[..., 2:]),
    "split by sizes": (lambda x, a: tf.split(x, [1, -1], a)[1], X[..., 1:]),
    "expand_dims": (lambda x, a: tf.expand_dims(x, a), X[:, :, None]),
    "transpose": (lambda x, a: tf.transpose(x, [a, 0, 1]), X.transpose(2, 0, 1)),
    "transpose by range": (lambda x, a: tf.transpose(x, tf.range(a, -1, -1)), X.T),
    "argmax": (lambda x, a: tf.argmax(x, a), X.argmax(2)),
    "argmin": (lambda x, a: tf.argmin(x, a), X.argmin(2)),
    "cumsum": (lambda x, a: tf.cumsum(x, a), X.cumsum(2)),
    "cumulative_logsumexp": (
        lambda x, a: tf.math.cumulative_logsumexp(x, a),
        np.logaddexp.accumulate(X, 2),
    ),
    "boolean_mask": (
        lambda x, a: tf.boolean_mask(x, [True, False, True, False], axis=a),
        X[..., ::2],
    ),
    "reduce_sum": (lambda x, a: tf.reduce_sum(x, a), X.sum(2)),
    "reduce_max of several": (lambda x, a: tf.reduce_max(x, [a, 0]), X.max((0, 2))),
    "reduce_euclidean_norm": (
        lambda x, a: tf.math.reduce_euclidean_norm(x, a),
        np.sqrt((X * X).sum(2)),
    ),
    "fftshift": (lambda x, a: tf.signal.fftshift(x, [a]), np.fft.fftshift(X, 2)),
    "ifftshift": (lambda x, a: tf.signal.ifftshift(x, a), np.fft.ifftshift(X, 2)),
    "repeat": (lambda x, a: tf.tile(x, [1, 1, a]), np.tile(X, (1, 1, 2))),
    "repeat elements": (lambda x, a: tf.repeat(x, [2, 0, 1, 3], a), X.repeat([2, 0, 1, 3], 2)),
    "linspace": (
        lambda x, a: tf.linspace(x, 2 * x[:, :, :1], 5, axis=a),
        np.linspace(X, np.broadcast_to(2 * X[:, :, :1], X.shape), 5, axis=2),
    ),
    "linspace from the end": (lambda x, a: tf.linspace(x, -x, 3, axis=a - 3), _LINE),
    "frame": (lambda x, a: tf.signal.frame(x, 3, 1, axis=a), _WINDOWS),
    "frame rows": (
        lambda x, a: tf.signal.frame(x, 2, 2, pad_end=True, pad_value=9, axis=a - 1),
        np.pad(X, ((0, 0), (0, 1), (0, 0)), constant_values=9).reshape(2, 2, 2, 4),
    ),
    "gather of batches": (
        lambda x, a: tf.gather(x, [[3, 0], [1, 1]], axis=a, batch_dims=1),
        np.stack([X[0][:, [3, 0]], X[1][:, [1, 1]]]),
    ),
    "gather of batches of batches": (
        lambda x, a: tf.gather(x, [[[3], [0], [1]], [[1], [2], [0]]], axis=a, batch_dims=2),
        np.take_along_axis(X, np.array([[[3], [0], [1]], [[1], [2], [0]]]), 2),
    ),
}


def _ways():
    rank = tf.TensorSpec(None, tf.float32)
    some = tf.TensorSpec([None, 3, None], tf.float32)
    axis = tf.TensorSpec([], tf.int32)
    return {
        "eager": (None, None),
        "known": ([some], None),
        "unknown rank": ([rank], None),
        "given": ([some, axis], tf.constant(2)),
        "given from the end": ([some, axis], tf.constant(-1)),
    }


@pytest.mark.parametrize("way", ["eager", "known", "unknown rank", "given"])
@pytest.mark.parametrize("name", CASES)
def test_the_last_axis_by_its_number(name, way):
    operation, expected = CASES[name]
    signature, given = _ways()[way]

    def last(x):
        return operation(x, tf.rank(x) - 1)

    x = tf.constant(X)
    if signature is None:
        found = last(x)
    elif given is None:
        found = tf.function(last, input_signature=signature)(x)
    else:
        found = tf.function(operation, input_signature=signature)(x, given)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["gather", "reverse", "roll", "concat", "split", "argmax"])
def test_axes_from_the_end(name):
    operation, expected = CASES[name]
    signature, given = _ways()["given from the end"]
    found = tf.function(operation, input_signature=signature)(tf.constant(X), given)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "name",
    [
        *["gather", "reverse", "roll", "concat", "split", "expand_dims", "transpose", "cumsum"],
        *["repeat elements", "linspace", "frame", "gather of batches"],
    ],
)
def test_gradients_are_those_of_the_same_with_a_number(name):
    operation = CASES[name][0]
    weights = tf.constant(np.cos(np.arange(CASES[name][1].size)).astype(np.float32))

    def slope(x, axis):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.reshape(operation(x, axis), [-1]) * weights)
        return tape.gradient(y, x)

    late = tf.function(slope, input_signature=_ways()["given"][0])
    x = tf.constant(X)
    np.testing.assert_allclose(late(x, tf.constant(2)), slope(x, 2), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "name",
    ["gather", "reverse", "roll", "concat", "argmax", "split", "frame", "gather of batches"],
)
@pytest.mark.parametrize("axis", [3, -4])
def test_an_axis_out_of_range_is_refused_by_the_run(name, axis):
    late = tf.function(CASES[name][0], input_signature=_ways()["given"][0])
    with pytest.raises(tf.errors.OpError):
        late(tf.constant(X), tf.constant(axis))


_ANY = [tf.TensorSpec(None), tf.TensorSpec([None], tf.int32)]


@pytest.mark.parametrize("perm", [[0, 0, 1], [0, 1], [0, 1, 3]])
def test_an_order_that_is_none_is_refused_by_the_run(perm):
    late = tf.function(tf.transpose, input_signature=_ANY)
    with pytest.raises(tf.errors.OpError):
        late(tf.constant(X), tf.constant(perm))


def test_orders_of_empty_tensors_and_scalars():
    late = tf.function(tf.transpose, input_signature=_ANY)
    assert late(tf.zeros([2, 0, 3]), tf.constant([2, 0, 1])).shape == [3, 2, 0]
    assert float(late(tf.constant(5.0), tf.zeros([0], tf.int32))) == 5.0


@pytest.mark.parametrize(
    ("operation", "shape"),
    [
        (lambda x, a, i: tf.gather(x, [0], axis=a), [None, None, None]),
        (lambda x, a, i: tf.reverse(x, [a]), [2, None, 4]),
        (lambda x, a, i: tf.roll(x, 1, a), [2, None, 4]),
        (lambda x, a, i: tf.cumsum(x, a), [2, None, 4]),
        (lambda x, a, i: tf.concat([x, x], a), [None, None, None]),
        (lambda x, a, i: tf.argmax(x, a), [None, None]),
        (lambda x, a, i: tf.transpose(x, [a, 0, 1]), [None, None, None]),
        (lambda x, a, i: tf.reduce_max(x, a, keepdims=True), [None, None, None]),
        (lambda x, a, i: tf.math.l2_normalize(x, a), [2, None, 4]),
        (lambda x, a, i: tf.clip_by_norm(x, 1.0, a), [2, None, 4]),
        (lambda x, a, i: tf.tile(x, [1, 1, a]), [2, None, None]),
        (lambda x, a, i: tf.reshape(x, [a, -1]), [None, None]),
        (lambda x, a, i: tf.math.segment_sum(x, i), [None, None, 4]),
        (lambda x, a, i: tf.math.segment_mean(x, i), [None, None, 4]),
        (lambda x, a, i: tf.math.segment_max(x, i), [None, None, 4]),
        (lambda x, a, i: tf.math.unsorted_segment_sum(x, i, a), [None, None, 4]),
        (lambda x, a, i: tf.math.unsorted_segment_max(x, i, 5), [5, None, 4]),
        (lambda x, a, i: tf.math.unsorted_segment_mean(x, i, a), [None, None, 4]),
        (lambda x, a, i: tf.math.unsorted_segment_sqrt_n(x, i, a), [None, None, 4]),
        (lambda x, a, i: tf.reduce_sum(x, tf.range(2)), [4]),
        (lambda x, a, i: tf.fill([a, 3], 1.0), [None, 3]),
        (lambda x, a, i: tf.broadcast_to(1.0, [a, 3, a]), [None, 3, None]),
        (lambda x, a, i: tf.scatter_nd([[0]], [[1.0, 2.0]], [a, 2]), [None, 2]),
        (lambda x, a, i: tf.gather(x, [[0], [1]], axis=a, batch_dims=1), [None, None, None]),
        (lambda x, a, i: tf.linspace(x, x, 3, axis=a), [None, None, None, None]),
        (lambda x, a, i: tf.signal.frame(x, 2, 1, axis=a), [None, None, None, None]),
        (lambda x, a, i: tf.pad(x, [[0, a], [0, 0], [1, 2]]), [None, None, 7]),
        (lambda x, a, i: tf.pad(x, [[a, 1], [1, 1], [0, 0]]), [None, None, 4]),
        (lambda x, a, i: tf.slice(x, [0, 0, 1], [a, 2, -1]), [None, 2, 3]),
        (lambda x, a, i: tf.slice(x, [0, a, 1], [2, 1, 2]), [2, 1, 2]),
        (lambda x, a, i: tf.split(x, [a, 3], 2)[0], [2, None, None]),
        (lambda x, a, i: tf.split(x, tf.stack([2, a]), 2)[1], [2, None, None]),
        (lambda x, a, i: tf.linalg.diag_part(x[..., None] + tf.zeros([3])), [2, None, 3]),
        (lambda x, a, i: tf.linalg.diag_part(x[..., None] + tf.zeros([6]), k=-1), [2, None, 3]),
        (lambda x, a, i: tf.histogram_fixed_width(x, [0.0, 1.0], 7), [7]),
        (lambda x, a, i: tf.image.resize(x, [7, 9]), [7, 9, 4]),
        (lambda x, a, i: tf.image.resize(x[None], [a, 9]), [1, None, 9, 4]),
        (lambda x, a, i: tf.image.resize(x[None], i), [1, None, None, 4]),
        (lambda x, a, i: tf.image.crop_to_bounding_box(x, 1, a, 1, 3), [1, 3, 4]),
        (lambda x, a, i: tf.image.crop_to_bounding_box(x, 0, 0, 1, a), [1, None, 4]),
        (lambda x, a, i: tf.image.pad_to_bounding_box(x, 1, 1, 5, 9), [5, 9, 4]),
        (lambda x, a, i: tf.image.resize_with_crop_or_pad(x, 5, 9), [5, 9, 4]),
        (
            lambda x, a, i: tf.nn.conv2d_transpose(
                x[:, :, :, None], tf.ones([3, 3, 5, 1]), [tf.shape(x)[0], a, 8, 5], 2
            ),
            [2, None, 8, 5],
        ),
        (
            lambda x, a, i: tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(x[0])),
            [3],
        ),
    ],
)
def test_static_shapes(operation, shape):
    seen = []

    @tf.function(
        input_signature=[
            tf.TensorSpec([2, None, 4]),
            tf.TensorSpec([], tf.int32),
            tf.TensorSpec([2], tf.int32),
        ]
    )
    def f(x, axis, ids):
        y = operation(x, axis, ids)
        seen.append(y.shape.as_list())
        return y

    f.get_concrete_function()
    assert seen == [shape]


@pytest.mark.parametrize("axes", [[], [1], [-1, 0], [0, 1, 2]])
def test_reverse_along_as_many_axes_as_a_run_gives(axes):
    signature = [tf.TensorSpec([2, None, 4]), tf.TensorSpec([None], tf.int32)]
    late = tf.function(tf.reverse, input_signature=signature)
    found = late(tf.constant(X), tf.constant(axes, tf.int32))
    np.testing.assert_array_equal(found, np.flip(X, axes))
    assert late.get_concrete_function().output_shapes == [2, None, 4]


def test_negative_indices_along_an_axis_of_a_run_are_refused():
    late = tf.function(lambda a, i: tf.gather(tf.constant(X), i, axis=a))
    with pytest.raises(tf.errors.InvalidArgumentError):
        late(tf.constant(2), tf.constant([-1]))


def test_batches_that_differ_are_refused_by_the_run():
    signature = [tf.TensorSpec(None), tf.TensorSpec(None, tf.int32)]
    late = tf.function(lambda x, i: tf.gather(x, i, batch_dims=1), input_signature=signature)
    np.testing.assert_array_equal(
        late(tf.constant(X), tf.constant([[0], [2]])), np.stack([X[0][[0]], X[1][[2]]])
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="equal"):
        late(tf.constant(X), tf.constant([[0], [2], [1]]))


@pytest.mark.parametrize("size", [0, 1, 3, 4, 9])
@pytest.mark.parametrize("pad_end", [False, True])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_frames_of_signals_of_any_length(size, pad_end, step):
    signal = np.arange(2 * size, dtype=np.float32).reshape(2, size)
    frames = -(-size // step) if pad_end else max(0, 1 + (size - 3) // step)
    padded = np.pad(signal, ((0, 0), (0, frames * step + 3)))
    expected = np.zeros((2, frames, 3), np.float32)
    for i in range(frames):
        expected[:, i] = padded[:, i * step : i * step + 3]
    late = tf.function(
        lambda x: tf.signal.frame(x, 3, step, pad_end), input_signature=[tf.TensorSpec([2, None])]
    )
    np.testing.assert_array_equal(late(tf.constant(signal)), expected)
    assert late.get_concrete_function().output_shapes == [2, None, 3]


def test_axes_that_need_a_number_take_tensors_that_are_known():
    one = tf.constant(1)
    x = tf.constant(X)
    assert tf.stack([x, x], one).shape == [2, 2, 3, 4]
    assert tf.stack([x, x], np.array(1)).shape == [2, 2, 3, 4]
    assert len(tf.unstack(x, axis=one)) == 3
    np.testing.assert_array_equal(tf.experimental.numpy.flip(x, one), X[:, ::-1])
    np.testing.assert_array_equal(tf.experimental.numpy.tril(x, one), np.tril(X, 1))
    np.testing.assert_array_equal(tf.experimental.numpy.swapaxes(x, one, 0), X.swapaxes(1, 0))
    np.testing.assert_array_equal(tf.experimental.numpy.moveaxis(x, one, 0), np.moveaxis(X, 1, 0))
    assert tf.one_hot([0, 1, 2], 2, axis=tf.constant(0)).shape == [2, 3]
    assert tf.linspace(x, x, 5, axis=one).shape == [2, 5, 3, 4]
    assert tf.gather(x, [[0], [1]], axis=1, batch_dims=one).shape == [2, 1, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be known while the function"):
        tf.function(lambda a: tf.stack([x, x], a))(one)
