"""Random tensors drawn from a source of bits: the stateful generators or a stateless seed.

The public functions of ``random`` and the methods of ``Generator`` are these with a source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, embed, int64_constant
from tfx.framework.guards import refused_if_negative
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.graph import ir
from tfx.ops.common.arguments import as_int64, cast_to, is_tensor_like, static_int, tensor
from tfx.ops.common.shapes import (
    as_vector,
    concat_shape,
    raw_shape,
    shape_argument,
    shape_vector,
    symbolic_items,
)
from tfx.ops.common.traced_once import Composite
from tfx.ops.random import samplers

_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_INTEGERS = (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)


class Source(Protocol):
    """A source of random numbers."""

    def draw(self, sampler: Composite, shape: Tensor, *parameters: Tensor, dtype: DType) -> Tensor:
        """Numbers of the given shape by a sampler of ``_samplers``."""


class StatelessSource:
    """The bits are a function of a seed of two integers."""

    def __init__(self, seed: Any, op: str) -> None:
        plain = isinstance(seed, list | tuple) and all(type(x) is int for x in seed)
        given = as_int64(seed) if plain else tensor(seed)
        if not given.dtype.is_integer:
            raise DTypeMismatchError(
                f"seed must be two integers, not of dtype {given.dtype.name}, in {op}.", op=op
            )
        self._seed = cast_to(given, dtypes.int64)
        known = self._seed.shape
        if not known.is_compatible_with([2]):
            raise InvalidArgumentError(
                f"seed must have shape [2], not {known}, in {op}; pass two integers.", op=op
            )

    def part(self, number: int) -> StatelessSource:
        """Return another source with independent bits; a number from 1 to 7."""
        mask = embed(np.array([3 << 61, number << 60], np.int64))
        return StatelessSource(ox.BitwiseXor(self._seed, mask), "part")

    def draw(self, sampler: Composite, shape: Tensor, *parameters: Tensor, dtype: DType) -> Tensor:
        """Numbers of the given shape by a sampler of ``_samplers``."""
        shapes = (raw_shape_of(shape), (2,))
        return sampler(
            self._seed, shape, *parameters, shapes=shapes, stateful=False, dtype=dtype.name
        )[0]


def raw_shape_of(shape: Tensor) -> ir.RawShape:
    """The static shape of what a shape vector describes."""
    items = symbolic_items(shape)
    if items is not None:
        return items
    length = shape.shape[0]
    return None if length is None else (None,) * length


def accepted(dtype: DTypeLike, among: Sequence[DType], op: str) -> DType:
    """The dtype of random numbers, which must be one of several."""
    kind = dtypes.as_dtype(dtype)
    if kind not in among:
        names = ", ".join(d.name for d in among)
        raise InvalidArgumentError(
            f"Argument `dtype` got invalid value {kind.name} in {op}. Accepted dtypes are {names}."
        )
    return kind


def _size(shape: Any) -> Tensor:
    """Convert the shape of random numbers given by the user to an int64 vector.

    Raises:
        InvalidArgumentError: a negative dimension.
    """
    size = shape_argument(shape, "random")
    items = symbolic_items(size)
    if items is not None and any(isinstance(d, int) and d < 0 for d in items):
        raise InvalidArgumentError(
            f"Dimensions must be >= 0, got the shape {shape} for random numbers.", op="random"
        )
    return size


def _scaled(x: Tensor, scale: Any, offset: Any) -> Tensor:
    """``x * scale + offset``, without the steps that change nothing."""
    if not _is_number(scale, 1):
        x = ox.Mul(x, convert_to_tensor(scale, x.dtype))
    if not _is_number(offset, 0):
        x = ox.Add(x, convert_to_tensor(offset, x.dtype))
    return x


def _is_number(x: Any, value: float) -> bool:
    return isinstance(x, int | float) and x == value


def normal(source: Source, shape: Any, mean: Any, stddev: Any, dtype: DTypeLike) -> Tensor:
    """Normally distributed numbers."""
    kind = accepted(dtype, _FLOATS, "random.normal")
    x = source.draw(samplers.unit_normal, _size(shape), dtype=kind)
    return _scaled(x, stddev, mean)


def truncated_normal(
    source: Source, shape: Any, mean: Any, stddev: Any, dtype: DTypeLike
) -> Tensor:
    """Normally distributed numbers, none further than two standard deviations from the mean."""
    kind = accepted(dtype, _FLOATS, "random.truncated_normal")
    x = source.draw(samplers.unit_truncated_normal, _size(shape), dtype=kind)
    return _scaled(x, stddev, mean)


def uniform(source: Source, shape: Any, minval: Any, maxval: Any, dtype: DTypeLike) -> Tensor:
    """Uniform numbers: floats in [minval, maxval), integers likewise or of the full range."""
    kind = accepted(dtype, (*_FLOATS, *_INTEGERS), "random.uniform")
    if kind.is_integer:
        return _uniform_integers(source, shape, minval, maxval, kind)
    x = source.draw(samplers.unit_uniform, _size(shape), dtype=kind)
    low = 0 if minval is None else minval
    high = 1 if maxval is None else maxval
    if _is_number(low, 0):
        return _scaled(x, high, low)
    low, high = _float(low, kind), _float(high, kind)
    return _scaled(x, ox.Sub(high, low), low)


def _float(x: Any, kind: DType) -> Tensor:
    return convert_to_tensor(float(x) if isinstance(x, int) else x, kind)


def _uniform_integers(source: Source, shape: Any, minval: Any, maxval: Any, kind: DType) -> Tensor:
    if minval is None and maxval is None:
        return source.draw(samplers.full_range, _size(shape), dtype=kind)
    if maxval is None:
        raise InvalidArgumentError(f"Must specify maxval for integer dtype {kind.name}")
    if minval is None:
        raise InvalidArgumentError(
            f"Must specify minval for integer dtype {kind.name} where maxval is given"
        )
    low, high = convert_to_tensor(minval, kind), convert_to_tensor(maxval, kind)
    if isinstance(low, EagerTensor) and isinstance(high, EagerTensor):
        a, b = low.view(), high.view()
        if not (a < b).all():
            raise InvalidArgumentError(
                f"Need minval < maxval, got {a} >= {b} in random.uniform.", op="RandomUniformInt"
            )
    return source.draw(samplers.integers, _size(shape), low, high, dtype=kind)


def categorical(source: Source, logits: Any, num_samples: Any, dtype: DTypeLike | None) -> Tensor:
    """Class numbers drawn with the probabilities ``softmax(logits)``, row by row."""
    scores = tensor(logits)
    kind = (
        dtypes.int64
        if dtype is None
        else accepted(dtype, (dtypes.int32, dtypes.int64), "random.categorical")
    )
    if not scores.shape.is_compatible_with([None, None]):
        raise InvalidArgumentError(
            f"logits should be a matrix, got shape {scores.shape} in random.categorical.",
            op="Multinomial",
        )
    if scores.shape.rank == 2 and scores.shape[1] == 0:
        raise InvalidArgumentError(
            f"There must be classes to draw from, got logits of shape {scores.shape} in "
            "random.categorical.",
            op="Multinomial",
        )
    # The inverse of the cumulative distribution: how many of its steps lie at or below u.
    chances = ox.Softmax(cast_to(scores, dtypes.float64), axis=-1)
    steps = ox.CumSum(chances, int64_constant(1))
    count = shape_argument(num_samples, "random.categorical")
    few = static_int(count)
    many = isinstance(num_samples, list | tuple) or getattr(num_samples, "shape", ()) != ()
    if many or (few is not None and few < 0):
        raise InvalidArgumentError(
            f"num_samples of random.categorical must be one number >= 0; got {num_samples!r}.",
            op="Multinomial",
        )
    count = refused_if_negative(count, Refusal.COUNT)
    shape = concat_shape(shape_vector(scores, 0, 1), count)
    u = source.draw(samplers.unit_uniform, shape, dtype=dtypes.float64)
    total = ox.Slice(steps, int64_constant([-1]), int64_constant([2**62]), int64_constant([1]))
    # Kept below the total in spite of rounding: a last class of probability 0 is never drawn.
    below = ox.Mul(total, embed(np.array(1 - 2.0**-52)))
    u = ox.Unsqueeze(ox.Mul(u, below), int64_constant([2]))
    passed = ox.GreaterOrEqual(u, ox.Unsqueeze(steps, int64_constant([1])))
    counted = ox.ReduceSum(cast_to(passed, dtypes.int32), int64_constant([2]), keepdims=0)
    return cast_to(counted, kind)


def shuffle(source: Source, value: Any) -> Tensor:
    """``value`` with its rows (the first axis) in random order."""
    x = tensor(value)
    if x.shape.rank == 0:
        return ox.Identity(x)
    shuffled = ox.Gather(x, _permutation(source, shape_vector(x, 0, 1)))
    if isinstance(shuffled, SymbolicTensor):
        shuffled.set_shape(x.shape)
    return shuffled


def _permutation(source: Source, count: Tensor) -> Tensor:
    """The numbers below ``count`` in random order: the order of as many random numbers."""
    keys = source.draw(samplers.full_range, count, dtype=dtypes.int64)
    return _order(keys, count, shapes=[raw_shape(keys)])[0]


def _order_by_numpy(keys: Any, count: Any) -> Sequence[Any]:
    """Largest first, equal ones in their order: by 32 bits, and by all where these are the same."""
    numbers = ~(keys.view(np.uint64) ^ np.uint64(1 << 63))
    top = (numbers >> np.uint64(32)).astype(np.uint32)
    # NumPy sorts 16 bits in two passes, without comparisons.
    order = np.argsort(top.astype(np.uint16), kind="stable")
    order = order[np.argsort((top >> np.uint32(16)).astype(np.uint16)[order], kind="stable")]
    ranked = top[order]
    same = np.flatnonzero(ranked[1:] == ranked[:-1])
    if same.size:
        places = np.unique([same, same + 1])
        some = order[places]
        order[places] = some[np.argsort(numbers[some], kind="stable")]
    return [order.astype(np.int64, copy=False)]


# The kernel takes ten times as long where it gives all.
_order = Composite(
    lambda keys, count: [ox.TopK(keys, count, axis=0)[1]],
    "random_order",
    routine=_order_by_numpy,
    routine_from=1 << 12,
)


def new_seeds(source: Source, count: Any) -> Tensor:
    """``count`` independent keys."""
    size = as_int64(count) if is_tensor_like(count) else int64_constant([int(count)])
    return source.draw(samplers.full_range, as_vector(size), dtype=dtypes.int64)
