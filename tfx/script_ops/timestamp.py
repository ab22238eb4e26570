"""``timestamp``: the time of day, read when a graph runs."""

from __future__ import annotations

import time

import numpy as np

from tfx.core.dtypes import float64
from tfx.framework.tensor import Tensor
from tfx.script_ops.py_function import numpy_function


def timestamp(name: str | None = None) -> Tensor:
    """The time since the epoch in seconds, in a function that of each run.

    Operations that do not depend on each other may run in another order than they stand; printing
    and assignments of variables do not.

    Args:
        name: Accepted for compatibility.

    Returns:
        A scalar of float64.

    Example:
        >>> import tfx as tf
        >>> bool(tf.timestamp() > 1.5e9)
        True
    """
    found: Tensor = numpy_function(_seconds, [], float64)
    found.set_shape([])
    return found


def _seconds() -> np.float64:
    return np.float64(time.time())
