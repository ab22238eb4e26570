"""Diagonals of matrices and what is cut along them: ``diag``, ``diag_part``, ``band_part``.

A band is stored as TensorFlow does: one row for each diagonal, the upper ones first, padded to the
longest at the side that ``align`` says. All functions rest on one table, ``bands.Band``, which says
for each place of a matrix where its element is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.rules import OpRecord, gradient, linear
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.common.arguments import as_int64, same_dtype, static_int, static_ints, tensor
from tfx.ops.common.batching import batching, unchanged_first
from tfx.ops.common.open_ranks import over_batches, rank_is_open
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    known_rank,
    product,
    rank_of,
    raw_shape,
    reshape_to,
    shape_vector,
    static_dims,
)
from tfx.ops.linalg.bands import Band, TracedBand
from tfx.ops.math.reduction import reduce_sum

_ALIGNMENTS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def _diagonals(k: Any, align: str, op: str) -> tuple[int, int]:
    if align not in _ALIGNMENTS:
        raise InvalidArgumentError(f"align of {op} must be one of {_ALIGNMENTS}; got {align!r}.")
    known = static_ints(as_int64(k))
    if known is None or not 1 <= len(known) <= 2:
        raise InvalidArgumentError(
            f"k of {op} must be one or two integers that are known now; got {k!r}.", op=op
        )
    low, high = known[0], known[-1]
    if low > high:
        raise InvalidArgumentError(
            f"lower_diag_index must not be larger than upper_diag_index: {low} > {high} in {op}.",
            op=op,
        )
    return low, high


def _is_range(k: Any, align: str, op: str) -> bool:
    low, high = _diagonals(k, align, op)
    return low != high


def _padding(value: Any, dtype: DType) -> Tensor:
    """What is outside of diagonals: a number tells which truth value is meant."""
    if dtype.is_bool and isinstance(value, int | float):
        value = bool(value)
    return convert_to_tensor(value, dtype)


def _whole(function: Callable[..., Tensor], *given: tuple[Any, int]) -> Tensor:
    found: Tensor = over_batches(function, *given)
    return found


def diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with given diagonals.

    Args:
        diagonal: ``[..., n]``, or ``[..., diagonals, n]`` if ``k`` is a range.
        name: Accepted for compatibility.
        k: Which diagonal (0 the main one, positive above), or the lowest and the highest.
        num_rows: Rows of the result; -1: as few as possible.
        num_cols: Columns of the result; -1: as few as possible.
        padding_value: What is outside the diagonals.
        align: At which side diagonals of a range are aligned: that above, then that below.

    Returns:
        ``[..., rows, columns]``.

    Raises:
        InvalidArgumentError: sizes that do not fit.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.diag([1, 2]).numpy()
        array([[1, 0],
               [0, 2]], dtype=int32)
    """
    op = "MatrixDiagV3"
    if rank_is_open(diagonal):
        last = 1 + _is_range(k, align, op)
        sizes = num_rows, num_cols, padding_value, align
        return _whole(lambda x: diag(x, name, k, *sizes), (diagonal, last))
    x = tensor(diagonal)
    low, high = _diagonals(k, align, op)
    rank = known_rank(x, op)
    banded = low != high
    if rank < 1 + banded:
        raise InvalidArgumentError(
            f"diagonal must be at least {1 + banded}-dim, received shape: {x.shape} in {op}.", op=op
        )
    given = static_dims(x)
    if num_rows == num_cols == -1 and given is None:
        if low == high == 0:
            return _square_diag(x, padding_value)
        return _least_diag(x, low, high, align, padding_value)
    if given is None:
        raise InvalidArgumentError(
            f"{op} with num_rows or num_cols needs a static shape; got {x.shape}.", op=op
        )
    rows, columns = _matrix_sizes(given, low, high, num_rows, num_cols, op)
    band = Band(rows, columns, low, high, align)
    if band.length != given[-1] or (banded and given[-2] != high - low + 1):
        raise InvalidArgumentError(
            f"The diagonals of {op} have shape {x.shape}; k={k!r} of {rows} x {columns} matrices "
            f"needs {high - low + 1} of length {band.length}.",
            op=op,
        )
    padding = _padding(padding_value, x.dtype)
    if band.length == 0:
        batch = given[: -2 if banded else -1]
        return ox.Expand(padding, int64_constant([*batch, rows, columns]))
    if not banded and x.dtype not in _NOT_PADDED:
        return ox.Where(band.inside, _beside(x, low, rows, columns), padding)
    return ox.Where(band.inside, _from_band(x, band, banded), padding)


def _from_band(x: Tensor, band: Band | TracedBand, banded: bool) -> Tensor:
    """The stored band spread over matrices."""
    lead = shape_vector(x, 0, -2 if banded else -1)
    # A diagonal of another length is refused when the graph runs.
    flat = reshape_to(x, concat_shape(lead, product(band.stored())))
    rank = known_rank(x, "MatrixDiagV3")
    return ox.Gather(flat, band.index, axis=rank - 1 - banded)


def _least_diag(x: Tensor, low: int, high: int, align: str, padding_value: Any) -> Tensor:
    """The smallest square matrices that hold diagonals whose length a run tells."""
    length = _scalar(dimension(x, -1))
    size = ox.Add(length, int64_constant(max(low, -high, 0)))
    band = TracedBand(size, size, low, high, align)
    padding = _padding(padding_value, x.dtype)
    return ox.Where(band.inside, _from_band(x, band, low != high), padding)


def _square_diag(x: Tensor, padding_value: Any) -> Tensor:
    """The main diagonal of square matrices whose size is known at run time."""
    size = dimension(x, -1)
    run = ox.Range(int64_constant(0), _scalar(size), int64_constant(1))
    inside = ox.Equal(run, ox.Unsqueeze(run, int64_constant([1])))
    padding = _padding(padding_value, x.dtype)
    return ox.Where(inside, ox.Unsqueeze(x, int64_constant([-1])), padding)


def _scalar(vector: Tensor) -> Tensor:
    return ox.Squeeze(vector, int64_constant([0]))


def _matrix_sizes(
    given: Sequence[int], low: int, high: int, num_rows: Any, num_cols: Any, op: str
) -> tuple[int, int]:
    """Rows and columns: as few as hold the diagonals where they are not given."""
    length = given[-1]
    least_rows, least_columns = length - min(high, 0), length + max(low, 0)
    rows, columns = (static_int(as_int64(n)) for n in (num_rows, num_cols))
    if rows is None or columns is None:
        raise InvalidArgumentError(f"num_rows and num_cols of {op} must be known now.", op=op)
    if rows == columns == -1:
        rows = columns = max(least_rows, least_columns)
    elif rows == -1:
        rows = least_rows
    elif columns == -1:
        columns = least_columns
    if rows < least_rows or columns < least_columns:
        raise InvalidArgumentError(
            f"The number of rows or columns of {op} is too small: {rows} x {columns} for diagonals "
            f"of length {length}.",
            op=op,
        )
    return rows, columns


def diag_part(
    input: Any,
    name: str = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Diagonals of matrices.

    Args:
        input: ``[..., rows, columns]``.
        name: Accepted for compatibility.
        k: Which diagonal (0 the main one, positive above), or the lowest and the highest.
        padding_value: What fills the shorter diagonals of a range up.
        align: At which side diagonals of a range are aligned: that above, then that below.

    Returns:
        ``[..., n]``, or ``[..., diagonals, n]`` if ``k`` is a range.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.diag_part([[1, 2], [3, 4]]).numpy()
        array([1, 4], dtype=int32)
    """
    op = "MatrixDiagPartV3"
    if rank_is_open(input):
        return _whole(lambda x: diag_part(x, name, k, padding_value, align), (input, 2))
    x = _matrices(input, op)
    low, high = _diagonals(k, align, op)
    given = static_dims(x)
    rank = known_rank(x, op)
    flat = reshape_to(
        x, concat_shape(shape_vector(x, 0, rank - 2), product(shape_vector(x, rank - 2)))
    )
    if given is not None:
        _check_range(given[-2], given[-1], low, high, op)
    if low == high:
        return _one_diagonal(x, flat, low)
    places, filled = _band_of(x, low, high, align).places()
    found = ox.Gather(flat, places, axis=rank - 2)
    padding = _padding(padding_value, x.dtype)
    return ox.Where(filled, found, padding)


def _band_of(x: Tensor, low: int, high: int, align: str) -> Band | TracedBand:
    """The band of matrices."""
    rows, columns = x.shape.as_list()[-2:]
    if rows is not None and columns is not None:
        return Band(rows, columns, low, high, align)
    height, width = (_scalar(dimension(x, axis)) for axis in (-2, -1))
    return TracedBand(height, width, low, high, align)


def _one_diagonal(x: Tensor, flat: Tensor, k: int) -> Tensor:
    """Every (columns + 1)-th element of the flat matrices, where there are any."""
    rank = x.shape.rank
    assert rank is not None
    rows, columns = dimension(x, rank - 2), dimension(x, rank - 1)
    one = int64_constant([1])
    start = int64_constant([k]) if k >= 0 else ox.Mul(columns, int64_constant([-k]))
    high = ox.Sub(columns, int64_constant([max(k, 0)]))
    length = ox.Min(ox.Sub(rows, int64_constant([max(-k, 0)])), high)
    length = ox.Max(length, int64_constant([0]))
    step = ox.Add(columns, one)
    end = ox.Add(start, ox.Mul(length, step))
    found = ox.Slice(flat, start, end, int64_constant([rank - 2]), step)
    shape = raw_shape(x)
    assert shape is not None
    height, width = shape[-2:]
    if isinstance(height, int) and isinstance(width, int) and isinstance(found, SymbolicTensor):
        count = max(0, min(height - max(-k, 0), width - max(k, 0)))
        found.set_shape([*[None] * (rank - 2), count])
    return found


def _matrices(x: Any, op: str) -> Tensor:
    a = tensor(x)
    if a.shape.rank is not None and a.shape.rank < 2:
        raise InvalidArgumentError(
            f"input must be at least 2-dim, received shape: {a.shape} in {op}.", op=op
        )
    return a


def _check_range(rows: int, columns: int, low: int, high: int, op: str) -> None:
    inside = all(-rows < k < columns or k == 0 for k in (low, high))
    if not inside:
        raise InvalidArgumentError(
            f"lower_diag_index and upper_diag_index are out of bound: {low} and {high} for "
            f"{rows} x {columns} matrices in {op}.",
            op=op,
        )


def set_diag(
    input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """``input`` with some diagonals replaced.

    Args:
        input: ``[..., rows, columns]``.
        diagonal: ``[..., n]``, or ``[..., diagonals, n]`` if ``k`` is a range.
        name: Accepted for compatibility.
        k: Which diagonal (0 the main one, positive above), or the lowest and the highest.
        align: At which side diagonals of a range are aligned: that above, then that below.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.set_diag([[1, 2], [3, 4]], [8, 9]).numpy()
        array([[8, 2],
               [3, 9]], dtype=int32)
    """
    op = "MatrixSetDiagV3"
    if rank_is_open(input, diagonal):
        last = 1 + _is_range(k, align, op)
        return _whole(lambda x, d: set_diag(x, d, name, k, align), (input, 2), (diagonal, last))
    x, d = same_dtype(_matrices(input, op), diagonal, op)
    low, high = _diagonals(k, align, op)
    known_rank(x, op)
    rows, columns = x.shape.as_list()[-2:]
    band = _band_of(x, low, high, align)
    if isinstance(band, Band):
        assert rows is not None and columns is not None
        _check_range(rows, columns, low, high, op)
        if d.shape.rank is not None and d.shape[-1] not in (None, band.length):
            raise InvalidArgumentError(
                f"The diagonals of {op} have shape {d.shape}; {rows} x {columns} matrices need "
                f"length {band.length}.",
                op=op,
            )
        if band.length == 0:
            return x
        if low == high and d.dtype not in _NOT_PADDED:
            return ox.Where(band.inside, _beside(d, low, rows, columns), x)
    return ox.Where(band.inside, _from_band(d, band, low != high), x)


_NOT_PADDED = (dtypes.string, dtypes.bool)


def _beside(diagonal: Tensor, number: int, rows: int, columns: int) -> Tensor:
    """One diagonal as what broadcasts to matrices: a number is alone in its row or column."""
    size = rows if number >= 0 else columns
    last = int64_constant([-1])
    missing = size - min(rows + min(number, 0), columns - max(number, 0))
    if missing:
        zero = convert_to_tensor(0, diagonal.dtype)
        diagonal = ox.Pad(diagonal, int64_constant([0, missing]), zero, last)
    return ox.Unsqueeze(diagonal, last if number >= 0 else int64_constant([-2]))


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the main diagonal.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.trace([[1, 2], [3, 4]]).numpy()
        np.int32(5)
    """
    return reduce_sum(diag_part(x), -1)


def band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """``input`` with everything outside a band around the main diagonal set to 0.

    Args:
        input: ``[..., rows, columns]``.
        num_lower: How many diagonals below the main one to keep; negative: all.
        num_upper: How many above; negative: all.
        name: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.band_part([[1, 2], [3, 4]], -1, 0).numpy()
        array([[1, 0],
               [3, 4]], dtype=int32)
    """
    if rank_is_open(input):
        return _whole(lambda x: band_part(x, num_lower, num_upper), (input, 2))
    x = _matrices(input, "MatrixBandPart")
    rank = known_rank(x, "band_part")
    rows, columns = (
        ox.Range(int64_constant(0), _scalar(dimension(x, a)), int64_constant(1))
        for a in (rank - 2, rank - 1)
    )
    above = ox.Sub(columns, ox.Unsqueeze(rows, int64_constant([1])))
    kept = ox.And(_within(ox.Neg(above), num_lower), _within(above, num_upper))
    return ox.Where(kept, x, convert_to_tensor(np.zeros((), x.dtype.as_numpy_dtype)))


def _within(distance: Tensor, limit: Any) -> Tensor:
    bound = as_int64(limit)
    near = ox.LessOrEqual(distance, bound)
    return ox.Or(near, ox.Less(bound, int64_constant(0)))


def tensor_diag(diagonal: Any, name: str | None = None) -> Tensor:
    """A tensor of twice the rank with ``diagonal`` on its main diagonal.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.tensor_diag([1, 2]).numpy()
        array([[1, 0],
               [0, 2]], dtype=int32)
    """
    x = tensor(diagonal)
    if rank_of(x) == 0:
        raise InvalidArgumentError("Input must be at least rank 1, got 0 in tensor_diag.")
    shape = shape_vector(x)
    flat = reshape_to(x, product(shape))
    return reshape_to(_square_diag(flat, 0), concat_shape(shape, shape))


def tensor_diag_part(input: Any, name: str | None = None) -> Tensor:
    """The main diagonal of a tensor of even rank: the inverse of ``tensor_diag``.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.tensor_diag_part([[1, 2], [3, 4]]).numpy()
        array([1, 4], dtype=int32)
    """
    x = tensor(input)
    rank = rank_of(x)
    if rank is None:
        both = ox.Split(shape_vector(x), axis=0, num_outputs=2, outputs=2)
        halves = refused_unless(ox.Equal(*both), both[0], Refusal.DIAGONAL)
        size = product(halves)
        return reshape_to(diag_part(reshape_to(x, concat_shape(size, size))), halves)
    if rank % 2 or rank == 0:
        raise InvalidArgumentError(f"input must have even and non-zero rank, input rank is {rank}")
    half = shape_vector(x, 0, rank // 2)
    known, dims = static_ints(half), x.shape.as_list()
    if known is not None and dims[rank // 2 :] != known and None not in dims:
        raise InvalidArgumentError(
            f"Invalid shape {x.shape} of tensor_diag_part: both halves must be equal."
        )
    size = product(half)
    matrix = reshape_to(x, concat_shape(size, size))
    return reshape_to(diag_part(matrix), half)


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross product of vectors of three elements along the last axis.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.cross([1, 0, 0], [0, 1, 0]).numpy()
        array([0, 0, 1], dtype=int32)
    """
    x, y = same_dtype(a, b, "Cross")
    for t in (x, y):
        if t.shape.rank is not None and (t.shape.rank == 0 or t.shape[-1] not in (None, 3)):
            raise InvalidArgumentError(
                f"Cross-products are only defined for 3-element vectors; got shape {t.shape}.",
                op="Cross",
            )
    a0, a1, a2 = _parts(x)
    b0, b1, b2 = _parts(y)
    found = [
        ox.Sub(ox.Mul(p, s), ox.Mul(q, r))
        for p, q, r, s in ((a1, a2, b1, b2), (a2, a0, b2, b0), (a0, a1, b0, b1))
    ]
    return ox.Concat(*found, axis=-1)


def _parts(x: Tensor) -> tuple[Tensor, ...]:
    """The three elements along the last axis, which stays."""
    return ox.Split(x, int64_constant([1, 1, 1]), axis=-1, outputs=3)


@gradient("Trilu")
def _trilu_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """The same triangle of the gradient."""
    rest = op.inputs[1:]
    return ox.Trilu(dy, *rest, **op.attrs), *(None for _ in rest)


linear("Trilu", inputs=(0,))


batching("Trilu")(unchanged_first)
