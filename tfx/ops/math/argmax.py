"""Positions of the largest and smallest elements: ``argmax`` and ``argmin``."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.rules import no_gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, dtype_or, require_dtype, single_axis, tensor
from tfx.ops.common.batching import along_axis, batching
from tfx.ops.common.dynamic_axis import folded, late_axis

_INDEX_DTYPES = (dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.int64)


def argmax(
    input: Any,
    axis: Any = None,
    output_type: DTypeLike | None = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """The index of the largest element along an axis, the first one of several.

    Args:
        input: Tensor of a number or bool dtype, or a value convertible to one.
        axis: The axis; negative ones count from the end. None means 0.
        output_type: int16, uint16, int32 or int64.
        name: Accepted for compatibility.

    Returns:
        The indices, of the shape of ``input`` without the axis. NaN is passed over;
        of NaN alone the index is 0.

    Raises:
        InvalidArgumentError: an axis out of range or without elements.

    Example:
        >>> import tfx as tf
        >>> tf.argmax([[1, 5], [3, 4]], axis=1).numpy()
        array([1, 1])
    """
    return _position("ArgMax", input, axis, output_type)


def argmin(
    input: Any,
    axis: Any = None,
    output_type: DTypeLike | None = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """The index of the smallest element along an axis, the first one of several; see ``argmax``.

    Example:
        >>> import tfx as tf
        >>> tf.argmin([[1, 5], [3, 4]], axis=1).numpy()
        array([0, 0])
    """
    return _position("ArgMin", input, axis, output_type)


def _position(op: str, input: Any, axis: Any, output_type: DTypeLike | None) -> Tensor:
    kind = dtype_or(output_type, dtypes.int64)
    if kind not in _INDEX_DTYPES:
        raise DTypeMismatchError(
            f"Value for attr 'output_type' of {kind.name} is not allowed by {op}; expected "
            "int16, uint16, int32 or int64.",
            op=op,
        )
    x = tensor(input)
    require_dtype(x, x.dtype is not dtypes.string, op, "a number or bool dtype")
    if x.dtype.is_bool:
        x = cast_to(x, dtypes.uint8)
    late = late_axis(axis, op)
    if late is not None:
        around = folded(x, late)
        return cast_to(
            around.unfolded(apply(op, (around.x,), {"axis": 1, "keepdims": 0}), axes=0), kind
        )
    place = single_axis(0 if axis is None else axis, x, op)
    if x.shape.rank is not None and x.shape[place] == 0:
        raise InvalidArgumentError(
            f"{op}: Reduction axis {place} is empty in shape {x.shape.as_list()}", op=op
        )
    return cast_to(apply(op, (x,), {"axis": place, "keepdims": 0}), kind)


no_gradient("ArgMax", "ArgMin", why="the result is an index")


batching("ArgMax", "ArgMin")(along_axis(0))
