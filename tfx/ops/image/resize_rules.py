"""The gradient of ``Resize``, for imported models.

Every mode of ``Resize`` is a matrix along each axis, applied to one axis after the other. The
matrix is what the operator itself makes of the unit vectors, so the gradient (the transposed
matrices) fits the forward kernel in all its modes and rounding conventions. Enlarging by whole
numbers in mode nearest, as decoders do, is a sum instead.
"""

from __future__ import annotations

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import UnimplementedError
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ops.common.batching import BatchedOp, CannotBatchError, Results, batching
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    product,
    raw_shape,
    reshape_to,
    shape_vector,
    symbolic_items,
)
from tfx.ops.image.sampling import count_up
from tfx.ops.image.sampling_rules import text

_REPEATING = frozenset(
    (
        ("asymmetric", "floor"),
        ("half_pixel", "round_prefer_floor"),
        ("half_pixel", "round_prefer_ceil"),
        ("pytorch_half_pixel", "round_prefer_floor"),
        ("pytorch_half_pixel", "round_prefer_ceil"),
    )
)


@gradient("Resize")
def _resize_grad(op: OpRecord, dy: Tensor) -> list[Tensor | None]:
    """The transposed matrices, applied to ``dy`` along each axis."""
    x = op.inputs[0]
    rank = x.shape.rank
    if rank is None:
        raise UnimplementedError(
            f"The gradient of Resize needs an input of known rank; got {x!r}.", op="Resize"
        )
    axes = [a % rank for a in op.attrs.get("axes") or range(rank)]
    resizing = _Resizing(op, dy, axes)
    for number, axis in enumerate(axes):
        factor = resizing.factor(number)
        if factor == 1.0 or resizing.keeps(axis):
            continue
        if factor is not None and resizing.repeats(factor):
            dy = _summed(dy, x, axis, int(factor))
        else:
            dy = _along(dy, resizing.matrix(number, axis), axis)
    return [dy, *(None for _ in op.inputs[1:])]


class _Resizing:
    """The settings of one ``Resize``."""

    def __init__(self, op: OpRecord, dy: Tensor, axes: list[int]) -> None:
        self._x, self._dy, self._axes = op.inputs[0], dy, axes
        given = [*op.inputs[1:], None, None, None]
        self._roi, self._scales = _present(given[0]), _present(given[1])
        self._sizes = _present(given[2])
        self._mode = text(op.attrs, "mode", "nearest")
        self._coordinates = text(op.attrs, "coordinate_transformation_mode", "half_pixel")
        self._rounding = text(op.attrs, "nearest_mode", "round_prefer_floor")
        self._policy = text(op.attrs, "keep_aspect_ratio_policy", "stretch")
        self._cropped = self._coordinates == "tf_crop_and_resize"
        # What lies outside of the region is a constant, not the image.
        dropped = ("axes", "extrapolation_value", "keep_aspect_ratio_policy")
        self._attrs = {k: v for k, v in op.attrs.items() if k not in dropped}

    def factor(self, number: int) -> float | None:
        """The scale along an axis where it is known and all that matters."""
        known = None if self._scales is None or self._cropped else _floats(self._scales)
        return None if known is None else float(known[number])

    def keeps(self, axis: int) -> bool:
        """True if the axis is known to stay as it is, though only sizes are given."""
        have, made = raw_shape(self._x), raw_shape(self._dy)
        if self._scales is not None or self._cropped or have is None or made is None:
            return False
        return have[axis] is not None and have[axis] == made[axis]

    def repeats(self, factor: float) -> bool:
        """True if every element is just repeated."""
        known = (self._coordinates, self._rounding) in _REPEATING
        return self._mode == "nearest" and factor >= 1 and factor.is_integer() and known

    def matrix(self, number: int, axis: int) -> Tensor:
        """Return a matrix whose row ``i`` is the result for the unit vector ``i`` of an axis."""
        x = self._x
        size = dimension(x, axis)
        steps = count_up(size)
        same = ox.Equal(ox.Unsqueeze(steps, int64_constant([1])), steps)
        unit = cast_to(same, x.dtype)
        roi = self._region(number, axis)
        if self._scales is not None:
            scale = ox.Gather(self._scales, int64_constant([number]))
            one = embed(np.array([1.0], np.float32))
            scales = ox.Concat(one, scale, axis=0)
            return ox.Resize(unit, roi, scales, **self._attrs)
        if self._policy != "stretch":
            return self._matrix_of_policy(unit, number)
        sizes = concat_shape(size, dimension(self._dy, axis))
        return ox.Resize(unit, roi, None, sizes, **self._attrs)

    def _region(self, number: int, axis: int) -> Tensor | None:
        if not self._cropped or self._roi is None:
            return None
        places = int64_constant([number, number + len(self._axes)])
        ends = ox.Gather(self._roi, places)
        first = embed(np.array([0.0, 1.0], ends.dtype.as_numpy_dtype))
        both = ox.Concat(first, ends, axis=0)
        return ox.Gather(both, int64_constant([0, 2, 1, 3]))

    def _matrix_of_policy(self, unit: Tensor, number: int) -> Tensor:
        """All axes have the scale of one of them; that one is there too, filled with ones."""
        x, sizes = self._x, self._sizes
        assert sizes is not None
        shape = shape_vector(x)
        have = ox.Gather(shape, int64_constant(self._axes))
        ratios = ox.Div(cast_to(sizes, dtypes.float64), cast_to(have, dtypes.float64))
        pick = "ArgMin" if self._policy == "not_larger" else "ArgMax"
        at = apply(pick, (ratios,), {"axis": 0, "keepdims": 1})
        one, length = int64_constant([1]), ox.Gather(have, at)
        wanted = ox.Gather(sizes, joined_indices(at, number))
        apart = ox.Unsqueeze(unit, int64_constant([1, 2]))
        target = ox.Concat(one, one, length, one, axis=0)
        block = ox.Expand(apart, target)
        attrs = {**self._attrs, "keep_aspect_ratio_policy": self._policy, "axes": (2, 3)}
        made = ox.Resize(block, None, None, wanted, **attrs)
        middle = ox.Gather(made, int64_constant(0), axis=2)
        return ox.Squeeze(middle, int64_constant([1]))


def joined_indices(at: Tensor, number: int) -> Tensor:
    """An index that was computed, and one that is known."""
    return ox.Concat(at, int64_constant([number]), axis=0)


def _present(x: Tensor | None) -> Tensor | None:
    """An optional input; an empty one counts as left out."""
    return None if x is None or (x.shape.rank == 1 and x.shape[0] == 0) else x


def _floats(x: Tensor) -> list[float] | None:
    """The elements of a vector that is known now."""
    if isinstance(x, EagerTensor):
        return [float(v) for v in x.view()]
    assert isinstance(x, SymbolicTensor)
    const = x._symbol.const
    return None if const is None else [float(v) for v in const]


def _summed(dy: Tensor, x: Tensor, axis: int, factor: int) -> Tensor:
    """The sum over the copies of each element."""
    before, after = shape_vector(dy, 0, axis), shape_vector(dy, axis + 1)
    apart = reshape_to(
        dy, concat_shape(before, dimension(x, axis), int64_constant([factor]), after)
    )
    return ox.ReduceSum(apart, int64_constant([axis + 1]), keepdims=0)


def _along(dy: Tensor, matrix: Tensor, axis: int) -> Tensor:
    """``matrix`` ``[n, m]`` applied to the axis of length ``m``."""
    rank = dy.shape.rank
    assert rank is not None
    if axis == rank - 1:
        return ox.MatMul(dy, ox.Transpose(matrix, perm=(1, 0)))
    if axis == rank - 2:
        return ox.MatMul(matrix, dy)
    before, after = shape_vector(dy, 0, axis), shape_vector(dy, axis + 1)
    rows = reshape_to(dy, concat_shape(product(before), dimension(dy, axis), product(after)))
    made = ox.MatMul(matrix, rows)
    return reshape_to(made, concat_shape(before, dimension(matrix, 0), after))


@batching("Resize")
def _resize_batching(op: BatchedOp) -> Results:
    """The images of all elements are more images, which are not resized."""
    op.only(0)
    rank = op.rank(0)
    axes = [a % rank for a in op.attrs.get("axes") or range(rank)]
    scales = _optional_input(op, 2)
    sizes = _optional_input(op, 3)
    attrs = {**op.attrs, "axes": tuple(axes)}
    inputs: list[Tensor | None] = [_optional_input(op, 1), scales, sizes]
    if 0 in axes:
        if not _keeps_first(op, axes.index(0), scales, sizes):
            raise CannotBatchError("the first axis is resized")
        kept = [i for i, a in enumerate(axes) if a != 0]
        attrs["axes"] = tuple(axes[i] for i in kept)
        both = [*kept, *(i + len(axes) for i in kept)]
        inputs = [_picked(inputs[0], both), _picked(scales, kept), _picked(sizes, kept)]
    while inputs[-1] is None:
        inputs.pop()
    return op.split(op.apply((op.merged(0), *inputs), attrs)[0])


def _optional_input(op: BatchedOp, i: int) -> Tensor | None:
    """An optional input; an empty one counts as left out."""
    if not op.given(i) or op.input(i).shape.num_elements() == 0:
        return None
    return op.input(i)


def _picked(x: Tensor | None, places: list[int]) -> Tensor | None:
    return None if x is None else ox.Gather(x, int64_constant(places))


def _keeps_first(op: BatchedOp, place: int, scales: Tensor | None, sizes: Tensor | None) -> bool:
    """True if the elements' first axis is known to stay as it is."""
    if scales is not None:
        known = scales.view() if isinstance(scales, EagerTensor) else None
        if isinstance(scales, SymbolicTensor):
            known = scales._symbol.const
        return known is not None and float(known[place]) == 1.0
    assert sizes is not None
    items, shape = symbolic_items(sizes), raw_shape(op.input(0))
    if items is None or shape is None:
        return False
    return items[place] is not None and items[place] == shape[1]
