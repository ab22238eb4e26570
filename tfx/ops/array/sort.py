"""Order: ``sort``, ``argsort``, ``top_k``, ``searchsorted``. All of them rest on ``TopK``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.rules import OpRecord, forward, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import (
    cast_to,
    dtype_or,
    numpy_as_integers,
    require_dtype,
    single_axis,
    static_int,
    tensor,
)
from tfx.ops.common.batching import along_axis, batching
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.shapes import (
    as_int64_shape,
    as_vector,
    concat_shape,
    dimension,
    movable,
    rank_of,
    raw_shape,
    reshape_to,
    shape_vector,
    zeros_shaped,
)
from tfx.ops.common.traced_once import eagerly_at_once


class TopKV2(NamedTuple):
    """The result of ``top_k``."""

    values: Tensor
    indices: Tensor


def sort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """The elements along an axis in order.

    Args:
        values: Tensor of numbers, of rank 1 or more.
        axis: The axis; the last one by default.
        direction: ``"ASCENDING"`` or ``"DESCENDING"``.
        name: Accepted for compatibility.

    Returns:
        A tensor of the same shape. Where NaNs end up is not defined.

    Raises:
        InvalidArgumentError: a scalar or an axis out of range.
        ValueError: another direction.

    Example:
        >>> import tfx as tf
        >>> tf.sort([3, 1, 2], direction="DESCENDING").numpy()
        array([3, 2, 1], dtype=int32)
    """
    return _ordered(values, axis, direction)[0]


def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """The indices that put the elements along an axis in order.

    Args:
        values: Tensor of numbers, of rank 1 or more.
        axis: The axis; the last one by default.
        direction: ``"ASCENDING"`` or ``"DESCENDING"``.
        stable: Accepted for compatibility: equal elements always keep their order.
        name: Accepted for compatibility.

    Returns:
        int32 indices of the same shape.

    Example:
        >>> import tfx as tf
        >>> tf.argsort([3, 1, 2]).numpy()
        array([1, 2, 0], dtype=int32)
    """
    return cast_to(_ordered(values, axis, direction)[1], dtypes.int32)


def _ordered(values: Any, axis: int, direction: str) -> tuple[Tensor, ...]:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise InvalidArgumentError(
            "Argument `direction` should be one of ASCENDING, DESCENDING. Received: "
            f"direction={direction}"
        )
    x = tensor(values)
    require_dtype(x, x.dtype.is_floating or x.dtype.is_integer, "sort", "numbers")
    place = single_axis(axis, x, "sort")
    attrs = {"axis": place, "largest": int(direction == "DESCENDING")}
    return _top(x, dimension(x, place), attrs)


def _top(x: Tensor, count: Tensor, attrs: dict[str, int]) -> tuple[Tensor, ...]:
    """``TopK`` of every dtype."""
    if x.dtype is dtypes.uint64:
        # There is no kernel: adding 2**63 to the bits makes an int64 of the same order.
        half = convert_to_tensor(1 << 63, dtypes.uint64)
        signed = cast_to(ox.Add(x, half), dtypes.int64)
        values, indices = ox.TopK(signed, count, **attrs)
        return ox.Add(cast_to(values, dtypes.uint64), half), indices
    values, indices = ox.TopK(movable(x), count, **attrs)
    return cast_to(values, x.dtype), indices


def top_k(
    input: Any,
    k: Any = 1,
    sorted: bool = True,
    index_type: DTypeLike | None = dtypes.int32,
    name: str | None = None,
) -> TopKV2:
    """The ``k`` largest elements along the last axis, largest first, and their indices.

    Of equal elements the one with the lower index comes first.

    Args:
        input: Tensor of numbers, of rank 1 or more.
        k: How many, 0 or more and at most the length of the axis.
        sorted: ``False`` allows any order.
        index_type: int16, int32 or int64.
        name: Accepted for compatibility.

    Returns:
        ``TopKV2(values, indices)``.

    Raises:
        InvalidArgumentError: a scalar, or ``k`` out of range.

    Example:
        >>> import tfx as tf
        >>> tf.math.top_k([1, 9, 5], k=2).indices.numpy()
        array([1, 2], dtype=int32)
    """
    x, count = tensor(input), as_int64_shape(tensor(numpy_as_integers(k)))
    kind = dtype_or(index_type, dtypes.int32)
    if kind not in (dtypes.int16, dtypes.int32, dtypes.int64):
        raise DTypeMismatchError(
            f"Value for attr 'index_type' of {kind.name} is not in the list of allowed values: "
            "int16, int32, int64",
            op="TopKV2",
        )
    require_dtype(x, x.dtype.is_floating or x.dtype.is_integer, "TopKV2", "numbers")
    _check_count(x, static_int(count))
    attrs = {"axis": -1, "sorted": int(sorted)}
    values, indices = _top(x, as_vector(count), attrs)
    return TopKV2(values, cast_to(indices, kind))


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The ``k`` largest elements along an axis, largest first, and their indices: all of them.

    Args:
        operand: Tensor of a floating dtype, of rank 1 or more.
        k: How many.
        reduction_dimension: The axis.
        recall_target: Which share of them may be missed at most is 1 minus this; none is.
        reduction_input_size_override: Accepted for compatibility.
        aggregate_to_topk: Accepted for compatibility; there are always ``k`` results.
        name: Accepted for compatibility.

    Returns:
        The values and their int32 indices along the axis.

    Raises:
        InvalidArgumentError: another dtype, a scalar, or an axis or ``k`` out of range.

    Example:
        >>> import tfx as tf
        >>> tf.math.approx_max_k([[1.0, 3.0, 2.0]], k=2)[1].numpy()
        array([[1, 2]], dtype=int32)
    """
    return _best_along("ApproxTopK", operand, k, reduction_dimension, largest=True)


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The ``k`` smallest elements along an axis, smallest first; see ``approx_max_k``.

    Example:
        >>> import tfx as tf
        >>> tf.math.approx_min_k([[1.0, 3.0, 2.0]], k=2)[0].numpy()
        array([[1., 2.]], dtype=float32)
    """
    return _best_along("ApproxTopK", operand, k, reduction_dimension, largest=False)


def _best_along(op: str, x: Any, k: int, axis: int, *, largest: bool) -> tuple[Tensor, Tensor]:
    a = tensor(x)
    require_dtype(a, a.dtype.is_floating, op, "a floating dtype")
    place = single_axis(axis, a, op)
    size = a.shape[place] if a.shape.rank is not None else None
    if k < 0 or (size is not None and k > size):
        raise InvalidArgumentError(f"{op}: expected k from 0 to {size}; got {k}.", op=op)
    attrs = {"axis": place, "largest": int(largest), "sorted": 1}
    values, indices = _top(a, int64_constant([k]), attrs)
    return values, cast_to(indices, dtypes.int32)


def _check_count(x: Tensor, k: int | None) -> None:
    shape = raw_shape(x)
    if shape == ():
        raise InvalidArgumentError("input must be >= 1-D, got shape []", op="TopKV2")
    if k is not None and k < 0:
        raise InvalidArgumentError(f"Need k >= 0, got {k}", op="TopKV2")
    if shape is not None and k is not None and isinstance(shape[-1], int) and shape[-1] < k:
        raise InvalidArgumentError(
            f"input must have at least k columns. Had {shape[-1]}, needed {k}", op="TopKV2"
        )


@gradient("TopK")
def _top_k_grad(op: OpRecord, dy: Tensor | None, _: Tensor | None) -> Sequence[Tensor | None]:
    """Every element that was taken gets its gradient back."""
    if dy is None:
        return None, None
    x, indices = op.inputs[0], op.outputs[1]
    axis = {"axis": op.attrs.get("axis", -1)}
    return ox.ScatterElements(zeros_shaped(x), indices, dy, **axis), None


@forward("TopK")
def _top_k_forward(op: OpRecord, tangent: Tensor | None, _: None) -> Sequence[Tensor | None]:
    if tangent is None:
        return None, None
    axis = {"axis": op.attrs.get("axis", -1)}
    return ox.GatherElements(tangent, op.outputs[1], **axis), None


def in_top_k(targets: Any, predictions: Any, k: Any, name: str | None = None) -> Tensor:
    """Return whether each target's prediction is among the ``k`` largest of its row.

    Args:
        targets: Integers ``[batch]``: the column that counts.
        predictions: float32 ``[batch, classes]``.
        k: How many places count; predictions that tie with the last one count too.
        name: Accepted for compatibility.

    Returns:
        Booleans ``[batch]``. A target out of range, and a row with a prediction that is not
        finite, as far as it decides, is ``False``.

    Example:
        >>> import tfx as tf
        >>> tf.math.in_top_k([1, 0], [[0.1, 0.9], [0.2, 0.8]], k=1).numpy()
        array([ True, False])
    """
    scores, column = tensor(predictions), as_int64_shape(tensor(targets))
    require_dtype(scores, scores.dtype.is_floating, "InTopKV2", "a floating dtype")
    result = _are_near_the_top(scores, column, as_int64_shape(tensor(k)))
    result.set_shape(column.shape.with_rank(1).merge_with(scores.shape.with_rank(2)[:1]))
    return result


@eagerly_at_once
def _are_near_the_top(scores: Tensor, column: Tensor, k: Tensor) -> Tensor:
    classes = dimension(scores, 1)
    zero = int64_constant(0)
    valid = ox.And(ox.GreaterOrEqual(column, zero), ox.Less(column, classes))
    safe = ox.Unsqueeze(ox.Where(valid, column, zero), int64_constant([1]))
    own = ox.GatherElements(scores, safe, axis=1)
    better = cast_to(ox.Greater(scores, own), dtypes.int32)
    rank = ox.ReduceSum(better, int64_constant([1]), keepdims=0)
    # x - x is 0 for every finite number only.
    finite = ox.Equal(ox.Sub(scores, scores), convert_to_tensor(0.0, scores.dtype))
    others = ox.ReduceSum(cast_to(ox.Not(finite), dtypes.int32), int64_constant([1]), keepdims=0)
    fine = ox.And(valid, ox.Equal(others, convert_to_tensor(0, dtypes.int32)))
    return ox.And(fine, ox.Less(cast_to(rank, dtypes.int64), k))


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: DTypeLike | None = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Return the indices at which values can be inserted so that a sorted sequence stays sorted.

    Args:
        sorted_sequence: ``[..., n]``, ascending along the last axis.
        values: ``[..., m]`` with the same leading axes, of the same dtype.
        side: ``"left"``: in front of equal elements; ``"right"``: behind them.
        out_type: int32 or int64.
        name: Accepted for compatibility.

    Returns:
        Indices of the shape of ``values``.

    Raises:
        InvalidArgumentError: leading axes or dtypes that differ.
        ValueError: another side.

    Example:
        >>> import tfx as tf
        >>> tf.searchsorted([1, 3, 5], [0, 3, 9]).numpy()
        array([0, 1, 3], dtype=int32)
    """
    if side not in ("left", "right"):
        raise InvalidArgumentError(
            f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'."
        )
    kind = dtype_or(out_type, dtypes.int32)
    sequence, wanted = tensor(sorted_sequence), tensor(values)
    _check_search(sequence, wanted)
    if rank_of(sequence) is None or rank_of(sequence) != rank_of(wanted):
        # What leads the last axis counts as rows, however many axes it has.
        shape = shape_vector(wanted)
        first, second = (
            of_rank(reshape_to(x, concat_shape(int64_constant([-1]), shape_vector(x, -1))), 2)
            for x in (sequence, wanted)
        )
        return reshape_to(searchsorted(first, second, side, kind), shape)
    # One stable sort of both, so that ties fall to the right side; then, how many elements of the
    # sequence come before each value is a running sum, read off at the value's own place.
    first, second = (wanted, sequence) if side == "left" else (sequence, wanted)
    both = ox.Concat(first, second, axis=-1)
    attrs = {"axis": -1, "largest": 0}
    order = _top(both, dimension(both, -1), attrs)[1]
    border = dimension(first, -1)
    compare = "GreaterOrEqual" if side == "left" else "Less"
    counted = cast_to(apply(compare, (order, border)), dtypes.int64)
    passed = ox.CumSum(counted, int64_constant(-1))
    placed = ox.ScatterElements(order, order, passed, axis=-1)
    start = int64_constant([0]) if side == "left" else border
    end = border if side == "left" else int64_constant([2**62])
    return cast_to(ox.Slice(placed, start, end, int64_constant([-1])), kind)


def _check_search(sequence: Tensor, values: Tensor) -> None:
    if sequence.dtype is not values.dtype:
        raise DTypeMismatchError(
            f"cannot compute searchsorted as values were expected to be a {sequence.dtype.name} "
            f"tensor but are a {values.dtype.name} tensor; use tfx.cast to make them agree.",
            op="LowerBound",
        )
    a, b = raw_shape(sequence), raw_shape(values)
    if () in (a, b):
        raise InvalidArgumentError(
            f"searchsorted needs tensors of rank 1 or more; got shapes {sequence.shape} and "
            f"{values.shape}.",
            op="LowerBound",
        )
    if a is None or b is None or len(a) != len(b):
        return
    if not sequence.shape[:-1].is_compatible_with(values.shape[:-1]):
        raise InvalidArgumentError(
            f"Leading dim_size of both tensors must match; got shapes {sequence.shape} and "
            f"{values.shape}.",
            op="LowerBound",
        )


batching("TopK")(along_axis(-1))
