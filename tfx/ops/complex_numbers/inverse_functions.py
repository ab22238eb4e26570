"""Inverses of circular and hyperbolic functions of complex numbers.

The formulas are Kahan's ("Branch cuts for complex elementary functions", 1987), which lose no
digits to differences of nearly equal numbers. An imaginary part of 0 counts as positive.
"""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.composite.complex_rules import ComplexOp, complex_rule
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import scalar_like
from tfx.ops.common.complex_parts import halves, whole
from tfx.ops.complex_numbers.functions import root
from tfx.ops.math.elementwise import log1p
from tfx.ops.math.trigonometry import asinh, atan2


def _roots_of_one(a: Tensor, b: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """The parts of the roots of ``1 - z`` and ``1 + z``."""
    one = scalar_like(1, a)
    # The conjugate of the conjugate's: where b is 0, that of 1 - z is negative.
    real, imag = root(ox.Sub(one, a), b)
    return (real, ox.Neg(imag)), root(ox.Add(one, a), b)


def _asin_parts(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    (c, d), (e, f) = _roots_of_one(a, b)
    real = atan2(a, ox.Sub(ox.Mul(c, e), ox.Mul(d, f)))
    return real, asinh(ox.Sub(ox.Mul(c, f), ox.Mul(d, e)))


@complex_rule("Asin")
def _asin(op: ComplexOp) -> Tensor:
    return whole(*_asin_parts(*halves(op.input())))


@complex_rule("Asinh")
def _asinh(op: ComplexOp) -> Tensor:
    """``asinh(z)`` is ``-i asin(iz)``."""
    a, b = halves(op.input())
    real, imag = _asin_parts(ox.Neg(b), a)
    return whole(imag, ox.Neg(real))


@complex_rule("Acos")
def _acos(op: ComplexOp) -> Tensor:
    (c, d), (e, f) = _roots_of_one(*halves(op.input()))
    real = ox.Mul(scalar_like(2, c), atan2(c, e))
    return whole(real, asinh(ox.Sub(ox.Mul(e, d), ox.Mul(f, c))))


@complex_rule("Acosh")
def _acosh(op: ComplexOp) -> Tensor:
    a, b = halves(op.input())
    one = scalar_like(1, a)
    (c, d), (e, f) = root(ox.Sub(a, one), b), root(ox.Add(a, one), b)
    real = asinh(ox.Add(ox.Mul(c, e), ox.Mul(d, f)))
    return whole(real, ox.Mul(scalar_like(2, a), atan2(d, e)))


def _atanh_parts(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    one, square = scalar_like(1, a), ox.Mul(b, b)
    below = ox.Sub(one, a)
    distance = ox.Add(ox.Mul(below, below), square)
    real = ox.Mul(scalar_like(0.25, a), log1p(ox.Div(ox.Mul(scalar_like(4, a), a), distance)))
    turn = ox.Sub(ox.Mul(below, ox.Add(one, a)), square)
    double = ox.Mul(scalar_like(2, a), b)
    return real, ox.Mul(scalar_like(0.5, a), atan2(double, turn))


@complex_rule("Atanh")
def _atanh(op: ComplexOp) -> Tensor:
    return whole(*_atanh_parts(*halves(op.input())))


@complex_rule("Atan")
def _atan(op: ComplexOp) -> Tensor:
    """``atan(z)`` is ``-i atanh(iz)``."""
    a, b = halves(op.input())
    real, imag = _atanh_parts(ox.Neg(b), a)
    return whole(imag, ox.Neg(real))
