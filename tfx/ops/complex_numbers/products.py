"""The product of complex numbers over axes.

Of an axis whose length is known the halves are multiplied with each other until one number is left.
Of others the magnitudes are multiplied and the angles added; derivatives by numbers that are 0 are
0 then.
"""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.composite.complex_rules import ComplexOp, complex_rule
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import scalar_like, static_ints
from tfx.ops.common.complex_parts import halves, whole
from tfx.ops.common.shapes import rank_of
from tfx.ops.complex_numbers.arithmetic import magnitude
from tfx.ops.math.trigonometry import atan2


@complex_rule("ReduceProd")
def _product(op: ComplexOp) -> Tensor:
    z, given = op.input(), op.given(1)
    keeps = bool(op.attrs.get("keepdims", 1))
    rank = rank_of(z)
    axes = None if given is None else static_ints(given)
    if given is None:
        if op.attrs.get("noop_with_empty_axes", 0):
            return z
        axes = None if rank is None else list(range(rank))
    if axes is None or rank is None or any(z.shape[axis] is None for axis in axes):
        return _polar(z, given, keeps)
    for axis in axes:
        z = _over_axis(z, axis)
    return z if keeps or not axes else ox.Squeeze(z, int64_constant(axes))


def _over_axis(z: Tensor, axis: int) -> Tensor:
    """The product over one axis, which keeps the length 1."""
    place, length = int64_constant([axis]), z.shape[axis]
    if length == 0:
        return ox.Add(ox.ReduceSum(z, place, keepdims=1), scalar_like(1, z))

    def part(start: int, end: int) -> Tensor:
        return ox.Slice(z, int64_constant([start]), int64_constant([end]), place)

    while length > 1:
        half = length // 2
        found = ox.Mul(part(0, half), part(half, 2 * half))
        z = ox.Concat(found, part(2 * half, length), axis=axis) if length % 2 else found
        length -= half
    return z


def _polar(z: Tensor, axes: Tensor | None, keeps: bool) -> Tensor:
    a, b = halves(z)
    size = magnitude(a, b)
    none = ox.Equal(size, scalar_like(0, size))
    angle = atan2(b, ox.Where(none, scalar_like(1, a), a))
    rest = () if axes is None else (axes,)
    long = ox.ReduceProd(size, *rest, keepdims=int(keeps))
    turn = ox.ReduceSum(angle, *rest, keepdims=int(keeps))
    return whole(ox.Mul(long, ox.Cos(turn)), ox.Mul(long, ox.Sin(turn)))
