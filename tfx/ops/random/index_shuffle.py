"""Where an index stands in a random order, without the order itself: ``index_shuffle``.

A block cipher maps the numbers of some bits onto themselves; a number is mapped again until it is
within the range ("cycle walking", Black and Rogaway, "Ciphers with arbitrary finite domains",
2002). The cipher is Simon (Beaulieu et al., "The Simon and Speck families of lightweight block
ciphers", 2013) with three words of key and few rounds, on blocks of 16 to 64 bits, as TensorFlow
has it: the orders are the same.

Of a range far below 2**16 most numbers are outside, so that a walk may be long. There the steps of
all numbers are put into a table, which is followed in doubled steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import embed, int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import (
    INT64_MAX,
    cast_to,
    require_dtype,
    same_dtype,
    scalar_like,
    static_ints,
    tensor,
)
from tfx.ops.common.graph_loop import repeated
from tfx.ops.common.shapes import describe, rank_of, raw_shape, reshape_to, shape_vector
from tfx.ops.common.traced_once import Composite
from tfx.ops.random.philox import uint_constant

_KEY_WORDS = 3
_ROUNDS = 4
_LEAST_BITS, _MOST_BITS = 16, 64
_FIRST_WORD = 498247692  # of a key whose other two words are a seed
# Constants of Simon: what each word of the schedule is mixed with, and a sequence of bits.
_MIX, _SEQUENCE = 0xFFFFFFFC, 0x7369F885192C0EF5


def index_shuffle(index: Any, seed: Any, max_index: Any) -> Tensor:
    """The place of an index in a random order of ``0 ... max_index``.

    Different indices have different places, so that a large set can be gone through at random
    without an array of all its indices.

    Args:
        index: int32, int64, uint32 or uint64 scalar or vector, from 0 to ``max_index``.
        seed: Two integers that say which order.
        max_index: Of the dtype of ``index``: a scalar, or one for each index.

    Returns:
        Integers of the dtype of ``index``.

    Raises:
        InvalidArgumentError: an index out of range, or shapes that do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.random.experimental.index_shuffle(tf.range(5), seed=[1, 2], max_index=4).numpy()
        array([2, 0, 1, 4, 3], dtype=int32)
    """
    words = tensor(seed)
    if not words.shape.is_compatible_with([2]):
        raise InvalidArgumentError(
            f"seed of index_shuffle has the shape {describe(words)}, expected two integers"
        )
    _require_integers(words, "seed")
    first = ox.Cast(int64_constant([_FIRST_WORD]), to=words.dtype.onnx)
    return random_index_shuffle(index, ox.Concat(first, words, axis=0), max_index)


def random_index_shuffle(
    index: Any, seed: Any, max_index: Any, rounds: int = 4, name: str | None = None
) -> Tensor:
    """``index_shuffle`` with a key of three words, or one for each index ``[n, 3]``.

    Args:
        index: See ``index_shuffle``.
        seed: The key.
        max_index: See ``index_shuffle``.
        rounds: How often the cipher mixes, an even number of at least 4.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.random_index_shuffle(tf.range(5), seed=[1, 2, 3], max_index=10).numpy()
        array([2, 0, 6, 4, 8], dtype=int32)
    """
    place, last = same_dtype(index, max_index, "RandomIndexShuffle")
    key = tensor(seed)
    for x, what in ((place, "index"), (last, "max_index"), (key, "seed")):
        _require_integers(x, what)
    if rounds < _ROUNDS or rounds % 2:
        raise InvalidArgumentError(f"rounds of RandomIndexShuffle is {rounds}, expected 4, 6, ...")
    _check(place, last, key)
    first = cast_to(ox.Gather(key, int64_constant(0), axis=-1), last.dtype)
    shape = shape_vector(ox.Add(ox.Add(place, last), first))
    words = ox.Reshape(cast_to(key, dtypes.uint64), int64_constant([-1, _KEY_WORDS]))
    flat = [ox.Reshape(cast_to(x, dtypes.uint64), int64_constant([-1])) for x in (place, last)]
    single = rank_of(key) == 1 and rank_of(last) == 0
    if current().graph is not None:
        fine = ox.And(ox.GreaterOrEqual(place, scalar_like(0, place)), ox.LessOrEqual(place, last))
        flat[0] = refused_unless(fine, flat[0], Refusal.SHUFFLED)  # a walk might have no end
    (found,) = _shuffled(*flat, words, rounds=rounds, single=single)
    return reshape_to(cast_to(found, place.dtype), shape)


def _require_integers(x: Tensor, what: str) -> None:
    kinds = (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)
    require_dtype(x, x.dtype in kinds, f"{what} of RandomIndexShuffle", "int32, int64 or unsigned")


def _check(place: Tensor, last: Tensor, key: Tensor) -> None:
    counts: dict[str, int] = {}
    for x, what, least in ((place, "index", 0), (last, "max_index", 0), (key, "seed", 1)):
        shape = raw_shape(x)
        if shape is None:
            continue
        if len(shape) not in (least, least + 1) or (least and shape[-1] not in (None, 3)):
            wanted = "3 integers, or rows of 3" if least else "a scalar or a vector"
            raise InvalidArgumentError(
                f"{what} of RandomIndexShuffle has the shape {describe(x)}, expected {wanted}"
            )
        if len(shape) > least and isinstance(shape[0], int):
            counts[what] = shape[0]
    if len(set(counts.values())) > 1:
        raise InvalidArgumentError(
            f"RandomIndexShuffle got different numbers of elements: {counts}"
        )
    places, lasts = static_ints(place), static_ints(last)
    if places is None or lasts is None:
        return
    for i, n in np.broadcast(np.array(places, object), np.array(lasts, object)):
        if not 0 <= i <= n:
            raise InvalidArgumentError(
                f"index of RandomIndexShuffle must be from 0 to max_index, but got {i} and {n}"
            )


def _body(place: Tensor, last: Tensor, key: Tensor, *, rounds: int, single: bool) -> tuple[Tensor]:
    """All are uint64: two vectors and rows of keys, of one element or of as many."""
    cipher = _Cipher(key, _half(last), rounds)
    always, never = int64_constant(INT64_MAX), int64_constant(0)
    if not single:
        return (_walked(place, last, cipher, always),)
    is_near = ox.LessOrEqual(last, uint_constant(1 << _LEAST_BITS, dtypes.uint64))
    skips = ox.Reshape(is_near, int64_constant([]))
    far = _walked(place, last, cipher, ox.Where(skips, never, always))
    size = ox.Where(skips, int64_constant(1 << _LEAST_BITS), int64_constant(1))
    end = cast_to(ox.Sub(size, int64_constant(1)), dtypes.uint64)
    row = cast_to(ox.BitwiseAnd(place, end), dtypes.int64)
    return (ox.Where(is_near, ox.Gather(_table(last, cipher, size), row, axis=0), far),)


_shuffled = Composite(_body, "index_shuffle")


def _half(last: Tensor) -> Tensor:
    """The bits of half a block, enough for two halves to hold the range."""
    powers = embed(np.array([1 << i for i in range(_MOST_BITS)], np.uint64))
    below = cast_to(ox.Less(powers, ox.Unsqueeze(last, int64_constant([1]))), dtypes.int64)
    bits = ox.ReduceSum(below, int64_constant([1]), keepdims=0)
    half = ox.Div(ox.Add(bits, int64_constant(1)), int64_constant(2))
    return cast_to(ox.Max(half, int64_constant(_LEAST_BITS // 2)), dtypes.uint64)


def _walked(place: Tensor, last: Tensor, cipher: _Cipher, limit: Tensor) -> Tensor:
    """Each number mapped until it is within its range."""
    start = ox.Expand(place, ox.Shape(ox.BitwiseXor(last, cipher.keys[0])))
    missing = ox.Expand(embed(np.array(True)), ox.Shape(start))

    def step(_: Tensor, x: Tensor, missing: Tensor) -> tuple[Tensor, Sequence[Tensor]]:
        x = ox.Where(missing, cipher(x), x)
        missing = ox.Greater(x, last)
        some = ox.ReduceMax(cast_to(missing, dtypes.int32), keepdims=0)
        return cast_to(some, dtypes.bool), (x, missing)

    return repeated(limit, (start, missing), step)[0]


def _table(last: Tensor, cipher: _Cipher, size: Tensor) -> Tensor:
    """Where the walk of each number of a block ends, by doubling the steps of all."""
    number = ox.Range(int64_constant(0), size, int64_constant(1))
    ends = cast_to(cipher(cast_to(number, dtypes.uint64)), dtypes.int64)
    bound = cast_to(last, dtypes.int64)
    for _ in range(_LEAST_BITS):
        row = ox.Clip(ends, int64_constant(0), ox.Sub(size, int64_constant(1)))
        onward = ox.Gather(ends, row, axis=0)
        ends = ox.Where(ox.Greater(ends, bound), onward, ends)
    return cast_to(ends, dtypes.uint64)


class _Cipher:
    """Simon for blocks of any size: a mapping of numbers below ``2 ** (2 * half)`` onto themselves.

    Args:
        key: uint64 ``[n, 3]``.
        half: The bits of half a block, uint64 ``[n]``.
        rounds: How many words of key are used, one a round.
    """

    def __init__(self, key: Tensor, half: Tensor, rounds: int) -> None:
        one = uint_constant(1, dtypes.uint64)
        self._half = half
        self._mask = ox.Sub(_shift(one, half, "LEFT"), one)
        low = uint_constant(0xFFFFFFFF, dtypes.uint64)
        self.keys = [
            ox.BitwiseAnd(ox.Gather(key, int64_constant(i), axis=1), low) for i in range(_KEY_WORDS)
        ]
        for i in range(rounds - _KEY_WORDS):
            mix = uint_constant(_MIX ^ (_SEQUENCE >> i & 1), dtypes.uint64)
            turned = ox.BitwiseXor(self._right(self.keys[-1], 3), self._right(self.keys[-1], 4))
            mixed = ox.BitwiseXor(ox.BitwiseXor(mix, self.keys[-_KEY_WORDS]), turned)
            self.keys.append(ox.BitwiseAnd(mixed, self._mask))

    def __call__(self, x: Tensor) -> Tensor:
        left = ox.BitwiseAnd(_shift(x, self._half, "RIGHT"), self._mask)
        right = ox.BitwiseAnd(x, self._mask)
        for key in self.keys:
            left = ox.BitwiseXor(ox.BitwiseXor(left, self._mixed(right)), self._cut(key))
            left, right = right, left
        return ox.BitwiseOr(_shift(left, self._half, "LEFT"), right)

    def _mixed(self, x: Tensor) -> Tensor:
        both = ox.BitwiseAnd(self._turned(x, 1), self._turned(x, 8))
        return ox.BitwiseXor(both, self._turned(x, 2))

    def _turned(self, x: Tensor, bits: int) -> Tensor:
        """Half a block whose bits moved up, the uppermost to the low end."""
        count = uint_constant(bits, dtypes.uint64)
        over = _shift(x, ox.Sub(self._half, count), "RIGHT")
        return self._cut(ox.BitwiseOr(_shift(x, count, "LEFT"), over))

    def _right(self, x: Tensor, bits: int) -> Tensor:
        """The same downwards."""
        count = uint_constant(bits, dtypes.uint64)
        x = self._cut(x)
        over = _shift(x, ox.Sub(self._half, count), "LEFT")
        return self._cut(ox.BitwiseOr(_shift(x, count, "RIGHT"), over))

    def _cut(self, x: Tensor) -> Tensor:
        return ox.BitwiseAnd(x, self._mask)


def _shift(x: Tensor, count: Tensor, direction: str) -> Tensor:
    return ox.BitShift(x, count, direction=direction)
