"""``tf.compat.v1.metrics`` against NumPy, over several batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tfx as tf

v1 = tf.compat.v1
rng = np.random.default_rng(0)
LABELS = rng.integers(0, 2, (2, 30))
FOUND = rng.integers(0, 2, (2, 30))
SCORES = rng.random((2, 30), np.float32)
WEIGHTS = rng.random((2, 30), np.float32)


def _streamed(metric: Callable[..., Any], *batches: Any) -> tuple[Any, Any]:
    """The value and the update after two batches."""
    with v1.Graph().as_default(), v1.Session() as session:
        feeds = [v1.placeholder(b.dtype, [None, *b.shape[2:]]) for b in batches]
        value, update = metric(*feeds)
        assert not v1.global_variables() and not v1.trainable_variables()
        session.run(v1.local_variables_initializer())
        for batch in zip(*batches, strict=True):
            last = session.run(update, dict(zip(feeds, batch, strict=True)))
        return session.run(value), last


def _flat(*arrays: Any) -> list[Any]:
    return [a.reshape(-1).astype(np.float64) for a in arrays]


def _counts() -> dict[str, Any]:
    right, found, weights = _flat(LABELS, FOUND, WEIGHTS)
    return {
        "true_positives": (weights * right * found).sum(),
        "false_positives": (weights * (1 - right) * found).sum(),
        "false_negatives": (weights * right * (1 - found)).sum(),
        "true_negatives": (weights * (1 - right) * (1 - found)).sum(),
    }


@pytest.mark.parametrize("name", list(_counts()))
def test_counts(name: str) -> None:
    value, update = _streamed(getattr(v1.metrics, name), LABELS, FOUND, WEIGHTS)
    assert value == update == pytest.approx(_counts()[name], rel=1e-5)


def test_shares() -> None:
    c = _counts()
    tp, fp, fn = c["true_positives"], c["false_positives"], c["false_negatives"]
    value, _ = _streamed(v1.metrics.precision, LABELS, FOUND, WEIGHTS)
    assert value == pytest.approx(tp / (tp + fp), rel=1e-5)
    value, _ = _streamed(v1.metrics.recall, LABELS, FOUND, WEIGHTS)
    assert value == pytest.approx(tp / (tp + fn), rel=1e-5)
    value, _ = _streamed(v1.metrics.accuracy, LABELS, FOUND)
    assert value == pytest.approx((LABELS == FOUND).mean(), rel=1e-5)


def test_means() -> None:
    x, w = _flat(SCORES, WEIGHTS)
    value, _ = _streamed(v1.metrics.mean, SCORES, WEIGHTS)
    assert value == pytest.approx((x * w).sum() / w.sum(), rel=1e-5)
    value, _ = _streamed(v1.metrics.root_mean_squared_error, SCORES, WEIGHTS)
    assert value == pytest.approx(np.sqrt(((x - w) ** 2).mean()), rel=1e-5)
    value, _ = _streamed(lambda s: v1.metrics.percentage_below(s, 0.3), SCORES)
    assert value == pytest.approx((x < 0.3).mean(), rel=1e-5)


def test_confusion() -> None:
    labels, found = rng.integers(0, 3, (2, 2, 40))
    matrix = np.zeros((4, 4))
    np.add.at(matrix, (labels.reshape(-1), found.reshape(-1)), 1)
    both, either = np.diag(matrix), matrix.sum(0) + matrix.sum(1) - np.diag(matrix)
    value, update = _streamed(lambda a, b: v1.metrics.mean_iou(a, b, 4), labels, found)
    assert value == pytest.approx((both[:3] / either[:3]).mean(), rel=1e-5)
    np.testing.assert_array_equal(update, matrix)
    value, update = _streamed(
        lambda a, b: v1.metrics.mean_per_class_accuracy(a, b, 3), labels, found
    )
    np.testing.assert_allclose(update, both[:3] / matrix.sum(1)[:3], rtol=1e-5)
    assert value == pytest.approx(update.mean(), rel=1e-5)


def test_thresholds() -> None:
    right, scores = _flat(LABELS, SCORES)
    value, _ = _streamed(
        lambda a, b: v1.metrics.recall_at_thresholds(a, b, [0.25, 0.75]), LABELS, SCORES
    )
    expected = [(right * (scores > t)).sum() / right.sum() for t in (0.25, 0.75)]
    np.testing.assert_allclose(value, expected, rtol=1e-5)


@pytest.mark.parametrize("method", ["trapezoidal", "minoring", "majoring"])
def test_area_below_the_curve(method: str) -> None:
    right, scores = _flat(LABELS, SCORES)
    positive, negative = scores[right == 1], scores[right == 0]
    exact = (positive[:, None] > negative).mean()
    value, _ = _streamed(
        lambda a, b: v1.metrics.auc(a, b, num_thresholds=2000, summation_method=method),
        LABELS,
        SCORES,
    )
    assert value == pytest.approx(exact, abs=0.03)


def test_sensitivity_and_specificity_choose_a_threshold() -> None:
    labels = np.array([[0, 0, 0, 1, 1, 1]] * 2)
    scores = np.array([[0.1, 0.2, 0.6, 0.5, 0.7, 0.9]] * 2, np.float32)
    value, _ = _streamed(
        lambda a, b: v1.metrics.sensitivity_at_specificity(a, b, 0.66), labels, scores
    )
    assert value == pytest.approx(1.0, rel=1e-5)
    value, _ = _streamed(
        lambda a, b: v1.metrics.specificity_at_sensitivity(a, b, 0.66), labels, scores
    )
    assert value == pytest.approx(1.0, rel=1e-5)


def test_best_classes() -> None:
    labels = np.array([[[1, 1], [2, 4]]] * 2)
    scores = np.array([[[0.1, 0.5, 0.9, 0.2, 0.0], [0.9, 0.1, 0.8, 0.2, 0.7]]] * 2, np.float32)
    for name, expected in {
        "precision_at_k": 3 / 6,  # 1 of 3, 2 of 3
        "recall_at_k": 3 / 3,
        "average_precision_at_k": (1 / 2 + (1 / 2 + 2 / 3) / 2) / 2,
    }.items():
        function = getattr(v1.metrics, name)
        value, _ = _streamed(lambda a, b, f=function: f(a, b, 3), labels, scores)
        assert value == pytest.approx(expected, rel=1e-6), name
    value, _ = _streamed(lambda a, b: v1.metrics.recall_at_k(a, b, 1, class_id=4), labels, scores)
    assert value == 0.0


def test_collections_and_names() -> None:
    with v1.Graph().as_default():
        value, update = v1.metrics.mean(
            [1.0], metrics_collections=["m"], updates_collections="u", name="average"
        )
        assert v1.get_collection("m") == [value] and v1.get_collection("u") == [update]
        names = sorted(v.name for v in v1.get_collection(v1.GraphKeys.METRIC_VARIABLES))
        assert names == ["average/count:0", "average/total:0"]


def test_refusals() -> None:
    with pytest.raises(RuntimeError, match="not supported when eager execution"):
        v1.metrics.mean([1.0])
    with v1.Graph().as_default():
        with pytest.raises(ValueError, match="incompatible"):
            v1.metrics.accuracy([1, 2], [1, 2, 3])
        with pytest.raises(ValueError, match="can not be broadcast"):
            v1.metrics.mean([1.0, 2.0], [1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match="either ROC or PR"):
            v1.metrics.auc([1], [0.5], curve="X")
