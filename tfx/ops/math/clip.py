"""``clip_by_value``, with the rules of ``Clip``. Norms are clipped in ``ops/linalg/norms.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices, slices_like
from tfx.framework.rules import OpRecord, elementwise, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.array.static_value import get_static_value
from tfx.ops.common.arguments import (
    cast_to,
    require_dtype,
    same_dtype,
    scalar_like,
    tensor,
    unbroadcast,
)
from tfx.ops.common.batching import BatchedOp, Results, batching
from tfx.ops.math.arithmetic import maximum, minimum, multiply


def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """``t`` with elements below ``clip_value_min`` or above ``clip_value_max`` brought to them.

    The gradient goes through where an element is in the range, its ends included.

    Args:
        t: Tensor of a number dtype, or a value convertible to one; of ``IndexedSlices`` the values
            are clipped.
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
    if type(t) is IndexedSlices:
        values = clip_by_value(t.values, clip_value_min, clip_value_max)
        return slices_like(t, values)
    x = tensor(t)
    low, high = (
        same_dtype(x, clip_value_min, "Maximum")[1],
        same_dtype(x, clip_value_max, "Minimum")[1],
    )
    require_dtype(x, x.dtype.is_numeric_compatible, "ClipByValue", "a number dtype")
    if _are_ordered_scalars(clip_value_min, clip_value_max):
        return ox.Clip(x, low, high)
    bounded = maximum(minimum(x, high), low)
    if not x.shape.is_compatible_with(bounded.shape):
        raise InvalidArgumentError(f"Shapes {x.shape} and {bounded.shape} are incompatible")
    return bounded


def _are_ordered_scalars(low: Any, high: Any) -> bool:
    """True if the limits are plain numbers for which Clip and Minimum with Maximum agree."""
    numbers = (int, float, np.number)
    return isinstance(low, numbers) and isinstance(high, numbers) and bool(low <= high)


@gradient("Clip")
def _clip_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """The gradient of an element that was clipped is its limit's.

    An element that equals a limit was not clipped. The one exception is an upper limit that is
    alone, as in ``relu6``: there it was. The upper limit is the last to act: it takes what a lower
    limit above it has raised.
    """
    x, low, high = [*op.inputs, None, None][:3]
    zero, dx = scalar_like(0, dy), dy
    of_low = of_high = None
    if low is None and high is not None and not op.needs[2] and dy.dtype.is_floating:
        # relu6: a product, as in TensorFlow and as behind Relu.
        return [multiply(dy, cast_to(ox.Less(x, high), dy.dtype)), None, None][: len(op.inputs)]
    if high is not None:
        raised = x if low is None or _are_ordered(low, high) else ox.Max(x, low)
        above = apply("GreaterOrEqual" if low is None else "Greater", (raised, high))
        if op.needs[2]:
            of_high = unbroadcast(ox.Where(above, dx, zero), high)
        dx = ox.Where(above, zero, dx)
    if low is not None:
        below = ox.Less(x, low)
        if op.needs[1]:
            of_low = unbroadcast(ox.Where(below, dx, zero), low)
        dx = ox.Where(below, zero, dx)
    found: list[Tensor | None] = [dx, of_low, of_high]
    return found[: len(op.inputs)]


# By the first input each element depends on one element.
elementwise("Clip")


def _are_ordered(low: Tensor, high: Tensor) -> bool:
    """True if the limits are known now, and the lower one is the smaller one."""
    a, b = get_static_value(low), get_static_value(high)
    return a is not None and b is not None and bool(a <= b)


@batching("Clip")
def _clip_batching(op: BatchedOp) -> Results:
    """Batch ``Clip``: bounds that differ between elements need ``Min`` and ``Max``."""
    if not any(op.batched[1:]):
        return op.apply(op.inputs)
    rank = op.rank(0)
    x = op.aligned(0, rank)
    if op.given(1):
        x = ox.Max(x, op.aligned(1, rank))
    if op.given(2):
        x = ox.Min(x, op.aligned(2, rank))
    return x
