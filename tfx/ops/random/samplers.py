"""Random bits to numbers: standard uniform, normal and truncated normal, and integers in a range.

Each sampler is a ``Composite`` of (origin, shape). ``origin`` is either a generator's state
``[counter, stream, key]``, which is returned advanced by one draw, or a stateless seed
``[key, counter]``. The two never give the same bits because their tags differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ops.common.traced_once import Composite
from tfx.ops.random.philox import Words, random_words, shift_left, shift_right, uint_constant

STATE_SIZE = 3
# Bits that a float dtype's significand holds, which is how many a uniform number has.
_FLOAT_BITS = {"float16": 11, "bfloat16": 8, "float32": 24}
# erfinv(y / erf(sqrt(2))) * sqrt(2) / y as a polynomial of -log(1 - y * y): a Chebyshev fit on the
# range that |x| <= 2 needs, good to 2e-12.
_TRUNCATED = (
    1.2533141373167156, 0.32811687375476556, 0.01633323789533603, -0.0033023425319654662,
    -0.0001810519388908925, 6.58755254812778e-05, 2.888537622032155e-06, -1.4348468860881726e-06,
    -6.745643111114472e-08, 4.481862848585646e-08, -3.6482522016925447e-09,
)  # fmt: skip
_TRUNCATED_RANGE = math.erf(math.sqrt(2.0))


def _words(origin: Tensor, blocks: Tensor, stateful: bool) -> Words:
    if stateful:
        counter, stream, key = (_element(origin, i) for i in range(STATE_SIZE))
        # Tag 0 is the stateless samplers'.
        low = cast_to(cast_to(stream, dtypes.uint64), dtypes.uint32)
        tag = ox.Add(low, uint_constant(1, dtypes.uint32))
    else:
        key, counter = _element(origin, 0), _element(origin, 1)
        tag = uint_constant(0, dtypes.uint32)
    return random_words(key, counter, tag, blocks)


def _element(x: Tensor, index: int) -> Tensor:
    return ox.Gather(x, int64_constant(index))


def _advanced(origin: Tensor, stateful: bool) -> Tensor:
    """The state after a draw."""
    return ox.Add(origin, int64_constant([1, 0, 0])) if stateful else origin


def _blocks(count: Tensor, per_block: int) -> Tensor:
    up = ox.Add(count, int64_constant(per_block - 1))
    return ox.Div(up, int64_constant(per_block))


def _joined(parts: tuple[Tensor, ...], count: Tensor) -> Tensor:
    """Parts one after the other, cut to ``count``."""
    whole = parts[0] if len(parts) == 1 else ox.Concat(*parts, axis=0)
    end = ox.Unsqueeze(count, int64_constant([0]))
    return ox.Slice(whole, int64_constant([0]), end)


def bits32(origin: Tensor, count: Tensor, stateful: bool) -> Tensor:
    """``count`` random uint32."""
    return _joined(_words(origin, _blocks(count, 4), stateful), count)


def bits64(origin: Tensor, count: Tensor, stateful: bool) -> Tensor:
    """``count`` random uint64."""
    w0, w1, w2, w3 = (
        cast_to(w, dtypes.uint64) for w in _words(origin, _blocks(count, 2), stateful)
    )
    pairs = ((w0, w1), (w2, w3))
    return _joined(tuple(ox.BitwiseOr(shift_left(h, 32), lo) for h, lo in pairs), count)


Sampler = Callable[[Tensor, Tensor, bool, DType], Tensor]


def _sampler(draw: Sampler, name: str) -> Composite:
    """A composite from a function of (origin, count, stateful, dtype) that draws a vector."""

    def body(origin: Tensor, shape: Tensor, *, stateful: bool, dtype: str) -> tuple[Tensor, Tensor]:
        flat = draw(origin, _count(shape), stateful, dtypes.as_dtype(dtype))
        drawn = ox.Reshape(flat, shape, allowzero=1)
        return drawn, _advanced(origin, stateful)

    return Composite(body, name)


def _count(shape: Tensor) -> Tensor:
    return ox.ReduceProd(shape, keepdims=0)


def _constant(value: float, dtype: DType) -> Tensor:
    return embed(np.array(value, dtype.as_numpy_dtype))


def _unit(origin: Tensor, count: Tensor, stateful: bool, dtype: DType) -> Tensor:
    """Uniform in [0, 1): every multiple of the dtype's spacing below 1 is equally likely."""
    if dtype is dtypes.float64:
        bits = shift_right(bits64(origin, count, stateful), 11)
        return ox.Mul(cast_to(bits, dtype), _constant(2.0**-53, dtype))
    kept = _FLOAT_BITS[dtype.name]
    bits = cast_to(shift_right(bits32(origin, count, stateful), 32 - kept), dtypes.float32)
    scaled = ox.Mul(bits, _constant(2.0**-kept, dtypes.float32))
    return cast_to(scaled, dtype)


def _fractions(origin: Tensor, count: Tensor, stateful: bool, dtype: DType) -> list[Tensor]:
    """Four vectors (two for float64) of uniform numbers in (0, 1] that keep small ones exact."""
    if dtype is dtypes.float64:
        w0, w1, w2, w3 = (cast_to(w, dtype) for w in _words(origin, _blocks(count, 2), stateful))
        joined = [_scaled_sum(w0, 2.0**-32, w1, 2.0**-64), _scaled_sum(w2, 2.0**-32, w3, 2.0**-64)]
        return [ox.Add(x, _constant(2.0**-65, dtype)) for x in joined]
    words = _words(origin, _blocks(count, 4), stateful)
    one, scale = _constant(1.0, dtypes.float32), _constant(2.0**-32, dtypes.float32)
    return [ox.Mul(ox.Add(cast_to(w, dtypes.float32), one), scale) for w in words]


def _scaled_sum(x: Tensor, a: float, y: Tensor, b: float) -> Tensor:
    return ox.Add(ox.Mul(x, _constant(a, x.dtype)), ox.Mul(y, _constant(b, y.dtype)))


def _normal(origin: Tensor, count: Tensor, stateful: bool, dtype: DType) -> Tensor:
    """Standard normal numbers by the Box-Muller transform."""
    parts: list[Tensor] = []
    uniform = _fractions(origin, count, stateful, dtype)
    kind = uniform[0].dtype
    for u, v in zip(uniform[::2], uniform[1::2], strict=True):
        radius = ox.Sqrt(ox.Mul(ox.Log(u), _constant(-2.0, kind)))
        angle = ox.Mul(v, _constant(2 * math.pi, kind))
        parts += [ox.Mul(radius, apply(f, (angle,))) for f in ("Cos", "Sin")]
    return cast_to(_joined(tuple(parts), count), dtype)


def _truncated_normal(origin: Tensor, count: Tensor, stateful: bool, dtype: DType) -> Tensor:
    """Standard normal numbers given that they are within 2, by the inverse distribution."""
    u = _joined(tuple(_fractions(origin, count, stateful, dtype)), count)
    kind = u.dtype
    factor = _constant(2.0 * _TRUNCATED_RANGE, kind)
    y = ox.Sub(ox.Mul(u, factor), _constant(_TRUNCATED_RANGE, kind))
    one_less = ox.Sub(_constant(1.0, kind), ox.Mul(y, y))
    w = ox.Neg(ox.Log(one_less))
    total = _constant(_TRUNCATED[-1], kind)
    for c in _TRUNCATED[-2::-1]:
        total = ox.Add(ox.Mul(total, w), _constant(c, kind))
    two = _constant(2.0, kind)
    bounded = ox.Clip(ox.Mul(total, y), ox.Neg(two), two)
    return cast_to(bounded, dtype)


def _full_range(origin: Tensor, count: Tensor, stateful: bool, dtype: DType) -> Tensor:
    """Return integers drawn uniformly from all values of the dtype."""
    draw = bits64 if dtype.size == 8 else bits32
    return cast_to(draw(origin, count, stateful), dtype)


def _integers(
    origin: Tensor, shape: Tensor, low: Tensor, high: Tensor, *, stateful: bool, dtype: str
) -> tuple[Tensor, Tensor]:
    """Integers in [low, high), where the bounds broadcast against ``shape``.

    Arithmetic is unsigned and wraps, so that ranges wider than the signed maximum are right.
    """
    kind = dtypes.as_dtype(dtype)
    wide = kind.size == 8
    unsigned = dtypes.uint64 if wide else dtypes.uint32
    base = cast_to(low, unsigned)
    span = ox.Sub(cast_to(high, unsigned), base)
    bits = (bits64 if wide else bits32)(origin, _count(shape), stateful)
    bits = ox.Reshape(bits, shape, allowzero=1)
    if wide:
        # An empty range must not divide by zero, which would end the process.
        span = ox.Max(span, uint_constant(1, unsigned))
        offset = ox.Mod(bits, span)
    else:
        product = ox.Mul(cast_to(bits, dtypes.uint64), cast_to(span, dtypes.uint64))
        offset = cast_to(shift_right(product, 32), unsigned)
    return cast_to(ox.Add(base, offset), kind), _advanced(origin, stateful)


unit_uniform = _sampler(_unit, "random_uniform")
unit_normal = _sampler(_normal, "random_normal")
unit_truncated_normal = _sampler(_truncated_normal, "random_truncated_normal")
full_range = _sampler(_full_range, "random_full_range")
integers = Composite(_integers, "random_integers")
