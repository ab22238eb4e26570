"""QR decompositions by reflections, and least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tfx.control_flow.cond import cond
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.kernels.programs import MatrixOperation
from tfx.linalg_ops import lapack
from tfx.linalg_ops.row_loops import (
    column,
    count,
    either,
    loop,
    matrices,
    mirrored,
    row,
    run,
)
from tfx.linalg_ops.triangular import cholesky, cholesky_solve, substituted, triangular_solve
from tfx.ops.common.arguments import cast_to, same_dtype, scalar_like
from tfx.ops.common.complex_parts import conjugate
from tfx.ops.common.open_ranks import over_batches, rank_is_open
from tfx.ops.common.traced_once import Composite
from tfx.ops.linalg.bands import numbers
from tfx.ops.linalg.matmul import adjoint, matmul
from tfx.ops.math.complex_parts import real


class Qr(NamedTuple):
    """The results of ``qr``."""

    q: Tensor
    r: Tensor


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """The QR decomposition ``input = q @ r``, with orthonormal columns and an upper triangle.

    Args:
        input: ``[..., m, n]`` of a floating or complex dtype.
        full_matrices: Return ``q`` with all ``m`` columns, and ``r`` with all ``m`` rows. Only a
            square ``q`` has a gradient then.
        name: Accepted for compatibility.

    Returns:
        ``q`` of ``[..., m, k]`` and ``r`` of ``[..., k, n]``, where ``k`` is the smaller of ``m``
        and ``n``. Signs are those of LAPACK; the diagonal of ``r`` is real.

    Raises:
        InvalidArgumentError: no matrices.

    Example:
        >>> import tfx as tf
        >>> q, r = tf.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
        >>> r.numpy().round(3)
        array([[-5. , -2.2],
               [ 0. ,  0.4]], dtype=float32)
    """
    if rank_is_open(input):
        return Qr(*over_batches(lambda x: qr(x, full_matrices), (input, 2)))
    a = matrices(input, "Qr", complex_too=True)
    if full_matrices and a.shape[-2] != a.shape[-1]:
        return Qr(*reflected(a, True))
    q, r = _decomposed(a)
    return Qr(q, r)


@custom_gradient
def _decomposed(a: Tensor) -> Any:
    q, r = reflected(a, False)

    def grad(dq: Tensor, dr: Tensor) -> Tensor:
        q, r = either(_decomposed, lambda x: reflected(x, False))(a)
        size = count(q, -1)
        ends = ox.Reshape(size, int64_constant([1]))
        wide = _is_wide(a)
        if wide:  # what is behind the square part depends on q alone
            behind = _columns(a, ends, None)
            dq = dq + matmul(behind, _columns(dr, ends, None), adjoint_b=True)
        upper, d_upper = (_columns(x, None, ends) for x in (r, dr))
        middle = matmul(upper, d_upper, adjoint_b=True) - matmul(dq, q, adjoint_a=True)
        both = mirrored(middle)
        left = dq + matmul(q, both)
        solve = either(
            lambda m, b: triangular_solve(m, b, lower=False),
            lambda m, b: substituted(m, b, False),
        )
        square = adjoint(solve(upper, adjoint(left)))
        if not wide:
            return square
        return ox.Concat(square, matmul(q, _columns(dr, ends, None)), axis=-1)

    return (q, r), grad


def _is_wide(a: Tensor) -> bool:
    """True if there may be more columns than rows."""
    rows, columns = a.shape[-2:].as_list()
    return rows is None or columns is None or columns > rows


def _columns(x: Tensor, start: Tensor | None, end: Tensor | None) -> Tensor:
    first = int64_constant([0]) if start is None else start
    last = int64_constant([2**62]) if end is None else end
    return ox.Slice(x, first, last, int64_constant([-1]))


def reflected(a: Tensor, full: bool) -> list[Tensor]:
    """Return both factors, which eager tapes do not look into."""
    rows, columns = a.shape[-2:].as_list()
    least = None if rows is None or columns is None else min(rows, columns)
    short = rows if full else least
    return run(_reflection, a, sizes=[[rows, short], [short, columns]], full=full)


def _reflect(a: Tensor, *, full: bool) -> Sequence[Tensor]:
    size, width = count(a, 1), count(a, 2)
    least = ox.Min(size, width)
    rows = ox.Reshape(numbers(size), int64_constant([1, -1, 1]))
    zero, one = scalar_like(0, a), scalar_like(1, a)
    square = ox.Cast(ox.Equal(rows, numbers(size)), to=a.dtype.onnx)
    batch = ox.Shape(a, end=2)
    ends = ox.Reshape(size, int64_constant([1]))
    q = ox.Expand(square, ox.Concat(batch, ends, axis=0))

    def body(j: Tensor, q: Tensor, r: Tensor) -> list[Tensor]:
        here = ox.Equal(rows, j)
        x = ox.Where(ox.Less(rows, j), zero, column(r, j))
        head = row(x, j)
        signed = real(head)
        # The number that stays is real, and of the other sign than the head: nothing cancels.
        positive = ox.GreaterOrEqual(signed, scalar_like(0, signed))
        length = _length(x)
        kept = cast_to(ox.Where(positive, ox.Neg(length), length), a.dtype)
        tail = ox.Where(here, zero, x)
        none = ox.Equal(
            _length(ox.Sub(x, ox.Where(here, cast_to(signed, a.dtype), zero))),
            scalar_like(0, length),
        )
        v = ox.Where(here, one, ox.Div(tail, ox.Where(none, one, ox.Sub(head, kept))))
        scale = ox.Where(none, zero, ox.Div(ox.Sub(kept, head), ox.Where(none, one, kept)))
        across = adjoint(v)
        r = ox.Sub(r, ox.MatMul(ox.Mul(conjugate(scale), v), ox.MatMul(across, r)))
        return [ox.Sub(q, ox.MatMul(ox.MatMul(q, v), ox.Mul(scale, across))), r]

    q, r = loop(least, body, q, a)
    columns = ox.Reshape(numbers(width), int64_constant([1, 1, -1]))
    r = ox.Where(ox.Greater(rows, columns), zero, r)
    if a.dtype.is_complex:  # what rounding leaves of its imaginary part
        r = ox.Where(ox.Equal(rows, columns), cast_to(real(r), r.dtype), r)
    if full:
        return q, r
    ends = ox.Reshape(least, int64_constant([1]))
    start = int64_constant([0])
    return (
        ox.Slice(q, start, ends, int64_constant([2])),
        ox.Slice(r, start, ends, int64_constant([1])),
    )


def _length(x: Tensor) -> Tensor:
    """The lengths of columns ``[batch, m, 1]``, real numbers."""
    size = ox.Abs(x) if x.dtype.is_complex else x
    return ox.ReduceL2(size, int64_constant([1]), keepdims=1)


_reflection = Composite(
    _reflect,
    "qr",
    routine=lapack.qr,
    kernel=lambda full: MatrixOperation.FULL_Q if full else MatrixOperation.REDUCED_Q,
)


def lstsq(
    matrix: Any,
    rhs: Any,
    l2_regularizer: float = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """The solution of ``matrix @ x = rhs`` with the least squares, and the least norm.

    Args:
        matrix: ``[..., m, n]`` of a floating or complex dtype, of full rank.
        rhs: ``[..., m, k]`` of the same dtype.
        l2_regularizer: Weight of the squared norm of ``x`` beside the squared error; 0 where
            numbers are complex.
        fast: By the normal equations. False: by a QR decomposition, which loses half as many
            digits and takes no ``l2_regularizer``.
        name: Accepted for compatibility.

    Returns:
        ``[..., n, k]``.

    Raises:
        InvalidArgumentError: shapes or dtypes that do not fit, or (eagerly) a rank that is not
            full.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.lstsq([[1.0], [1.0]], [[2.0], [4.0]]).numpy().round(3)
        array([[3.]], dtype=float32)
    """
    if rank_is_open(matrix, rhs):
        whole: Tensor = over_batches(
            lambda a, b: lstsq(a, b, l2_regularizer, fast), (matrix, 2), (rhs, 2)
        )
        return whole
    a, b = same_dtype(matrix, rhs, "MatrixSolveLs")
    a, b = (matrices(x, "MatrixSolveLs", complex_too=True) for x in (a, b))
    if a.dtype.is_complex and l2_regularizer:
        raise NotImplementedError(
            f"lstsq takes no l2_regularizer for {a.dtype.name}, as TensorFlow's does not; got "
            f"{l2_regularizer}."
        )
    if not a.shape[-2:-1].is_compatible_with(b.shape[-2:-1]):
        raise InvalidArgumentError(
            f"lstsq: expected as many rows in rhs as in the matrix; got {a.shape} and {b.shape}.",
            op="MatrixSolveLs",
        )
    rows, columns = a.shape[-2:].as_list()
    if rows is None or columns is None:
        over = ox.GreaterOrEqual(count(a, -2), count(a, -1))
        found: Tensor = cond(
            over,
            lambda: _least_squares(a, b, l2_regularizer, fast, True),
            lambda: _least_squares(a, b, l2_regularizer, fast, False),
        )
        return found
    return _least_squares(a, b, l2_regularizer, fast, rows >= columns)


def _least_squares(a: Tensor, b: Tensor, l2_regularizer: float, fast: bool, over: bool) -> Tensor:
    """The solution where there are at least as many rows as columns, and where there are not."""
    if not fast:
        q, r = qr(a if over else adjoint(a))
        if over:
            return triangular_solve(r, matmul(q, b, adjoint_a=True), lower=False)
        return matmul(q, triangular_solve(r, b, lower=False, adjoint=True))
    gram = matmul(a, a, adjoint_a=over, adjoint_b=not over)
    if l2_regularizer:
        rows_of = ox.Unsqueeze(numbers(count(gram, -1)), int64_constant([1]))
        here = ox.Equal(rows_of, numbers(count(gram, -1)))
        weight = scalar_like(l2_regularizer, a)
        gram = gram + ox.Where(here, weight, scalar_like(0, a))
    factor = cholesky(gram)
    if over:
        return cholesky_solve(factor, matmul(a, b, adjoint_a=True))
    return matmul(a, cholesky_solve(factor, b), adjoint_a=True)
