"""The best boxes of all classes against a loop; the numbers were TensorFlow 2.21's, too."""

from __future__ import annotations

import numpy as np
import pytest

import tfx as tf

NAMES = {
    "iou": "iou_threshold",
    "least": "score_threshold",
    "clip": "clip_boxes",
    "pad": "pad_per_class",
    "per_class": "max_output_size_per_class",
    "total": "max_total_size",
}


def overlap(a, b):
    sides = np.clip(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0, None)
    shared = sides.prod()
    return shared / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - shared)


def by_loop(boxes, scores, per_class, total, iou=0.5, least=-np.inf, pad=False, clip=True):
    n, classes = scores.shape
    found = []
    for k in range(classes):
        own = boxes[:, k if boxes.shape[1] > 1 else 0]
        kept = []
        for i in sorted(range(n), key=lambda i, k=k: -scores[i, k]):
            apart = all(overlap(own[i], own[j]) <= iou for j in kept)
            if scores[i, k] > least and len(kept) < per_class and apart:
                kept.append(i)
        found += [(scores[i, k], k, own[i]) for i in kept]
    found = sorted(found, key=lambda row: -row[0])[:total]
    size = min(total, per_class * classes) if pad else total
    result = np.zeros((size, 4)), np.zeros(size), np.zeros(size), len(found)
    for place, (score, k, box) in enumerate(found):
        result[0][place] = np.clip(box, 0, 1) if clip else box
        result[1][place], result[2][place] = score, k
    return result


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pad": True, "total": 50},
        {"clip": False},
        {"least": 0.5, "iou": 0.2},
        {"least": 0.99},
        {"total": 200},
    ],
)
def test_against_a_loop(options, q, rng):
    centers, sides = rng.random((2, 30, q, 2)), rng.random((2, 30, q, 2)) * 0.4
    boxes = np.concatenate([centers - sides / 2, centers + sides / 2], -1).astype("float32")
    scores = rng.random((2, 30, 3)).astype("float32")
    given = {"per_class": 4, "total": 9, **options}
    named = {NAMES[k]: v for k, v in given.items()}

    def find(boxes, scores):
        return tf.image.combined_non_max_suppression(boxes, scores, **named)

    specs = [tf.TensorSpec([None, None, q, 4]), tf.TensorSpec([None, None, 3])]
    for call in (find, tf.function(find), tf.function(find, input_signature=specs)):
        found = call(tf.constant(boxes), tf.constant(scores))
        assert found.valid_detections.dtype is tf.int32
        for i in range(2):
            expected = by_loop(boxes[i], scores[i], **given)
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x[i], y, rtol=1e-6)


@pytest.mark.parametrize(("batch", "n"), [(0, 4), (2, 0)])
def test_nothing(batch, n):
    specs = [tf.TensorSpec([None, None, 1, 4]), tf.TensorSpec([None, None, 3])]
    traced = tf.function(tf.image.combined_non_max_suppression).get_concrete_function(*specs, 4, 9)
    given = tf.zeros([batch, n, 1, 4]), tf.zeros([batch, n, 3])
    for found in (tf.image.combined_non_max_suppression(*given, 4, 9), traced(*given)):
        assert [t.shape for t in found] == [(batch, 9, 4), (batch, 9), (batch, 9), (batch,)]
        assert not any(np.any(t) for t in found)


@pytest.mark.parametrize(
    ("boxes", "scores", "options", "what"),
    [
        ((30, 1, 4), (2, 30, 3), {}, "batch, n, q, 4"),
        ((1, 30, 1, 4), (2, 30, 3), {}, "same batch size"),
        ((2, 5, 1, 4), (2, 30, 3), {}, "same number of boxes"),
        ((2, 30, 2, 4), (2, 30, 3), {}, "must be 1 or the number of classes"),
        ((2, 30, 1, 4), (2, 30, 3), {"max_output_size_per_class": 0}, "must be positive"),
        ((2, 30, 1, 4), (2, 30, 3), {"max_total_size": 0}, "must be > 0"),
        ((2, 30, 1, 4), (2, 30, 3), {"iou_threshold": 1.5}, "in .0, 1"),
    ],
)
def test_bad_arguments(boxes, scores, options, what):
    sizes = {"max_output_size_per_class": 4, "max_total_size": 9, **options}
    with pytest.raises(tf.errors.InvalidArgumentError, match=what):
        tf.image.combined_non_max_suppression(tf.zeros(boxes), tf.zeros(scores), **sizes)
