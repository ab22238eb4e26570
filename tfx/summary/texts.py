"""``text``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.tensor import Tensor
from tfx.summary import event_pb2 as pb
from tfx.summary.messages import plugin, value_summary
from tfx.summary.recording import NOTHING, record, skipped, summary_scope


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Write text, which TensorBoard shows as Markdown; a matrix as a table.

    Args:
        name: Its name; name scopes come in front.
        data: String tensor, a value convertible to one, or a function that gives one.
        step: An integer, integer tensor or variable; None: the default step.
        description: Markdown that TensorBoard shows.

    Returns:
        A bool tensor: whether it was written.

    Raises:
        ValueError: there is no step.
        InvalidArgumentError: no strings.

    Example:
        >>> import tfx as tf
        >>> bool(tf.summary.text("note", "**hello**", step=1))  # no default writer
        False
    """
    if skipped():
        return NOTHING
    with summary_scope(name, "text_summary") as (tag, _):
        metadata = plugin("text", description=description)

        def payload(array: np.ndarray[Any, Any]) -> pb.Summary:
            if array.dtype != object:
                raise InvalidArgumentError(
                    f"Summary {tag!r} takes text; got a tensor of dtype {array.dtype}."
                )
            return value_summary(tag, array, metadata)

        return record(tag, data, step, payload)
