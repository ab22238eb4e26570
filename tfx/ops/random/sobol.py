"""``tf.math.sobol_sample``: points that fill a cube evenly.

Point ``n`` is the exclusive or of the direction numbers for the ones in the Gray code of ``n``. The
direction numbers follow from a primitive polynomial for each dimension (``sobol_table``).
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.ranges import range as numbers
from tfx.ops.common.arguments import cast_to, scalar_like, static_int, tensor
from tfx.ops.common.traced_once import Composite
from tfx.ops.random.sobol_table import DEGREES, PACKED

_BITS = 31  # TensorFlow's last point is number 2^31 - 2
_MOST = 1 + sum(DEGREES)


def sobol_sample(
    dim: Any,
    num_results: Any,
    skip: Any = 0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Points of the Sobol sequence, which fill a cube more evenly than random ones do.

    Args:
        dim: The number of dimensions, 1 to 1111, which must be known.
        num_results: How many points.
        skip: How many to leave out at the start; the point of zeros is left out always.
        dtype: float32 or float64.
        name: Accepted for compatibility.

    Returns:
        ``[num_results, dim]``, from 0 to 1.

    Raises:
        InvalidArgumentError: another dtype, too many dimensions or points, or fewer than there can
            be.

    Example:
        >>> import tfx as tf
        >>> tf.math.sobol_sample(2, 3).numpy()
        array([[0.5 , 0.5 ],
               [0.75, 0.25],
               [0.25, 0.75]], dtype=float32)
    """
    op, kind = "SobolSample", dtypes.as_dtype(dtype)
    if kind not in (dtypes.float32, dtypes.float64):
        raise InvalidArgumentError(
            f"{op} makes points of float32 or float64; got dtype={kind.name}.", op=op
        )
    axes, count, start = (tensor(x) for x in (dim, num_results, skip))
    known = [static_int(x) for x in (axes, count, start)]
    size = known[0]
    if size is None or not 1 <= size <= _MOST:
        raise InvalidArgumentError(
            f"{op}: dim must be known, at least one and at most {_MOST}; got {dim}.", op=op
        )
    if known[1] is not None and known[1] < 1:
        raise InvalidArgumentError(
            f"{op}: num_results must be at least one; got {num_results}.", op=op
        )
    if known[2] is not None and known[2] < 0:
        raise InvalidArgumentError(f"{op}: skip must not be negative; got {skip}.", op=op)
    if sum(x for x in known[1:] if x is not None) >= 2**31 - 1:
        raise InvalidArgumentError(
            f"{op}: num_results + skip must be less than {2**31 - 1}; got {num_results} + {skip}.",
            op=op,
        )
    (points,) = _POINTS(
        cast_to(count, dtypes.int64), cast_to(start, dtypes.int64), dim=size, kind=kind
    )
    return points


def _points(count: Tensor, start: Tensor, *, dim: int, kind: Any) -> Sequence[Tensor]:
    number = cast_to(ox.Add(ox.Add(numbers(count), start), int64_constant(1)), dtypes.uint32)
    one = embed(np.array(1, np.uint32))
    code = ox.Unsqueeze(
        ox.BitwiseXor(number, ox.BitShift(number, one, direction="RIGHT")), int64_constant([1])
    )
    table = _directions(dim)
    found: Tensor | None = None
    for bit in range(_BITS):
        shifted = ox.BitShift(code, embed(np.array(bit, np.uint32)), direction="RIGHT")
        chosen = ox.Mul(ox.BitwiseAnd(shifted, one), embed(table[bit][None]))
        found = chosen if found is None else ox.BitwiseXor(found, chosen)
    assert found is not None
    values = cast_to(found, kind)
    return [ox.Mul(values, scalar_like(2.0**-32, values))]


_POINTS = Composite(_points, "sobol_points")


def _directions(dim: int) -> np.ndarray[Any, Any]:
    """The direction numbers ``[bits, dim]``, uint32."""
    first = [1 << (31 - i) for i in range(_BITS)]
    columns = [first, *(column for column, _ in zip(_columns(), range(dim - 1), strict=False))]
    return np.array(columns, np.uint32).T


@functools.cache
def _numbers_of_table() -> int:
    return int.from_bytes(base64.b85decode("".join(PACKED)), "little")


def _columns() -> Iterator[list[int]]:
    """The direction numbers of the second dimension, the third, and so on."""
    rest = _numbers_of_table()
    for degree, dimensions in enumerate(DEGREES, 1):
        for _ in range(dimensions):
            inner, rest = rest & ((1 << (degree - 1)) - 1), rest >> (degree - 1)
            column = []
            for i in range(degree):
                odd, rest = 2 * (rest & ((1 << i) - 1)) + 1, rest >> i
                column.append(odd << (31 - i))
            for i in range(degree, _BITS):
                new = column[i - degree] ^ (column[i - degree] >> degree)
                for k in range(1, degree):
                    if inner >> (degree - 1 - k) & 1:
                        new ^= column[i - k]
                column.append(new)
            yield column
