"""Random parts of images: what they show, how large they are, and where they lie."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

BOXES = [[[0.2, 0.3, 0.7, 0.9]]]
SIZE = [50, 80, 3]


@pytest.fixture(scope="module")
def drawn():
    """Many parts: begin, size and box of each."""
    draw = tf.function(
        lambda i: tf.image.stateless_sample_distorted_bounding_box(
            SIZE, BOXES, tf.stack([i, 1]), 0.3, (0.6, 1.5), (0.1, 0.9)
        )
    )
    found = [draw(tf.constant(i)) for i in range(1000)]
    return tuple(np.array([f[k].numpy() for f in found]) for k in range(3))


def test_parts_fulfil_what_is_asked(drawn):
    begin, size, box = drawn
    assert not begin[:, 2].any()
    assert (size[:, 2] == -1).all()
    (y, x), (h, w) = begin.T[:2], size.T[:2]
    assert (y >= 0).all() and (x >= 0).all() and (y + h <= 50).all() and (x + w <= 80).all()
    assert (h * w >= 400).all() and (h * w <= 3600).all()
    # Widths are rounded to pixels.
    assert ((w + 0.5) / h >= 0.6).all() and ((w - 0.5) / h <= 1.5).all()
    shown = (np.minimum(y + h, 35) - np.maximum(y, 10)) * (
        np.minimum(x + w, 72) - np.maximum(x, 24)
    )
    assert (shown >= 0.3 * 25 * 48).all()
    sides = np.stack([y / 50, x / 80, (y + h) / 50, (x + w) / 80], 1)
    np.testing.assert_allclose(box.reshape(-1, 4), sides, rtol=1e-6)


def test_distribution_is_tensorflows(drawn):
    # Means of 3,000 draws of TensorFlow 2.21: rows, columns, heights and widths.
    found = np.concatenate([drawn[0][:, :2], drawn[1][:, :2]], 1)
    error = found.std(0) / np.sqrt(len(found))
    assert (np.abs(found.mean(0) - [5.472, 22.447, 37.446, 39.801]) < 5 * error).all()


def test_seeds():
    first, second, other = (
        [
            t.numpy().tolist()
            for t in tf.image.stateless_sample_distorted_bounding_box(SIZE, BOXES, s)
        ]
        for s in ((1, 2), (1, 2), (3, 4))
    )
    assert first == second != other
    begin, size, box = tf.image.sample_distorted_bounding_box(
        tf.constant(SIZE, tf.int64), BOXES, seed=7
    )
    assert begin.dtype is size.dtype is tf.int64
    assert box.shape == (1, 1, 4)


def test_what_cannot_be_found_is_the_whole_image():
    begin, size, box = tf.image.stateless_sample_distorted_bounding_box(
        SIZE, BOXES, (1, 2), min_object_covered=1.0, area_range=(0.01, 0.02), max_attempts=5
    )
    assert begin.numpy().tolist() == [0, 0, 0]
    assert size.numpy().tolist() == [50, 80, -1]
    assert box.numpy().tolist() == [[[0, 0, 1, 1]]]


def test_without_boxes():
    none = np.zeros((1, 0, 4), "float32")
    with pytest.raises(tf.errors.InvalidArgumentError, match="No bounding boxes provided"):
        tf.image.sample_distorted_bounding_box(SIZE, none)
    spec = tf.TensorSpec([1, None, 4], tf.float32)

    @tf.function(input_signature=[spec])
    def draw(boxes):
        return tf.image.stateless_sample_distorted_bounding_box(
            SIZE, boxes, (1, 1), 0.5, use_image_if_no_bounding_boxes=True
        )[1]

    eager = tf.image.stateless_sample_distorted_bounding_box(
        SIZE, none, (1, 1), 0.5, use_image_if_no_bounding_boxes=True
    )[1]
    np.testing.assert_array_equal(draw(tf.constant(none)), eager)
    assert int(eager[0]) * int(eager[1]) >= 0.5 * 50 * 80
    with_boxes = tf.image.stateless_sample_distorted_bounding_box(SIZE, BOXES, (1, 1), 0.5)[1]
    np.testing.assert_array_equal(draw(tf.constant(BOXES)), with_boxes)


@pytest.mark.parametrize(
    ("arguments", "error", "what"),
    [
        ({"image_size": [5.0, 8.0, 3.0]}, tf.errors.InvalidArgumentError, "must be integers"),
        ({"image_size": [50, 80]}, tf.errors.InvalidArgumentError, "3 elements"),
        ({"bounding_boxes": [[0.0, 0.0, 1.0, 1.0]]}, tf.errors.InvalidArgumentError, "batch, n, 4"),
        (
            {"bounding_boxes": [[[0.0, 0.0, 1.5, 1.0]]]},
            tf.errors.InvalidArgumentError,
            "in .0.0, 1",
        ),
        ({"area_range": (0.5, 0.1)}, ValueError, "area_range"),
        ({"aspect_ratio_range": (0.0, 0.1)}, ValueError, "aspect_ratio_range"),
        ({"max_attempts": 0}, ValueError, "at least 1"),
    ],
)
def test_bad_arguments(arguments, error, what):
    with pytest.raises(error, match=what):
        tf.image.sample_distorted_bounding_box(
            **{"image_size": SIZE, "bounding_boxes": BOXES, **arguments}
        )
