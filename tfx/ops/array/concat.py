"""Several tensors into one and back: ``concat``, ``stack``, ``split``, ``unstack``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.rules import OpRecord, gradient, linear
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.common.arguments import (
    is_tensor_like,
    numpy_as_integers,
    required_int,
    single_axis,
    static_ints,
    tensor,
)
from tfx.ops.common.batching import BatchedOp, Results, along_axis, batching, shifted
from tfx.ops.common.dynamic_axis import folded, late_axis
from tfx.ops.common.shapes import (
    common_tensors,
    concat_shape,
    describe,
    dimension,
    rank_of,
    raw_shape,
    reshape_to,
    shape_argument,
    shape_vector,
    static_dims,
    symbolic_items,
    zeros_shaped,
)
from tfx.ops.math.cast import identity


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Tensors one behind the other along an axis.

    Args:
        values: Tensors of one dtype whose shapes differ at most along the axis.
        axis: The axis; negative ones count from the end.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: scalars, an axis out of range, or shapes or dtypes that differ.

    Example:
        >>> import tfx as tf
        >>> tf.concat([[[1, 2]], [[3, 4], [5, 6]]], axis=0).numpy()
        array([[1, 2],
               [3, 4],
               [5, 6]], dtype=int32)
    """
    if (concat_shape := getattr(values, "__tf_concat__", None)) is not None:
        result: Tensor = concat_shape(axis)
        return result
    if not isinstance(values, list | tuple):
        values = [values]
    if not values:
        raise InvalidArgumentError("concat needs at least one tensor; got an empty list.")
    parts = common_tensors(values, "ConcatV2")
    if any(rank_of(x) == 0 for x in parts):
        raise InvalidArgumentError(
            "ConcatOp : Can't concatenate scalars (use tfx.stack instead); got shapes "
            f"{', '.join(map(describe, parts))}.",
            op="ConcatV2",
        )
    known = next((x for x in parts if rank_of(x) is not None), parts[0])
    if len(parts) == 1:
        return identity(parts[0])
    late = late_axis(axis, "ConcatOp")
    if late is not None:
        around = [folded(x, late) for x in parts]
        row = ox.Concat(*[a.x for a in around], axis=1)
        result = around[0].unfolded(row, shape_vector(row, 1, 2))
        if known.shape.rank is not None:
            result.set_shape([None] * known.shape.rank)
        return result
    place = single_axis(numpy_as_integers(axis), known, "ConcatOp")
    try:
        return ox.Concat(*parts, axis=place)
    except InvalidArgumentError:
        _explain_concat(parts, place)
        raise


def _explain_concat(parts: Sequence[Tensor], axis: int) -> None:
    """Raise in TensorFlow's words which shapes do not fit."""
    first = raw_shape(parts[0])
    for i, part in enumerate(parts[1:], 1):
        shape = raw_shape(part)
        if first is None or shape is None:
            continue
        given = f"shape[0] = {describe(parts[0])} vs. shape[{i}] = {describe(part)}"
        if len(first) != len(shape):
            reason = f"Ranks of all input tensors should match: {given}"
        else:
            differ = [
                k
                for k, (a, b) in enumerate(zip(first, shape, strict=True))
                if k != axis and a != b and isinstance(a, int) and isinstance(b, int)
            ]
            if not differ:
                continue
            reason = f"Dimension {differ[0]} in both shapes must be equal: {given}"
        raise InvalidArgumentError(f"ConcatOp : {reason}", op="ConcatV2") from None


@gradient("Concat")
def _concat_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    axis = op.attrs["axis"]
    if len(op.inputs) == 1:
        return (dy,)
    sizes = concat_shape(*[dimension(x, axis) for x in op.inputs])
    return ox.Split(dy, sizes, axis=axis, outputs=len(op.inputs))


linear("Concat")


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Tensors of one static shape along a new first axis; in a function, as in TensorFlow.

    Args:
        values: Tensors of one shape and dtype.
        name: Accepted for compatibility.

    Raises:
        RuntimeError: eager execution.
        ValueError: a shape that is not known.

    Example:
        >>> import tfx as tf
        >>> f = tf.function(lambda x, y: tf.parallel_stack([x, y]))
        >>> f(tf.constant([1, 4]), tf.constant([2, 5])).numpy()
        array([[1, 4],
               [2, 5]], dtype=int32)
    """
    if current().graph is None:
        raise RuntimeError("tf.parallel_stack() is not compatible with eager execution.")
    parts = common_tensors(list(values), "ParallelConcat")
    if any(static_dims(x) is None for x in parts):
        raise InvalidArgumentError(
            "parallel_stack needs tensors whose shapes are known; use tf.stack."
        )
    return stack(parts)


def stack(values: Any, axis: Any = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape along a new axis.

    Args:
        values: Tensors of one shape and dtype.
        axis: Where the new axis stands in the result.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: shapes or dtypes that differ.
        ValueError: an axis out of range.

    Example:
        >>> import tfx as tf
        >>> tf.stack([[1, 2], [3, 4]], axis=1).numpy()
        array([[1, 3],
               [2, 4]], dtype=int32)
    """
    if (concat_shape := getattr(values, "__tf_stack__", None)) is not None:
        stacked: Tensor = concat_shape(axis)
        return stacked
    if type(axis) is not int:
        axis = required_int(axis, "axis of stack")
    if is_tensor_like(values):
        if axis == 0:
            return tensor(values)  # stacking what a tensor consists of
        values = unstack(values)
    elif not isinstance(values, list | tuple):
        values = list(values)
    if not values:
        return convert_to_tensor([], dtypes.float32)
    if not any(is_tensor_like(v) for v in values) and axis == 0:
        with suppress(TypeError, ValueError):  # objects that a program has registered, say
            return tensor(values)
    parts = common_tensors(values, "Pack")
    _check_stack(parts, axis)
    shape = static_dims(parts[0])
    if shape is not None and len(parts) > 2:
        place = axis % (len(shape) + 1)
        if place < len(shape) and all(static_dims(p) == shape for p in parts):
            # Two nodes instead of one for each part.
            row = ox.Concat(*parts, axis=place)
            target = (*shape[:place], len(parts), *shape[place:])
            return reshape_to(row, int64_constant(target))
    new = int64_constant([axis])
    result = ox.Concat(*[ox.Unsqueeze(p, new) for p in parts], axis=axis)
    if shape is None and len(parts) > 1:
        _state_stacked(result, parts, axis)
    return result


def _state_stacked(result: Tensor, parts: Sequence[Tensor], axis: int) -> None:
    """State the shape of stacked tensors: what any of them tells holds for all."""
    whole = parts[0].shape
    for part in parts[1:]:
        whole = whole.merge_with(part.shape)
    if whole.rank is not None and isinstance(result, SymbolicTensor):
        place = axis % (whole.rank + 1)
        dims = whole.as_list()
        result.set_shape([*dims[:place], len(parts), *dims[place:]])


def _check_stack(parts: Sequence[Tensor], axis: int) -> None:
    first = parts[0]
    rank = rank_of(first)
    if rank is not None and not -rank - 1 <= axis <= rank:
        raise InvalidArgumentError(
            f"Argument `axis` = {axis} not in range [{-rank - 1}, {rank + 1})"
        )
    for i, part in enumerate(parts):
        if not part.shape.is_compatible_with(first.shape):
            raise InvalidArgumentError(
                f"Shapes of all inputs must match: values[0].shape = {describe(first)} != "
                f"values[{i}].shape = {describe(part)}",
                op="Pack",
            )


def unstack(
    value: Any, num: int | None = None, axis: Any = 0, name: str = "unstack"
) -> list[Tensor]:
    """The slices of a tensor along an axis, which the slices do not have.

    Args:
        value: Tensor.
        num: How many there are; None takes the static dimension.
        axis: The axis; negative ones count from the end.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: ``num`` is not the dimension.
        ValueError: an axis out of range, or a dimension that is not known while tracing.

    Example:
        >>> import tfx as tf
        >>> [x.numpy().tolist() for x in tf.unstack([[1, 2], [3, 4]], axis=1)]
        [[1, 3], [2, 4]]
    """
    x = tensor(value)
    if type(axis) is not int:
        axis = required_int(axis, "axis of unstack")
    shape = raw_shape(x)
    if shape is not None:
        if not -len(shape) <= axis < len(shape):
            raise InvalidArgumentError(
                f"Argument `axis` = {axis} not in range [{-len(shape)}, {len(shape)})"
            )
        dim = shape[axis]
        if num is None and isinstance(dim, int):
            num = dim
        elif isinstance(dim, int) and num != dim:
            raise InvalidArgumentError(
                f"Input shape axis {axis} must equal {num}, got shape {describe(x)}", op="Unpack"
            )
    if num is None:
        raise InvalidArgumentError(
            f"Cannot infer argument `num` from shape {x.shape}; pass num=, or give the dimension "
            "in the input_signature."
        )
    if num == 0:
        return []
    place = int64_constant([axis])
    if num == 1:
        return [ox.Squeeze(x, place)]
    return [ox.Squeeze(part, place) for part in _equal_parts(x, num, axis)]


def _equal_parts(x: Tensor, count: int, axis: int) -> Sequence[Tensor]:
    """A tensor cut into parts of one length, which must come out even."""
    shape = raw_shape(x)
    dim = None if shape is None else shape[axis]
    if isinstance(dim, int):
        return ox.Split(x, axis=axis, num_outputs=count, outputs=count)
    # num_outputs would allow a shorter last part; given sizes must add up.
    part = ox.Div(dimension(x, axis), int64_constant(count))
    sizes = ox.Expand(part, int64_constant([count]))
    return ox.Split(x, sizes, axis=axis, outputs=count)


def split(
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """A tensor cut into parts along an axis.

    Args:
        value: Tensor.
        num_or_size_splits: The number of equal parts, or the length of each; one may be -1.
        axis: The axis; negative ones count from the end.
        num: The number of parts where it cannot be seen from ``num_or_size_splits``.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: the axis cannot be cut that way.

    Example:
        >>> import tfx as tf
        >>> [x.numpy().tolist() for x in tf.split([1, 2, 3, 4], [1, -1])]
        [[1], [2, 3, 4]]
    """
    x = tensor(value)
    late = late_axis(axis, "Split")
    if late is not None:
        around = folded(x, late)
        pieces = split(around.x, num_or_size_splits, 1, num)
        return [around.unfolded(y, shape_vector(y, 1, 2)) for y in pieces]
    place = single_axis(axis, x, "Split")
    if isinstance(num_or_size_splits, int):
        return list(_even_split(x, num_or_size_splits, place))
    sizes = shape_argument(num_or_size_splits, "SplitV")
    if is_tensor_like(num_or_size_splits) and rank_of(tensor(num_or_size_splits)) == 0:
        raise InvalidArgumentError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {num_or_size_splits!r}; pass a Python int."
        )
    count = raw_shape(sizes)
    parts = count[0] if count is not None and isinstance(count[0], int) else num
    if parts is None:
        raise InvalidArgumentError(f"Cannot infer argument `num` from shape {sizes.shape}")
    if num is not None and num != parts:
        raise InvalidArgumentError(
            "size of the split_tensor must be 1-D and have the same elements as outputs got 1 -D "
            f"and {parts} elements; num={num}.",
            op="SplitV",
        )
    given = symbolic_items(sizes) or (None,) * parts
    sizes = _filled_up(x, sizes, place)
    parted = ox.Split(x, sizes, axis=place, outputs=parts)
    shape = raw_shape(x)
    # Of those that are filled up by a run only -1 is unknown.
    lengths = symbolic_items(sizes) or [None if d == -1 else d for d in given]
    if shape is not None:
        for piece, length in zip(parted, lengths, strict=True):
            if not isinstance(piece, SymbolicTensor):
                continue
            told = piece.shape.rank is not None and piece.shape[place] is not None
            if not told and (piece.shape.rank is None or isinstance(length, int)):
                dims = [d if isinstance(d, int) else None for d in shape]
                dims[place] = length if isinstance(length, int) else None
                piece.set_shape(dims)
    return list(parted)


def _even_split(x: Tensor, count: int, axis: int) -> Sequence[Tensor]:
    if count < 1:
        raise DTypeMismatchError(
            f"Value for attr 'num_split' of {count} must be at least minimum 1", op="Split"
        )
    shape = raw_shape(x)
    dim = None if shape is None else shape[axis]
    if isinstance(dim, int) and dim % count:
        raise InvalidArgumentError(
            "Number of ways to split should evenly divide the split dimension, but got split_dim "
            f"{axis} (size = {dim}) and num_split {count}",
            op="Split",
        )
    if count == 1:
        return [identity(x)]
    return _equal_parts(x, count, axis)


def _filled_up(x: Tensor, sizes: Tensor, axis: int) -> Tensor:
    """The sizes with -1 replaced by what is left, checked where that is possible."""
    shape, known = raw_shape(x), static_ints(sizes)
    dim = None if shape is None else shape[axis]
    if known is not None and isinstance(dim, int):
        rest = dim - sum(n for n in known if n != -1)
        exact = [rest if n == -1 else n for n in known]
        if known.count(-1) > 1 or sum(exact) != dim or min(exact, default=0) < 0:
            raise InvalidArgumentError(
                "Determined shape must either match input shape along split_dim exactly if fully "
                "specified, or be less than the size of the input along split_dim if not fully "
                f"specified.  Got: {known} for split_dim {axis} of {describe(x)}.",
                op="SplitV",
            )
        return int64_constant(exact)
    if known is not None and -1 not in known:
        return sizes
    open_ = ox.Equal(sizes, int64_constant(-1))
    given = ox.ReduceSum(ox.Where(open_, int64_constant(0), sizes), keepdims=1)
    return ox.Where(open_, ox.Sub(dimension(x, axis), given), sizes)


@gradient("Split")
def _split_grad(op: OpRecord, *dys: Tensor | None) -> Sequence[Tensor | None]:
    parts = [zeros_shaped(y) if dy is None else dy for y, dy in zip(op.outputs, dys, strict=True)]
    axis = op.attrs.get("axis", 0)
    whole = parts[0] if len(parts) == 1 else ox.Concat(*parts, axis=axis)
    return whole, *[None] * (len(op.inputs) - 1)


linear("Split", inputs=(0,))


@batching("Concat")
def _concat_batching(op: BatchedOp) -> Results:
    inputs = [op.full(i) for i in range(len(op.inputs))]
    return op.apply(inputs, {"axis": shifted(op.attrs["axis"])})


batching("Split")(along_axis(0))
