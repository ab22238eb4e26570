"""``timestamp``: what the clock says when an operation runs."""

from __future__ import annotations

import time
from typing import Any

from tfx.core import dtypes
from tfx.framework.tensor import Tensor
from tfx.ops.common.python_ops import by_python


def timestamp(name: str | None = None) -> Tensor:
    """Seconds since the beginning of 1970, in a function at each call and in program order.

    Args:
        name: Accepted for compatibility.

    Returns:
        A float64 scalar.

    Example:
        >>> import tfx as tf
        >>> tf.timestamp().dtype
        tf.float64
    """

    def read() -> list[Any]:
        return [time.time()]

    return by_python("timestamp", read, [], [(dtypes.float64, ())], effect=True)[0]
