"""``extract_glimpse``, and ``non_max_suppression_padded`` of several images."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

IMAGES = np.arange(40, dtype=np.float32).reshape(2, 4, 5, 1)
# (centered, normalized, offsets): the pixels where windows begin, as in TensorFlow 2.21.
BEGINS = [
    (True, True, [[0.0, 0.0], [0.5, -0.5]], [(0, 1), (1, 0)]),
    (True, True, [[-1.0, 1.0], [1.0, 1.0]], [(-1, 4), (2, 4)]),
    (True, False, [[0.0, 0.0], [-1.0, 1.0]], [(2, 2), (1, 3)]),
    (False, True, [[0.0, 0.0], [0.5, 0.25]], [(0, 0), (2, 1)]),
    (False, False, [[2.0, 3.0], [-1.0, 1.0]], [(2, 3), (-1, 1)]),
]


@pytest.mark.parametrize(("centered", "normalized", "offsets", "begins"), BEGINS)
def test_windows_begin_where_offsets_say(centered, normalized, offsets, begins):
    padded = np.pad(IMAGES, [(0, 0), (5, 5), (5, 5), (0, 0)])
    expected = [padded[i, y + 5 : y + 8, x + 5 : x + 7] for i, (y, x) in enumerate(begins)]

    def call(images, offsets):
        return tf.image.extract_glimpse(images, [3, 2], offsets, centered, normalized, "zero")

    signature = [tf.TensorSpec(None), tf.TensorSpec([None, 2])]
    for run in (call, tf.function(call, input_signature=signature)):
        np.testing.assert_array_equal(run(IMAGES, tf.constant(offsets)), expected)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_noise_is_within_the_numbers_of_the_image(noise):
    images = np.stack([IMAGES[0], IMAGES[0] * 0 + 7])
    far = tf.image.extract_glimpse(images, [30, 30], [[-9.0, -9.0]] * 2, noise=noise).numpy()
    assert 0 <= far[0].min() < 2 and 17 < far[0].max() <= 19
    assert abs(far[0].mean() - 9.5) < 1
    np.testing.assert_array_equal(far[1], np.full((30, 30, 1), 7.0))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"noise": "other"}, "uniform"),
        ({"offsets": [[0.0, 0.0]]}, "offsets"),
        ({"size": [3]}, "size"),
    ],
)
def test_refusals(changed, says):
    given = {"input": IMAGES, "size": [3, 2], "offsets": [[0.0, 0.0]] * 2} | changed
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        tf.image.extract_glimpse(**given)


def test_suppression_of_several_images_is_that_of_each():
    rng = np.random.default_rng(0)
    corners = np.sort(rng.uniform(size=(2, 3, 6, 2, 2)), axis=3)
    boxes = corners.reshape(2, 3, 6, 4).astype(np.float32)
    scores = rng.uniform(size=(2, 3, 6)).astype(np.float32)

    def call(boxes, scores):
        return tf.image.non_max_suppression_padded(
            boxes, scores, 5, 0.2, 0.3, pad_to_max_output_size=True, tile_size=4
        )

    shapes = [tf.TensorSpec([None, 3, None, 4]), tf.TensorSpec([None, 3, None])]
    for run in (call, tf.function(call, input_signature=shapes)):
        indices, counts = run(boxes, scores)
        assert indices.shape == (2, 3, 5) and counts.shape == (2, 3)
        for i, j in np.ndindex(2, 3):
            alone = tf.image.non_max_suppression(boxes[i, j], scores[i, j], 5, 0.2, 0.3).numpy()
            assert counts[i, j] == len(alone)
            np.testing.assert_array_equal(indices[i, j], np.pad(alone, (0, 5 - len(alone))))
    indices, counts = tf.image.non_max_suppression_padded(
        boxes[0], scores[0], 5, 0.2, 2.0, pad_to_max_output_size=True
    )
    assert not indices.numpy().any() and counts.numpy().tolist() == [0, 0, 0]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.image.non_max_suppression_padded(boxes[0], scores[0], 5)
