"""``histogram``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.summary import event_pb2 as pb
from tfx.summary.messages import plugin, value_summary
from tfx.summary.recording import NOTHING, record, skipped, summary_scope

_BUCKETS = 30


def histogram(
    name: str,
    data: Any,
    step: Any = None,
    buckets: int | None = None,
    description: str | None = None,
) -> Tensor:
    """Write how a tensor's elements are distributed.

    Args:
        name: Its name; name scopes come in front.
        data: Tensor of any shape and a number dtype, a value convertible to one, or a function that
            gives one. NaN and infinity are not counted.
        step: An integer, integer tensor or variable; None: the default step.
        buckets: Into how many equal parts the range is divided; None: 30.
        description: Markdown that TensorBoard shows.

    Returns:
        A bool tensor: whether it was written.

    Raises:
        ValueError: there is no step.
        InvalidArgumentError: a tensor of strings.

    Example:
        >>> import tfx as tf
        >>> bool(tf.summary.histogram("weights", [1.0, 2.0], step=1))  # no default writer
        False
    """
    count = _BUCKETS if buckets is None else buckets
    if skipped():
        return NOTHING
    with summary_scope(name, "histogram_summary") as (tag, _):
        metadata = plugin("histograms", description=description)

        def payload(array: np.ndarray[Any, Any]) -> pb.Summary:
            if array.dtype.hasobject:
                raise InvalidArgumentError(
                    f"Summary {tag!r} takes numbers; got a tensor of dtype string."
                )
            return value_summary(tag, table(array, count), metadata)

        return record(tag, data, step, payload)


def table(array: np.ndarray[Any, Any], buckets: int) -> np.ndarray[Any, Any]:
    """Left edge, right edge and count of each bucket, ``[buckets, 3]`` of float64."""
    data = array.astype(np.float64).reshape(-1)
    data = data[np.isfinite(data)]
    result = np.zeros((buckets, 3))
    if not buckets or not data.size:
        return result
    low, high = data.min(), data.max()
    if low == high:
        result[:, :2] = low
        result[-1, 2] = data.size
        return result
    width = (high - low) / buckets
    places = np.minimum((data - low) // width, buckets - 1).astype(np.int64)
    edges = np.linspace(low, high, buckets + 1)
    edges[-1] = high
    result[:, 0], result[:, 1] = edges[:-1], edges[1:]
    result[:, 2] = np.bincount(places, minlength=buckets)
    return result
