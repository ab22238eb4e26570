"""``pad``: a border of zeros, of a constant, or of mirrored elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.guards import refused_if_negative
from tfx.framework.rules import OpRecord, forward, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.array.creation import zeros_like
from tfx.ops.array.index_positions import put_back, scatter_along
from tfx.ops.common.arguments import (
    integers,
    is_tensor_like,
    numpy_as_integers,
    static_ints,
    tensor,
)
from tfx.ops.common.batching import (
    BatchedOp,
    Results,
    batching,
    concat_shapes,
    shifted_axes,
)
from tfx.ops.common.open_ranks import of_rank
from tfx.ops.common.shapes import (
    as_int64_shape,
    concat_shape,
    describe,
    dimension,
    known_rank,
    raw_shape,
    shape_vector,
)

# Beyond every element.
_FAR = 2**62
_MODES = ("CONSTANT", "REFLECT", "SYMMETRIC")


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Tensor:
    """A tensor with elements added in front of and behind it along every axis.

    Args:
        tensor: Tensor of rank ``n``.
        paddings: Integers ``[n, 2]``: how many in front of and behind each axis.
        mode: ``"CONSTANT"``, ``"REFLECT"`` (mirrored, the outermost element not repeated) or
            ``"SYMMETRIC"`` (mirrored, the outermost element repeated); upper or lower case.
        constant_values: What ``"CONSTANT"`` adds.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: not ``[n, 2]`` paddings, a negative one, or more than can be mirrored.
        ValueError: an unknown mode.

    Example:
        >>> import tfx as tf
        >>> tf.pad([1, 2, 3], [[1, 2]], "REFLECT").numpy()
        array([2, 1, 2, 3, 2, 1], dtype=int32)
    """
    x, amounts = _tensor(tensor), integers(numpy_as_integers(paddings), dtypes.int32)
    kind = mode.upper()
    if kind not in _MODES:
        raise InvalidArgumentError(
            'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". '
            f"Received `mode` = {mode}"
        )
    flat = static_ints(amounts)
    _check(x, amounts, flat, kind)
    x = of_rank(x, None if flat is None else len(flat) // 2)
    if flat is not None:
        pads = int64_constant([*flat[::2], *flat[1::2]])
        if not any(flat):
            return ox.Identity(x)
    else:
        amounts = refused_if_negative(amounts, Refusal.PADDINGS)
        turned = ox.Transpose(as_int64_shape(amounts), perm=(1, 0))
        pads = ox.Reshape(turned, int64_constant([-1]))
    if kind == "SYMMETRIC":
        return _symmetric(x, pads)
    if x.dtype is dtypes.string:
        return _texts(x, pads, kind, constant_values)
    if kind == "REFLECT":
        return ox.Pad(x, pads, mode="reflect")
    if not is_tensor_like(constant_values) and not constant_values:
        return ox.Pad(x, pads)
    return ox.Pad(x, pads, convert_to_tensor(constant_values, x.dtype))


_tensor = tensor


def _texts(x: Tensor, pads: Tensor, kind: str, around: Any) -> Tensor:
    """Strings, for which the runtime has no operator: their places are padded instead."""
    flat = ox.Reshape(x, int64_constant([-1]))
    count = ox.Squeeze(ox.Shape(flat), int64_constant([0]))
    # Place 0 is what stands around the strings.
    numbers = ox.Range(int64_constant(1), ox.Add(count, int64_constant(1)), int64_constant(1))
    places = ox.Reshape(numbers, ox.Shape(x), allowzero=1)
    padded = ox.Pad(places, pads, mode="reflect") if kind == "REFLECT" else ox.Pad(places, pads)
    empty = not is_tensor_like(around) and not around
    filler = convert_to_tensor("" if empty else around, dtypes.string)
    whole = ox.Concat(ox.Reshape(filler, int64_constant([1])), flat, axis=0)
    return ox.Gather(whole, padded, axis=0)


def _check(x: Tensor, amounts: Tensor, flat: list[int] | None, mode: str) -> None:
    shape, given = raw_shape(x), raw_shape(amounts)
    if not amounts.dtype.is_integer:
        raise DTypeMismatchError(
            f"Value for attr 'Tpaddings' of {amounts.dtype.name} is not in the list of allowed "
            "values: int32, int64.",
            op="Pad",
        )
    if shape is None or given is None:
        return
    wanted = (len(shape), 2)
    fits = len(given) == 2 and all(
        not isinstance(g, int) or g == w for g, w in zip(given, wanted, strict=True)
    )
    if not fits:
        raise InvalidArgumentError(
            f"The first dimension of paddings must be the rank of inputs{describe(amounts)} "
            f"{describe(x)}; expected paddings of shape [{len(shape)},2].",
            op="Pad",
        )
    if flat is None:
        return
    for dim, before, after in zip(shape, flat[::2], flat[1::2], strict=True):
        if min(before, after) < 0:
            raise InvalidArgumentError(f"Paddings must be non-negative: {before} {after}", op="Pad")
        if not isinstance(dim, int):
            continue
        if mode == "REFLECT" and max(before, after) >= dim and max(before, after) > 0:
            raise InvalidArgumentError(
                f"paddings must be less than the dimension size: {before}, {after} not less than "
                f"{dim}",
                op="MirrorPad",
            )
        if mode == "SYMMETRIC" and max(before, after) > dim:
            raise InvalidArgumentError(
                f"paddings must be no greater than the dimension size: {before}, {after} greater "
                f"than {dim}",
                op="MirrorPad",
            )


def _symmetric(x: Tensor, pads: Tensor) -> Tensor:
    """ONNX has no such mode: elements are gathered, axis by axis, from mirrored positions."""
    rank = known_rank(x, "pad")
    known = static_ints(pads)
    zero, one = int64_constant(0), int64_constant(1)
    shape = raw_shape(x)
    for axis in range(rank):
        if known is not None and not known[axis] and not known[axis + rank]:
            continue
        if known is not None and shape is not None and isinstance(shape[axis], int):
            x = _mirrored(x, known[axis], known[axis + rank], axis)
            continue
        size = ox.Squeeze(dimension(x, axis), int64_constant([0]))
        before = ox.Gather(pads, int64_constant(axis))
        after = ox.Gather(pads, int64_constant(axis + rank))
        start, stop = ox.Sub(zero, before), ox.Add(size, after)
        place = ox.Range(start, stop, one)
        # ... 1 0 | 0 1 2 | 2 1 ...: places repeat every two lengths, the second one backwards.
        period = ox.Max(ox.Add(size, size), one)
        turn = ox.Mod(place, period)
        mirrored = ox.Sub(ox.Sub(period, one), turn)
        x = ox.Gather(x, ox.Min(turn, mirrored), axis=axis)
    return x


def _mirrored(x: Tensor, before: int, after: int, axis: int) -> Tensor:
    """Elements at both ends of an axis, which has as many, put around it backwards."""
    ends = [_backwards(x, before - 1, -_FAR, axis)] if before else []
    behind = [_backwards(x, -1, -after - 1, axis)] if after else []
    return ox.Concat(*ends, x, *behind, axis=axis)


def _backwards(x: Tensor, first: int, end: int, axis: int) -> Tensor:
    numbers = [int64_constant([n]) for n in (first, end, axis, -1)]
    return ox.Slice(x, *numbers)


@gradient("Pad")
def _pad_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, pads, *rest = op.inputs
    axes = rest[1] if len(rest) > 1 else None
    if op.attrs.get("mode", "constant") != "constant":
        known = axes is None or static_ints(axes) is not None
        dx = _mirror_grad(x, dy, pads, axes, op.attrs) if known else put_back(op, dy)
        return dx, *[None] * (len(op.inputs) - 1)
    cut = (dy, _negated(pads)) if axes is None else (dy, _negated(pads), None, axes)
    inner = ox.Pad(*cut)
    border = None
    if len(op.needs) > 2 and op.needs[2]:
        total = ox.ReduceSum(dy, keepdims=0)
        border = ox.Sub(total, ox.ReduceSum(inner, keepdims=0))
    return (inner, None, border, None)[: len(op.inputs)]


@forward("Pad")
def _pad_forward(op: OpRecord, tangent: Tensor | None, *rest: Tensor | None) -> Tensor:
    """The tangent padded; what is constant around it has tangent 0 unless it is a tensor's."""
    border = rest[1] if len(rest) > 1 else None
    x, pads, *others = op.inputs
    tangent = zeros_like(x) if tangent is None else tangent
    return ox.Pad(tangent, pads, border, *others[1:], **op.attrs)


def _negated(pads: Tensor) -> Tensor:
    known = static_ints(pads)
    return ox.Neg(pads) if known is None else int64_constant([-p for p in known])


def _mirror_grad(
    x: Tensor, dy: Tensor, pads: Tensor, axes: Tensor | None, attrs: dict[str, Any]
) -> Tensor:
    """Every element adds up where it was copied from: the positions are padded the same way."""
    known, rank = static_ints(pads), known_rank(x, "the gradient of Pad")
    along = list(range(rank)) if axes is None else static_ints(axes)
    assert along is not None
    sizes = raw_shape(x)
    for i, axis in enumerate(along):
        ends = [i, i + len(along)]
        if known is not None and not any(known[e] for e in ends):
            continue
        length = None if sizes is None else sizes[axis]
        if known is not None and attrs.get("mode") == "reflect" and isinstance(length, int):
            before, after = (known[e] for e in ends)
            if 0 <= before < length and 0 <= after < length:
                dy = _folded(dy, before, after, axis % rank, length)
                continue
        size = dimension(x, axis)
        scalar = ox.Squeeze(size, int64_constant([0]))
        places = ox.Range(int64_constant(0), scalar, int64_constant(1))
        amounts = ox.Gather(pads, int64_constant(ends))
        places = ox.Pad(places, amounts, **attrs)
        axis %= rank
        shape = concat_shape(shape_vector(dy, 0, axis), size, shape_vector(dy, axis + 1))
        dy = scatter_along(shape, places, dy, axis)
    return dy


def _folded(dy: Tensor, before: int, after: int, axis: int, length: int) -> Tensor:
    """What is around an axis added to what it mirrors: the ends themselves were not repeated."""
    total = _middle(dy, before, before + length, axis)
    if before:
        mirrored = _backwards(dy, before - 1, -_FAR, axis)
        total = ox.Add(total, _among_zeros(mirrored, 1, length - 1 - before, axis))
    if after:
        mirrored = _backwards(dy, -1, -after - 1, axis)
        total = ox.Add(total, _among_zeros(mirrored, length - 1 - after, 1, axis))
    return total


def _middle(x: Tensor, start: int, end: int, axis: int) -> Tensor:
    return ox.Slice(x, int64_constant([start]), int64_constant([end]), int64_constant([axis]))


def _among_zeros(x: Tensor, before: int, after: int, axis: int) -> Tensor:
    return ox.Pad(x, int64_constant([before, after]), None, int64_constant([axis]))


@batching("Pad")
def _pad_batching(op: BatchedOp) -> Results:
    """Batch ``Pad``: nothing is added to the batch axis."""
    op.only(0)
    x, pads = op.input(0), op.input(1)
    value = op.inputs[2] if op.given(2) else None
    if op.given(3):
        return op.apply((x, pads, value, shifted_axes(op.input(3))))
    rank = op.rank(0)
    known = static_ints(pads)
    if known is not None:
        whole = int64_constant([0, *known[:rank], 0, *known[rank:]])
    else:
        halves = _halves(pads, rank)
        zero = int64_constant([0])
        whole = concat_shapes(zero, halves[0], zero, halves[1])
    return op.apply((x, whole) if value is None else (x, whole, value))


def _halves(pads: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    zero, middle, end = (int64_constant([i]) for i in (0, rank, 2 * rank))
    return ox.Slice(pads, zero, middle), ox.Slice(pads, middle, end)
