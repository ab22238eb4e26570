"""Operators that move numbers, join, cut or add them up: they do the same with pairs.

The parts are one more axis behind all others: axes from the end move by one, shapes get a 2.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.core import dtypes
from tfx.core.errors import UnimplementedError
from tfx.framework.apply import apply, apply_n
from tfx.framework.builder import ox
from tfx.framework.composite.complex_pairs import joined, parts
from tfx.framework.composite.complex_rules import ComplexOp, complex_rule
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import static_ints
from tfx.ops.common.complex_parts import halves, whole
from tfx.ops.common.shapes import concat_shape, rank_of, reshape_to, shape_vector


def before(axis: int) -> int:
    """An axis of complex numbers as one of pairs."""
    return axis if axis >= 0 else axis - 1


def axes_before(axes: Tensor) -> Tensor:
    """Axes of complex numbers as axes of pairs."""
    known = static_ints(axes)
    if known is not None:
        moved = [before(a) for a in known]
        return int64_constant(moved if rank_of(axes) else moved[0])
    axes = ox.Cast(axes, to=dtypes.int64.onnx)
    zero, one = int64_constant(0), int64_constant(1)
    return ox.Where(ox.Less(axes, zero), ox.Sub(axes, one), axes)


def by_halves(op: ComplexOp) -> Tensor:
    """The operator applied to the real and to the imaginary parts."""
    real, imag = halves(op.input())
    attrs = dict(op.attrs)
    first = apply(op.op, (real, *op.inputs[1:]), attrs)
    return whole(first, apply(op.op, (imag, *op.inputs[1:]), attrs))


complex_rule("CumSum", "DepthToSpace", "SpaceToDepth", "Trilu")(by_halves)


@complex_rule("GatherND", "Identity", "ReverseSequence")
def _as_it_is(op: ComplexOp) -> Tensor:
    return joined(apply(op.op, (op.pairs(), *op.inputs[1:]), dict(op.attrs)))


@complex_rule("Expand", "Reshape")
def _reshape(op: ComplexOp) -> Tensor:
    shape = concat_shape(op.input(1), int64_constant([2]))
    return joined(apply(op.op, (op.pairs(), shape), dict(op.attrs)))


@complex_rule("Flatten")
def _flatten(op: ComplexOp) -> Tensor:
    shape = ox.Shape(ox.Flatten(halves(op.input())[0], **op.attrs))
    return joined(reshape_to(op.pairs(), concat_shape(shape, int64_constant([2]))))


@complex_rule("Tile")
def _tile(op: ComplexOp) -> Tensor:
    return joined(ox.Tile(op.pairs(), concat_shape(op.input(1), int64_constant([1]))))


@complex_rule("Transpose")
def _transpose(op: ComplexOp) -> Tensor:
    pairs, perm = op.pairs(), op.attrs.get("perm")
    if perm is None:
        rank = rank_of(pairs)
        if rank is None:
            return by_halves(op)
        perm = range(rank - 1)[::-1]
    return joined(ox.Transpose(pairs, perm=(*perm, len(perm))))


@complex_rule("Squeeze", "Unsqueeze")
def _squeeze(op: ComplexOp) -> Tensor:
    axes = op.given(1)
    given = (op.pairs(),) if axes is None else (op.pairs(), axes_before(axes))
    return joined(apply(op.op, given))


@complex_rule("Slice")
def _slice(op: ComplexOp) -> Tensor:
    _, starts, ends, *rest = op.inputs
    if rest and rest[0] is not None:
        rest[0] = axes_before(rest[0])
    return joined(apply("Slice", (op.pairs(), starts, ends, *rest)))


@complex_rule("Gather")
def _gather(op: ComplexOp) -> Tensor:
    return joined(ox.Gather(op.pairs(), op.input(1), axis=before(op.attrs.get("axis", 0))))


@complex_rule("GatherElements")
def _gather_elements(op: ComplexOp) -> Tensor:
    axis = before(op.attrs.get("axis", 0))
    return joined(ox.GatherElements(op.pairs(), _for_both(op.input(1)), axis=axis))


def _for_both(indices: Tensor) -> Tensor:
    """Indices for the two parts of each number."""
    ones = ox.Expand(int64_constant(1), ox.Shape(shape_vector(indices)))
    wide = ox.Unsqueeze(indices, int64_constant([-1]))
    return ox.Tile(wide, concat_shape(ones, int64_constant([2])))


@complex_rule("ScatterElements", "ScatterND")
def _scatter(op: ComplexOp) -> Tensor:
    attrs = dict(op.attrs)
    if attrs.get("reduction", "none") not in ("none", "add"):
        raise UnimplementedError(
            f"{op.op} with reduction={attrs['reduction']!r} takes no complex numbers; expected "
            "'none' or 'add'.",
            op=op.op,
        )
    places = op.input(1)
    if op.op == "ScatterElements":
        places = _for_both(places)
        attrs["axis"] = before(attrs.get("axis", 0))
    return joined(apply(op.op, (op.pairs(), places, op.pairs(2)), attrs))


@complex_rule("Compress")
def _compress(op: ComplexOp) -> Tensor:
    axis = op.attrs.get("axis")
    if axis is not None:
        return joined(ox.Compress(op.pairs(), op.input(1), axis=before(axis)))
    flat = ox.Reshape(op.pairs(), int64_constant([-1, 2]))
    return joined(ox.Compress(flat, op.input(1), axis=0))


@complex_rule("Concat")
def _concat(op: ComplexOp) -> Tensor:
    given = [parts(z) for z in op.inputs if z is not None]
    return joined(ox.Concat(*given, axis=before(op.attrs["axis"])))


@complex_rule("Split")
def _split(op: ComplexOp) -> Sequence[Tensor]:
    attrs = {**op.attrs, "axis": before(op.attrs.get("axis", 0))}
    found = apply_n("Split", (op.pairs(), *op.inputs[1:]), attrs, op.outputs)
    return [joined(part) for part in found]


@complex_rule("Pad")
def _pad(op: ComplexOp) -> Tensor:
    pads, value, axes = op.input(1), op.given(2), op.given(3)
    attrs = dict(op.attrs)
    if value is not None and value.dtype.is_complex:
        # Each part is filled up with that of the value.
        of_z, of_value = halves(op.input()), halves(value)
        rest = () if axes is None else (axes,)
        filled = [
            apply("Pad", (x, pads, fill, *rest), attrs)
            for x, fill in zip(of_z, of_value, strict=True)
        ]
        return whole(*filled)
    if axes is not None:
        return joined(apply("Pad", (op.pairs(), pads, None, axes_before(axes)), attrs))
    # Nothing before and nothing behind the parts.
    known = static_ints(pads)
    if known is not None:
        half = len(known) // 2
        around = int64_constant([*known[:half], 0, *known[half:], 0])
    else:
        starts, ends = ox.Split(pads, axis=0, num_outputs=2, outputs=2)
        none = int64_constant([0])
        around = ox.Concat(starts, none, ends, none, axis=0)
    return joined(apply("Pad", (op.pairs(), around), attrs))


@complex_rule("Where")
def _where(op: ComplexOp) -> Tensor:
    chosen = ox.Unsqueeze(op.input(), int64_constant([-1]))
    return joined(ox.Where(chosen, op.pairs(1), op.pairs(2)))


@complex_rule("Shape")
def _shape(op: ComplexOp) -> Tensor:
    attrs = {"end": before(op.attrs["end"]) if "end" in op.attrs else -1}
    if "start" in op.attrs:
        attrs["start"] = before(op.attrs["start"])
    return ox.Shape(op.pairs(), **attrs)


@complex_rule("Size")
def _size(op: ComplexOp) -> Tensor:
    return ox.Div(ox.Size(op.pairs()), int64_constant(2))


@complex_rule("ReduceMean", "ReduceSum")
def _reduce(op: ComplexOp) -> Tensor:
    pairs, axes, attrs = op.pairs(), op.given(1), dict(op.attrs)
    if axes is not None:
        return joined(apply(op.op, (pairs, axes_before(axes)), attrs))
    if attrs.pop("noop_with_empty_axes", 0):
        return op.input()
    if attrs.get("keepdims", 1):
        return by_halves(op)
    flat = ox.Reshape(pairs, int64_constant([-1, 2]))
    return joined(apply(op.op, (flat, int64_constant([0])), attrs))
