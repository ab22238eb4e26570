"""``metrics`` that count what is right and wrong, at one threshold or at several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.compat.v1.training.metric_state import aligned, metric, require_graph, spread
from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import ones_like, zeros_like
from tfx.ops.array.reshape import reshape
from tfx.ops.array.where import where
from tfx.ops.math import elementwise
from tfx.ops.math.argmax import argmax, argmin
from tfx.ops.math.arithmetic import maximum, minimum
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import equal, greater, logical_and, logical_not
from tfx.ops.math.cumulative import cumsum
from tfx.ops.math.error_functions import divide_no_nan
from tfx.ops.math.reduction import reduce_min, reduce_sum

Result = tuple[Tensor, Tensor]
_EPSILON = 1e-7
_NAMES = {
    "tp": "true_positives",
    "fp": "false_positives",
    "fn": "false_negatives",
    "tn": "true_negatives",
}


def _amounts(
    labels: Any, predictions: Any, weights: Any, thresholds: Any, wanted: Sequence[str]
) -> list[tuple[str, Tensor]]:
    """What a batch adds to some counts: scalars, or a vector with an element for each threshold."""
    if thresholds is None:
        found, right, factors = aligned(
            cast(convert_to_tensor(predictions), dtypes.bool),
            cast(convert_to_tensor(labels), dtypes.bool),
            weights,
        )
        positive, axis = found, None
    else:
        found, right, factors = aligned(
            cast(convert_to_tensor(predictions), dtypes.float32),
            cast(convert_to_tensor(labels), dtypes.bool),
            weights,
        )
        levels = np.asarray(thresholds, np.float32).reshape(-1, 1)
        positive, axis = greater(reshape(found, [1, -1]), levels), 1
    amount = ones_like(found, dtypes.float32) if factors is None else spread(factors, found)
    if axis is not None:
        right, amount = reshape(right, [1, -1]), reshape(amount, [1, -1])
    negative, wrong = logical_not(positive), logical_not(right)
    pairs = {
        "tp": (right, positive),
        "fp": (wrong, positive),
        "fn": (right, negative),
        "tn": (wrong, negative),
    }
    suffix = "/count" if thresholds is None else ""
    return [
        (
            f"{_NAMES[k]}{suffix}",
            reduce_sum(cast(logical_and(*pairs[k]), dtypes.float32) * amount, axis),
        )
        for k in wanted
    ]


def _counted(
    kind: str,
    what: Sequence[str],
    value: Callable[..., Tensor],
    labels: Any,
    predictions: Any,
    weights: Any,
    thresholds: Any,
    collections: Sequence[Any],
) -> Result:
    require_graph(kind)
    amounts = _amounts(labels, predictions, weights, thresholds, what)
    if value is _itself:
        amounts = [(label.rpartition("/")[2], amount) for label, amount in amounts]
        kind = _NAMES[what[0]]
    metrics, updates, name = collections
    return metric(kind, name, amounts, value, metrics, updates)


def _itself(x: Tensor) -> Tensor:
    return x


def true_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """How many were found and are right; see ``tf.metrics.mean`` for what is returned.

    Args:
        labels: What is right: booleans, or numbers that are 0 or not.
        predictions: What was found, of the same shape.
        weights: Weights: a scalar, or of the rank of ``labels``; None: 1.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: Name of the scope of its local variable.

    Raises:
        RuntimeError: operations run at once.
        ValueError: the shapes differ.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     _, update = tf.metrics.true_positives([1, 1, 0], [1, 0, 1])
        ...     session.run(tf.local_variables_initializer())
        ...     session.run(update)
        np.float32(1.0)
    """
    rest = (metrics_collections, updates_collections, name)
    return _counted("true_positives", ["tp"], _itself, labels, predictions, weights, None, rest)


def false_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """How many were found and are not right; see ``true_positives``."""
    rest = (metrics_collections, updates_collections, name)
    return _counted("false_positives", ["fp"], _itself, labels, predictions, weights, None, rest)


def false_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """How many were not found and are right; see ``true_positives``."""
    rest = (metrics_collections, updates_collections, name)
    return _counted("false_negatives", ["fn"], _itself, labels, predictions, weights, None, rest)


def true_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """How many were not found and are not right; see ``true_positives``."""
    rest = (metrics_collections, updates_collections, name)
    return _counted("true_negatives", ["tn"], _itself, labels, predictions, weights, None, rest)


def _at_thresholds(kind: str) -> Callable[..., Result]:
    def counted(
        labels: Any,
        predictions: Any,
        thresholds: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Result:
        rest = (metrics_collections, updates_collections, name)
        return _counted(called, [kind], _itself, labels, predictions, weights, thresholds, rest)

    called = f"{_NAMES[kind]}_at_thresholds"
    counted.__name__ = counted.__qualname__ = called
    counted.__doc__ = f"""``{_NAMES[kind]}`` for each of several thresholds, which are exceeded.

    Args:
        labels: What is right: booleans, or numbers that are 0 or not.
        predictions: Numbers of the same shape.
        thresholds: A list of numbers.
        weights: See ``true_positives``.
        metrics_collections: See ``true_positives``.
        updates_collections: See ``true_positives``.
        name: See ``true_positives``.
    """
    return counted


true_positives_at_thresholds = _at_thresholds("tp")
false_positives_at_thresholds = _at_thresholds("fp")
false_negatives_at_thresholds = _at_thresholds("fn")
true_negatives_at_thresholds = _at_thresholds("tn")


def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The share of what was found that is right, 0 of nothing; see ``true_positives``."""
    rest = (metrics_collections, updates_collections, name)
    return _counted("precision", ["tp", "fp"], _share, labels, predictions, weights, None, rest)


def recall(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The share of what is right that was found, 0 of nothing; see ``true_positives``."""
    rest = (metrics_collections, updates_collections, name)
    return _counted("recall", ["tp", "fn"], _share, labels, predictions, weights, None, rest)


def _share(part: Tensor, other: Tensor) -> Tensor:
    return divide_no_nan(part, part + other)


def _share_of_some(part: Tensor, other: Tensor) -> Tensor:
    return part / (_EPSILON + part + other)


def precision_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """``precision`` for each of several thresholds; see ``true_positives_at_thresholds``."""
    rest = (metrics_collections, updates_collections, name)
    kind, what = "precision_at_thresholds", ["tp", "fp"]
    return _counted(kind, what, _share_of_some, labels, predictions, weights, thresholds, rest)


def recall_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """``recall`` for each of several thresholds; see ``true_positives_at_thresholds``."""
    rest = (metrics_collections, updates_collections, name)
    kind, what = "recall_at_thresholds", ["tp", "fn"]
    return _counted(kind, what, _share_of_some, labels, predictions, weights, thresholds, rest)


def _even_thresholds(count: int) -> list[float]:
    """Thresholds that are evenly spread over 0 to 1, with one below and one above."""
    inner = [(i + 1) / (count - 1) for i in range(count - 2)]
    return [-_EPSILON, *inner, 1.0 + _EPSILON]


def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Any = None,
) -> Result:
    """The area under a curve of rates, by sums over thresholds.

    Args:
        labels: What is right: booleans, or numbers that are 0 or not.
        predictions: Probabilities, of the same shape.
        weights: See ``true_positives``.
        num_thresholds: How many thresholds, evenly spread over 0 to 1.
        metrics_collections: See ``true_positives``.
        updates_collections: See ``true_positives``.
        curve: ``"ROC"`` (rates of true and of false positives) or ``"PR"`` (precision and recall).
        name: See ``true_positives``.
        summation_method: ``"trapezoidal"``, ``"minoring"`` or ``"majoring"`` (sums from below and
            above), or ``"careful_interpolation"`` (of precision and recall).
        thresholds: The thresholds between the first and the last one, in place of
            ``num_thresholds``.

    Raises:
        RuntimeError: operations run at once.
        ValueError: another curve or method.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     _, update = tf.metrics.auc([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9])
        ...     session.run(tf.local_variables_initializer())
        ...     round(float(session.run(update)), 4)
        0.75
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    if summation_method not in ("trapezoidal", "careful_interpolation", *_SIDES):
        raise ValueError(f"Invalid summation_method: {summation_method}")
    levels = _even_thresholds(num_thresholds)
    if thresholds is not None:
        levels = [-_EPSILON, *sorted(map(float, thresholds)), 1.0 + _EPSILON]

    def value(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor) -> Tensor:
        if curve == "PR" and summation_method == "careful_interpolation":
            return _interpolated(tp, fp, fn)
        found = (tp + _SMALL) / (tp + fn + _SMALL)
        x, y = found, (tp + _SMALL) / (tp + fp + _SMALL)
        if curve == "ROC":
            x, y = fp / (fp + tn + _SMALL), found
        side = _SIDES.get(summation_method, _middle)
        return reduce_sum((x[:-1] - x[1:]) * side(y[:-1], y[1:]))

    rest = (metrics_collections, updates_collections, name)
    what = ["tp", "fn", "tn", "fp"]
    return _counted("auc", what, value, labels, predictions, weights, levels, rest)


_SMALL = 1e-6
_SIDES: dict[str, Callable[..., Tensor]] = {"minoring": minimum, "majoring": maximum}


def _middle(a: Tensor, b: Tensor) -> Tensor:
    return (a + b) / 2.0


def _interpolated(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
    """The area below precision and recall where counts grow linearly between thresholds."""
    gained, positive = tp[:-1] - tp[1:], tp + fp
    none = zeros_like(gained)
    slope = divide_no_nan(gained, maximum(positive[:-1] - positive[1:], none))
    offset = tp[1:] - slope * positive[1:]
    known = logical_and(greater(positive[:-1], 0.0), greater(positive[1:], 0.0))
    ratio = divide_no_nan(positive[:-1], maximum(positive[1:], none))
    ratio = where(known, ratio, ones_like(ratio))
    area = slope * (gained + offset * elementwise.log(ratio))
    return reduce_sum(divide_no_nan(area, maximum(tp[1:] + fn[1:], none)))


def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """``recall`` at the threshold whose specificity is nearest to a given one.

    Args:
        labels: What is right: booleans, or numbers that are 0 or not.
        predictions: Probabilities, of the same shape.
        specificity: The share of what is not right that is not to be found, 0 to 1.
        weights: See ``true_positives``.
        num_thresholds: How many thresholds to choose from.
        metrics_collections: See ``true_positives``.
        updates_collections: See ``true_positives``.
        name: See ``true_positives``.

    Raises:
        RuntimeError: operations run at once.
        ValueError: a specificity that is not from 0 to 1.
    """
    _require_share("specificity", specificity)

    def value(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor) -> Tensor:
        distance = elementwise.abs(tn / (tn + fp + _EPSILON) - specificity)
        place = argmin(distance, 0)
        return tp[place] / (tp[place] + fn[place] + _EPSILON)

    rest = (metrics_collections, updates_collections, name)
    what, levels = ["tp", "fn", "tn", "fp"], _even_thresholds(num_thresholds)
    kind = "sensitivity_at_specificity"
    return _counted(kind, what, value, labels, predictions, weights, levels, rest)


def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The share of what is not right that is not found, at the threshold of a given ``recall``.

    Args:
        labels: See ``sensitivity_at_specificity``.
        predictions: See ``sensitivity_at_specificity``.
        sensitivity: The recall, 0 to 1.
        weights: See ``true_positives``.
        num_thresholds: How many thresholds to choose from; the highest of the nearest is taken.
        metrics_collections: See ``true_positives``.
        updates_collections: See ``true_positives``.
        name: See ``true_positives``.

    Raises:
        RuntimeError: operations run at once.
        ValueError: a sensitivity that is not from 0 to 1.
    """
    _require_share("sensitivity", sensitivity)

    def value(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor) -> Tensor:
        distance = elementwise.abs(tp / (tp + fn + _EPSILON) - sensitivity)
        nearest = cast(equal(distance, reduce_min(distance)), dtypes.int64)
        place = argmax(cumsum(nearest), 0)
        return tn[place] / (tn[place] + fp[place] + _EPSILON)

    rest = (metrics_collections, updates_collections, name)
    what, levels = ["tp", "fn", "tn", "fp"], _even_thresholds(num_thresholds)
    kind = "specificity_at_sensitivity"
    return _counted(kind, what, value, labels, predictions, weights, levels, rest)


def _require_share(called: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"`{called}` must be in the range [0, 1]. Currently, {called} is {share}.")
