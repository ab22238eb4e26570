"""Matrices with three diagonals: products, equations and eigenvalues.

Equations are solved row by row, those of complex numbers by the whole matrix, which eigenvalues go
through, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.linalg_ops.banded_elimination import solved, with_end, with_start
from tfx.linalg_ops.eigen import eigh, eigvalsh
from tfx.linalg_ops.row_loops import matrices
from tfx.linalg_ops.solve import solve
from tfx.ops.array.concat import stack, unstack
from tfx.ops.array.pad import pad
from tfx.ops.array.transpose import transpose
from tfx.ops.array.where import boolean_mask
from tfx.ops.common.arguments import as_int64, same_dtype, static_ints, tensor
from tfx.ops.common.complex_parts import conjugate
from tfx.ops.common.open_ranks import over_batches, rank_is_open
from tfx.ops.linalg.diagonals import diag, diag_part
from tfx.ops.linalg.matmul import matrix_transpose
from tfx.ops.math.complex_parts import real

_FORMATS = ("compact", "matrix", "sequence")


def _diagonals(diagonals: Any, diagonals_format: str, op: str) -> tuple[Tensor, Tensor, Tensor]:
    """The diagonals above, in and below the middle, ``[..., n]`` each.

    Raises:
        ValueError: another format or shape.
    """
    if diagonals_format == "sequence":
        if not isinstance(diagonals, list | tuple) or len(diagonals) != 3:
            raise InvalidArgumentError(f"{op}: Expected diagonals to be a sequence of length 3.")
        above, middle, below = [tensor(d) for d in diagonals]
        if 0 in (above.shape.rank, middle.shape.rank, below.shape.rank):
            raise InvalidArgumentError(f"{op}: diagonals have one axis or more; got a scalar.")
        size = middle.shape[-1]
        if size is not None:
            above = with_end(above) if above.shape[-1] == size - 1 else above
            below = with_start(below) if below.shape[-1] == size - 1 else below
        return above, middle, below
    if diagonals_format not in _FORMATS:
        raise InvalidArgumentError(
            f"{op}: diagonals_format must be one of {list(_FORMATS)}; got {diagonals_format!r}."
        )
    x = tensor(diagonals)
    if diagonals_format == "matrix":
        whole = matrices(x, op, square=True, complex_too=True)
        middle = diag_part(whole)
        above = diag_part(whole, k=1)
        below = diag_part(whole, k=-1)
        return with_end(above), middle, with_start(below)
    if x.shape.rank in (0, 1) or x.shape[-2] not in (3, None):
        raise InvalidArgumentError(f"{op}: Expected diagonals of shape [..., 3, n]; got {x.shape}.")
    above, middle, below = unstack(x, 3, axis=-2)
    return above, middle, below


def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Products of matrices with three diagonals and others.

    Args:
        diagonals: ``[..., 3, n]``: above, in and below the middle, of which the last element of the
            first and the first of the last count for nothing; ``"sequence"``: three tensors;
            ``"matrix"``: ``[..., n, n]``.
        rhs: ``[..., n, k]``.
        diagonals_format: ``"compact"``, ``"sequence"`` or ``"matrix"``.
        name: Accepted for compatibility.

    Returns:
        ``[..., n, k]``.

    Raises:
        ValueError: another format or shape.

    Example:
        >>> import tfx as tf
        >>> diagonals = [[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 1.0]]
        >>> tf.linalg.tridiagonal_matmul(diagonals, [[1.0], [2.0], [3.0]]).numpy().ravel()
        array([4., 8., 8.], dtype=float32)
    """
    if _has_open_rank(diagonals, rhs):
        return _over_batches(
            lambda d, x: tridiagonal_matmul(d, x, diagonals_format), diagonals, rhs
        )
    above, middle, below = _diagonals(diagonals, diagonals_format, "tridiagonal_matmul")
    x = matrices(rhs, "tridiagonal_matmul", complex_too=True)
    lead: list[list[int]] = [[0, 0]] * ((x.shape.rank or 2) - 2)
    later = pad(x[..., 1:, :], [*lead, [0, 1], [0, 0]])
    earlier = pad(x[..., :-1, :], [*lead, [1, 0], [0, 0]])
    return above[..., None] * later + middle[..., None] * x + below[..., None] * earlier


def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """Solutions ``x`` of ``A x = rhs`` for matrices with three diagonals.

    Args:
        diagonals: See ``tridiagonal_matmul``.
        rhs: ``[..., n, k]``, or ``[..., n]`` for one vector.
        diagonals_format: See there.
        transpose_rhs: ``rhs`` is ``[..., k, n]``.
        conjugate_rhs: Solve for the conjugates of ``rhs``.
        name: Accepted for compatibility.
        partial_pivoting: Accepted for compatibility: rows are exchanged always.
        perturb_singular: Must be False.

    Returns:
        Of the shape of ``rhs`` (transposed, if that was).

    Raises:
        InvalidArgumentError: a matrix without inverse.
        ValueError: another format or shape.

    Example:
        >>> import tfx as tf
        >>> diagonals = [[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 1.0]]
        >>> tf.linalg.tridiagonal_solve(diagonals, [4.0, 8.0, 8.0]).numpy().round(4)
        array([1., 2., 3.], dtype=float32)
    """
    if perturb_singular:
        raise InvalidArgumentError(
            "perturb_singular=True is not available: singular matrices are refused."
        )
    if _has_open_rank(diagonals, rhs):
        return _over_batches(
            lambda d, b: tridiagonal_solve(d, b, diagonals_format, transpose_rhs, conjugate_rhs),
            diagonals,
            rhs,
        )
    above, middle, below = _diagonals(diagonals, diagonals_format, "tridiagonal_solve")
    right = conjugate(tensor(rhs)) if conjugate_rhs else tensor(rhs)
    vector = right.shape.rank == (middle.shape.rank or 0)
    if vector:
        right = right[..., None]
    elif transpose_rhs:
        right = matrix_transpose(right)
    if middle.dtype.is_complex:
        found: Tensor = solve(_whole(above, middle, below), right)
    else:
        found = _solved_by_rows(above, middle, below, right)
    return found[..., 0] if vector else found


def _solved_by_rows(above: Tensor, middle: Tensor, below: Tensor, rhs: Any) -> Tensor:
    op = "TridiagonalSolve"
    given, right = same_dtype(stack([above, middle, below], axis=-2), rhs, op)
    given, right = matrices(given, op), matrices(right, op)
    fits = given.shape[-1:].is_compatible_with(right.shape[-2:-1])
    if not fits or not given.shape[:-2].is_compatible_with(right.shape[:-2]):
        raise InvalidArgumentError(
            f"{op} takes diagonals and right-hand sides with as many rows, and batches of one "
            f"shape; got {middle.shape} and {right.shape}.",
            op=op,
        )
    found: Tensor = solved(given, right)
    return found


def _has_open_rank(diagonals: Any, rhs: Any) -> bool:
    each = diagonals if isinstance(diagonals, list | tuple) else [diagonals]
    return rank_is_open(*each, rhs)


def _over_batches(function: Callable[..., Tensor], diagonals: Any, rhs: Any) -> Tensor:
    """Of matrices whose number of axes only a run tells; a right-hand side has columns then."""
    if isinstance(diagonals, list | tuple):
        given = [(d, 1) for d in diagonals]
        found: Tensor = over_batches(
            lambda *parts: function(list(parts[:-1]), parts[-1]), *given, (rhs, 2)
        )
        return found
    found = over_batches(function, (diagonals, 2), (rhs, 2))
    return found


def _whole(above: Tensor, middle: Tensor, below: Tensor) -> Tensor:
    # Whole diagonals moved to the side, so that the length need not be known.
    lead: list[list[int]] = [[0, 0]] * (middle.shape.rank or 1)
    right = pad(diag(above)[..., :-1], [*lead, [1, 0]])
    left = pad(diag(below)[..., 1:], [*lead, [0, 1]])
    return diag(middle) + right + left


def eigh_tridiagonal(
    alpha: Any,
    beta: Any,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: float | None = None,
    name: str | None = None,
) -> Any:
    """Eigenvalues, and eigenvectors, of one symmetric matrix with three diagonals.

    Args:
        alpha: The diagonal, ``[n]``.
        beta: The one beside it, ``[n - 1]``.
        eigvals_only: Only the values.
        select: ``"a"``: all; ``"i"``: those with the indices of ``select_range``, both ends
            included; ``"v"``: those with values in it, the lower end not included.
        select_range: Two numbers.
        tol: Accepted for compatibility: values are exact to rounding.
        name: Accepted for compatibility.

    Returns:
        Values ``[m]``, rising; with eigenvectors also those, ``[n, m]``.

    Raises:
        ValueError: another ``select`` or a range that is none.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.eigh_tridiagonal([2.0, 2.0], [1.0]).numpy().round(4)
        array([1., 3.], dtype=float32)
    """
    if select not in ("a", "i", "v"):
        raise InvalidArgumentError(
            f"select must have a value in {{'a', 'i', 'v'}}; got {select!r}."
        )
    middle, beside = tensor(alpha), tensor(beta)
    if middle.shape.rank != 1 or beside.shape.rank != 1:
        raise InvalidArgumentError(
            f"alpha and beta must be vectors; got shapes {middle.shape} and {beside.shape}."
        )
    whole = diag(middle) + diag(beside, k=1) + diag(conjugate(beside), k=-1)
    if eigvals_only:
        return _selected(real(eigvalsh(whole)), None, select, select_range)
    values, vectors = eigh(whole)
    return _selected(real(values), vectors, select, select_range)


def _selected(values: Tensor, vectors: Tensor | None, select: str, given: Any) -> Any:
    if select == "i":
        ends = None if given is None else static_ints(as_int64(given))
        if ends is None or len(ends) != 2 or ends[0] > ends[1]:
            raise InvalidArgumentError(
                f"select_range must be two indices known now; got {given!r}."
            )
        values = values[ends[0] : ends[1] + 1]
        vectors = None if vectors is None else vectors[:, ends[0] : ends[1] + 1]
    elif select == "v":
        low, high = unstack(tensor(given, values.dtype), 2)
        wanted = ox.And(values > low, values <= high)
        values = boolean_mask(values, wanted)
        if vectors is not None:
            vectors = transpose(boolean_mask(transpose(vectors), wanted))
    return values if vectors is None else (values, vectors)
