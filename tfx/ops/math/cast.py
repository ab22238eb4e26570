"""Changing the dtype of a tensor, and passing it on unchanged with or without its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices, slices_like
from tfx.framework.context import using
from tfx.framework.convert import embed
from tfx.framework.rules import OpRecord, forward, gradient, linear
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.graph.tags import Mark
from tfx.ops.common.arguments import cast_to, tensor
from tfx.ops.common.batching import BatchedOp, Results, batching
from tfx.ops.common.complex_parts import halves, whole


def cast(x: Any, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """``x`` with its elements converted to another dtype.

    Floats lose their fraction on the way to an integer dtype, and everything but 0 is True in
    bool. What a float out of the integer's range becomes is not defined.

    Args:
        x: Tensor of a number or bool dtype, or a value convertible to one.
        dtype: The dtype wanted.
        name: Accepted for compatibility.

    Returns:
        The converted tensor; ``x`` itself if it has the dtype already. Of ``IndexedSlices``, slices
        with converted values.

    Raises:
        UnimplementedError: a conversion from or to strings.
        TypeError: a quantized dtype.

    Example:
        >>> import tfx as tf
        >>> tf.cast([1.8, -2.2], tf.int32).numpy()
        array([ 1, -2], dtype=int32)
    """
    wanted = dtypes.as_dtype(dtype)
    if type(x) is IndexedSlices:
        return slices_like(x, cast(x.values, wanted))
    x = tensor(x)
    if not wanted.onnx:
        raise TypeError(
            f"Cast {x.dtype.name} to {wanted.name} is not supported: no tensor has this dtype."
            f"{dtypes.instead_of(wanted)}"
        )
    if x.dtype is not wanted and dtypes.string in (x.dtype, wanted):
        raise UnimplementedError(
            f"Cast {x.dtype.name} to {wanted.name} is not supported; use tf.strings.to_number or "
            "tf.strings.as_string.",
            op="Cast",
        )
    return cast_to(x, wanted)


@gradient("Cast")
def _cast_grad(op: OpRecord, dy: Tensor) -> Tensor | None:
    x = op.inputs[0]
    return cast_to(dy, x.dtype) if x.dtype.is_floating else None


@gradient("CastLike")
def _cast_like_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    return cast_to(dy, op.inputs[0].dtype), None


@forward("Cast", "CastLike")
def _cast_forward(op: OpRecord, tangent: Tensor | None, *_: None) -> Tensor | None:
    dtype = op.outputs[0].dtype
    return cast_to(tangent, dtype) if tangent is not None and dtype.is_floating else None


def saturate_cast(value: Any, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """``cast`` that brings values out of range to the nearest one that the dtype has.

    Example:
        >>> import tfx as tf
        >>> tf.saturate_cast([-5, 300], tf.uint8).numpy()
        array([  0, 255], dtype=uint8)
    """
    wanted = dtypes.as_dtype(dtype)
    x = tensor(value)
    if x.dtype.is_complex and not wanted.is_complex:
        x = cast(x, x.dtype.real_dtype)
    if wanted.is_complex:
        part = wanted.real_dtype
        if not x.dtype.is_complex:
            return cast(saturate_cast(x, part), wanted)
        if x.dtype is wanted:
            return identity(x)
        return whole(*(saturate_cast(half, part) for half in halves(x)))
    if x.dtype.is_numeric_compatible and wanted.is_numeric_compatible:
        low, high = _limits(wanted)
        lowest, highest = _limits(x.dtype)
        # A float may be infinite, which no integer is.
        infinite = x.dtype.is_floating and wanted.is_integer
        if lowest < low or infinite:
            x = ox.Max(x, _bound(max(low, lowest), x))
        if highest > high or infinite:
            x = ox.Min(x, _bound(min(high, highest), x))
    return cast(x, wanted)


def _limits(dtype: DType) -> tuple[int, int] | tuple[float, float]:
    if dtype.is_integer:
        return int(dtype.min), int(dtype.max)
    return float(dtype.min), float(dtype.max)


def _bound(limit: float, like: Tensor) -> Tensor:
    """A limit as a scalar of another dtype, never beyond it: float32 has no 2**31 - 1."""
    kind = like.dtype.as_numpy_dtype
    # bfloat16's class takes no integers of more than 63 bits.
    bound = kind(float(limit) if like.dtype.is_floating else limit)
    if like.dtype.is_floating and abs(int(float(bound))) > abs(int(limit)):
        bound = np.nextafter(bound, kind(0))
    return embed(np.array(bound, kind))


def identity(input: Any, name: str | None = None) -> Tensor:
    """A tensor of its own with the contents of ``input``; a variable is read.

    Of ``IndexedSlices``, slices of their own.

    Example:
        >>> import tfx as tf
        >>> tf.identity([1, 2]).numpy()
        array([1, 2], dtype=int32)
    """
    if type(input) is IndexedSlices:
        return slices_like(input, identity(input.values), identity(input.indices))
    return ox.Identity(tensor(input))


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """Tensors of their own with the contents of several others.

    Raises:
        InvalidArgumentError: there is none.

    Example:
        >>> import tfx as tf
        >>> [x.numpy() for x in tf.identity_n([1, 2.5])]
        [np.int32(1), np.float32(2.5)]
    """
    given = list(input)
    if not given:
        raise InvalidArgumentError("identity_n: expected at least one tensor, got none.")
    return [identity(x) for x in given]


@gradient("Identity")
def handed_back(op: OpRecord, dy: Tensor) -> Tensor:
    """Gradient rule of an operator that changes nothing."""
    return dy


linear("Identity")


def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """A copy of a value that the program promises not to change; the value itself counts.

    Args:
        input: Tensor or value convertible to one.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.guarantee_const([1, 2]).numpy()
        array([1, 2], dtype=int32)
    """
    return identity(input)


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """The same values, which gradients take for constants.

    Args:
        input: Tensor or a value convertible to one.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same contents through which no gradient flows; of ``IndexedSlices``, slices.

    Example:
        >>> import tfx as tf
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * tf.stop_gradient(x)
        >>> tape.gradient(y, x).numpy()
        np.float32(3.0)
    """
    if type(input) is IndexedSlices:
        return slices_like(input, stop_gradient(input.values))
    x = tensor(input)
    if isinstance(x, EagerTensor):
        # Values are immutable: a second tensor over the same one, which no tape knows.
        return EagerTensor(x._raw, x._dtype)
    with using(tapes=()):
        y = ox.Identity(x)
    assert isinstance(y, SymbolicTensor)
    assert y._symbol.node is not None
    y._symbol.node.tag = Mark.STOP_GRADIENT
    return y


@batching("CastLike")
def _cast_like_batching(op: BatchedOp) -> Results:
    """Batch ``CastLike``: only the type of the second input counts."""
    return op.apply((op.full(0), op.input(1)))
