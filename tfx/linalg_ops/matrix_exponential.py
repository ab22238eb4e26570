"""The exponential of matrices: a Padé approximant of a scaled matrix, squared as often."""

from __future__ import annotations

import math
from typing import Any

from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.linalg_ops.complex_matrices import embedded, of_embedded
from tfx.linalg_ops.row_loops import matrices, places
from tfx.linalg_ops.solve import solve
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.open_ranks import over_batches, rank_is_open
from tfx.ops.linalg.matmul import matmul
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.reduction import reduce_max, reduce_sum

# The largest 1-norm for which the approximant of this degree is exact to rounding.
_DEGREES = {dtypes.float64: (13, 5.37), dtypes.float32: (7, 3.92)}


def expm(input: Any, name: str | None = None) -> Tensor:
    """The exponential of square matrices.

    Args:
        input: ``[..., n, n]`` of a floating or complex dtype.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: no square matrices.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.expm([[0.0, 1.0], [0.0, 0.0]]).numpy()
        array([[1., 1.],
               [0., 1.]], dtype=float32)
    """
    if rank_is_open(input):
        whole: Tensor = over_batches(expm, (input, 2))
        return whole
    given = matrices(input, "matrix_exponential", square=True, complex_too=True)
    if given.dtype.is_complex:
        return of_embedded(expm(embedded(given)), given)
    a = given if given.dtype.size >= 4 else cast_to(given, dtypes.float32)
    degree, reach = _DEGREES[a.dtype]
    norm = reduce_max(reduce_sum(ox.Abs(stop_gradient(a)), -2, keepdims=True), -1, True)
    least = scalar_like(reach, a)
    ratio = ox.Div(ox.Max(norm, least), least)
    times = ox.Ceil(ox.Div(ox.Log(ratio), scalar_like(math.log(2), a)))
    scaled = a / ox.Pow(scalar_like(2, a), times)
    found = _approximant(scaled, degree)

    def more(i: Tensor, x: Tensor) -> Tensor:
        return ox.Less(i, most)

    def square(i: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        wanted = ox.Less(cast_to(i, a.dtype), times)
        return i + 1, ox.Where(wanted, matmul(x, x), x)

    flat = ox.Reshape(times, int64_constant([-1]))
    flat = ox.Concat(ox.Reshape(scalar_like(0, a), int64_constant([1])), flat, axis=0)
    most = cast_to(reduce_max(flat), dtypes.int64)
    _, found = while_loop(more, square, [int64_constant(0), found])
    return cast_to(found, given.dtype)


def _approximant(a: Tensor, degree: int) -> Tensor:
    """``solve(v - u, v + u)``, where ``u`` has the odd powers and ``v`` the even ones."""
    rows, columns = places(a)
    power = cast_to(ox.Equal(rows, columns), a.dtype)
    power = ox.Expand(power, ox.Shape(a))
    twice = matmul(a, a)
    u = v = None
    for i in range(0, degree, 2):
        even, odd = (power * scalar_like(_weight(degree, k), a) for k in (i, i + 1))
        v = even if v is None else v + even
        u = odd if u is None else u + odd
        power = matmul(power, twice)
    u = matmul(a, u)
    return solve(v - u, v + u)


def _weight(degree: int, k: int) -> float:
    """The coefficient of the power k, 1 for k = 0."""
    over = math.factorial(2 * degree - k) * math.factorial(degree)
    return over / (math.factorial(2 * degree) * math.factorial(k) * math.factorial(degree - k))
