"""Elementary functions in float64, from the few that every runtime has in that precision.

ONNX Runtime's CPU provider has no float64 kernel for most of them, and casting to float32 would
cost nine digits. Each formula is accurate to a few units in the last place and is written over an
abstract builder, so that the pass that fills in missing kernels and the operations that need
the same mathematics share it.

The polynomials were fitted (Chebyshev interpolation in 60 digits) to ``erf(x) / x`` in ``x**2`` on
[0, 0.75] and to ``exp(x**2) * erfc(x)`` in ``1 / (x + 4)`` on [0.75, 28].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from tfx.graph.ops import Ops

V = TypeVar("V")

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


def _polynomial(f: Ops[V], x: V, coefficients: Sequence[float]) -> V:
    """Horner's rule; the constant coefficient comes first."""
    result = f.number(coefficients[-1])
    for c in coefficients[-2::-1]:
        result = f.Add(f.Mul(result, x), f.number(c))
    return result


def _with_sign_of(f: Ops[V], x: V, magnitude: V) -> V:
    """An odd function from its values for positive arguments (-0 becomes 0)."""
    return f.Mul(f.Sign(x), magnitude)


def tan(f: Ops[V], x: V) -> V:
    """``sin / cos``."""
    return f.Div(f.Sin(x), f.Cos(x))


def atan(f: Ops[V], x: V) -> V:
    """The float32 kernel's angle ``a``, corrected by the angle between ``x`` and ``tan(a)``.

    The tangent of that angle is ``(x cos a - sin a) / (cos a + x sin a)``, which is so small that
    it is the angle itself. Arguments above 1 are inverted first.
    """
    one = f.number(1.0)
    size = f.Abs(x)
    steep = f.Greater(size, one)
    z = f.Where(steep, f.Reciprocal(size), size)
    a = f.Cast(f.Atan(f.Cast(z, to=_FLOAT)), to=_DOUBLE)
    sin, cos = f.Sin(a), f.Cos(a)
    error = f.Div(f.Sub(f.Mul(z, cos), sin), f.Add(cos, f.Mul(z, sin)))
    angle = f.Add(a, error)
    angle = f.Where(steep, f.Sub(f.number(math.pi / 2), angle), angle)
    return _with_sign_of(f, x, angle)


def asin(f: Ops[V], x: V) -> V:
    """The angle whose tangent is ``x / sqrt(1 - x**2)``."""
    one = f.number(1.0)
    cosine = f.Sqrt(f.Mul(f.Sub(one, x), f.Add(one, x)))
    return atan(f, f.Div(x, cosine))


def acos(f: Ops[V], x: V) -> V:
    """Twice the angle whose tangent is ``sqrt((1 - x) / (1 + x))``."""
    one = f.number(1.0)
    ratio = f.Div(f.Sub(one, x), f.Add(one, x))
    return f.Mul(f.number(2.0), atan(f, f.Sqrt(ratio)))


def log1p(f: Ops[V], x: V) -> V:
    """``log(u) - (u - 1 - x) / u`` with ``u = 1 + x`` as rounded."""
    one = f.number(1.0)
    u = f.Add(one, x)
    back = f.Sub(u, one)
    lost = f.Div(f.Sub(back, x), u)
    lost = f.Where(f.Equal(back, x), f.number(0.0), lost)
    return f.Sub(f.Log(u), lost)


def sinh(f: Ops[V], x: V) -> V:
    """``2t / (1 - t**2)`` with ``t = tanh(x/2)`` near 0, ``(e**x - e**-x) / 2`` elsewhere."""
    one, half = f.number(1.0), f.number(0.5)
    t = f.Tanh(f.Mul(half, x))
    near = f.Div(f.Add(t, t), f.Sub(one, f.Mul(t, t)))
    rising, falling = _halves_of_cosh(f, x)
    far = _with_sign_of(f, x, f.Sub(rising, falling))
    return f.Where(f.Less(f.Abs(x), one), near, far)


def cosh(f: Ops[V], x: V) -> V:
    """``(e**x + e**-x) / 2``."""
    return f.Add(*_halves_of_cosh(f, x))


def _halves_of_cosh(f: Ops[V], x: V) -> tuple[V, V]:
    """``e**abs(x) / 2`` and ``e**-abs(x) / 2``, without overflow where the first is finite."""
    half = f.number(0.5)
    root = f.Exp(f.Mul(half, f.Abs(x)))
    rising = f.Mul(f.Mul(half, root), root)
    return rising, f.Div(half, f.Mul(root, root))


def asinh(f: Ops[V], x: V) -> V:
    """``log1p(a + a / (1/a + sqrt(1 + 1/a**2)))`` with ``a = abs(x)``: no square overflows."""
    one = f.number(1.0)
    a = f.Abs(x)
    inverse = f.Reciprocal(a)
    root = f.Sqrt(f.Add(one, f.Mul(inverse, inverse)))
    part = f.Div(a, f.Add(inverse, root))
    near = log1p(f, f.Add(a, part))
    return _with_sign_of(f, x, _or_log_of_twice(f, a, near))


def _or_log_of_twice(f: Ops[V], x: V, near: V) -> V:
    """``log(2x)`` without overflow from 2**28 on, where nothing else is left."""
    far = f.Add(f.Log(x), f.number(math.log(2.0)))
    return f.Where(f.Greater(x, f.number(2.0**28)), far, near)


def acosh(f: Ops[V], x: V) -> V:
    """``log1p(t + sqrt(t) * sqrt(t + 2))`` with ``t = x - 1``."""
    t = f.Sub(x, f.number(1.0))
    root = f.Mul(f.Sqrt(t), f.Sqrt(f.Add(t, f.number(2.0))))
    return _or_log_of_twice(f, x, log1p(f, f.Add(t, root)))


def atanh(f: Ops[V], x: V) -> V:
    """``log1p(2a / (1 - a)) / 2`` with ``a = abs(x)``."""
    a = f.Abs(x)
    ratio = f.Div(f.Add(a, a), f.Sub(f.number(1.0), a))
    return _with_sign_of(f, x, f.Mul(f.number(0.5), log1p(f, ratio)))


def softplus(f: Ops[V], x: V) -> V:
    """``max(x, 0) + log1p(exp(-abs(x)))``."""
    one = f.number(1.0)
    e = f.Exp(f.Neg(f.Abs(x)))
    u = f.Add(one, e)  # as in log1p, of a number that is neither infinite nor -1
    lost = f.Div(f.Sub(f.Sub(u, one), e), u)
    rest = f.Sub(f.Log(u), lost)
    return f.Add(f.Relu(x), rest)


def softsign(f: Ops[V], x: V) -> V:
    """``x / (1 + abs(x))``."""
    return f.Div(x, f.Add(f.number(1.0), f.Abs(x)))


def mish(f: Ops[V], x: V) -> V:
    """``x * tanh(softplus(x))``."""
    return f.Mul(x, f.Tanh(softplus(f, x)))


def hard_swish(f: Ops[V], x: V) -> V:
    """``x * max(0, min(1, x / 6 + 1/2))``."""
    line = f.Add(f.Div(x, f.number(6.0)), f.number(0.5))
    gate = f.Max(f.number(0.0), f.Min(f.number(1.0), line))
    return f.Mul(x, gate)


def erf(f: Ops[V], x: V) -> V:
    """A polynomial near 0, one minus ``erfc`` elsewhere."""
    near, far = _erf_near(f, x), f.Sub(f.number(1.0), _erfc_far(f, x))
    return f.Where(_is_near(f, x), near, _with_sign_of(f, x, far))


def erfc(f: Ops[V], x: V) -> V:
    """One minus the polynomial near 0, elsewhere relatively accurate until it underflows."""
    far = _erfc_far(f, x)
    negative = f.Less(x, f.number(0.0))
    far = f.Where(negative, f.Sub(f.number(2.0), far), far)
    near = f.Sub(f.number(1.0), _erf_near(f, x))
    return f.Where(_is_near(f, x), near, far)


def _is_near(f: Ops[V], x: V) -> V:
    return f.Less(f.Abs(x), f.number(_NEAR))


def _erf_near(f: Ops[V], x: V) -> V:
    return f.Mul(x, _polynomial(f, f.Mul(x, x), _ERF))


def _erfc_far(f: Ops[V], x: V) -> V:
    """``erfc(abs(x))`` for ``abs(x) >= 0.75``."""
    far = f.number(_FAR)
    size = f.Abs(x)
    z = f.Where(f.Greater(size, far), far, size)
    # exp(-z**2) with the square split in an exact part and a small one: z**2 itself is rounded.
    coarse = f.Mul(f.Floor(f.Mul(z, f.number(16.0))), f.number(0.0625))
    fine = f.Mul(f.Sub(z, coarse), f.Add(z, coarse))
    bell = f.Mul(f.Exp(f.Neg(f.Mul(coarse, coarse))), f.Exp(f.Neg(fine)))
    return f.Mul(bell, _scaled_erfc(f, z))


def _scaled_erfc(f: Ops[V], z: V) -> V:
    """``exp(z**2) * erfc(z)`` for ``z`` from 0.75 to 28."""
    t = f.Reciprocal(f.Add(z, f.number(4.0)))
    t = f.Mul(f.Sub(t, f.number(_ERFCX_MIDDLE)), f.number(_ERFCX_SCALE))
    return _polynomial(f, t, _ERFCX)


def inverse_erf(f: Ops[V], a: V, q: V, steps: int = 3) -> V:
    """The ``y`` >= 0 with ``erf(y) = a`` and ``erfc(y) = q``, of which one is enough near 0 and 1.

    Newton's method from Winitzki's approximation, on ``erf`` where ``y`` is below 0.75 and on the
    logarithm of ``erfc``, which is almost a parabola, above. After two steps the result has eleven
    digits, after three all.
    """
    half = f.number(0.5)
    log = f.Log(f.Mul(q, f.Add(f.number(1.0), a)))
    t = f.Add(f.Mul(half, log), f.number(2.0 / (math.pi * _WINITZKI)))
    root = f.Sqrt(f.Sub(f.Mul(t, t), f.Mul(log, f.number(1 / _WINITZKI))))
    # The root of what rounding may make negative; from 0 Newton's method gets there too.
    y = f.Sqrt(f.Max(f.Sub(root, t), f.number(0.0)))
    near = f.Less(a, f.number(_ERF_OF_NEAR))
    log_q, slope = f.Log(q), f.number(math.sqrt(math.pi) / 2)
    for _ in range(steps):
        square = f.Mul(y, y)
        step = f.Mul(f.Sub(a, _erf_near(f, y)), f.Mul(slope, f.Exp(square)))
        scaled = _scaled_erfc(f, y)
        excess = f.Sub(f.Sub(f.Log(scaled), square), log_q)
        far_step = f.Mul(excess, f.Mul(slope, scaled))
        y = f.Add(y, f.Where(near, step, far_step))
    return y


UNARY: dict[str, Callable[[Ops[V], V], V]] = {
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
