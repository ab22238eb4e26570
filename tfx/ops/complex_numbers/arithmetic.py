"""Sums, products, quotients, comparisons and conversions of complex numbers."""

from __future__ import annotations

import itertools

from tfx.core import dtypes
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.composite.complex_pairs import joined, parts
from tfx.framework.composite.complex_rules import ComplexOp, complex_rule
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.complex_parts import halves, pairs_of_real, whole
from tfx.ops.math.cast import stop_gradient


@complex_rule("Add", "Mean", "Neg", "Sub", "Sum")
def _sum(op: ComplexOp) -> Tensor:
    return joined(apply(op.op, [parts(z) for z in op.inputs if z is not None], dict(op.attrs)))


@complex_rule("Einsum", "MatMul", "Mul")
def _product(op: ComplexOp) -> Tensor:
    """An operator that is linear in each operand: a sum over all choices of parts."""
    operands = [halves(op.input(i)) for i in range(len(op.inputs))]
    sums: list[Tensor | None] = [None, None]
    for choice in itertools.product((0, 1), repeat=len(operands)):
        given = [parted[which] for parted, which in zip(operands, choice, strict=True)]
        term = apply(op.op, given, dict(op.attrs))
        # As many factors of i: each second one is imaginary, and of these each second one negative.
        negative, imaginary = divmod(sum(choice) % 4, 2)
        known = sums[imaginary]
        if known is not None:
            term = ox.Sub(known, term) if negative else ox.Add(known, term)
        sums[imaginary] = term
    real, imag = sums
    assert real is not None
    assert imag is not None
    return whole(real, imag)


@complex_rule("Div")
def _div(op: ComplexOp) -> Tensor:
    return quotient(halves(op.input(0)), halves(op.input(1)))


@complex_rule("Reciprocal")
def _reciprocal(op: ComplexOp) -> Tensor:
    below = halves(op.input())
    return quotient((scalar_like(1, below[0]), scalar_like(0, below[0])), below)


def quotient(above: tuple[Tensor, Tensor], below: tuple[Tensor, Tensor]) -> Tensor:
    """A quotient of complex numbers that are given by their parts.

    The divisor is divided by its larger part, else its square would be too large or too small.
    """
    (a, b), (c, d) = above, below
    larger = stop_gradient(ox.Max(ox.Abs(c), ox.Abs(d)))
    none = ox.Equal(larger, scalar_like(0, c))
    scale = ox.Where(none, scalar_like(1, c), larger)
    e, f = ox.Div(c, scale), ox.Div(d, scale)
    square = ox.Add(ox.Mul(c, e), ox.Mul(d, f))
    # A number over 0 is infinite: the parts over the real part of the divisor.
    e = ox.Where(none, scalar_like(1, c), e)
    real = ox.Div(ox.Add(ox.Mul(a, e), ox.Mul(b, f)), square)
    return whole(real, ox.Div(ox.Sub(ox.Mul(b, e), ox.Mul(a, f)), square))


@complex_rule("Abs")
def _abs(op: ComplexOp) -> Tensor:
    return magnitude(*halves(op.input()))


def magnitude(a: Tensor, b: Tensor) -> Tensor:
    """The magnitudes of complex numbers that are given by their parts; the gradient at 0 is 0."""
    largest = stop_gradient(ox.Max(ox.Abs(a), ox.Abs(b)))
    one, zero = scalar_like(1, a), scalar_like(0, a)
    no_scale = ox.Or(ox.Equal(largest, zero), ox.IsInf(largest))
    scale = ox.Where(no_scale, one, largest)
    a, b = ox.Div(a, scale), ox.Div(b, scale)
    square = ox.Add(ox.Mul(a, a), ox.Mul(b, b))
    is_zero = ox.Equal(square, zero)
    root = ox.Where(is_zero, square, ox.Sqrt(ox.Where(is_zero, one, square)))
    return ox.Mul(scale, root)


@complex_rule("Sign")
def _sign(op: ComplexOp) -> Tensor:
    z = op.input()
    size = magnitude(*halves(z))
    zero = ox.Equal(size, scalar_like(0, size))
    size = ox.Where(zero, scalar_like(1, size), size)
    return joined(ox.Div(parts(z), ox.Unsqueeze(size, int64_constant([-1]))))


@complex_rule("Equal")
def _equal(op: ComplexOp) -> Tensor:
    same = cast_to(ox.Equal(op.pairs(0), op.pairs(1)), dtypes.int32)
    both = ox.ReduceMin(same, int64_constant([-1]), keepdims=0)
    return cast_to(both, dtypes.bool)


@complex_rule("Cast")
def _cast(op: ComplexOp) -> Tensor:
    x, wanted = op.input(), dtypes.from_onnx(op.attrs["to"])
    if not x.dtype.is_complex:
        return joined(pairs_of_real(cast_to(x, wanted.real_dtype)))
    if wanted.is_complex:
        return joined(cast_to(parts(x), wanted.real_dtype))
    return cast_to(halves(x)[0], wanted)
