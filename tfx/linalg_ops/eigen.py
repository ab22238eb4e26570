"""Eigenvalues of symmetric matrices, singular values, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.function.gradients.custom_gradient import custom_gradient
from tfx.linalg_ops import jacobi_rotations
from tfx.linalg_ops.qr import reflected
from tfx.linalg_ops.row_loops import either, lower_part, matrices, mirrored, places, run
from tfx.ops.common.arguments import cast_to, scalar_like, tensor
from tfx.ops.common.open_ranks import over_batches, rank_is_open
from tfx.ops.common.shapes import concat_shape, dimension, filled, shape_vector
from tfx.ops.linalg.matmul import adjoint, matmul, swap_last_two
from tfx.ops.math.cast import stop_gradient
from tfx.ops.math.reduction import reduce_max, reduce_sum


class Eigh(NamedTuple):
    """The results of ``eigh``."""

    e: Tensor
    v: Tensor


class Svd(NamedTuple):
    """The results of ``svd``."""

    s: Tensor
    u: Tensor
    v: Tensor


def eigh(tensor: Any, name: str | None = None) -> Eigh:
    """Eigenvalues and eigenvectors of self-adjoint matrices.

    Args:
        tensor: ``[..., n, n]`` of a floating or complex dtype; only the lower triangle is read, and
            of the diagonal the real parts.
        name: Accepted for compatibility.

    Returns:
        ``(e, v)``: eigenvalues ``[..., n]``, ascending, and eigenvectors as the columns of
        ``[..., n, n]``, both of that dtype. Signs of eigenvectors, or their phases, are not
        defined. Gradients leave out what equal eigenvalues would divide by zero.

    Raises:
        InvalidArgumentError: no square matrices.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.eigh([[2.0, 0.0], [0.0, 1.0]]).e.numpy()
        array([1., 2.], dtype=float32)
    """
    if rank_is_open(tensor):
        return Eigh(*over_batches(eigh, (tensor, 2)))
    a = matrices(tensor, "SelfAdjointEigV2", square=True, complex_too=True)
    e, v = _self_adjoint(mirrored(a))
    return Eigh(cast_to(e, a.dtype), v)


def eigvalsh(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues of self-adjoint matrices, ascending; see ``eigh``.

    Args:
        tensor: ``[..., n, n]`` of a floating or complex dtype.
        name: Accepted for compatibility.

    Returns:
        ``[..., n]`` of that dtype.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]]).numpy()
        array([1., 2.], dtype=float32)
    """
    return eigh(tensor).e


@custom_gradient
def _self_adjoint(a: Tensor) -> Any:
    """Eigenvalues, which are real, and eigenvectors."""
    e, v = _eigen(a)

    def grad(de: Tensor, dv: Tensor) -> Tensor:
        e, v = either(_self_adjoint, _eigen)(a)
        turned = matmul(v, dv, adjoint_a=True)
        inner = cast_to(_gaps(e), a.dtype) * turned
        inner = inner + cast_to(_on_diagonal(de), a.dtype)
        da = matmul(matmul(v, inner), v, adjoint_b=True)
        return (da + adjoint(da)) * 0.5

    return (e, v), grad


def _eigen(a: Tensor) -> list[Tensor]:
    size = a.shape[-1]
    return run(jacobi_rotations.symmetric, a, sizes=[[size], [size, size]])


def _gaps(e: Tensor) -> Tensor:
    """``1 / (e[j] - e[i])``, 0 where they are equal."""
    columns = ox.Unsqueeze(e, int64_constant([-2]))
    rows = ox.Unsqueeze(e, int64_constant([-1]))
    gap = columns - rows
    none = ox.Equal(gap, scalar_like(0, gap))
    one = scalar_like(1, gap)
    return ox.Where(none, scalar_like(0, gap), one / ox.Where(none, one, gap))


def _on_diagonal(x: Tensor) -> Tensor:
    wide = ox.Unsqueeze(x, int64_constant([-1]))
    rows, columns = places(ox.MatMul(wide, swap_last_two(wide)))
    return ox.Where(ox.Equal(rows, columns), wide, scalar_like(0, x))


def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """The singular values of matrices, and their singular vectors.

    ``tensor = u @ diag(s) @ adjoint(v)``. (NumPy returns the adjoint of ``v``, and another order.)

    Args:
        tensor: ``[..., m, n]`` of a floating or complex dtype.
        full_matrices: Return all ``m`` columns of ``u`` and all ``n`` of ``v``; what they have
            beside the first k has no gradient.
        compute_uv: Return the vectors too, and not the singular values alone.
        name: Accepted for compatibility.

    Returns:
        ``(s, u, v)``: ``[..., k]`` in descending order, ``[..., m, k]`` and ``[..., n, k]``, where
        ``k`` is the smaller of ``m`` and ``n``; or ``s`` alone. Values are real. Signs of the
        vectors, or their phases, are not defined.

    Raises:
        InvalidArgumentError: no matrices.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.svd([[0.0, 2.0], [1.0, 0.0]], compute_uv=False).numpy()
        array([2., 1.], dtype=float32)
    """
    if rank_is_open(tensor):
        found = over_batches(lambda x: svd(x, full_matrices, compute_uv), (tensor, 2))
        return Svd(*found) if compute_uv else found
    a = matrices(tensor, "Svd", complex_too=True)
    s, u, v = _decomposed(a)
    if not compute_uv:
        return s
    return Svd(s, _completed(u), _completed(v)) if full_matrices else Svd(s, u, v)


def _completed(u: Tensor) -> Tensor:
    """Orthonormal columns with all others."""
    size, k = u.shape.as_list()[-2:]
    if size is not None and size == k:
        return u
    q = stop_gradient(reflected(u, True)[0])
    ends = dimension(u, -1), int64_constant([2**62]), int64_constant([-1])
    found = ox.Concat(u, ox.Slice(q, *ends), axis=-1)
    if isinstance(found, SymbolicTensor):
        found.set_shape([*u.shape[:-1], size])
    return found


@custom_gradient
def _decomposed(a: Tensor) -> Any:
    s, u, v = _values(a)

    def grad(ds: Tensor, du: Tensor, dv: Tensor) -> Tensor:
        s, u, v = either(_decomposed, _values)(a)
        gaps = cast_to(_gaps(s * s), a.dtype)
        columns = ox.Unsqueeze(s, int64_constant([-2]))
        none = ox.Equal(columns, scalar_like(0, s))
        one = scalar_like(1, s)
        over = ox.Where(none, scalar_like(0, s), one / ox.Where(none, one, columns))
        over, columns = cast_to(over, a.dtype), cast_to(columns, a.dtype)
        rows = swap_last_two(columns)
        turned = matmul(v, dv, adjoint_a=True)
        j = gaps * matmul(u, du, adjoint_a=True)
        k = gaps * turned
        inner = (j + adjoint(j)) * columns + rows * (k + adjoint(k))
        inner = inner + cast_to(_on_diagonal(ds), a.dtype)
        if a.dtype.is_complex:  # the phase that both vectors of a value have in common
            phases = lower_part(turned) - lower_part(turned, 0.0)
            inner = inner + (adjoint(phases) - phases) * over * 0.5
        da = matmul(matmul(u, inner), v, adjoint_b=True)
        # What the vectors do outside of the space that they span.
        if a.shape[-2] is None or a.shape[-2] != u.shape[-1]:
            outside = (du - matmul(u, matmul(u, du, adjoint_a=True))) * over
            da = da + matmul(outside, v, adjoint_b=True)
        if a.shape[-1] is None or a.shape[-1] != v.shape[-1]:
            outside = (dv - matmul(v, matmul(v, dv, adjoint_a=True))) * over
            da = da + matmul(u, outside, adjoint_b=True)
        return da

    return (s, u, v), grad


def _values(a: Tensor) -> list[Tensor]:
    """Singular values and vectors, through which no eager tape sees."""
    rows, columns = a.shape[-2:].as_list()
    if rows is None or columns is None:
        return _values_of_open_size(a)
    wide = columns > rows
    tall = adjoint(a) if wide else a
    long, short = (columns, rows) if wide else (rows, columns)
    scaled, s, v = run(
        jacobi_rotations.singular, tall, sizes=[[long, short], [short], [short, short]]
    )
    u = _directions(scaled, s)
    return [s, v, u] if wide else [s, u, v]


def _values_of_open_size(a: Tensor) -> list[Tensor]:
    """Those of matrices that may be wide: with rows of zeros they are not, and have the same ones.

    What is behind the first k of them belongs to these rows.
    """
    rows, columns = a.shape[-2:].as_list()
    missing = ox.Sub(dimension(a, -1), dimension(a, -2))
    lead = shape_vector(a, 0, -2)
    zeros = ox.Max(missing, int64_constant([0]))
    below = filled(concat_shape(lead, zeros, dimension(a, -1)), 0, a.dtype)
    tall = ox.Concat(a, below, axis=-2)
    sizes: list[list[int | None]] = [[None, columns], [columns], [columns, columns]]
    scaled, s, v = run(jacobi_rotations.singular, tall, sizes=sizes)
    k = ox.Min(dimension(a, -1), dimension(a, -2))

    def first(x: Tensor, axis: int, count: Tensor, known: Sequence[int | None]) -> Tensor:
        made = ox.Slice(x, int64_constant([0]), count, int64_constant([axis]))
        if isinstance(made, SymbolicTensor):
            made.set_shape([*a.shape[:-2], *known])
        return made

    s, v = first(s, -1, k, [None]), first(v, -1, k, [columns, None])
    scaled = first(scaled, -1, k, [None, None])
    scaled = first(scaled, -2, dimension(a, -2), [rows, None])
    return [s, _directions(scaled, s), v]


def _directions(scaled: Tensor, s: Tensor) -> Tensor:
    """Columns of these lengths as orthonormal ones."""
    lengths = ox.Unsqueeze(s, int64_constant([-2]))
    none = ox.LessOrEqual(lengths, _tiny(s))
    u = scaled / cast_to(ox.Where(none, scalar_like(1, s), lengths), scaled.dtype)
    # Columns without a direction get one that is orthogonal to all others.
    u = ox.Where(none, scalar_like(0, u), u)
    return ox.Where(none, reflected(u, False)[0], u)


def _tiny(s: Tensor) -> Tensor:
    """Below this a singular value is rounding."""
    largest = reduce_max(s, -1, keepdims=True)
    epsilon = scalar_like(float(dtypes.finfo(s.dtype).eps), s)
    return ox.Unsqueeze(largest * epsilon, int64_constant([-2]))


def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return the number of singular values that are not zero.

    Args:
        a: ``[..., m, n]`` of a floating or complex dtype.
        tol: What counts as zero; None: the largest one times the dtype's epsilon times the larger
            of ``m`` and ``n``.
        validate_args: Accepted for compatibility.
        name: Accepted for compatibility.

    Returns:
        int32 ``[...]``.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).numpy()
        np.int32(1)
    """
    if rank_is_open(a):
        found: Tensor = over_batches(lambda x: matrix_rank(x, tol), (a, 2))
        return found
    x = matrices(a, "matrix_rank", complex_too=True)
    s = svd(x, compute_uv=False)
    if tol is None:
        limit = reduce_max(s, -1, keepdims=True) * _relative(x, s)
    else:
        limit = cast_to(tensor(tol), s.dtype)
        limit = ox.Unsqueeze(limit, int64_constant([-1]))
    return reduce_sum(cast_to(ox.Greater(s, limit), dtypes.int32), -1)


def _relative(x: Tensor, s: Tensor, factor: float = 1.0) -> Tensor:
    """The larger size of matrices times the epsilon of their singular values' dtype."""
    epsilon = factor * float(dtypes.finfo(s.dtype).eps)
    sizes = [d for d in x.shape[-2:].as_list() if d is not None]
    if len(sizes) == 2:
        return scalar_like(max(sizes) * epsilon, s)
    size = ox.ReduceMax(shape_vector(x, -2), keepdims=0)
    return ox.Mul(cast_to(size, s.dtype), scalar_like(epsilon, s))


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The Moore-Penrose pseudo-inverse of matrices.

    Args:
        a: ``[..., m, n]`` of a floating dtype.
        rcond: Singular values below this times the largest one count as zero; None: ten times the
            larger of ``m`` and ``n`` times the dtype's epsilon.
        validate_args: Accepted for compatibility.
        name: Accepted for compatibility.

    Returns:
        ``[..., n, m]``, differentiable where the rank does not change.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.pinv([[2.0], [0.0]]).numpy()
        array([[0.5, 0. ]], dtype=float32)
    """
    if rank_is_open(a):
        whole: Tensor = over_batches(lambda x: pinv(x, rcond), (a, 2))
        return whole
    x = matrices(a, "pinv")
    limit = _relative(x, x, 10.0) if rcond is None else tensor(rcond, x.dtype)
    found: Tensor = _inverted(x, limit)
    return found


@custom_gradient
def _inverted(a: Tensor, limit: Tensor) -> Any:
    found = _pseudo(a, limit)

    def grad(g: Tensor) -> Any:
        p = either(_inverted, _pseudo)(a, limit)
        turned, flat = swap_last_two(p), swap_last_two(g)
        da = -matmul(turned, matmul(g, turned))
        first = matmul(flat, matmul(p, turned))
        da = da + first - matmul(a, matmul(p, first))
        second = matmul(turned, matmul(p, flat))
        return da + second - matmul(matmul(second, p), a), None

    return found, grad


def _pseudo(a: Tensor, limit: Tensor) -> Tensor:
    s, u, v = _values(a)
    cut = reduce_max(s, -1, keepdims=True) * ox.Unsqueeze(limit, int64_constant([-1]))
    none = ox.LessOrEqual(s, cut)
    one = scalar_like(1, s)
    over = ox.Where(none, scalar_like(0, s), one / ox.Where(none, one, s))
    over = ox.Unsqueeze(over, int64_constant([-2]))
    return matmul(v * over, u, transpose_b=True)
