"""NumPy's functions of single elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.numpy_ops.promotion import array, default_float, floating, result_type, shared
from tfx.ops.array.creation import zeros_like
from tfx.ops.array.where import where as where_
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.math import (
    arithmetic,
    bitcast,
    bitwise,
    comparison,
    complex_parts,
    elementwise,
    trigonometry,
)
from tfx.ops.math.clip import clip_by_value

Function: TypeAlias = Callable[..., Tensor]


def _named(function: Function, name: str, text: str) -> Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def _unary(name: str, compute: Function, prepare: Function = array) -> Function:
    def function(x: Any) -> Tensor:
        return compute(prepare(x))

    kind = "floating dtype" if prepare is floating else "dtype that NumPy gives"
    return _named(function, name, f"NumPy's ``{name}``, element by element; of the {kind}.")


def _binary(name: str, compute: Function, *, real: bool = False, logical: bool = False) -> Function:
    def function(x1: Any, x2: Any) -> Tensor:
        if logical:
            return compute(truth(x1), truth(x2))
        a, b = shared(x1, x2)
        if real and not a.dtype.is_floating:
            a, b = floating(a), floating(b)
        return compute(a, b)

    text = f"NumPy's ``{name}``, element by element with broadcasting, in the dtype they share."
    return _named(function, name, text)


def truth(x: Any) -> Tensor:
    """Return whether elements are not 0."""
    found = array(x)
    return found if found.dtype.is_bool else comparison.not_equal(found, scalar_like(0, found))


def _of_truth(of_truth: Function, of_numbers: Function) -> Function:
    """Return a function that applies one function to bools, and another one to numbers."""
    return lambda a, b: of_truth(a, b) if a.dtype.is_bool else of_numbers(a, b)


def _ordered(compare: Function) -> Function:
    """A comparison in which False comes before True."""
    return _of_truth(
        lambda a, b: compare(cast_to(a, dtypes.int32), cast_to(b, dtypes.int32)), compare
    )


def _imaginary(x: Tensor) -> Tensor:
    return complex_parts.imag(x) if x.dtype.is_complex else zeros_like(x, dtypes.int8)


def _times(number: float) -> Function:
    return lambda x: x * scalar_like(number, x)


sin = _unary("sin", trigonometry.sin, floating)
cos = _unary("cos", trigonometry.cos, floating)
tan = _unary("tan", trigonometry.tan, floating)
arcsin = _unary("arcsin", trigonometry.asin, floating)
arccos = _unary("arccos", trigonometry.acos, floating)
arctan = _unary("arctan", trigonometry.atan, floating)
sinh = _unary("sinh", trigonometry.sinh, floating)
cosh = _unary("cosh", trigonometry.cosh, floating)
tanh = _unary("tanh", trigonometry.tanh, floating)
arcsinh = _unary("arcsinh", trigonometry.asinh, floating)
arccosh = _unary("arccosh", trigonometry.acosh, floating)
arctanh = _unary("arctanh", trigonometry.atanh, floating)
exp = _unary("exp", elementwise.exp, floating)
expm1 = _unary("expm1", elementwise.expm1, floating)
exp2 = _unary("exp2", lambda x: arithmetic.pow(scalar_like(2, x), x), floating)
log = _unary("log", elementwise.log, floating)
log1p = _unary("log1p", elementwise.log1p, floating)
log2 = _unary("log2", lambda x: elementwise.log(x) / math.log(2), floating)
log10 = _unary("log10", lambda x: elementwise.log(x) / math.log(10), floating)
sqrt = _unary("sqrt", elementwise.sqrt, floating)
deg2rad = _unary("deg2rad", _times(math.pi / 180), floating)
rad2deg = _unary("rad2deg", _times(180 / math.pi), floating)
floor = _unary("floor", elementwise.floor, floating)
ceil = _unary("ceil", elementwise.ceil, floating)
isnan = _unary("isnan", elementwise.is_nan, floating)
isinf = _unary("isinf", elementwise.is_inf, floating)
isfinite = _unary("isfinite", elementwise.is_finite, floating)
abs = _unary("abs", elementwise.abs)
negative = _unary("negative", elementwise.negative)
positive = _unary("positive", lambda x: x)
square = _unary("square", elementwise.square)
sign = _unary("sign", elementwise.sign)
reciprocal = _unary(
    "reciprocal",
    lambda x: (
        cast_to(scalar_like(1, x) // x, x.dtype)
        if x.dtype.is_integer
        else elementwise.reciprocal(floating(x))
    ),
)
absolute = fabs = abs
conj = conjugate = _unary("conj", lambda x: complex_parts.conj(x) if x.dtype.is_complex else x)


def real(val: Any) -> Tensor:
    """The real parts, of the dtype of theirs."""
    x = array(val)
    return complex_parts.real(x) if x.dtype.is_complex else x


def imag(val: Any) -> Tensor:
    """The imaginary parts, of the dtype of theirs."""
    x = array(val)
    return complex_parts.imag(x) if x.dtype.is_complex else zeros_like(x)


logical_not = _unary("logical_not", lambda x: comparison.logical_not(truth(x)))
bitwise_not = _unary(
    "bitwise_not", lambda x: comparison.logical_not(x) if x.dtype.is_bool else bitwise.invert(x)
)
cbrt = _unary(
    "cbrt", lambda x: elementwise.sign(x) * arithmetic.pow(elementwise.abs(x), 1 / 3), floating
)
fix = _unary(
    "fix",
    lambda x: where_(x < 0, elementwise.ceil(x), elementwise.floor(x)),
    floating,
)
isposinf = _unary("isposinf", lambda x: comparison.equal(x, scalar_like(math.inf, x)), floating)
isneginf = _unary("isneginf", lambda x: comparison.equal(x, scalar_like(-math.inf, x)), floating)
isreal = _unary("isreal", lambda x: comparison.equal(_imaginary(x), 0))
iscomplex = _unary("iscomplex", lambda x: comparison.not_equal(_imaginary(x), 0))
sinc = _unary(
    "sinc",
    lambda x: where_(
        x == 0,
        scalar_like(1, x),
        trigonometry.sin(math.pi * where_(x == 0, scalar_like(1, x), x))
        / (math.pi * where_(x == 0, scalar_like(1, x), x)),
    ),
    floating,
)

add = _binary("add", _of_truth(comparison.logical_or, lambda a, b: a + b))
subtract = _binary("subtract", arithmetic.subtract)
multiply = _binary("multiply", _of_truth(comparison.logical_and, lambda a, b: a * b))
divide = true_divide = _binary("true_divide", arithmetic.divide, real=True)
floor_divide = _binary("floor_divide", lambda a, b: a // b)
mod = remainder = _binary("remainder", lambda a, b: a % b)
power = _binary("power", arithmetic.pow)
float_power = _binary("float_power", arithmetic.pow, real=True)
maximum = _binary("maximum", _of_truth(comparison.logical_or, arithmetic.maximum))
minimum = _binary("minimum", _of_truth(comparison.logical_and, arithmetic.minimum))
arctan2 = _binary("arctan2", trigonometry.atan2, real=True)
hypot = _binary("hypot", lambda a, b: elementwise.sqrt(a * a + b * b), real=True)
equal = _binary("equal", comparison.equal)
not_equal = _binary("not_equal", comparison.not_equal)
greater = _binary("greater", _ordered(comparison.greater))
greater_equal = _binary("greater_equal", _ordered(comparison.greater_equal))
less = _binary("less", _ordered(comparison.less))
less_equal = _binary("less_equal", _ordered(comparison.less_equal))
logical_and = _binary("logical_and", comparison.logical_and, logical=True)
logical_or = _binary("logical_or", comparison.logical_or, logical=True)
logical_xor = _binary("logical_xor", comparison.logical_xor, logical=True)
bitwise_and = _binary("bitwise_and", lambda a, b: a & b)
bitwise_or = _binary("bitwise_or", lambda a, b: a | b)
bitwise_xor = _binary("bitwise_xor", lambda a, b: a ^ b)
heaviside = _binary(
    "heaviside",
    lambda x, half: where_(
        x < 0, scalar_like(0, x), where_(x > 0, scalar_like(1, x), half + 0 * x)
    ),
    real=True,
)


def _logaddexp(a: Tensor, b: Tensor) -> Tensor:
    high = arithmetic.maximum(a, b)
    apart = where_(comparison.equal(a, b), scalar_like(0, a), a - b)  # infinities, too
    return high + elementwise.log1p(elementwise.exp(-elementwise.abs(apart)))


logaddexp = _binary("logaddexp", _logaddexp, real=True)
logaddexp2 = _binary(
    "logaddexp2", lambda a, b: _logaddexp(a * math.log(2), b * math.log(2)) / math.log(2), real=True
)


def divmod(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """``floor_divide`` and ``mod``."""
    return floor_divide(x1, x2), mod(x1, x2)


def clip(a: Any, a_min: Any, a_max: Any) -> Tensor:
    """Elements below ``a_min`` or above ``a_max`` replaced by these; None: no limit.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.clip([1, 5], 2, 3).numpy()
        array([2, 3])
    """
    if a_min is None and a_max is None:
        raise ValueError("clip: not both of a_min and a_max may be None.")
    if a_min is None:
        return minimum(a, a_max)
    if a_max is None:
        return maximum(a, a_min)
    x, low, high = shared(a, a_min, a_max)
    return clip_by_value(x, low, high)


def around(a: Any, decimals: int = 0) -> Tensor:
    """Rounded to a number of decimals, halves to the even number.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.around(2.567, 1).numpy()
        np.float64(2.6)
    """
    x = array(a)
    if not x.dtype.is_floating and decimals >= 0:
        return x
    scale = 10.0**decimals
    wide = floating(x)
    found = elementwise.round(wide * scalar_like(scale, wide)) / scalar_like(scale, wide)
    return cast_to(found, x.dtype)


round = around


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Elements of ``x`` where the condition is not 0, else of ``y``; without both: ``nonzero``."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("where: give both of x and y, or neither.")
    a, b = shared(x, y)
    return where_(truth(condition), a, b)


def nonzero(a: Any) -> list[Tensor]:
    """The indices of elements that are not 0, axis by axis."""
    x = truth(a)
    if x.shape.rank == 0:
        x = x[None]
    found = ox.NonZero(x)
    return [found[i] for i in range(x.shape.rank or 0)]


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Return whether numbers differ by at most ``atol + rtol * abs(b)``.

    Example:
        >>> import tfx.experimental.numpy as tnp
        >>> tnp.isclose([1.0, 2.0], [1.0, 2.1]).numpy()
        array([ True, False])
    """
    x, y = shared(a, b)
    if not x.dtype.is_floating:
        x, y = floating(x), floating(y)
    size = elementwise.abs(y)
    near = elementwise.abs(x - y) <= scalar_like(atol, size) + size * scalar_like(rtol, size)
    near = comparison.logical_and(near, elementwise.is_finite(y))
    near = comparison.logical_or(near, x == y)
    if equal_nan:
        both = comparison.logical_and(elementwise.is_nan(x), elementwise.is_nan(y))
        near = comparison.logical_or(near, both)
    return near


def gcd(x1: Any, x2: Any) -> Tensor:
    """The greatest common divisor of integers."""
    a, b = shared(x1, x2)
    if not a.dtype.is_integer:
        raise ValueError(f"Arguments to gcd must be integers; got {a.dtype.name}.")
    a, b = elementwise.abs(a + 0 * b), elementwise.abs(b + 0 * a)

    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        more = comparison.not_equal(y, scalar_like(0, y))
        rest = x % where_(more, y, scalar_like(1, y))
        return where_(more, y, x), where_(more, rest, y)

    def going(x: Tensor, y: Tensor) -> Tensor:
        left = cast_to(comparison.not_equal(y, scalar_like(0, y)), dtypes.int64)
        count = ox.ReduceSum(left, keepdims=0)
        return count > 0

    return while_loop(going, step, [a, b])[0]  # type: ignore[no-any-return]


def lcm(x1: Any, x2: Any) -> Tensor:
    """The least common multiple of integers."""
    a, b = shared(x1, x2)
    common = gcd(a, b)
    none = comparison.equal(common, scalar_like(0, common))
    safe = where_(none, scalar_like(1, common), common)
    return elementwise.abs(a // safe * b)


def signbit(x: Any) -> Tensor:
    """Return whether the sign bit is set, that of -0.0 included."""
    found = array(x)
    if not found.dtype.is_floating:
        return found < 0
    # 1 / -0.0 is minus infinity, and below 0 as all negative numbers are.
    return comparison.logical_or(found < 0, elementwise.reciprocal(found) < 0)


def isscalar(num: Any) -> bool:
    """True if it is a number, or a tensor without axes."""
    shape = getattr(num, "shape", None)
    return np.isscalar(num) if shape is None else len(shape) == 0


nextafter = _binary("nextafter", bitcast.nextafter, real=True)


def isrealobj(x: Any) -> bool:
    """True if its dtype is not complex."""
    return not iscomplexobj(x)


def iscomplexobj(x: Any) -> bool:
    """True if its dtype is complex."""
    return result_type(x).is_complex


def angle(z: Any, deg: bool = False) -> Tensor:
    """The angle of complex numbers; of real ones 0, or pi where they are negative."""
    x = array(z)
    if x.dtype.is_complex:
        found = complex_parts.angle(x)
        return found * scalar_like(180 / math.pi, found) if deg else found
    x = x if x.dtype.is_floating else cast_to(x, default_float())
    return where_(x < 0, scalar_like(180.0 if deg else math.pi, x), scalar_like(0, x))
