"""Boxes in images: numbers that TensorFlow 2.21 gave, and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf
from tfx.testing import check_grads

IMAGE = (np.arange(40).reshape(2, 4, 5, 1) % 7).astype(np.float32)
BOXES = np.array(
    [[0, 0, 1, 1], [0.2, 0.1, 0.9, 0.7], [0.9, 0.8, 0.1, 0.2], [-0.2, -0.3, 1.3, 1.2], [0.5] * 4],
    np.float32,
)
WHICH = [0, 1, 1, 0, 0]


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_crop_and_resize(traced: bool) -> None:
    def crop(image: tf.Tensor, boxes: tf.Tensor, which: tf.Tensor) -> list[tf.Tensor]:
        return [
            tf.image.crop_and_resize(image, boxes, which, [2, 3]),
            tf.image.crop_and_resize(image, boxes, which, [2, 3], "nearest", -1.0),
            tf.image.crop_and_resize(image, boxes, which, [1, 1]),
        ]

    specs = [tf.TensorSpec([None] * 4), tf.TensorSpec([None, 4]), tf.TensorSpec([None], tf.int32)]
    call = tf.function(crop, input_signature=specs) if traced else crop
    linear, nearest, single = call(IMAGE, BOXES, np.array(WHICH, np.int32))
    expected = [
        [0.0, 2.0, 4.0, 1.0, 3.0, 5.0],
        [4.08, 3.6, 1.44, 1.0, 2.2, 3.4],
        [3.8, 2.6, 1.4, 1.6, 2.5, 2.28],
        [0.0] * 6,
        [2.5] * 6,
    ]
    np.testing.assert_allclose(linear.numpy().reshape(5, 6), expected, atol=1e-5)
    rounded = [
        [0.0, 2.0, 4.0, 1.0, 3.0, 5.0],
        [4.0, 6.0, 0.0, 0.0, 2.0, 3.0],
        [3.0, 2.0, 1.0, 2.0, 1.0, 0.0],
        [-1.0] * 6,
        [5.0] * 6,
    ]
    np.testing.assert_array_equal(nearest.numpy().reshape(5, 6), rounded)
    assert single.shape == [5, 1, 1, 1]


def test_gradients_of_crops() -> None:
    boxes = tf.Variable(BOXES)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.image.crop_and_resize(IMAGE, boxes, WHICH, [2, 3]) ** 2)
    expected = [
        [122.4, -27.551992, -79.2, 13.536],
        [-93.6, 43.2, 105.04799, -59.936],
    ]
    np.testing.assert_allclose(tape.gradient(y, boxes).numpy()[1:3], expected, rtol=1e-4)
    image = np.random.default_rng(0).normal(size=(2, 4, 5, 2)).astype(np.float32)
    check_grads(
        lambda x: tf.image.crop_and_resize(x, BOXES[:3], WHICH[:3], [3, 2]),
        [image],
        order=1,
        rtol=1e-3,
    )


def test_bad_crops() -> None:
    with pytest.raises(ValueError, match="method"):
        tf.image.crop_and_resize(IMAGE, BOXES, WHICH, [2, 2], "cubic")
    with pytest.raises(ValueError, match="crop_size"):
        tf.image.crop_and_resize(IMAGE, BOXES, WHICH, [0, 2])
    with pytest.raises(ValueError, match="boxes"):
        tf.image.crop_and_resize(IMAGE[0], BOXES, WHICH, [2, 2])


PLACES = np.array(
    [
        [0, 0, 1, 1],
        [0, 0.1, 1, 1.1],
        [0, -0.1, 1, 0.9],
        [0, 2, 1, 3],
        [0, 2.1, 1, 3.1],
        [0, 9, 1, 10],
    ],
    np.float32,
)
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], np.float32)


def test_non_max_suppression() -> None:
    call = tf.image.non_max_suppression
    assert call(PLACES, SCORES, 3, 0.5).numpy().tolist() == [3, 0, 5]
    assert tf.function(call)(PLACES, SCORES, 3, 0.5).numpy().tolist() == [3, 0, 5]
    assert call(PLACES, SCORES, 9, 0.5, 0.4).numpy().tolist() == [3, 0]
    assert call(PLACES, SCORES, 0).shape == [0]
    assert call(np.zeros((0, 4)), np.zeros(0), 3).shape == [0]
    chosen, count = tf.image.non_max_suppression_padded(
        PLACES, SCORES, 5, pad_to_max_output_size=True
    )
    assert chosen.numpy().tolist() == [3, 0, 5, 0, 0]
    assert int(count) == 3


def test_soft_suppression() -> None:
    call = tf.image.non_max_suppression_with_scores
    for threshold in (1.0, 0.3):  # which only drops boxes where there is no sigma
        chosen, scores = call(PLACES, SCORES, 6, threshold, 0.0, 0.5)
    assert chosen.numpy().tolist() == [3, 0, 1, 5, 4, 2]
    expected = [0.95, 0.9, 0.38400355, 0.3, 0.25600228, 0.19697245]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    chosen, scores = call(PLACES, SCORES, 6)
    np.testing.assert_allclose(scores, [0.95, 0.9, 0.3])


def test_drawn_boxes() -> None:
    boxes = [[[0.0, 0.0, 0.7, 0.5], [0.4, 0.3, 1.2, 0.9], [0.9, 0.0, 0.1, 1.0]]]
    expected = [[1, 1, 1, 0, 0], [1, 2, 2, 2, 0], [1, 2, 1, 2, 0], [0, 2, 2, 2, 0]]
    for call in (tf.image.draw_bounding_boxes, tf.function(tf.image.draw_bounding_boxes)):
        found = call(tf.zeros([1, 4, 5, 1]), tf.constant(boxes), tf.constant([[1.0], [2.0]]))
        np.testing.assert_array_equal(found.numpy()[0, :, :, 0], expected)
    found = tf.image.draw_bounding_boxes(tf.zeros([1, 4, 5, 3], tf.float16), boxes, None)
    assert found.numpy()[0, 0, 0].tolist() == [1.0, 1.0, 0.0]
    assert found.dtype == tf.float16
    nothing = tf.image.draw_bounding_boxes(IMAGE, np.zeros((2, 0, 4), np.float32), [[1.0]])
    np.testing.assert_array_equal(nothing, IMAGE)


def test_colors_may_have_more_channels_than_images() -> None:
    box, colors = [[[0.0, 0.0, 1.0, 1.0]]], [[1.0, 2.0, 3.0, 4.0]]
    signature = [tf.TensorSpec(s) for s in ([None] * 4, [None, None, 4], [None, None])]
    unknown = tf.function(tf.image.draw_bounding_boxes, input_signature=signature)
    for channels in (1, 3, 4):
        images = tf.zeros([1, 2, 2, channels])
        for call in (tf.image.draw_bounding_boxes, unknown):
            found = call(images, tf.constant(box), tf.constant(colors)).numpy()
            np.testing.assert_array_equal(found[0, 0, 0], colors[0][:channels])
    with pytest.raises(tf.errors.InvalidArgumentError, match="equal or more channels"):
        tf.image.draw_bounding_boxes(tf.zeros([1, 2, 2, 3]), box, [[1.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Channel depth should be"):
        tf.image.draw_bounding_boxes(tf.zeros([1, 2, 2, 2]), box, colors)


def test_resize_with_pad() -> None:
    image = np.arange(6, dtype=np.float32).reshape(2, 3, 1)
    found = tf.image.resize_with_pad(image, 4, 4).numpy()[:, :, 0]
    expected = [[0, 0.625, 1.375, 2], [3, 3.625, 4.375, 5], [0] * 4, [0] * 4]
    np.testing.assert_allclose(found, expected)
    assert tf.image.resize_with_pad(np.zeros((2, 7, 9, 3)), 5, 20).shape == [2, 5, 20, 3]
    with pytest.raises(ValueError, match="target"):
        tf.image.resize_with_pad(image, 0, 4)


def test_turns_and_crops_by_a_seed() -> None:
    images = np.random.default_rng(0).normal(size=(64, 2, 3, 1)).astype(np.float32)
    for turn, axis in (
        (tf.image.stateless_random_flip_left_right, 2),
        (tf.image.stateless_random_flip_up_down, 1),
    ):
        found = turn(images, [3, 4]).numpy()
        np.testing.assert_array_equal(found, turn(images, [3, 4]))
        same = (found == images).all((1, 2, 3))
        turned = (found == np.flip(images, axis)).all((1, 2, 3))
        assert (same ^ turned).all()
        assert 16 < same.sum() < 48
    places = {
        tuple(
            tf.image.stateless_random_crop(np.arange(12).reshape(3, 4), [2, 2], [1, i]).numpy()[0]
        )
        for i in range(40)
    }
    assert places == {(i * 4 + j, i * 4 + j + 1) for i in range(2) for j in range(3)}
    with pytest.raises(ValueError, match="size"):
        tf.image.stateless_random_crop(images, [65, 1, 1, 1], [1, 2])
