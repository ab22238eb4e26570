"""Discrete Fourier transforms of pairs: complex numbers as real and imaginary parts.

What was seen in ONNX Runtime 1.32: ``DFT`` of a power of two is accurate; of other lengths it loses
up to four digits in float32, and in float64 an inverse is as inexact as a float32. So it is used
for powers of two alone. Short transforms are products with a constant matrix, which is as quick.
Others are put together from shorter ones, or where a factor is a large prime, and where only a run
tells the length, from a convolution by transforms of a power of two (Bluestein's algorithm).

All are operators with gradients of their own. Constants are computed in float64 from exact angles.
"""

from __future__ import annotations

import functools
import math
from typing import Any, TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import EagerTensor, Tensor, from_array
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.complex_parts import halves_of_pairs, pairs_of, pairs_of_real
from tfx.ops.common.shapes import concat_shape, shape_vector
from tfx.ops.signal.dft_by_numpy import dft

# A transform's length, or a vector of it where only a run tells it.
Length = int | Tensor

# The longest transforms by a matrix: of complex numbers, whose matrix is four times as large, and
# of or to real ones.
_SHORT, _SHORT_REAL = 128, 512
# That of the samples of pairs.
_AXIS = -2
# Elements of the matrices of factors.
_LARGEST = 2**19


def transform(x: Tensor, length: Length, *, inverse: bool) -> Tensor:
    """The transform of complex numbers.

    Args:
        x: Pairs, ``[..., length, 2]``.
        length: The number of samples.
        inverse: With the other sign, and divided by the length.

    Returns:
        ``[..., length, 2]``.
    """
    if not isinstance(length, int):
        return _convolved(x, length, inverse=inverse)
    if length <= _SHORT:
        flat = _reshaped(x, 2, int64_constant([2 * length]))
        found = ox.MatMul(flat, _matrix("complex", length, inverse, x.dtype))
        return _reshaped(found, 1, int64_constant([length, 2]))
    if length & (length - 1) == 0:
        return dft(x, int64_constant(_AXIS), inverse=int(inverse))
    factor = _factor(length)
    if factor == 1:
        return _convolved(x, length, inverse=inverse)
    return _of_factors(x, factor, length // factor, inverse=inverse)


def transform_of_real(x: Tensor, length: Length) -> Tensor:
    """The first half of the transform of real numbers.

    Args:
        x: ``[..., length]``.
        length: The number of samples.

    Returns:
        ``[..., length // 2 + 1, 2]``; without samples nothing at all, as TensorFlow gives.
    """
    if isinstance(length, int) and length == 0:
        return pairs_of_real(x)
    if isinstance(length, int) and length <= _SHORT_REAL:
        found = ox.MatMul(x, _matrix("of real", length, False, x.dtype))
        return _reshaped(found, 1, int64_constant([length // 2 + 1, 2]))
    rows = _real_factor(length) if isinstance(length, int) else 0
    if isinstance(length, int) and rows:
        return _of_real_factors(x, rows, length // rows)
    if isinstance(length, int) and length & (length - 1) == 0:
        wide = ox.Unsqueeze(x, int64_constant([-1]))
        return dft(wide, int64_constant(_AXIS), onesided=1)
    whole = transform(pairs_of_real(x), length, inverse=False)
    return _cut(whole, int64_constant([0]), half_of(length))


def transform_to_real(x: Tensor, length: Length) -> Tensor:
    """The real numbers of whose transform a first half is given.

    Args:
        x: Pairs, ``[..., length // 2 + 1, 2]``.
        length: The number of samples of the result.

    Returns:
        ``[..., length]``.
    """
    if isinstance(length, int) and length == 0:
        return halves_of_pairs(_cut(x, int64_constant([0]), int64_constant([0])))[0]
    if isinstance(length, int) and length <= _SHORT_REAL:
        flat = _reshaped(x, 2, int64_constant([2 * (length // 2 + 1)]))
        return ox.MatMul(flat, _matrix("to real", length, True, x.dtype))
    rows = _real_factor(length) if isinstance(length, int) else 0
    if isinstance(length, int) and rows:
        return _to_real_factors(x, rows, length // rows)
    # What is left out are the conjugates, from the last one that is given down to the second.
    one, two = int64_constant([1]), int64_constant([2])
    end = ox.Div(ox.Add(as_length(length), one), two)
    others = _cut(x, one, end)
    flipped = ox.Slice(
        others, int64_constant([-1]), int64_constant([-(2**62)]), int64_constant([-2]), -one
    )
    signs = from_array(np.array([1, -1], x.dtype.as_numpy_dtype))
    whole = ox.Concat(x, ox.Mul(flipped, signs), axis=-2)
    return halves_of_pairs(transform(whole, length, inverse=True))[0]


def as_length(length: Length) -> Tensor:
    """A length as a vector."""
    return int64_constant([length]) if isinstance(length, int) else length


def half_of(length: Length) -> Tensor:
    """The number of frequencies of real numbers, a vector."""
    if isinstance(length, int):
        return int64_constant([length // 2 + 1])
    return ox.Add(ox.Div(length, int64_constant([2])), int64_constant([1]))


def _cut(x: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """Pairs from one frequency to another."""
    return ox.Slice(x, start, end, int64_constant([-2]))


def _reshaped(x: Tensor, last: int, dims: Tensor) -> Tensor:
    """A tensor with other dimensions for the last few."""
    return _reshaped_like(x, x, last, dims)


def _reshaped_like(found: Tensor, x: Tensor, last: int, dims: Tensor) -> Tensor:
    """What was found for a tensor, with its dimensions but for the last few."""
    rank = x.shape.rank
    head = shape_vector(x, 0, -last if rank is None else rank - last)
    return ox.Reshape(found, concat_shape(head, dims), allowzero=1)


# Products with matrices


@functools.lru_cache(maxsize=64)
def _matrix(kind: str, length: int, inverse: bool, dtype: DType) -> EagerTensor:
    """A transform as a matrix; rows and columns of complex numbers are real and imaginary.

    Args:
        kind: What is given, and what comes: ``"complex"``, ``"of real"`` and ``"to real"`` of real
            numbers and a half of the frequencies. Or what factors need: ``"all of real"``, ``"to
            half"``, ``"of half"``, ``"real of all"``, which are not divided by the length.
        length: The number of samples.
        inverse: With the other sign.
        dtype: Of the elements.
    """
    half = length // 2 + 1
    numbers = np.arange(length)
    waves = _roots(np.outer(numbers, numbers) % length, length, inverse=inverse)
    table = _blocks(waves)
    if inverse and kind in ("complex", "to real"):
        table = table / length
    if kind == "to real":
        table = table[:half, :, :, :1] * _counts(length)[:, None, None, None]
    elif kind == "real of all":
        table = table[..., :1]
    elif kind == "of half":
        table = table[:half]
    elif kind == "to half":
        table = table[:, :, :half]
    elif kind == "of real":
        table = table[:, :1, :half]
    elif kind == "all of real":
        table = table[:, :1]
    given, come = math.prod(table.shape[:2]), math.prod(table.shape[2:])
    return from_array(np.ascontiguousarray(table.reshape(given, come), dtype.as_numpy_dtype))


def _counts(length: int) -> Any:
    """For how many frequencies each of the first half stands: those left out are conjugates."""
    counts = np.full(length // 2 + 1, 2.0)
    counts[0] = 1
    if length % 2 == 0:
        counts[-1] = 1
    return counts


def _roots(powers: Any, length: int, *, inverse: bool) -> Any:
    """Powers of the root of unity; those of whole quarters of a turn are exact."""
    quarters, rest = np.divmod(4 * powers, length)
    turns = np.exp(0.5j * np.pi * rest / length) * np.array([1, 1j, -1, -1j])[quarters % 4]
    return turns if inverse else turns.conj()


# Lengths with factors


def _factor(length: int) -> int:
    """The divisor up to ``_SHORT`` that is nearest to the square root; 1: there is none."""
    limit = min(_SHORT, math.isqrt(length))
    return next((k for k in range(limit, 1, -1) if length % k == 0), 1)


def _real_factor(length: int) -> int:
    """The number of rows for real numbers, with matrices that are not too large; 0: none."""
    for rows in range(math.isqrt(length - 1) + 1, _SHORT + 1):
        if length % rows == 0 and 2 * length * (length // rows) <= _LARGEST:
            return rows
    return 0


def _of_factors(x: Tensor, rows: int, columns: int, *, inverse: bool) -> Tensor:
    """The transform of a length that is a product, by transforms of its factors.

    The sample ``columns * i + j`` is in row ``i`` and column ``j``; the frequency ``k + rows * l``
    is found in row ``k`` and column ``l``.
    """
    table = ox.Reshape(x, int64_constant([-1, rows, columns, 2]))
    by_column = transform(ox.Transpose(table, perm=(0, 2, 1, 3)), rows, inverse=inverse)
    turned = _product(by_column, _twiddles(rows, columns, inverse, x.dtype))
    by_row = transform(ox.Transpose(turned, perm=(0, 2, 1, 3)), columns, inverse=inverse)
    return ox.Reshape(ox.Transpose(by_row, perm=(0, 2, 1, 3)), shape_vector(x), allowzero=1)


def _of_real_factors(x: Tensor, rows: int, columns: int) -> Tensor:
    """The same of real numbers, of which half of the frequencies are computed.

    Each row has a matrix of its own, which turns its numbers, too.
    """
    half = columns // 2 + 1
    table = ox.Transpose(ox.Reshape(x, int64_constant([-1, rows, columns])), perm=(0, 2, 1))
    by_column = ox.MatMul(table, _matrix("all of real", rows, False, x.dtype))
    by_column = ox.Reshape(by_column, int64_constant([-1, columns, rows, 2]))
    turned = ox.Transpose(by_column, perm=(2, 0, 1, 3))
    turned = ox.Reshape(turned, int64_constant([rows, -1, 2 * columns]))
    by_row = ox.MatMul(turned, _row_matrices("to half", rows, columns, x.dtype))
    by_row = ox.Reshape(by_row, int64_constant([rows, -1, half, 2]))
    found = ox.Transpose(by_row, perm=(1, 2, 0, 3))
    found = _reshaped_like(found, x, 1, int64_constant([half * rows, 2]))
    return _cut(found, int64_constant([0]), half_of(rows * columns))


def _to_real_factors(x: Tensor, rows: int, columns: int) -> Tensor:
    """The inverse of that: its steps the other way around."""
    length, half = rows * columns, columns // 2 + 1
    given = length // 2 + 1
    counts = (_counts(length) / length)[:, None].astype(x.dtype.as_numpy_dtype)
    ends = int64_constant([0, half * rows - given])
    whole = ox.Pad(ox.Mul(x, from_array(counts)), ends, None, int64_constant([-2]))
    table = ox.Reshape(whole, int64_constant([-1, half, rows, 2]))
    table = ox.Transpose(table, perm=(2, 0, 1, 3))
    table = ox.Reshape(table, int64_constant([rows, -1, 2 * half]))
    by_row = ox.MatMul(table, _row_matrices("of half", rows, columns, x.dtype))
    by_row = ox.Reshape(by_row, int64_constant([rows, -1, columns, 2]))
    turned = ox.Transpose(by_row, perm=(1, 2, 0, 3))
    turned = ox.Reshape(turned, int64_constant([-1, columns, 2 * rows]))
    found = ox.MatMul(turned, _matrix("real of all", rows, True, x.dtype))
    found = ox.Transpose(found, perm=(0, 2, 1))
    return _reshaped_like(found, x, 2, int64_constant([length]))


@functools.lru_cache(maxsize=32)
def _row_matrices(kind: str, rows: int, columns: int, dtype: DType) -> EagerTensor:
    """``_matrix`` of the columns for each row, with the turns of the row."""
    length, inverse = rows * columns, kind == "of half"
    waves = np.arange(rows)[:, None] + rows * np.arange(columns // 2 + 1)
    powers = np.arange(columns)[:, None] * waves[:, None, :] % length
    table = _roots(powers, length, inverse=inverse)
    if inverse:
        table = table.transpose(0, 2, 1)
    blocks = _blocks(table)
    sizes = rows, 2 * table.shape[1], 2 * table.shape[2]
    return from_array(np.ascontiguousarray(blocks.reshape(sizes), dtype.as_numpy_dtype))


def _blocks(table: Any) -> Any:
    """Complex numbers as matrices: given number and its part, number that comes and its part."""
    rows = [np.stack([table.real, table.imag], -1), np.stack([-table.imag, table.real], -1)]
    return np.stack(rows, -3)


@functools.lru_cache(maxsize=64)
def _twiddles(rows: int, columns: int, inverse: bool, dtype: DType) -> tuple[EagerTensor, ...]:
    waves = _roots(np.outer(np.arange(columns), np.arange(rows)), rows * columns, inverse=inverse)
    return _constants(waves, dtype)


def _constants(values: Any, dtype: DType) -> tuple[EagerTensor, ...]:
    kind = dtype.as_numpy_dtype
    return from_array(values.real.astype(kind)), from_array(values.imag.astype(kind))


def _product(x: Tensor, factors: tuple[Tensor, ...]) -> Tensor:
    """Pairs times complex numbers that are given by their parts."""
    (a, b), (c, d) = halves_of_pairs(x), factors
    real = ox.Sub(ox.Mul(a, c), ox.Mul(b, d))
    return pairs_of(real, ox.Add(ox.Mul(a, d), ox.Mul(b, c)))


# Bluestein's algorithm

# The parts of a chirp, those of the transform of what it is convolved with, and its length.
_Chirp: TypeAlias = "tuple[tuple[Tensor, ...], tuple[Tensor, ...], Length]"


def _convolved(x: Tensor, length: Length, *, inverse: bool) -> Tensor:
    """The transform as a convolution with a chirp, by transforms of a power of two."""
    made: _Chirp
    if isinstance(length, int):
        made = _chirp(length, inverse, x.dtype)
    else:
        made = _late_chirp(length, inverse, x.dtype)
    chirp, kernel, padded = made
    size = as_length(length)
    missing = ox.Sub(as_length(padded), size)
    zero, axis = int64_constant([0]), int64_constant([-2])
    long = ox.Pad(_product(x, chirp), ox.Concat(zero, missing, axis=0), None, axis)
    spectrum = _product(dft(long, int64_constant(_AXIS)), kernel)
    found = _cut(dft(spectrum, int64_constant(_AXIS), inverse=1), zero, size)
    found = _product(found, chirp)
    if inverse:
        found = ox.Div(found, cast_to(size, x.dtype))
    return found


@functools.lru_cache(maxsize=64)
def _chirp(length: int, inverse: bool, dtype: DType) -> _Chirp:
    """The chirp of a transform."""
    padded = 1 << (2 * length - 2).bit_length()
    squares = np.arange(length, dtype=np.int64) ** 2 % (2 * length)
    chirp = _roots(squares, 2 * length, inverse=inverse)
    kernel = np.zeros(padded, np.complex128)
    kernel[:length] = chirp.conj()
    kernel[padded - length + 1 :] = chirp[:0:-1].conj()
    return _constants(chirp, dtype), _constants(np.fft.fft(kernel), dtype), padded


def _late_chirp(length: Tensor, inverse: bool, dtype: DType) -> _Chirp:
    """The same for a length that only a run tells."""
    one, two, zero = int64_constant([1]), int64_constant([2]), int64_constant([0])
    size = ox.Squeeze(length, zero)
    places = ox.Range(int64_constant(0), size, int64_constant(1))
    double = ox.Mul(length, two)
    squares = cast_to(ox.Mod(ox.Mul(places, places), double), dtypes.float64)
    turn = scalar_like(math.pi if inverse else -math.pi, squares)
    angles = ox.Mul(ox.Div(squares, cast_to(length, dtypes.float64)), turn)
    real, imag = cast_to(ox.Cos(angles), dtype), cast_to(ox.Sin(angles), dtype)
    least = cast_to(ox.Sub(double, one), dtypes.float64)
    power = ox.Ceil(ox.Div(ox.Log(least), scalar_like(math.log(2), least)))
    bit = from_array(np.array([1], np.uint64))
    padded = cast_to(
        ox.BitShift(bit, cast_to(power, dtypes.uint64), direction="LEFT"), dtypes.int64
    )
    conjugate = pairs_of(real, ox.Neg(imag))
    backwards = ox.Slice(conjugate, int64_constant([-1]), zero, zero, -one)
    gap = ox.Sub(ox.Sub(padded, double), -one)
    first = int64_constant([0])
    long = ox.Pad(conjugate, ox.Concat(zero, gap, axis=0), None, first)
    kernel = ox.Concat(long, backwards, axis=0)
    # A transform wants a batch.
    spectrum = dft(ox.Unsqueeze(kernel, first), int64_constant(_AXIS))
    return (real, imag), halves_of_pairs(ox.Squeeze(spectrum, first)), padded
