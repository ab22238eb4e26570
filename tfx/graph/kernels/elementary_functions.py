"""Elementary functions in float64, from the few that every runtime has in that precision.

ONNX Runtime's CPU provider has no float64 kernel for most of them, and casting to float32 would
cost nine digits. Each formula is accurate to a few units in the last place and is written over an
abstract ``Formula``, so that the pass that fills in missing kernels and the operations that need
the same mathematics share it.

The polynomials were fitted (Chebyshev interpolation in 60 digits) to ``erf(x) / x`` in ``x**2`` on
[0, 0.75] and to ``exp(x**2) * erfc(x)`` in ``1 / (x + 4)`` on [0.75, 28].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")

_FLOAT, _DOUBLE = 1, 11
_NEAR, _ERF_OF_NEAR = 0.75, 0.7111556336535151
_WINITZKI = 0.147
_FAR = 28.0  # erfc is below the smallest float64 from 27.3 on
_ERF = (
    1.1283791670955126, -0.37612638903183715, 0.11283791670952596, -0.026866170644428485,
    0.005223977615420539, -0.0008548326188759752, 0.00012055289567541706,
    -1.4924196305569617e-05, 1.643068417974155e-06, -1.5940066854661717e-07,
    1.1472499701094691e-08,
)  # fmt: skip
_ERFCX_MIDDLE, _ERFCX_SCALE = 0.12088815789473684, 11.155963302752294
_ERFCX = (
    0.12870842952812986, 0.17583181322307695, 0.10449126259633706, 0.055529122358264627,
    0.026199913592095878, 0.010849726179419296, 0.003870488788378212, 0.0011513490073486168,
    0.00026734721022599625, 4.0206110417559916e-05, 1.8666479726120814e-07,
    -1.8040161763052677e-06, -4.2693097994704994e-07, 7.958106546294984e-09,
    2.574414765814516e-08, 3.685175293501047e-09, -1.097945930573205e-09,
    -3.6217739315061074e-10, 3.3493497754985486e-11, 2.1010081835060592e-11,
)  # fmt: skip


class Formula(Protocol[T]):
    """How a formula makes its operations: in a graph under construction, or by running them."""

    def op(self, name: str, *inputs: T) -> T:
        """An ONNX operator without attributes."""

    def cast(self, x: T, dtype: int) -> T:
        """A change of element type."""

    def number(self, value: float) -> T:
        """A float64 scalar."""


def _polynomial(f: Formula[T], x: T, coefficients: Sequence[float]) -> T:
    """Horner's rule; the constant coefficient comes first."""
    result = f.number(coefficients[-1])
    for c in coefficients[-2::-1]:
        result = f.op("Add", f.op("Mul", result, x), f.number(c))
    return result


def _with_sign_of(f: Formula[T], x: T, magnitude: T) -> T:
    """An odd function from its values for positive arguments (-0 becomes 0)."""
    return f.op("Mul", f.op("Sign", x), magnitude)


def tan(f: Formula[T], x: T) -> T:
    """``sin / cos``."""
    return f.op("Div", f.op("Sin", x), f.op("Cos", x))


def atan(f: Formula[T], x: T) -> T:
    """The float32 kernel's angle ``a``, corrected by the angle between ``x`` and ``tan(a)``.

    The tangent of that angle is ``(x cos a - sin a) / (cos a + x sin a)``, which is so small that
    it is the angle itself. Arguments above 1 are inverted first.
    """
    one = f.number(1.0)
    size = f.op("Abs", x)
    steep = f.op("Greater", size, one)
    z = f.op("Where", steep, f.op("Reciprocal", size), size)
    a = f.cast(f.op("Atan", f.cast(z, _FLOAT)), _DOUBLE)
    sin, cos = f.op("Sin", a), f.op("Cos", a)
    error = f.op(
        "Div",
        f.op("Sub", f.op("Mul", z, cos), sin),
        f.op("Add", cos, f.op("Mul", z, sin)),
    )
    angle = f.op("Add", a, error)
    angle = f.op("Where", steep, f.op("Sub", f.number(math.pi / 2), angle), angle)
    return _with_sign_of(f, x, angle)


def asin(f: Formula[T], x: T) -> T:
    """The angle whose tangent is ``x / sqrt(1 - x**2)``."""
    one = f.number(1.0)
    cosine = f.op("Sqrt", f.op("Mul", f.op("Sub", one, x), f.op("Add", one, x)))
    return atan(f, f.op("Div", x, cosine))


def acos(f: Formula[T], x: T) -> T:
    """Twice the angle whose tangent is ``sqrt((1 - x) / (1 + x))``."""
    one = f.number(1.0)
    ratio = f.op("Div", f.op("Sub", one, x), f.op("Add", one, x))
    return f.op("Mul", f.number(2.0), atan(f, f.op("Sqrt", ratio)))


def log1p(f: Formula[T], x: T) -> T:
    """``log(u) - (u - 1 - x) / u`` with ``u = 1 + x`` as rounded."""
    one = f.number(1.0)
    u = f.op("Add", one, x)
    back = f.op("Sub", u, one)
    lost = f.op("Div", f.op("Sub", back, x), u)
    lost = f.op("Where", f.op("Equal", back, x), f.number(0.0), lost)
    return f.op("Sub", f.op("Log", u), lost)


def sinh(f: Formula[T], x: T) -> T:
    """``2t / (1 - t**2)`` with ``t = tanh(x/2)`` near 0, ``(e**x - e**-x) / 2`` elsewhere."""
    one, half = f.number(1.0), f.number(0.5)
    t = f.op("Tanh", f.op("Mul", half, x))
    near = f.op("Div", f.op("Add", t, t), f.op("Sub", one, f.op("Mul", t, t)))
    rising, falling = _halves_of_cosh(f, x)
    far = _with_sign_of(f, x, f.op("Sub", rising, falling))
    return f.op("Where", f.op("Less", f.op("Abs", x), one), near, far)


def cosh(f: Formula[T], x: T) -> T:
    """``(e**x + e**-x) / 2``."""
    return f.op("Add", *_halves_of_cosh(f, x))


def _halves_of_cosh(f: Formula[T], x: T) -> tuple[T, T]:
    """``e**abs(x) / 2`` and ``e**-abs(x) / 2``, without overflow where the first is finite."""
    half = f.number(0.5)
    root = f.op("Exp", f.op("Mul", half, f.op("Abs", x)))
    rising = f.op("Mul", f.op("Mul", half, root), root)
    return rising, f.op("Div", half, f.op("Mul", root, root))


def asinh(f: Formula[T], x: T) -> T:
    """``log1p(a + a / (1/a + sqrt(1 + 1/a**2)))`` with ``a = abs(x)``: no square overflows."""
    one = f.number(1.0)
    a = f.op("Abs", x)
    inverse = f.op("Reciprocal", a)
    root = f.op("Sqrt", f.op("Add", one, f.op("Mul", inverse, inverse)))
    part = f.op("Div", a, f.op("Add", inverse, root))
    near = log1p(f, f.op("Add", a, part))
    return _with_sign_of(f, x, _or_log_of_twice(f, a, near))


def _or_log_of_twice(f: Formula[T], x: T, near: T) -> T:
    """``log(2x)`` without overflow from 2**28 on, where nothing else is left."""
    far = f.op("Add", f.op("Log", x), f.number(math.log(2.0)))
    return f.op("Where", f.op("Greater", x, f.number(2.0**28)), far, near)


def acosh(f: Formula[T], x: T) -> T:
    """``log1p(t + sqrt(t) * sqrt(t + 2))`` with ``t = x - 1``."""
    t = f.op("Sub", x, f.number(1.0))
    root = f.op("Mul", f.op("Sqrt", t), f.op("Sqrt", f.op("Add", t, f.number(2.0))))
    return _or_log_of_twice(f, x, log1p(f, f.op("Add", t, root)))


def atanh(f: Formula[T], x: T) -> T:
    """``log1p(2a / (1 - a)) / 2`` with ``a = abs(x)``."""
    a = f.op("Abs", x)
    ratio = f.op("Div", f.op("Add", a, a), f.op("Sub", f.number(1.0), a))
    return _with_sign_of(f, x, f.op("Mul", f.number(0.5), log1p(f, ratio)))


def softplus(f: Formula[T], x: T) -> T:
    """``max(x, 0) + log1p(exp(-abs(x)))``."""
    one = f.number(1.0)
    e = f.op("Exp", f.op("Neg", f.op("Abs", x)))
    u = f.op("Add", one, e)  # as in log1p, of a number that is neither infinite nor -1
    lost = f.op("Div", f.op("Sub", f.op("Sub", u, one), e), u)
    rest = f.op("Sub", f.op("Log", u), lost)
    return f.op("Add", f.op("Relu", x), rest)


def expm1_below(f: Formula[T], x: T) -> T:
    """``exp(x) - 1`` for ``x`` up to 0: ``2t / (1 - t)`` with ``t = tanh(x/2)``; anything above."""
    t = f.op("Tanh", f.op("Mul", x, f.number(0.5)))
    return f.op("Div", f.op("Add", t, t), f.op("Sub", f.number(1.0), t))


def softsign(f: Formula[T], x: T) -> T:
    """``x / (1 + abs(x))``."""
    return f.op("Div", x, f.op("Add", f.number(1.0), f.op("Abs", x)))


def mish(f: Formula[T], x: T) -> T:
    """``x * tanh(softplus(x))``."""
    return f.op("Mul", x, f.op("Tanh", softplus(f, x)))


def hard_swish(f: Formula[T], x: T) -> T:
    """``x * max(0, min(1, x / 6 + 1/2))``."""
    line = f.op("Add", f.op("Div", x, f.number(6.0)), f.number(0.5))
    gate = f.op("Max", f.number(0.0), f.op("Min", f.number(1.0), line))
    return f.op("Mul", x, gate)


def erf(f: Formula[T], x: T) -> T:
    """A polynomial near 0, one minus ``erfc`` elsewhere."""
    near, far = _erf_near(f, x), f.op("Sub", f.number(1.0), _erfc_far(f, x))
    return f.op("Where", _is_near(f, x), near, _with_sign_of(f, x, far))


def erfc(f: Formula[T], x: T) -> T:
    """One minus the polynomial near 0, elsewhere relatively accurate until it underflows."""
    far = _erfc_far(f, x)
    negative = f.op("Less", x, f.number(0.0))
    far = f.op("Where", negative, f.op("Sub", f.number(2.0), far), far)
    near = f.op("Sub", f.number(1.0), _erf_near(f, x))
    return f.op("Where", _is_near(f, x), near, far)


def _is_near(f: Formula[T], x: T) -> T:
    return f.op("Less", f.op("Abs", x), f.number(_NEAR))


def _erf_near(f: Formula[T], x: T) -> T:
    return f.op("Mul", x, _polynomial(f, f.op("Mul", x, x), _ERF))


def _erfc_far(f: Formula[T], x: T) -> T:
    """``erfc(abs(x))`` for ``abs(x) >= 0.75``."""
    far = f.number(_FAR)
    size = f.op("Abs", x)
    z = f.op("Where", f.op("Greater", size, far), far, size)
    # exp(-z**2) with the square split in an exact part and a small one: z**2 itself is rounded.
    coarse = f.op("Mul", f.op("Floor", f.op("Mul", z, f.number(16.0))), f.number(0.0625))
    fine = f.op("Mul", f.op("Sub", z, coarse), f.op("Add", z, coarse))
    bell = f.op(
        "Mul",
        f.op("Exp", f.op("Neg", f.op("Mul", coarse, coarse))),
        f.op("Exp", f.op("Neg", fine)),
    )
    return f.op("Mul", bell, _scaled_erfc(f, z))


def _scaled_erfc(f: Formula[T], z: T) -> T:
    """``exp(z**2) * erfc(z)`` for ``z`` from 0.75 to 28."""
    t = f.op("Reciprocal", f.op("Add", z, f.number(4.0)))
    t = f.op("Mul", f.op("Sub", t, f.number(_ERFCX_MIDDLE)), f.number(_ERFCX_SCALE))
    return _polynomial(f, t, _ERFCX)


def inverse_erf(f: Formula[T], a: T, q: T) -> T:
    """The ``y`` >= 0 with ``erf(y) = a`` and ``erfc(y) = q``, of which one is enough near 0 and 1.

    Newton's method from Winitzki's approximation, on ``erf`` where ``y`` is below 0.75 and on the
    logarithm of ``erfc``, which is almost a parabola, above.
    """
    half = f.number(0.5)
    log = f.op("Log", f.op("Mul", q, f.op("Add", f.number(1.0), a)))
    t = f.op("Add", f.op("Mul", half, log), f.number(2.0 / (math.pi * _WINITZKI)))
    root = f.op("Sqrt", f.op("Sub", f.op("Mul", t, t), f.op("Mul", log, f.number(1 / _WINITZKI))))
    # The root of what rounding may make negative; from 0 Newton's method gets there too.
    y = f.op("Sqrt", f.op("Max", f.op("Sub", root, t), f.number(0.0)))
    near = f.op("Less", a, f.number(_ERF_OF_NEAR))
    log_q, slope = f.op("Log", q), f.number(math.sqrt(math.pi) / 2)
    for _ in range(3):
        square = f.op("Mul", y, y)
        step = f.op("Mul", f.op("Sub", a, _erf_near(f, y)), f.op("Mul", slope, f.op("Exp", square)))
        scaled = _scaled_erfc(f, y)
        excess = f.op("Sub", f.op("Sub", f.op("Log", scaled), square), log_q)
        far_step = f.op("Mul", excess, f.op("Mul", slope, scaled))
        y = f.op("Add", y, f.op("Where", near, step, far_step))
    return y


UNARY: dict[str, Callable[[Formula[T], T], T]] = {
    "Acos": acos,
    "Acosh": acosh,
    "Asin": asin,
    "Asinh": asinh,
    "Atan": atan,
    "Atanh": atanh,
    "Cosh": cosh,
    "Erf": erf,
    "HardSwish": hard_swish,
    "Mish": mish,
    "Sinh": sinh,
    "Softplus": softplus,
    "Softsign": softsign,
    "Tan": tan,
}
