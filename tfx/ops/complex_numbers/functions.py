"""Powers, exponentials, circular and hyperbolic functions of complex numbers."""

from __future__ import annotations

import math

from tfx.framework.builder import ox
from tfx.framework.composite.complex_pairs import joined, parts
from tfx.framework.composite.complex_rules import ComplexOp, complex_rule
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import scalar_like
from tfx.ops.common.complex_parts import halves, whole
from tfx.ops.complex_numbers.arithmetic import magnitude
from tfx.ops.math.trigonometry import atan2


def _circle(size: Tensor, angle: Tensor) -> Tensor:
    return whole(ox.Mul(size, ox.Cos(angle)), ox.Mul(size, ox.Sin(angle)))


@complex_rule("Exp")
def _exp(op: ComplexOp) -> Tensor:
    a, b = halves(op.input())
    return _circle(ox.Exp(a), b)


@complex_rule("Log")
def _log(op: ComplexOp) -> Tensor:
    a, b = halves(op.input())
    return whole(ox.Log(magnitude(a, b)), atan2(b, a))


@complex_rule("Sqrt")
def _sqrt(op: ComplexOp) -> Tensor:
    return whole(*root(*halves(op.input())))


def root(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The parts of the root of complex numbers that are given by their parts.

    One is the root of half of the magnitude and the real part together, the other follows from it.
    Signs are chosen, not taken away by an absolute value: that has the slope 0 where a part is 0.
    """
    half, zero, one = scalar_like(0.5, a), scalar_like(0, a), scalar_like(1, a)
    left, below = ox.Less(a, zero), ox.Less(b, zero)
    size = ox.Mul(half, ox.Add(ox.Where(left, ox.Neg(a), a), magnitude(a, b)))
    none = ox.Equal(size, zero)
    long = ox.Where(none, size, ox.Sqrt(ox.Where(none, one, size)))
    short = ox.Div(ox.Mul(half, b), ox.Where(none, one, long))
    up, right = ox.Where(below, ox.Neg(long), long), ox.Where(below, ox.Neg(short), short)
    return ox.Where(left, right, long), ox.Where(left, up, short)


@complex_rule("Pow")
def _pow(op: ComplexOp) -> Tensor:
    """The exponential of the exponent times the logarithm.

    Powers of 0 are 0 where the exponent is real and above 0; others are undefined.
    """
    (a, b), (c, d) = halves(op.input(0)), halves(op.input(1))
    zero, one = scalar_like(0, a), scalar_like(1, a)
    size = magnitude(a, b)
    none = ox.Equal(size, zero)
    log, angle = ox.Log(ox.Where(none, one, size)), atan2(b, ox.Where(none, one, a))
    power = ox.Exp(ox.Sub(ox.Mul(c, log), ox.Mul(d, angle)))
    found = _circle(power, ox.Add(ox.Mul(c, angle), ox.Mul(d, log)))
    defined = ox.And(ox.Greater(c, zero), ox.Equal(d, zero))
    last = int64_constant([-1])
    at_zero = ox.Unsqueeze(ox.Where(defined, zero, scalar_like(math.nan, a)), last)
    return joined(ox.Where(ox.Unsqueeze(none, last), at_zero, parts(found)))


@complex_rule("Sin")
def _sin(op: ComplexOp) -> Tensor:
    a, b = halves(op.input())
    return whole(ox.Mul(ox.Sin(a), ox.Cosh(b)), ox.Mul(ox.Cos(a), ox.Sinh(b)))


@complex_rule("Cos")
def _cos(op: ComplexOp) -> Tensor:
    a, b = halves(op.input())
    return whole(ox.Mul(ox.Cos(a), ox.Cosh(b)), ox.Neg(ox.Mul(ox.Sin(a), ox.Sinh(b))))


@complex_rule("Sinh")
def _sinh(op: ComplexOp) -> Tensor:
    a, b = halves(op.input())
    return whole(ox.Mul(ox.Sinh(a), ox.Cos(b)), ox.Mul(ox.Cosh(a), ox.Sin(b)))


@complex_rule("Cosh")
def _cosh(op: ComplexOp) -> Tensor:
    a, b = halves(op.input())
    return whole(ox.Mul(ox.Cosh(a), ox.Cos(b)), ox.Mul(ox.Sinh(a), ox.Sin(b)))


@complex_rule("Tanh")
def _tanh(op: ComplexOp) -> Tensor:
    return whole(*_tanh_parts(*halves(op.input())))


@complex_rule("Tan")
def _tan(op: ComplexOp) -> Tensor:
    """``tan(z)`` is ``-i tanh(iz)``."""
    a, b = halves(op.input())
    real, imag = _tanh_parts(ox.Neg(b), a)
    return whole(imag, ox.Neg(real))


def _tanh_parts(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """By ``t = tanh(a)``: nothing in it grows with ``a``."""
    t, one = ox.Tanh(a), scalar_like(1, a)
    c, s = ox.Cos(b), ox.Sin(b)
    # sinh^2(a) + cos^2(b) over cosh^2(a)
    slope = ox.Sub(one, ox.Mul(t, t))
    below = ox.Add(ox.Mul(t, t), ox.Mul(ox.Mul(c, c), slope))
    return ox.Div(t, below), ox.Div(ox.Mul(ox.Mul(s, c), slope), below)


@complex_rule("Sigmoid")
def _sigmoid(op: ComplexOp) -> Tensor:
    """``(1 + tanh(z / 2)) / 2``."""
    a, b = halves(op.input())
    half, one = scalar_like(0.5, a), scalar_like(1, a)
    real, imag = _tanh_parts(ox.Mul(half, a), ox.Mul(half, b))
    return whole(ox.Mul(half, ox.Add(one, real)), ox.Mul(half, imag))
