"""``metrics`` that are means: of values, of errors, of what is right in each class."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.training.metric_state import aligned, metric, require_graph, spread
from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import ones_like, zeros_like
from tfx.ops.array.partition import confusion_matrix
from tfx.ops.array.reshape import reshape
from tfx.ops.array.where import where
from tfx.ops.linalg.diagonals import diag_part
from tfx.ops.math import elementwise
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import equal, greater, less, not_equal
from tfx.ops.math.error_functions import divide_no_nan
from tfx.ops.math.reduction import reduce_mean, reduce_sum

Result = tuple[Tensor, Tensor]


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The mean of all values of all batches.

    Args:
        values: Numbers of any shape.
        weights: Weights: a scalar, or of the rank of ``values``; None: 1.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: Name of the scope of its two local variables.

    Returns:
        ``(value, update)``: the mean so far, 0 before the first batch, and an operation that adds
        the batch and gives the mean with it.

    Raises:
        RuntimeError: operations run at once.
        ValueError: weights of another shape.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     x = tf.placeholder(tf.float32, [None])
        ...     value, update = tf.metrics.mean(x)
        ...     session.run(tf.local_variables_initializer())
        ...     [session.run(update, {x: batch}) for batch in ([1.0, 2.0], [6.0])]
        [np.float32(1.5), np.float32(3.0)]
    """
    require_graph("mean")
    return _mean("mean", name, values, weights, metrics_collections, updates_collections)


def _mean(
    kind: str, name: str | None, values: Any, weights: Any, metrics: Any, updates: Any
) -> Result:
    total, count = _weighed(values, weights)
    amounts = [("total", reduce_sum(total)), ("count", reduce_sum(count))]
    return metric(kind, name, amounts, divide_no_nan, metrics, updates)


def _weighed(values: Any, weights: Any) -> Result:
    """Values times weights, and the weights, float32 of the shape of the values."""
    numbers = cast(convert_to_tensor(values), dtypes.float32)
    if weights is None:
        return numbers, ones_like(numbers)
    factors = spread(weights, numbers)
    return numbers * factors, factors


def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The mean of each element over all batches; see ``mean``.

    Raises:
        ValueError: the shape of ``values`` is not known.
    """
    require_graph("mean_tensor")
    total, count = _weighed(values, weights)
    if not total.shape.is_fully_defined():
        raise ValueError(
            f"mean_tensor takes values of a known shape; got one of the shape {total.shape}."
        )
    amounts = [("total_tensor", total), ("count_tensor", count)]
    return metric("mean", name, amounts, divide_no_nan, metrics_collections, updates_collections)


def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """How often predictions are what is right; see ``mean``.

    Args:
        labels: What is right.
        predictions: What was found, of the same shape.
        weights: See ``mean``.
        metrics_collections: See ``mean``.
        updates_collections: See ``mean``.
        name: See ``mean``.

    Raises:
        RuntimeError: operations run at once.
        ValueError: the shapes differ.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     _, update = tf.metrics.accuracy([1, 0, 2], [1, 0, 0])
        ...     session.run(tf.local_variables_initializer())
        ...     session.run(update)
        np.float32(0.6666667)
    """
    require_graph("accuracy")
    found, wanted, factors = aligned(predictions, labels, weights)
    right = equal(cast(found, wanted.dtype), wanted)
    return _mean("accuracy", name, right, factors, metrics_collections, updates_collections)


def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The share of values below a threshold; see ``mean``."""
    require_graph("percentage_below")
    below = less(convert_to_tensor(values), threshold)
    return _mean(
        "percentage_below_threshold", name, below, weights, metrics_collections, updates_collections
    )


def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The mean of absolute differences; see ``accuracy``."""
    require_graph("mean_absolute_error")
    found, wanted, factors = aligned(predictions, labels, weights)
    errors = elementwise.abs(found - wanted)
    return _mean(
        "mean_absolute_error", name, errors, factors, metrics_collections, updates_collections
    )


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The mean of squared differences; see ``accuracy``."""
    require_graph("mean_squared_error")
    found, wanted, factors = aligned(predictions, labels, weights)
    errors = elementwise.square(found - wanted)
    return _mean(
        "mean_squared_error", name, errors, factors, metrics_collections, updates_collections
    )


def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The square root of ``mean_squared_error``; see ``accuracy``."""
    require_graph("root_mean_squared_error")
    found, wanted, factors = aligned(predictions, labels, weights)
    total, count = _weighed(elementwise.square(found - wanted), factors)

    def value(total: Tensor, count: Tensor) -> Tensor:
        return elementwise.sqrt(divide_no_nan(total, count))

    amounts = [("total", reduce_sum(total)), ("count", reduce_sum(count))]
    kind = "root_mean_squared_error"
    return metric(kind, name, amounts, value, metrics_collections, updates_collections)


def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The mean of absolute differences divided by ``normalizer``, 0 where that is 0.

    Args:
        labels: What is right.
        predictions: What was found, of the same shape.
        normalizer: Divisors of the same shape.
        weights: See ``mean``.
        metrics_collections: See ``mean``.
        updates_collections: See ``mean``.
        name: See ``mean``.
    """
    require_graph("mean_relative_error")
    found, wanted, factors = aligned(predictions, labels, weights)
    found, scale, _ = aligned(found, normalizer, None)
    errors = elementwise.abs(wanted - found) / scale
    errors = where(equal(scale, zeros_like(scale)), zeros_like(errors), errors)
    return _mean(
        "mean_relative_error", name, errors, factors, metrics_collections, updates_collections
    )


def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """1 less the mean of the inner products along an axis, of vectors of length 1.

    Args:
        labels: What is right.
        predictions: What was found, of the same shape.
        dim: The axis of the vectors.
        weights: See ``mean``; along ``dim`` they have one element.
        metrics_collections: See ``mean``.
        updates_collections: See ``mean``.
        name: See ``mean``.
    """
    require_graph("mean_cosine_distance")
    found, wanted, factors = aligned(predictions, labels, weights)
    products = reduce_sum(found * wanted, [dim], keepdims=True)
    total, count = _weighed(products, factors)

    def value(total: Tensor, count: Tensor) -> Tensor:
        return 1.0 - divide_no_nan(total, count)

    amounts = [("total", reduce_sum(total)), ("count", reduce_sum(count))]
    kind = "mean_cosine_distance"
    return metric(kind, name, amounts, value, metrics_collections, updates_collections)


def _classes(labels: Any, predictions: Any, weights: Any) -> tuple[Tensor, Tensor, Any]:
    """Class numbers and weights as vectors."""
    found, wanted = convert_to_tensor(predictions), convert_to_tensor(labels)
    if not found.shape.is_compatible_with(wanted.shape):
        raise ValueError(f"Shapes {found.shape} and {wanted.shape} are incompatible")
    if weights is not None:
        weights = reshape(convert_to_tensor(weights), [-1])
    numbers = [cast(reshape(x, [-1]), dtypes.int64) for x in (wanted, found)]
    return numbers[0], numbers[1], weights


def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The mean over classes of the intersection of labels and predictions by their union.

    Args:
        labels: Class numbers of any shape.
        predictions: Class numbers of the same shape.
        num_classes: How many classes there are.
        weights: A weight for each; None: 1.
        metrics_collections: See ``mean``.
        updates_collections: See ``mean``.
        name: See ``mean``.

    Returns:
        ``(value, update)``: the mean over the classes that occurred; and an operation that adds
        the batch and gives the confusion matrix.
    """
    require_graph("mean_iou")
    wanted, found, factors = _classes(labels, predictions, weights)
    counts = confusion_matrix(wanted, found, num_classes, weights=factors, dtype=dtypes.float64)

    def value(matrix: Tensor) -> Tensor:
        both = cast(diag_part(matrix), dtypes.float32)
        either = cast(reduce_sum(matrix, 0) + reduce_sum(matrix, 1), dtypes.float32) - both
        present = reduce_sum(cast(not_equal(either, 0.0), dtypes.float32))
        shares = both / where(greater(either, 0.0), either, ones_like(either))
        return divide_no_nan(reduce_sum(shares), present)

    kind, amounts = "mean_iou", [("total_confusion_matrix", counts)]
    return metric(kind, name, amounts, value, metrics_collections, updates_collections, _itself)


def _itself(x: Tensor) -> Tensor:
    return x


def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """The mean over classes of how often the examples of a class are recognized; see ``mean_iou``.

    The update gives what the metric is the mean of: a number for each class.
    """
    require_graph("mean_per_class_accuracy")
    wanted, found, factors = _classes(labels, predictions, weights)
    counts = confusion_matrix(wanted, found, num_classes, weights=factors, dtype=dtypes.float32)

    def each(total: Tensor, count: Tensor) -> Tensor:
        return divide_no_nan(count, total)

    def value(total: Tensor, count: Tensor) -> Tensor:
        return reduce_mean(each(total, count))

    amounts = [("total", reduce_sum(counts, 1)), ("count", diag_part(counts))]
    kind = "mean_accuracy"
    return metric(kind, name, amounts, value, metrics_collections, updates_collections, each)
