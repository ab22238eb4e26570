"""``scalar``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.summary import event_pb2 as pb
from tfx.summary.messages import plugin, value_summary
from tfx.summary.recording import NOTHING, record, skipped, summary_scope


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Write a number, as float32.

    Args:
        name: Its name; name scopes come in front.
        data: Scalar tensor of a number dtype, a value convertible to one, or a function that gives
            one and is called only if summaries are recorded.
        step: An integer, integer tensor or variable; None: the default step.
        description: Markdown that TensorBoard shows.

    Returns:
        A bool tensor: whether it was written.

    Raises:
        ValueError: there is no step.
        InvalidArgumentError: ``data`` is no scalar.

    Example:
        >>> import tfx as tf
        >>> bool(tf.summary.scalar("loss", 0.5, step=1))  # no default writer
        False
    """
    if skipped():
        return NOTHING
    with summary_scope(name, "scalar_summary") as (tag, _):
        metadata = plugin("scalars", description=description)

        def payload(array: np.ndarray[Any, Any]) -> pb.Summary:
            if array.ndim:
                raise InvalidArgumentError(
                    f"Summary {tag!r} takes a scalar; got a tensor of shape {array.shape}. Reduce "
                    "it first, or use summary.histogram."
                )
            return value_summary(tag, array.astype(np.float32), metadata)

        return record(tag, data, step, payload)
