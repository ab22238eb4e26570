"""``tfx.bitwise``: operations on the bits of integers."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, require_dtype, same_dtype, scalar_like, tensor


def _binary(op: str, x: Any, y: Any) -> Tensor:
    a, b = same_dtype(x, y, op)
    require_dtype(a, a.dtype.is_integer, op, "an integer dtype")
    return apply(op, (a, b))


def bitwise_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits that are set in both.

    Args:
        x: Tensor of an integer dtype.
        y: Tensor of the same dtype; the two broadcast.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: not integers.
        DTypeMismatchError: different dtypes.

    Example:
        >>> import tfx as tf
        >>> tf.bitwise.bitwise_and([5, 6], 3).numpy()
        array([1, 2], dtype=int32)
    """
    return _binary("BitwiseAnd", x, y)


def bitwise_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits that are set in either; see ``bitwise_and``.

    Example:
        >>> import tfx as tf
        >>> tf.bitwise.bitwise_or([5, 6], 3).numpy()
        array([7, 7], dtype=int32)
    """
    return _binary("BitwiseOr", x, y)


def bitwise_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits that are set in one of them alone; see ``bitwise_and``.

    Example:
        >>> import tfx as tf
        >>> tf.bitwise.bitwise_xor([5, 6], 3).numpy()
        array([6, 5], dtype=int32)
    """
    return _binary("BitwiseXor", x, y)


def invert(x: Any, name: str | None = None) -> Tensor:
    """Invert every bit.

    Example:
        >>> import tfx as tf
        >>> tf.bitwise.invert([0, 5]).numpy()
        array([-1, -6], dtype=int32)
    """
    a = tensor(x)
    require_dtype(a, a.dtype.is_integer, "Invert", "an integer dtype")
    return ox.BitwiseNot(a)


def left_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits moved up by ``y`` places.

    An amount that is negative counts as 0, one that is too large as one less than the dtype has
    bits.

    Example:
        >>> import tfx as tf
        >>> tf.bitwise.left_shift([-1, 3], [1, 2]).numpy()
        array([-2, 12], dtype=int32)
    """
    return _shifted("LEFT", x, y)


def right_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits moved down by ``y`` places; the sign stays. For ``y`` see ``left_shift``.

    Example:
        >>> import tfx as tf
        >>> tf.bitwise.right_shift([-8, 12], [1, 2]).numpy()
        array([-4,  3], dtype=int32)
    """
    return _shifted("RIGHT", x, y)


def _shifted(direction: str, x: Any, y: Any) -> Tensor:
    """``BitShift`` takes unsigned integers: negative ones are shifted as their complement is."""
    a, b = same_dtype(x, y, "LeftShift" if direction == "LEFT" else "RightShift")
    require_dtype(a, a.dtype.is_integer, "BitShift", "an integer dtype")

    limits = scalar_like(0, b), scalar_like(8 * b.dtype.size - 1, b)
    b = ox.Min(ox.Max(b, limits[0]), limits[1])

    def moved(bits: Tensor) -> Tensor:
        wide = {"to": _unsigned(a).onnx}
        operands = (ox.Cast(bits, **wide), ox.Cast(b, **wide))
        return cast_to(ox.BitShift(*operands, direction=direction), a.dtype)

    if direction == "LEFT" or a.dtype.min == 0:
        return moved(a)
    negative = ox.Less(a, scalar_like(0, a))
    # ~x is not negative where x is, and ~(~x >> y) is what an arithmetic shift gives.
    found = moved(ox.Where(negative, ox.BitwiseNot(a), a))
    return ox.Where(negative, ox.BitwiseNot(found), found)


def _unsigned(x: Tensor) -> DType:
    """The unsigned dtype to shift in; ONNX Runtime has no kernel for uint16."""
    return dtypes.as_dtype({1: "uint8", 2: "uint32", 4: "uint32", 8: "uint64"}[x.dtype.size])
