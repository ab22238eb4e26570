"""Bringing values, or the norms of tensors, into a range."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.framework.apply import apply
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.ops._support import matching, require_dtype, scalar_like, tensor, unbroadcast
from tfx.ops.arithmetic import maximum, minimum


def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """``t`` with elements below ``clip_value_min`` or above ``clip_value_max`` brought to them.

    The gradient goes through where an element is in the range, its ends included.

    Args:
        t: Tensor of a number dtype, or a value convertible to one.
        clip_value_min: Scalar or tensor of the same dtype that broadcasts to ``t``.
        clip_value_max: The same. Where it is less than the minimum, the minimum counts.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: the limits are of a larger shape than ``t``.
        TypeError: a limit does not fit the dtype of ``t``.

    Example:
        >>> import tfx as tf
        >>> tf.clip_by_value([-1.0, 0.5, 9.0], 0.0, 1.0).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    x = tensor(t)
    low, high = matching(x, clip_value_min, "Maximum")[1], matching(x, clip_value_max, "Minimum")[1]
    require_dtype(x, x.dtype.is_numeric_compatible, "ClipByValue", "a number dtype")
    if _are_ordered_scalars(clip_value_min, clip_value_max):
        return apply("Clip", (x, low, high))
    bounded = maximum(minimum(x, high), low)
    if not x.shape.is_compatible_with(bounded.shape):
        raise ValueError(f"Shapes {x.shape} and {bounded.shape} are incompatible")
    return bounded


def _are_ordered_scalars(low: Any, high: Any) -> bool:
    """Whether the limits are plain numbers for which Clip and Minimum with Maximum agree."""
    numbers = (int, float, np.number)
    return isinstance(low, numbers) and isinstance(high, numbers) and bool(low <= high)


@gradient("Clip")
def _clip_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """The gradient of an element that was clipped is its limit's."""
    x, zero = op.inputs[0], scalar_like(0, dy)
    dx = dy
    limits: list[Tensor | None] = []
    for i, beyond in enumerate(("Less", "Greater")[: len(op.inputs) - 1], start=1):
        limit = op.inputs[i]
        if limit is None:
            limits.append(None)
            continue
        outside = apply(beyond, (x, limit))
        dx = apply("Where", (outside, zero, dx))
        passed = apply("Where", (outside, dy, zero))
        limits.append(unbroadcast(passed, limit) if op.needs[i] else None)
    return [dx, *limits]
