"""The shape of a tensor: asking for it, and giving the same elements another one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tfx.core.dims import is_static
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.context import executing_eagerly
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient, linear
from tfx.framework.tensor import Tensor
from tfx.graph.shape_rules import reshaped
from tfx.ops.common.arguments import static_ints, tensor, unbroadcast
from tfx.ops.common.batching import (
    BatchedOp,
    CannotBatchError,
    Results,
    along_axes,
    batching,
    concat_shapes,
    shifted_axes,
)
from tfx.ops.common.dynamic_axis import late_axis
from tfx.ops.common.shapes import (
    RawDims,
    describe,
    rank_of,
    raw_shape,
    reshape_to,
    shape_argument,
    shape_vector,
    static_dims,
    symbolic_items,
)
from tfx.ops.math.cast import identity


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same elements, in the same order, in another shape.

    Args:
        tensor: Tensor.
        shape: Integers; one of them may be -1 for what is left over.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: the number of elements does not fit.

    Example:
        >>> import tfx as tf
        >>> tf.reshape([1, 2, 3, 4, 5, 6], [2, -1]).numpy()
        array([[1, 2, 3],
               [4, 5, 6]], dtype=int32)
    """
    x, target = _tensor(tensor), shape_argument(shape, "Reshape")
    known = static_ints(target)
    if known is None:
        short = _without_arithmetic(x, target)
        if short is not None:
            return ox.Reshape(x, short)
    elif 0 in known and -1 in known:
        target = _empty_target(x, known)
    elif not executing_eagerly():
        _check_count(x, target)
    try:
        return reshape_to(x, target)
    except InvalidArgumentError:
        _explain_reshape(x, target)
        raise


_tensor = tensor


def _without_arithmetic(x: Tensor, target: Tensor) -> Tensor | None:
    """A constant target that says the same: a 0 takes the dimension of ``x`` over.

    ``reshape(x, [shape(x)[0], -1])`` is written so often that it should cost one node.
    """
    source, dims = raw_shape(x), symbolic_items(target)
    if source is None or dims is None or 0 in dims:
        return None
    items: list[int] = []
    wanted = reshaped(source, dims, allow_zero=True)
    for i, (dim, given) in enumerate(zip(wanted, dims, strict=True)):
        if isinstance(dim, int):
            items.append(dim)
        elif dim is not None and i < len(source) and source[i] == dim:
            items.append(0)
        elif given == -1:
            items.append(-1)
        else:
            return None
    return None if items.count(0) and source.count(0) else int64_constant(items)


def _empty_target(x: Tensor, target: list[int]) -> Tensor:
    """Return the target with -1 resolved beside a 0; axes of length 0 do not count."""
    shape = static_dims(x)
    if shape is None or 0 not in shape:
        return int64_constant(target)
    have = math.prod(d for d in shape if d)
    used = math.prod(d for d in target if d > 0)
    return int64_constant([have // used if d == -1 else d for d in target])


def _check_count(x: Tensor, target: Tensor) -> None:
    """Refuse what onnx lets pass, which infers the shape from the target alone."""
    shape, dims = static_dims(x), static_ints(target)
    if shape is None or dims is None:
        return
    have, wanted = math.prod(shape), math.prod(dims)
    if have != wanted and (-1 not in dims or not wanted or have % wanted):
        _explain_reshape(x, target)


def _explain_reshape(x: Tensor, target: Tensor) -> None:
    """Raise in TensorFlow's words why a reshape cannot be."""
    shape, dims = static_dims(x), static_ints(target)
    if dims is None:
        return
    if dims.count(-1) > 1:
        first, second = [i for i, d in enumerate(dims) if d == -1][:2]
        reason = f"Only one input size may be -1, not both {first} and {second}"
    elif min(dims, default=0) < -1:
        place = next(i for i, d in enumerate(dims) if d < -1)
        reason = f"Size {place} must be non-negative, not {dims[place]}"
    elif shape is None:
        return
    elif -1 in dims:
        reason = (
            f"Input to reshape is a tensor with {math.prod(shape)} values, but the requested shape "
            f"requires a multiple of {-math.prod(dims)}"
        )
    else:
        reason = (
            f"Input to reshape is a tensor with {math.prod(shape)} values, but the requested shape "
            f"has {math.prod(dims)}"
        )
    raise InvalidArgumentError(
        f"{reason}; got shape {describe(x)}, requested {dims}.", op="Reshape"
    ) from None


@gradient("Reshape", "Squeeze", "Unsqueeze", "Flatten")
def _reshape_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """The gradient in the input's shape; axes are put back or taken out where they are known."""
    x, *rest = op.inputs
    dims = static_dims(x)
    inverse = {"Squeeze": "Unsqueeze", "Unsqueeze": "Squeeze"}.get(op.op)
    if dims and 0 not in dims:
        dx = ox.Reshape(dy, int64_constant(dims))
    elif inverse and rest and rest[0] is not None and dims is None:
        dx = apply(inverse, (dy, rest[0]))
    else:
        dx = reshape_to(dy, shape_vector(x))
    return dx, *[None] * len(rest)


linear("Reshape", "Squeeze", "Unsqueeze", "Flatten", inputs=(0,))


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """The same elements with an axis of length 1 inserted.

    Args:
        input: Tensor.
        axis: Where the new axis stands in the result; negative ones count from its end.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: the axis is out of range.

    Example:
        >>> import tfx as tf
        >>> tf.expand_dims([1, 2], axis=0).shape
        TensorShape([1, 2])
    """
    x = tensor(input)
    late = late_axis(axis, "expand_dims")
    if late is not None:
        result = ox.Unsqueeze(x, late)
        if (known := rank_of(x)) is not None:
            result.set_shape([None] * (known + 1))
        return result
    given = _axes(axis, "expand_dims")
    if len(given) != 1:
        raise InvalidArgumentError(
            f"'dim' must be a tensor with a single value; got {axis!r}.", op="ExpandDims"
        )
    rank = rank_of(x)
    if rank is not None and not -rank - 1 <= given[0] <= rank:
        raise InvalidArgumentError(
            f"Tried to expand dim index {given[0]} for tensor with {rank} dimensions; expected a "
            f"value in [{-rank - 1}, {rank}].",
            op="ExpandDims",
        )
    return ox.Unsqueeze(x, int64_constant(given))


def _axes(axis: Any, op: str) -> list[int]:
    if type(axis) is int:
        return [axis]
    known = static_ints(shape_argument(axis, op))
    if known is None:
        raise InvalidArgumentError(
            f"The axis of {op} must be known while the function is traced; got {axis!r}. Pass a "
            "Python int."
        )
    return known


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """The same elements without axes of length 1.

    Args:
        input: Tensor.
        axis: The axis or axes to remove; None or ``[]`` means all of length 1.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: an axis that is not of length 1, or out of range.

    Example:
        >>> import tfx as tf
        >>> tf.squeeze([[[1], [2]]]).numpy()
        array([1, 2], dtype=int32)
    """
    x = tensor(input)
    axes = [] if axis is None else _axes(axis, "squeeze")
    shape = raw_shape(x)
    if shape is not None:
        for a in axes:
            if not -len(shape) <= a < len(shape):
                raise InvalidArgumentError(
                    f"Tried to squeeze dim index {a} for tensor with {len(shape)} dimensions.",
                    op="Squeeze",
                )
            if isinstance(shape[a], int) and shape[a] != 1:
                raise InvalidArgumentError(
                    f"Can not squeeze dim[{a}], expected a dimension of 1, got {shape[a]} in shape "
                    f"{describe(x)}.",
                    op="Squeeze",
                )
    if axes:
        return ox.Squeeze(
            x, int64_constant(sorted({a % len(shape) for a in axes}) if shape is not None else axes)
        )
    if is_static(shape):
        axes = [i for i, d in enumerate(shape) if d == 1]
        return ox.Squeeze(x, int64_constant(axes)) if axes else identity(x)
    return ox.Squeeze(x)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """``input`` repeated along axes of length 1, and new leading ones, to a shape.

    Args:
        input: Tensor.
        shape: Integers, at least as many as ``input`` has axes.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: the input does not broadcast to the shape.

    Example:
        >>> import tfx as tf
        >>> tf.broadcast_to([1, 2], [2, 2]).numpy()
        array([[1, 2],
               [1, 2]], dtype=int32)
    """
    x, target = tensor(input), shape_argument(shape, "BroadcastTo")
    have, want = raw_shape(x), symbolic_items(target)
    if want is not None:
        _check_broadcast(x, have, want)
    result = ox.Expand(x, target)
    if have is None and want is not None:
        result.set_shape([d if isinstance(d, int) else None for d in want])
    return result


def _check_broadcast(x: Tensor, have: RawDims | None, want: RawDims) -> None:
    """ONNX's ``Expand`` broadcasts both ways, which is more than is asked for."""
    for dim in want:
        if isinstance(dim, int) and dim < 0:
            raise InvalidArgumentError(f"Dimension {dim} must be >= 0", op="BroadcastTo")
    if have is None:
        return
    if len(have) > len(want):
        raise InvalidArgumentError(
            f"Rank of input ({len(have)}) must be no greater than rank of output shape "
            f"({len(want)}).",
            op="BroadcastTo",
        )
    tail = want[len(want) - len(have) :]
    for a, b in zip(have, tail, strict=True):
        if isinstance(a, int) and isinstance(b, int) and a not in (1, b):
            raise InvalidArgumentError(
                f"Unable to broadcast tensor of shape {describe(x)} to tensor of shape "
                f"{list(want)}.",
                op="BroadcastTo",
            )


@gradient("Expand")
def _expand_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    return unbroadcast(dy, op.inputs[0]), None


linear("Expand", inputs=(0,))


@batching("Expand")
def _expand_batching(op: BatchedOp) -> Results:
    """Elements get as many axes as the result has."""
    op.only(0)
    length = op.input(1).shape[0] if op.input(1).shape.rank else None
    if length is None:
        raise CannotBatchError("the rank of the result is unknown")
    rank = max(op.rank(0), length)
    known = op.static_shape()
    if known is not None and op.static_size is not None:
        shape = int64_constant([op.static_size, *known])
    else:
        shape = concat_shapes(op.lead(), int64_constant([1] * (rank - length)), op.input(1))
    return ox.Expand(op.aligned(0, rank), shape)


@batching("Reshape")
def _reshape_batching(op: BatchedOp) -> Results:
    """The batch in front of the shape. A 0 copies the dimension at its place, also then."""
    op.only(0)
    known = op.static_shape()
    if known is not None:
        shape = concat_shapes(op.lead(), int64_constant(known)) if known else op.lead()
        if op.static_size is not None:
            shape = int64_constant([op.static_size, *known])
        return ox.Reshape(op.input(0), shape, allowzero=1)
    return op.apply((op.input(0), concat_shapes(op.lead(), op.input(1))))


@batching("Flatten")
def _flatten_batching(op: BatchedOp) -> Results:
    """Two products of dimensions."""
    x, axis = op.input(0), op.attrs.get("axis", 1)
    axis = axis % max(op.rank(0), 1) if axis < 0 else axis
    known = op.static_shape()
    if known is not None:
        parts = [op.lead(), int64_constant(known)]
    else:
        parts = [op.lead(), _product(x, 1, axis + 1), _product(x, axis + 1, 2**62)]
    return ox.Reshape(x, concat_shapes(*parts), allowzero=1)


def _product(x: Tensor, start: int, end: int) -> Tensor:
    dims = ox.Shape(x, start=start, end=end)
    return ox.ReduceProd(dims, keepdims=1)


@batching("Squeeze")
def _squeeze_batching(op: BatchedOp) -> Results:
    op.only(0)
    if op.given(1):
        return op.apply((op.input(0), shifted_axes(op.input(1))))
    shape = op.input(0).shape
    if shape.rank is None or None in shape[1:].as_list():
        raise CannotBatchError("which axes have size 1 is known at run time only")
    axes = [i for i, d in enumerate(shape.as_list()) if i and d == 1]
    return op.apply((op.input(0), int64_constant(axes))) if axes else op.input(0)


batching("Unsqueeze")(along_axes)
