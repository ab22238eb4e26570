"""Products of sparse matrices with dense ones."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike, as_dtype
from tfx.core.errors import InvalidArgumentError
from tfx.core.refusals import Refusal
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.guards import refused_unless
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.ops.array.gather import gather, rows_at
from tfx.ops.array.transpose import transpose
from tfx.ops.common.arguments import static_ints, tensor
from tfx.ops.common.shapes import dimension, rank_of
from tfx.ops.linalg.matmul import matrix_transpose
from tfx.ops.math.complex_parts import conj
from tfx.ops.math.segments import unsorted_segment_sum
from tfx.sparse_ops import positions
from tfx.sparse_ops.sparse_tensor import (
    SparseTensor,
    SparseTensorValue,
    known_rank_of,
    require_sparse,
)


def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of a sparse matrix and a dense one, or of a dense one and a sparse one.

    Gradients flow to the values of the sparse matrix and to the dense one.

    Args:
        sp_a: ``SparseTensor`` of two axes; or a matrix, if ``b`` is sparse.
        b: Matrix of the same dtype.
        adjoint_a: Transpose (and conjugate) the first one.
        adjoint_b: Transpose (and conjugate) the second one.
        name: Accepted for compatibility.

    Returns:
        A dense matrix.

    Raises:
        InvalidArgumentError: sizes that do not fit, or not matrices.

    Example:
        >>> import tfx as tf
        >>> x = tf.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
        >>> tf.sparse.sparse_dense_matmul(x, [[1.0], [10.0]]).numpy()
        array([[20.],
               [ 3.]], dtype=float32)
    """
    if isinstance(b, SparseTensor | SparseTensorValue):
        # (a b)^H = b^H a^H
        return _adjoint(sparse_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a))
    x = require_sparse(sp_a, "sparse.sparse_dense_matmul")
    dense = convert_to_tensor(b, x.dtype)
    if known_rank_of(x, "SparseTensorDenseMatMul") != 2 or rank_of(dense) not in (2, None):
        raise InvalidArgumentError(
            f"sparse_dense_matmul takes matrices; got shapes {x.shape} and {dense.shape}.",
            op="SparseTensorDenseMatMul",
        )
    if adjoint_b:
        dense = _adjoint(dense)
    values = _conjugate(x.values) if adjoint_a else x.values
    out, inner = (1, 0) if adjoint_a else (0, 1)
    # The check is tied to the numbers of the rows, which nothing can remove.
    rows = rows_at(dense, _fitting(x, dense, inner))
    weighted = ox.Mul(rows, ox.Unsqueeze(values, int64_constant([1])))
    size = positions.axis_size(x.dense_shape, out)
    count = ox.Squeeze(size, int64_constant([0]))
    found = unsorted_segment_sum(weighted, positions.column(x.indices, out), count)
    if x.shape.rank is not None and dense.shape.rank is not None:
        found.set_shape([x.shape[out], dense.shape[1]])
    return found


def _adjoint(x: Any) -> Tensor:
    return _conjugate(transpose(tensor(x)))


def _conjugate(x: Tensor) -> Tensor:
    return conj(x) if x.dtype.is_complex else x


def _fitting(x: SparseTensor, dense: Tensor, inner: int) -> Tensor:
    """The rows of the dense matrix that the elements of the sparse one meet."""
    sizes = positions.axis_size(x.dense_shape, inner), dimension(dense, 0)
    fits, at = ox.Equal(*sizes), positions.column(x.indices, inner)
    if not isinstance(fits, EagerTensor):
        return refused_unless(fits, at, Refusal.SPARSE_INNER)
    if not fits.view().all():
        had = [static_ints(s) or [] for s in sizes]
        raise InvalidArgumentError(
            "Cannot multiply A and B because inner dimension does not match: "
            f"{had[0][0]} vs. {had[1][0]}.  Did you forget a transpose?  Dimensions of A: "
            f"{static_ints(x.dense_shape)}.  Dimensions of B: {dense.shape}",
            op="SparseTensorDenseMatMul",
        )
    return at


def sampled_addmm(
    indices: Any,
    values: Any,
    dense_shape: Any,
    mat1: Any,
    mat2: Any,
    beta: Any = 1.0,
    alpha: Any = 1.0,
    output_type: DTypeLike = dtypes.float32,
) -> tuple[Tensor, Tensor, Tensor]:
    """The entries of ``alpha * (mat1 @ mat2) + beta * sparse`` in the places of a sparse matrix.

    Args:
        indices: ``[..., n, 2]`` of int32 or int64, where the entries are.
        values: ``[..., n]``, what they are.
        dense_shape: ``[2]`` of int32 or int64.
        mat1: ``[..., rows, k]``.
        mat2: ``[..., k, columns]``.
        beta: What the entries are multiplied by.
        alpha: What the product is multiplied by.
        output_type: float32.

    Returns:
        ``(indices, values, dense_shape)`` of the result.

    Raises:
        InvalidArgumentError: shapes that do not fit each other.

    Example:
        >>> import tfx as tf
        >>> _, values, _ = tf.sparse.sampled_addmm(
        ...     [[0, 1]], [1.0], [2, 2], [[1.0], [2.0]], [[3.0, 4.0]]
        ... )
        >>> values.numpy()
        array([5.], dtype=float32)
    """
    kind = as_dtype(output_type)
    places, sizes = convert_to_tensor(indices), convert_to_tensor(dense_shape)
    have, first, second = (convert_to_tensor(x, kind) for x in (values, mat1, mat2))
    batch = _batch_axes(places, have, first, second)
    down, across = (gather(places, i, axis=-1) for i in (0, 1))
    rows = gather(first, down, axis=batch, batch_dims=batch)
    columns = gather(matrix_transpose(second), across, axis=batch, batch_dims=batch)
    products = ox.ReduceSum(ox.Mul(rows, columns), int64_constant([-1]), keepdims=0)
    scaled = ox.Mul(products, convert_to_tensor(alpha, kind))
    return places, ox.Add(scaled, ox.Mul(have, convert_to_tensor(beta, kind))), sizes


def _batch_axes(places: Tensor, values: Tensor, *matrices: Tensor) -> int:
    """How many axes stand in front of matrices and their places."""
    ranks = [rank_of(x) for x in (places, *matrices)]
    rank = ranks[0]
    lists = places.shape[:-1].is_compatible_with(values.shape)
    if rank is None or rank < 2 or set(ranks) != {rank} or not lists:
        shown = ", ".join(str(x.shape) for x in (places, values, *matrices))
        raise InvalidArgumentError(
            "sampled_addmm takes indices [..., n, 2], values [..., n] and matrices with as many "
            f"axes as indices; got the shapes {shown}.",
            op="SampledADDMM",
        )
    return rank - 2
