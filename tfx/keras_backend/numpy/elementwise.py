"""Functions of each element: of one tensor, of two that are broadcast, and conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.backend_utils import vectorize_impl

import tfx as tf
import tfx.experimental.numpy as tnp
from tfx.keras_backend import sparse
from tfx.keras_backend.conversion import convert_to_tensor
from tfx.keras_backend.numpy.promotion import (
    cast,
    floats,
    is_whole,
    kind_of,
    name_of,
    result_type,
    tensor,
    together,
    truth,
)
from tfx.keras_backend.sparse import KINDS

Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]
F = TypeVar("F", bound=Callable[..., Any])


def _of_floats(name: str, compute: Unary) -> Unary:
    """A function whose result is floating, whatever it is given."""

    def call(x: Any) -> Any:
        if type(x) in KINDS:
            return sparse.of_one(name, call, x)
        return compute(floats(x)[0])

    return _named(call, name, f"``{name}`` of each element, in a floating dtype.")


def _of_any(name: str, compute: Unary) -> Unary:
    """A function whose result has the dtype of its argument."""

    def call(x: Any) -> Any:
        if type(x) in KINDS:
            return sparse.of_one(name, call, x)
        return compute(tensor(x))

    return _named(call, name, f"``{name}`` of each element.")


def _of_two(name: str, compute: Binary) -> Binary:
    """A function of two arguments, computed in the dtype that holds both."""

    def call(x1: Any, x2: Any) -> Any:
        x1, x2 = together(x1, x2)
        if type(x1) in KINDS or type(x2) in KINDS:
            return sparse.of_two(name, call, x1, x2)
        return compute(x1, x2)

    return _named(call, name, f"``{name}`` of the elements of two tensors.")


def _of_two_floats(name: str, compute: Binary) -> Binary:
    """A function of two arguments whose result is floating."""

    def call(x1: Any, x2: Any) -> Any:
        x1, x2 = floats(x1, x2)
        if type(x1) in KINDS or type(x2) in KINDS:
            return sparse.of_two(name, call, x1, x2)
        return compute(x1, x2)

    return _named(call, name, f"``{name}`` of the elements of two tensors, in a floating dtype.")


def _oftruth(name: str, compute: Binary) -> Binary:
    """A function of two truth values."""

    def call(x1: Any, x2: Any) -> Any:
        return compute(truth(sparse.dense(x1)), truth(sparse.dense(x2)))

    return _named(call, name, f"``{name}`` of the elements of two tensors.")


def _of_bits(name: str, compute: Binary) -> Binary:
    """A function of the bits of two integers."""

    def call(x: Any, y: Any) -> Any:
        x, y = together(x, y)
        return compute(x, y)

    return _named(call, name, f"``{name}`` of the bits of two tensors.")


def _named(call: F, name: str, text: str) -> F:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = text
    return call


def _wide(x: Any) -> Any:
    """Truth values as int32, which have no arithmetic of their own."""
    return tf.cast(x, tf.int32) if x.dtype == tf.bool else x


arccos = _of_floats("arccos", tf.math.acos)
arccosh = _of_floats("arccosh", tf.math.acosh)
arcsin = _of_floats("arcsin", tf.math.asin)
arcsinh = _of_floats("arcsinh", tf.math.asinh)
arctan = _of_floats("arctan", tf.math.atan)
arctanh = _of_floats("arctanh", tf.math.atanh)
cbrt = _of_floats("cbrt", tnp.cbrt)
cos = _of_floats("cos", tf.math.cos)
cosh = _of_floats("cosh", tf.math.cosh)
deg2rad = _of_floats("deg2rad", lambda x: x * math.radians(1))
exp = _of_floats("exp", tf.math.exp)
exp2 = _of_floats("exp2", tnp.exp2)
expm1 = _of_floats("expm1", tf.math.expm1)
fabs = _of_floats("fabs", tf.math.abs)
i0 = _of_floats("i0", tf.math.bessel_i0)
log = _of_floats("log", tf.math.log)
log10 = _of_floats("log10", tnp.log10)
log1p = _of_floats("log1p", tf.math.log1p)
log2 = _of_floats("log2", tnp.log2)
rad2deg = _of_floats("rad2deg", lambda x: x * math.degrees(1))
reciprocal = _of_floats("reciprocal", tf.math.reciprocal)
sin = _of_floats("sin", tf.math.sin)
sinc = _of_floats("sinc", tnp.sinc)
sinh = _of_floats("sinh", tf.math.sinh)
sqrt = _of_floats("sqrt", tf.math.sqrt)
tan = _of_floats("tan", tf.math.tan)
tanh = _of_floats("tanh", tf.math.tanh)
ceil = _of_floats("ceil", tf.math.ceil)
floor = _of_floats("floor", tf.math.floor)

absolute = _of_any("absolute", lambda x: x if x.dtype == tf.bool else tf.math.abs(x))
abs = absolute
negative = _of_any("negative", tf.math.negative)
square = _of_any("square", lambda x: tf.math.square(_wide(x)))
sign = _of_any("sign", tf.math.sign)
conjugate = _of_any("conjugate", lambda x: tf.math.conj(x) if x.dtype.is_complex else x)
conj = conjugate
real = _of_any("real", lambda x: tf.math.real(x) if x.dtype.is_complex else x)
imag = _of_any("imag", lambda x: tf.math.imag(x) if x.dtype.is_complex else tf.zeros_like(x))
copy = _of_any("copy", tf.identity)
isreal = _of_any("isreal", lambda x: tf.equal(imag(x), 0) if x.dtype.is_complex else ~_never(x))
isnan = _of_any("isnan", lambda x: _never(x) if is_whole(x) else tf.math.is_nan(x))
isinf = _of_any("isinf", lambda x: _never(x) if is_whole(x) else tf.math.is_inf(x))
isfinite = _of_any("isfinite", lambda x: ~_never(x) if is_whole(x) else tf.math.is_finite(x))
isposinf = _of_any("isposinf", lambda x: _never(x) if is_whole(x) else tf.equal(x, math.inf))
isneginf = _of_any("isneginf", lambda x: _never(x) if is_whole(x) else tf.equal(x, -math.inf))
trunc = _of_any("trunc", lambda x: x if is_whole(x) else _towards_zero(x))
logical_not = _of_any("logical_not", lambda x: tf.math.logical_not(truth(x)))
bitwise_invert = _of_any("bitwise_invert", lambda x: ~x)
bitwise_not = bitwise_invert


def _towards_zero(x: Any) -> Any:
    return tf.where(x < 0, tf.math.ceil(x), tf.math.floor(x))


def _never(x: Any) -> Any:
    return tf.zeros_like(x, tf.bool)


def _sum_of(x: Any, y: Any) -> Any:
    return x | y if x.dtype == tf.bool else x + y


def _product_of(x: Any, y: Any) -> Any:
    return x & y if x.dtype == tf.bool else x * y


def _larger(x: Any, y: Any) -> Any:
    return x | y if x.dtype == tf.bool else tf.maximum(x, y)


def _smaller(x: Any, y: Any) -> Any:
    return x & y if x.dtype == tf.bool else tf.minimum(x, y)


def _skipping_nan(choose: Binary) -> Binary:
    def call(x: Any, y: Any) -> Any:
        if is_whole(x):
            return choose(x, y)
        return tf.where(tf.math.is_nan(x), y, tf.where(tf.math.is_nan(y), x, choose(x, y)))

    return call


add = _of_two("add", _sum_of)
subtract = _of_two("subtract", lambda x, y: x - y)
multiply = _of_two("multiply", _product_of)
maximum = _of_two("maximum", _larger)
minimum = _of_two("minimum", _smaller)
fmax = _of_two("fmax", _skipping_nan(_larger))
fmin = _of_two("fmin", _skipping_nan(_smaller))
mod = _of_two("mod", lambda x, y: tf.math.floormod(_wide(x), _wide(y)))
fmod = _of_two("fmod", lambda x, y: tf.truncatemod(_wide(x), _wide(y)))
floor_divide = _of_two("floor_divide", lambda x, y: tf.math.floordiv(_wide(x), _wide(y)))
gcd = _of_two("gcd", tnp.gcd)
lcm = _of_two("lcm", tnp.lcm)
equal = _of_two("equal", tf.math.equal)
not_equal = _of_two("not_equal", tf.math.not_equal)
greater = _of_two("greater", lambda x, y: tf.math.greater(_wide(x), _wide(y)))
greater_equal = _of_two("greater_equal", lambda x, y: tf.math.greater_equal(_wide(x), _wide(y)))
less = _of_two("less", lambda x, y: tf.math.less(_wide(x), _wide(y)))
less_equal = _of_two("less_equal", lambda x, y: tf.math.less_equal(_wide(x), _wide(y)))

divide = _of_two_floats("divide", tf.math.divide)
true_divide = divide
divide_no_nan = _of_two_floats("divide_no_nan", tf.math.divide_no_nan)
arctan2 = _of_two_floats("arctan2", tf.math.atan2)
hypot = _of_two_floats("hypot", tnp.hypot)
logaddexp = _of_two_floats("logaddexp", tnp.logaddexp)
logaddexp2 = _of_two_floats("logaddexp2", tnp.logaddexp2)
heaviside = _of_two_floats("heaviside", tnp.heaviside)
nextafter = _of_two_floats("nextafter", tf.math.nextafter)

logical_and = _oftruth("logical_and", tf.math.logical_and)
logical_or = _oftruth("logical_or", tf.math.logical_or)
logical_xor = _oftruth("logical_xor", tf.math.logical_xor)

bitwise_and = _of_bits("bitwise_and", lambda x, y: x & y)
bitwise_or = _of_bits("bitwise_or", lambda x, y: x | y)
bitwise_xor = _of_bits("bitwise_xor", lambda x, y: x ^ y)
bitwise_left_shift = _of_bits("bitwise_left_shift", tf.bitwise.left_shift)
bitwise_right_shift = _of_bits("bitwise_right_shift", tf.bitwise.right_shift)
left_shift = bitwise_left_shift
right_shift = bitwise_right_shift


def power(x1: Any, x2: Any) -> Any:
    """``x1`` to the power of ``x2``."""
    if isinstance(x2, int | float) and x2 == 2:
        (x1,) = (convert_to_tensor(x1, result_type(kind_of(x1), type(x2))),)
        return tf.math.square(_wide(x1))
    x1, x2 = together(x1, x2)
    return tf.math.pow(_wide(x1), _wide(x2))


def ldexp(x1: Any, x2: Any) -> Any:
    """``x1`` times 2 to the power of the integers ``x2``."""
    dtype = result_type(kind_of(x1), kind_of(x2), float)
    if not is_whole(tensor(x2)):
        raise TypeError(f"ldexp exponent must be an integer type. Received: x2 dtype={kind_of(x2)}")
    return convert_to_tensor(x1, dtype) * tnp.exp2(convert_to_tensor(x2, dtype))


def angle(x: Any) -> Any:
    """The angle in the complex plane; of real numbers 0, or pi for negative ones."""
    (x,) = floats(x)
    if x.dtype.is_complex:
        return tf.math.angle(x)
    flat = tf.where(tf.math.is_nan(x), x, tf.constant(0, x.dtype))
    return tf.where(x < 0, tf.constant(math.pi, x.dtype), flat)


def signbit(x: Any) -> Any:
    """True where the sign is minus, that of a zero too."""
    if type(x) in KINDS:
        return sparse.of_one("signbit", signbit, x)
    x = tensor(x)
    if x.dtype == tf.bool or x.dtype.is_unsigned:
        return _never(x)
    if is_whole(x):
        return tf.math.less(x, tf.zeros([], x.dtype))
    return tnp.signbit(x)


def round(x: Any, decimals: int = 0) -> Any:
    """Rounded to a number of decimals, halves to the even neighbour."""
    if type(x) in KINDS:
        return sparse.of_one("round", round, x, decimals)
    x = tensor(x)
    if is_whole(x):
        if x.dtype == tf.bool or decimals >= 0:
            return x
        step = 10**-decimals
        return cast(tf.math.round(tf.cast(x, tf.float64) / step) * step, x.dtype)
    if decimals == 0:
        return tf.math.round(x)
    scale = tf.constant(10.0**decimals, x.dtype)
    return tf.math.round(x * scale) / scale


def clip(x: Any, x_min: Any, x_max: Any) -> Any:
    """Elements within bounds, of which one may be None."""
    bounds = [b for b in (x_min, x_max) if b is not None]
    dtype = result_type(kind_of(x), *[kind_of(b) for b in bounds])
    if dtype == "bool":
        dtype = "int32"
    x = convert_to_tensor(x, dtype)
    if x_min is not None:
        x = tf.maximum(x, convert_to_tensor(x_min, dtype))
    return x if x_max is None else tf.minimum(x, convert_to_tensor(x_max, dtype))


def nan_to_num(
    x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    """Finite numbers in place of NaN and the infinities."""
    x = tensor(x)
    if is_whole(x):
        return x
    top = x.dtype.max if posinf is None else posinf
    low = x.dtype.min if neginf is None else neginf
    kind = x.dtype.name
    found = tf.where(tf.math.is_nan(x), convert_to_tensor(nan, kind), x)
    found = tf.where(isposinf(x), convert_to_tensor(top, kind), found)
    return tf.where(isneginf(x), convert_to_tensor(low, kind), found)


def isclose(
    x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """True where two tensors are equal within a tolerance."""
    x1, x2 = together(x1, x2)
    if is_whole(x1):
        x1, x2 = (tf.cast(x, tf.float64) for x in (x1, x2))
    near = tf.math.abs(x1 - x2) <= atol + rtol * tf.math.abs(x2)
    finite = tf.math.is_finite(x1) & tf.math.is_finite(x2)
    found = tf.where(finite, near, tf.math.equal(x1, x2))
    return found | (tf.math.is_nan(x1) & tf.math.is_nan(x2)) if equal_nan else found


def allclose(
    x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """True if two tensors are equal within a tolerance."""
    return tf.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    """``x1`` where a condition holds, ``x2`` elsewhere; without them the indices."""
    condition = truth(condition)
    if x1 is None and x2 is None:
        return tuple(tf.unstack(tf.cast(tf.where(condition), tf.int32), axis=-1))
    if x1 is None or x2 is None:
        raise ValueError(
            "`x1` and `x2` either both should be `None` or both should have non-None value."
        )
    x1, x2 = together(x1, x2)
    return tf.where(condition, x1, x2)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first of several choices whose condition holds."""
    *choices, found = together(*choicelist, default)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        found = tf.where(truth(condition), choice, found)
    return found


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Any = None, signature: str | None = None
) -> Any:
    """A function that applies ``pyfunc`` to all elements."""
    return vectorize_impl(pyfunc, tf.vectorized_map, excluded=excluded, signature=signature)


def view(x: Any, dtype: Any = None) -> Any:
    """The same bits as elements of another dtype."""
    x = tensor(x)
    if dtype is None:
        return x
    new = tf.as_dtype(standardize_dtype(dtype))
    old_size, new_size = x.dtype.size, new.size
    if old_size < new_size:
        shape = [*x.shape.as_list()[:-1], -1, new_size // old_size]
        if x.shape[-1] is not None and x.shape[-1] % shape[-1]:
            raise ValueError(
                f"Cannot view array of shape {tuple(x.shape)}, dtype {name_of(x)}, as {new.name}: "
                "its last axis does not hold whole elements."
            )
        sizes: Any = [-1 if d is None else d for d in shape]
        if sizes.count(-1) > 1:
            sizes = tf.concat([tf.shape(x)[:-1], sizes[-2:]], 0)
        x = tf.reshape(x, sizes)
    if x.dtype == tf.bool or new == tf.bool:
        return tf.cast(tf.cast(x, tf.uint8), new)
    found = tf.bitcast(x, new)
    if old_size > new_size:
        known = [-1 if d is None else d for d in x.shape.as_list()[:-1]]
        return tf.reshape(found, [*known, (x.shape[-1] or 1) * old_size // new_size])
    return found
