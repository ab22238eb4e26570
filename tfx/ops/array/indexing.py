"""``tensor[...]``: Python's indexing syntax, by TensorFlow's rules.

An index is first sorted into what it does to each axis (pick, slice, insert), then written with as
few nodes as possible: one ``Slice`` for all bounds, one ``Squeeze`` for all picked axes, one
``Unsqueeze`` for all new ones; a single pick is one ``Gather``, which also takes a tensor as it is.
Axes behind an ellipsis are counted from the end, so nothing needs the rank to be known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.context import executing_eagerly
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.where import boolean_mask
from tfx.ops.common.arguments import (
    INT64_MAX,
    INT64_MIN,
    cast_to,
    int64_vector,
    is_tensor_like,
    static_int,
    tensor,
)
from tfx.ops.common.shapes import dimension, raw_shape

# An index or bound: known now, or when the graph runs.
Index = int | Tensor

_INDEX_DTYPES = (dtypes.int16, dtypes.int32, dtypes.int64)
# An end behind every tensor. (ONNX Runtime takes INT64_MAX for none, in both directions.)
_BEHIND = 2**62


class _Bounds(NamedTuple):
    """One entry of a ``Slice``."""

    axis: int
    start: Index
    end: Index
    step: Index


class _Plan:
    """The decomposition of an index into slices, picks, gathers and new axes."""

    __slots__ = ("gathers", "new_axes", "picks", "slices")

    def __init__(self) -> None:
        self.slices: list[_Bounds] = []
        self.picks: list[tuple[int, int]] = []
        self.gathers: list[tuple[int, Tensor]] = []
        self.new_axes: list[int] = []


def getitem(x: Any, key: Any) -> Tensor:
    """``x[key]``.

    Args:
        x: Tensor or variable.
        key: An integer, slice, ``...``, ``newaxis``, scalar integer tensor or a tuple of these; or
            a boolean mask of the leading axes.

    Returns:
        The selected part. Integers remove their axis; slices clamp their bounds as Python's do.

    Raises:
        InvalidArgumentError: an integer out of range, more indices than axes, a step of zero.
        TypeError: an index of any other kind.

    Example:
        >>> import tfx as tf
        >>> x = tf.constant([[1, 2, 3], [4, 5, 6]])
        >>> x[0, ::-1].numpy()
        array([3, 2, 1], dtype=int32)
        >>> x[:, 1, tf.newaxis].shape
        TensorShape([2, 1])
    """
    if type(key) is int and type(x) is EagerTensor:
        dims = x._raw.shape()
        if dims and -dims[0] <= key < dims[0]:
            return ox.Gather(x, int64_constant(key))
    data = x if isinstance(x, Tensor) else tensor(x)
    if _is_mask(key):
        return boolean_mask(data, key)
    return index_with(data, key if isinstance(key, tuple | list) else (key,))


def index_with(x: Tensor, items: Sequence[Any]) -> Tensor:
    """Apply one index per axis (``...`` for those left out): ``getitem`` without masks."""
    key = _signature(x, items)
    steps = None if key is None else _remembered.get(key)
    if steps is None:
        steps = _steps(_parse(items, x))
        if key is not None:
            if len(_remembered) >= _REMEMBERED_LIMIT:
                _remembered.clear()
            _remembered[key] = steps
    for op, inputs, attrs in steps:
        x = apply(op, (x, *inputs), attrs)
    return x


# An operator applied to the tensor so far, with its other inputs and attributes.
_Step = tuple[str, tuple[Tensor, ...], dict[str, Any]]
# What eager indexing with Python numbers came to: the same indices come again and again.
_remembered: dict[Any, list[_Step]] = {}
_REMEMBERED_LIMIT = 4096


def _signature(x: Tensor, items: Sequence[Any]) -> Any:
    """A key for an eager index made of Python's own numbers, else None."""
    if type(x) is not EagerTensor or not executing_eagerly():
        return None
    parts: list[Any] = []
    for item in items:
        if type(item) is slice:
            bounds = (item.start, item.stop, item.step)
            if any(b is not None and type(b) is not int for b in bounds):
                return None
            parts.append(bounds)
        elif type(item) is int or item is None or item is Ellipsis:
            parts.append(item)
        else:
            return None
    return tuple(parts), tuple(x._raw.shape())


def _is_mask(key: Any) -> bool:
    if isinstance(key, bool | np.bool_):
        return True
    return (is_tensor_like(key) or isinstance(key, np.ndarray)) and key.dtype == np.bool_


def _parse(items: Sequence[Any], x: Tensor) -> _Plan:
    before, after = _split_at_ellipsis(items)
    rank = x.shape.rank
    used = sum(item is not None for item in [*before, *after])
    if rank is not None and used > rank:
        _check_kinds([*before, *after])
    if rank == 0 and used:
        raise InvalidArgumentError(
            f"Attempting to slice scalar input. The index was {_show(items)}.", op="StridedSlice"
        )
    if rank is not None and used > rank:
        raise InvalidArgumentError(
            f"Index out of range using input dim {rank}; input has only {rank} dims, but the index "
            f"{_show(items)} has {used}.",
            op="StridedSlice",
        )
    plan = _Plan()
    _walk(plan, before, 0, 0, x)
    behind = sum(item is not None for item in after)
    kept = sum(item is None or isinstance(item, slice) for item in after)
    _walk(plan, after, -behind if rank is None else rank - behind, -kept, x)
    return plan


def _check_kinds(items: Sequence[Any]) -> None:
    """Refuse what is no index at all, before it is said that there are too many."""
    for item in items:
        if item is not None and not isinstance(item, slice):
            _index(item)


def _split_at_ellipsis(items: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The indices in front of and behind the ellipsis; without one it stands at the end."""
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise InvalidArgumentError(
            f"Multiple ellipses in slice spec not allowed; got {_show(items)}.", op="StridedSlice"
        )
    place = places[0] if places else len(items)
    return list(items[:place]), list(items[place + 1 :])


def _walk(plan: _Plan, items: Sequence[Any], axis: int, position: int, x: Tensor) -> None:
    """Sort indices into the plan.

    Args:
        plan: Filled in.
        items: Indices of consecutive axes.
        axis: The input's axis that the first one is for.
        position: The result's axis that the first one makes.
        x: The tensor to be indexed.
    """
    for item in items:
        if item is None:
            plan.new_axes.append(position)
            position += 1
            continue
        if isinstance(item, slice):
            bounds = _bounds(item, axis, x)
            if bounds is not None:
                plan.slices.append(bounds)
            position += 1
        else:
            index = _index(item)
            if isinstance(index, int):
                _check_range(index, axis, x)
                plan.picks.append((axis, index))
            else:
                plan.gathers.append((axis, index))
        axis += 1


def _check_range(index: int, axis: int, x: Tensor) -> None:
    shape = x.shape
    if shape.rank is None:
        return
    dim = shape[axis]
    if dim is not None and not -dim <= index < dim:
        raise InvalidArgumentError(
            f"slice index {index} of dimension {axis} out of bounds: the dimension has {dim} "
            f"elements (shape {shape}).",
            op="StridedSlice",
        )


def _is_foreign_scalar(item: Any) -> bool:
    """True if another library's tensor may be an index."""
    return hasattr(item, "__index__") and hasattr(item, "__array__")


def _index(item: Any) -> Index:
    """Return an integer, or a tensor that nothing more is known about.

    Raises:
        TypeError: it cannot be an index.
    """
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        return int(item)
    if is_tensor_like(item) or isinstance(item, np.ndarray) or _is_foreign_scalar(item):
        made = tensor(item)
        if made.dtype in _INDEX_DTYPES and made.shape.rank in (0, None):
            known = static_int(made)
            if known is not None:
                return known
            return made if made.shape.rank == 0 else ox.Reshape(made, int64_constant([]))
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
        f"tf.int32/tf.int64 tensors are valid indices, got {item!r}"
    )


def _bounds(item: slice, axis: int, x: Tensor) -> _Bounds | None:
    """A slice as ONNX wants it; None if it keeps everything."""
    step = 1 if item.step is None else _index(item.step)
    if isinstance(step, int):
        if step == 0:
            raise InvalidArgumentError(f"strides[{axis}] must be non-zero.", op="StridedSlice")
        if step == 1 and item.start is None and item.stop is None:
            return None
    start = _by_sign(step, 0, INT64_MAX) if item.start is None else _index(item.start)
    end = _by_sign(step, INT64_MAX, INT64_MIN) if item.stop is None else _index(item.stop)
    return _Bounds(axis, start, _reachable(x, axis, start, end, step), step)


def _reachable(x: Tensor, axis: int, start: Index, end: Index, step: Index) -> Index:
    """The end of a slice; where the start lies in front of the tensor, one that leaves nothing.

    Backwards from there Python finds nothing, ONNX begins at the first element.
    """
    if isinstance(step, int) and (step > 0 or (isinstance(start, int) and start >= -1)):
        return end
    shape = raw_shape(x)
    dim = None if shape is None else shape[axis]
    if isinstance(dim, int) and isinstance(start, int) and isinstance(step, int):
        return _BEHIND if start < -dim else end
    length = ox.Squeeze(dimension(x, axis), int64_constant([0]))
    beyond = ox.Less(_wide(start), ox.Neg(length))
    if not isinstance(step, int):
        beyond = ox.And(beyond, ox.Less(_wide(step), int64_constant(0)))
    return ox.Where(beyond, int64_constant(_BEHIND), _wide(end))


def _wide(index: Index) -> Tensor:
    return int64_constant(index) if isinstance(index, int) else cast_to(index, dtypes.int64)


def _by_sign(step: Index, forwards: int, backwards: int) -> Index:
    """The bound that is meant by none: it depends on the direction."""
    if isinstance(step, int):
        return forwards if step > 0 else backwards
    choice = ox.Less(_wide(step), int64_constant(0))
    return ox.Where(choice, int64_constant(backwards), int64_constant(forwards))


def _show(items: Sequence[Any]) -> str:
    return f"[{', '.join(map(repr, items))}]"


def _steps(plan: _Plan) -> list[_Step]:
    """The operators that carry a plan out, first to last."""
    picks, gathers = plan.picks, plan.gathers
    removed = [axis for axis, _ in gathers]
    if len(picks) == 1 and not plan.slices:
        axis, index = picks[0]
        picks, gathers = [], [*gathers, (axis, int64_constant(index))]
    # From the inside out, so that the axes still to be removed keep their numbers.
    steps: list[_Step] = [
        ("Gather", (_gather_index(where),), {"axis": axis} if axis else {})
        for axis, where in sorted(gathers, key=lambda g: -g[0] if g[0] >= 0 else g[0])
    ]
    cuts = [_Bounds(_shifted(b.axis, removed), *b[1:]) for b in plan.slices]
    cuts += [
        _Bounds(_shifted(axis, removed), i, i + 1 if i != -1 else INT64_MAX, 1) for axis, i in picks
    ]
    if cuts:
        steps.append(("Slice", _slice_inputs(cuts), {}))
    if picks:
        axes = [_shifted(axis, removed) for axis, _ in picks]
        steps.append(("Squeeze", (int64_constant(axes),), {}))
    if plan.new_axes:
        steps.append(("Unsqueeze", (int64_constant(plan.new_axes),), {}))
    return steps


def _gather_index(index: Tensor) -> Tensor:
    return cast_to(index, dtypes.int64) if index.dtype is dtypes.int16 else index


def _shifted(axis: int, removed: Sequence[int]) -> int:
    """The number of an axis after others are gone."""
    if axis >= 0:
        return axis - sum(0 <= other < axis for other in removed)
    return axis + sum(axis < other < 0 for other in removed)


def _slice_inputs(cuts: Sequence[_Bounds]) -> tuple[Tensor, ...]:
    axes = int64_constant([c.axis for c in cuts])
    starts, ends = int64_vector([c.start for c in cuts]), int64_vector([c.end for c in cuts])
    if all(isinstance(c.step, int) and c.step == 1 for c in cuts):
        return starts, ends, axes
    return starts, ends, axes, int64_vector([c.step for c in cuts])
