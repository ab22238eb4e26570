"""Gamma, Poisson and binomial numbers: transformations of uniform and normal ones.

A fixed number of proposals is drawn for each number, so that the generator advances by a known
amount, and the first that is accepted is taken. That none is has a chance below 1e-9; the mean is
taken then. Small means are drawn by inversion: the distribution is added up until it passes a
uniform number. Everything is computed in float64, by one local function. Which proposal is taken
does not depend on the parameters smoothly: counts have no gradient, and that of gamma numbers is
the one of the number with the same share of the distribution below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike, finfo
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, embed, int64_constant
from tfx.framework.tensor import Tensor

# Formulas are written with the arithmetic of tensors, which this import attaches.
from tfx.ops.common import operator_overloads as operator_overloads
from tfx.ops.common.arguments import cast_to, is_tensor_like, tensor
from tfx.ops.common.broadcast_shapes import broadcast_dynamic_shape
from tfx.ops.common.graph_loop import repeated
from tfx.ops.common.shapes import concat_shape, shape_argument
from tfx.ops.common.traced_once import Composite
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.incomplete_gamma import random_gamma_grad
from tfx.ops.random import samplers
from tfx.ops.random.distributions import Source, StatelessSource, accepted, raw_shape_of

_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_COUNTS = (*_FLOATS, dtypes.int32, dtypes.int64)
# Proposals for each number. At worst (alpha 1; 20 trials of chance 1/2) 95 and 71 in 100 fit.
_GAMMA_ROUNDS = 7
_COUNT_ROUNDS = 17
# Below this mean a count is drawn by inversion, whose sum is complete to 1e-14 after so many terms.
_SMALL = 10.0
_TERMS = 48


class Streams:
    """Independent draws from one source.

    Args:
        source: A generator, or a stateless seed, of which each draw gets another part.
    """

    def __init__(self, source: Source | StatelessSource) -> None:
        self._source = source
        self._number = 0
        # What the first numbers were drawn from, of a generator.
        self._state: Tensor | None = None

    def draw(self, sampler: Composite, shape: Tensor) -> Tensor:
        """float64 numbers."""
        source: Any = self._source
        drawn: Tensor
        if isinstance(source, StatelessSource):
            self._number += 1
            drawn = source.part(self._number).draw(sampler, shape, dtype=dtypes.float64)
        elif self._state is not None:
            # One operation advances its generator by one, whatever it draws.
            self._number += 1
            mask = embed(np.array([0, self._number << 60, 0], np.int64))
            state = ox.BitwiseXor(self._state, mask)
            shapes = (raw_shape_of(shape), state.shape.symbolic)
            drawn, *_ = sampler(state, shape, shapes=shapes, stateful=True, dtype="float64")
        else:
            drawn, self._state = source.draw_from(sampler, shape, dtype=dtypes.float64)
        return drawn


def _times(rounds: int, shape: Tensor) -> Tensor:
    return concat_shape(int64_constant([rounds]), shape)


def _row(x: Tensor, i: Tensor) -> Tensor:
    return ox.Gather(x, i)


def _number(value: float) -> Tensor:
    return embed(np.array(value, np.float64))


def _choose(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return ox.Where(condition, a, b)


def _both(a: Tensor, b: Tensor) -> Tensor:
    return ox.And(a, b)


def _log(x: Tensor) -> Tensor:
    return ox.Log(ox.Max(x, _number(1e-300)))


def _not_all(done: Tensor) -> Tensor:
    """Return a scalar that is true if any element is false."""
    least = ox.ReduceMin(cast_to(done, dtypes.uint8), keepdims=0)
    return ox.Not(cast_to(least, dtypes.bool))


def _first(
    rounds: int, fallback: Tensor, propose: Callable[[Tensor], tuple[Tensor, Tensor]]
) -> Tensor:
    """The first proposal that is accepted."""

    def step(i: Tensor, result: Tensor, done: Tensor) -> tuple[Tensor, Sequence[Tensor]]:
        value, accepted = propose(i)
        both = ox.Or(done, accepted)
        return _not_all(both), (_choose(done, result, _choose(accepted, value, result)), both)

    return repeated(rounds, (fallback, ox.IsNaN(fallback * 0.0)), step)[0]


def _gamma_body(alpha: Tensor, x: Tensor, u: Tensor, boost: Tensor) -> tuple[Tensor]:
    """Marsaglia and Tsang: the cube of a shifted normal number, squeezed to the right density."""
    below_one = alpha < 1.0
    raised = _choose(below_one, alpha + 1.0, alpha)
    d = raised - 1.0 / 3.0
    c = 1.0 / ox.Sqrt(9.0 * d)

    def propose(i: Tensor) -> tuple[Tensor, Tensor]:
        normal = _row(x, i)
        base = 1.0 + c * normal
        v = base * base * base
        limit = 0.5 * normal * normal + d - d * v + d * _log(v)
        return v, _both(v > 0.0, _log(1.0 - _row(u, i)) < limit)

    drawn = d * _first(
        _GAMMA_ROUNDS, _choose(alpha < 0.0, _number(np.nan), alpha * 0.0 + 1.0), propose
    )
    smaller = drawn * ox.Exp(_log(1.0 - boost) / alpha)
    return (_choose(below_one, smaller, drawn),)


def _log_factorial(k: Tensor) -> Tensor:
    """Stirling's series, for what is a difference between large numbers."""
    n = k + 1.0
    inverse = 1.0 / n
    square = inverse * inverse
    tail = inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260)))
    return (n - 0.5) * _log(n) - n + 0.9189385332046727 + tail


def _inverted(u: Tensor, first: Tensor, ratio: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the number of terms below a uniform number; ``ratio(k)`` is term k over term k - 1."""

    def step(
        i: Tensor, term: Tensor, total: Tensor, count: Tensor
    ) -> tuple[Tensor, Sequence[Tensor]]:
        passed = u >= total
        new = term * ratio(cast_to(i, dtypes.float64) + 1.0)
        more = count + cast_to(passed, dtypes.float64)
        return _not_all(ox.Not(passed)), (new, total + new, more)

    return repeated(_TERMS, (first, first, first * 0.0), step)[2]


def _hat(u: Tensor, a: Tensor, b: Tensor, centre: Tensor) -> tuple[Tensor, Tensor]:
    """A proposal of Hoermann's transformed rejection, and where under the hat it is."""
    shifted = u - 0.5
    inside = 0.5 - ox.Abs(shifted)
    k = ox.Floor((2.0 * a / inside + b) * shifted + centre)
    return k, inside


def _poisson_body(rate: Tensor, u: Tensor, v: Tensor, single: Tensor) -> tuple[Tensor]:
    little = ox.Clip(rate, _number(0.0), _number(_SMALL))
    small = _inverted(single, ox.Exp(-little), lambda k: little / k)
    large = ox.Max(rate, _number(_SMALL))
    b = 0.931 + 2.53 * ox.Sqrt(large)
    a = -0.059 + 0.02483 * b
    scale = _log(1.1239 + 1.1328 / (b - 3.4))
    easy = 0.9277 - 3.6224 / (b - 2.0)
    log_rate = _log(large)

    def propose(i: Tensor) -> tuple[Tensor, Tensor]:
        k, inside = _hat(_row(u, i), a, b, large + 0.43)
        height = 1.0 - _row(v, i)
        at_once = _both(inside >= 0.07, height <= easy)
        bound = k * log_rate - large - _log_factorial(k)
        under = _log(height) + scale - _log(a / (inside * inside) + b) <= bound
        return k, ox.Or(at_once, _both(k >= 0.0, under))

    drawn = _first(_COUNT_ROUNDS, ox.Floor(large), propose)
    return (_choose(rate < _SMALL, small, drawn),)


def _binomial_body(
    count: Tensor, chance: Tensor, u: Tensor, v: Tensor, single: Tensor
) -> tuple[Tensor]:
    n = ox.Max(count, _number(0.0))
    bounded = ox.Clip(chance, _number(0.0), _number(1.0))
    flipped = bounded > 0.5
    p = _choose(flipped, 1.0 - bounded, bounded)
    odds = p / (1.0 - p)
    log_odds = _log(odds)
    is_small = n * p < _SMALL
    few = _choose(is_small, n, _number(0.0))
    start = ox.Exp(few * _log(1.0 - p))
    small = _inverted(single, start, lambda k: odds * (few - k + 1.0) / k)
    many = _choose(is_small, _number(1e3), n)
    q = _choose(is_small, _number(0.5), p)
    deviation = ox.Sqrt(many * q * (1.0 - q))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * q
    scale = (2.83 + 5.1 / b) * deviation
    middle = ox.Floor((many + 1.0) * q)
    peak = _log_factorial(middle) + _log_factorial(many - middle)

    def propose(i: Tensor) -> tuple[Tensor, Tensor]:
        k, inside = _hat(_row(u, i), a, b, many * q + 0.5)
        height = 1.0 - _row(v, i)
        at_once = _both(inside >= 0.07, height <= 0.92 - 4.2 / b)
        fits = _both(k >= 0.0, k <= many)
        rest = ox.Max(many - k, _number(0.0))
        bound = peak - _log_factorial(k) - _log_factorial(rest) + (k - middle) * log_odds
        under = _log(height * scale / (a / (inside * inside) + b)) <= bound
        return k, _both(fits, ox.Or(at_once, under))

    drawn = _choose(is_small, small, _first(_COUNT_ROUNDS, middle, propose))
    return (_choose(flipped, n - drawn, drawn),)


_gamma = Composite(_gamma_body, "random_gamma")
# What was drawn, as a function of the shape parameter, which is what the gradient takes it for.
_sample = Composite(
    lambda alpha, drawn: (ox.Identity(drawn),), "gamma_sample", slopes=(random_gamma_grad, None)
)
_poisson = Composite(_poisson_body, "random_poisson")
_binomial = Composite(_binomial_body, "random_binomial")


def _wide(x: Any, shape: Tensor, op: str) -> Tensor:
    """A parameter in float64, for each number."""
    wide = cast_to(tensor(x), dtypes.float64)
    known, wanted = wide.shape, raw_shape_of(shape)
    if wanted is not None and known.rank is not None:
        tail = wanted[len(wanted) - known.rank :] if known.rank <= len(wanted) else None
        if tail is None or any(
            a is not None and isinstance(b, int) and a not in (1, b)
            for a, b in zip(known, tail, strict=True)
        ):
            raise InvalidArgumentError(
                f"Shape passed in must end with broadcasted shape: {op} got the shape {wanted} and "
                f"a parameter of shape {known}.",
                op=op,
            )
    return ox.Expand(stop_gradient(wide), shape)


def gamma(source: Any, shape: Tensor, alpha: Any, beta: Any, dtype: DTypeLike) -> Tensor:
    """Gamma distributed numbers of a shape that the parameters broadcast to."""
    kind = accepted(dtype, _FLOATS, "random.gamma")
    streams, many = Streams(source), _times(_GAMMA_ROUNDS, shape)
    order = convert_to_tensor(alpha, None if is_tensor_like(alpha) else kind)
    given = (
        _wide(order, shape, "gamma"),
        streams.draw(samplers.unit_normal, many),
        streams.draw(samplers.unit_uniform, many),
        streams.draw(samplers.unit_uniform, shape),
    )
    drawn = cast_to(_gamma(*given, shapes=(raw_shape_of(shape),))[0], kind)
    least = embed(_tiny(kind))
    drawn = _sample(cast_to(order, kind), ox.Max(drawn, least), shapes=(raw_shape_of(shape),))[0]
    return drawn if beta is None else ox.Div(drawn, convert_to_tensor(beta, kind))


def _tiny(kind: DType) -> np.ndarray[Any, Any]:
    """The least positive number that is stored in full."""
    return np.array(finfo(kind).tiny, kind.as_numpy_dtype)


def poisson(source: Any, shape: Tensor, lam: Any, dtype: DTypeLike) -> Tensor:
    """Poisson distributed counts of a shape that the rate broadcasts to."""
    kind = accepted(dtype, _COUNTS, "random.poisson")
    streams, many = Streams(source), _times(_COUNT_ROUNDS, shape)
    given = (
        _wide(lam, shape, "poisson"),
        streams.draw(samplers.unit_uniform, many),
        streams.draw(samplers.unit_uniform, many),
        streams.draw(samplers.unit_uniform, shape),
    )
    return cast_to(_poisson(*given, shapes=(raw_shape_of(shape),))[0], kind)


def binomial(source: Any, shape: Tensor, counts: Any, probs: Any, dtype: DTypeLike) -> Tensor:
    """Binomially distributed counts of a shape that the parameters broadcast to."""
    kind = accepted(dtype, _COUNTS, "random.binomial")
    streams, many = Streams(source), _times(_COUNT_ROUNDS, shape)
    given = (
        _wide(counts, shape, "binomial"),
        _wide(probs, shape, "binomial"),
        streams.draw(samplers.unit_uniform, many),
        streams.draw(samplers.unit_uniform, many),
        streams.draw(samplers.unit_uniform, shape),
    )
    return cast_to(_binomial(*given, shapes=(raw_shape_of(shape),))[0], kind)


def per_parameter(shape: Any, *parameters: Any) -> Tensor:
    """The shape of ``shape`` numbers for each of the parameters, broadcast against each other."""
    inner, *others = [ox.Shape(tensor(p)) for p in parameters]
    for other in others:
        inner = broadcast_dynamic_shape(inner, other)
    return concat_shape(shape_argument(shape, "random"), inner)
