"""Philox4x32-10, the one source of random bits, in standard integer operators.

Philox (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) maps a 128-bit counter
and a 64-bit key to 128 random bits. Nothing but 32- and 64-bit integer arithmetic is used, so every
runtime gives the same bits. A draw numbers its blocks in the first counter word, a tag that keeps
the kinds of generators apart is the second, and two 64-bit numbers, the draw's ``key`` and
``counter``, are the key and the other two words.
"""

from __future__ import annotations

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to

ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
Words = tuple[Tensor, Tensor, Tensor, Tensor]


def random_words(key: Tensor, counter: Tensor, tag: Tensor, blocks: Tensor) -> Words:
    """``blocks`` times 128 random bits as four vectors of uint32.

    Args:
        key: int64 scalar.
        counter: int64 scalar.
        tag: uint32 scalar.
        blocks: int64 scalar, below 2**32.
    """
    numbers = ox.Range(int64_constant(0), blocks, int64_constant(1))
    low, high = _halves(counter)
    return _philox((cast_to(numbers, dtypes.uint32), tag, low, high), _halves(key))


def _philox(counter: Words, key: tuple[Tensor, Tensor]) -> Words:
    c0, c1, c2, c3 = counter
    k0, k1 = key
    steps = [uint_constant(step, dtypes.uint32) for step in _KEY_STEPS]
    for i in range(ROUNDS):
        if i:
            k0, k1 = ox.Add(k0, steps[0]), ox.Add(k1, steps[1])
        high0, low0 = _multiply(c0, _MULTIPLIERS[0])
        high1, low1 = _multiply(c2, _MULTIPLIERS[1])
        c0, c1, c2, c3 = xor(xor(c1, k0), high1), low1, xor(xor(c3, k1), high0), low0
    return c0, c1, c2, c3


def _multiply(x: Tensor, factor: int) -> tuple[Tensor, Tensor]:
    """High and low half of the 64-bit product."""
    wide = ox.Mul(cast_to(x, dtypes.uint64), uint_constant(factor, dtypes.uint64))
    low = ox.Mul(x, uint_constant(factor, dtypes.uint32))
    return cast_to(shift_right(wide, 32), dtypes.uint32), low


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Low and high 32 bits of an int64."""
    bits = cast_to(x, dtypes.uint64)
    return cast_to(bits, dtypes.uint32), cast_to(shift_right(bits, 32), dtypes.uint32)


def uint_constant(value: int, dtype: DType) -> Tensor:
    """A scalar of an unsigned dtype."""
    return embed(np.array(value, dtype.as_numpy_dtype))


def shift_right(x: Tensor, count: int) -> Tensor:
    """The bits of ``x`` moved down by ``count``."""
    return ox.BitShift(x, uint_constant(count, x.dtype), direction="RIGHT")


def shift_left(x: Tensor, count: int) -> Tensor:
    """The bits of ``x`` moved up by ``count``."""
    return ox.BitShift(x, uint_constant(count, x.dtype), direction="LEFT")


def xor(x: Tensor, y: Tensor) -> Tensor:
    """Bitwise exclusive or."""
    return ox.BitwiseXor(x, y)
