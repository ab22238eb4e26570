"""Products of matrices: ``matmul``, ``matvec``, and the transposition they rest on.

Matrices are the last two axes; everything before is a batch, which broadcasts. Two matrices with
one of them transposed are one ``Gemm``, which reads them in place; a batch is ``MatMul`` with
``Transpose`` nodes, which ONNX Runtime fuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, forward, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import (
    cast_to,
    require_dtype,
    same_dtype,
    scalar_like,
    scaled,
    tensor,
    unbroadcast,
)
from tfx.ops.common.batching import (
    BatchedOp,
    CannotBatchError,
    Results,
    aligned,
    batching,
)
from tfx.ops.common.complex_parts import conjugate as conjugates
from tfx.ops.common.tangents import bilinear, spread

_GEMM_DTYPES = frozenset((dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16))


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrix product of the last two axes; the axes before them broadcast.

    Args:
        a: ``[..., m, k]``, or ``[..., k, m]`` if transposed.
        b: ``[..., k, n]``, or ``[..., n, k]`` if transposed; the dtype of ``a``.
        transpose_a: Multiply by the transposed ``a``.
        transpose_b: Multiply by the transposed ``b``.
        adjoint_a: Multiply by the transposed conjugates of ``a``.
        adjoint_b: Multiply by the transposed conjugates of ``b``.
        a_is_sparse: Accepted for compatibility; has no effect.
        b_is_sparse: Accepted for compatibility; has no effect.
        output_type: dtype to compute and return in, such as int32 for int8 operands.
        grad_a: Accepted for compatibility.
        grad_b: Accepted for compatibility.
        name: Accepted for compatibility.

    Returns:
        ``[..., m, n]``.

    Raises:
        InvalidArgumentError: shapes that do not fit, or operands of different dtypes.
        ValueError: an operand both transposed and adjoint.

    Example:
        >>> import tfx as tf
        >>> tf.matmul([[1, 2], [3, 4]], [[5], [6]]).numpy()
        array([[17],
               [39]], dtype=int32)
    """
    if transpose_a and adjoint_a:
        raise InvalidArgumentError(
            "Only one of `transpose_a` and `adjoint_a` can be True; got both."
        )
    if transpose_b and adjoint_b:
        raise InvalidArgumentError(
            "Only one of `transpose_b` and `adjoint_b` can be True; got both."
        )
    if output_type is None:
        x, y = same_dtype(a, b, "MatMul")
    else:
        wanted = dtypes.as_dtype(output_type)
        x, y = cast_to(tensor(a), wanted), cast_to(tensor(b), wanted)
    require_dtype(x, x.dtype.is_numeric, "MatMul", "a number dtype")
    left, right = bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b)
    _check_matmul(x, y, left, right)
    x, y = conjugates(x) if adjoint_a else x, conjugates(y) if adjoint_b else y
    return product(x, y, transpose_a=left, transpose_b=right)


def _check_matmul(x: Tensor, y: Tensor, left: bool, right: bool) -> None:
    for i, operand in enumerate((x, y)):
        rank = operand.shape.rank
        if rank is not None and rank < 2:
            raise InvalidArgumentError(
                f"In[{i}] ndims must be >= 2: {rank}. MatMul multiplies matrices; got shape "
                f"{operand.shape}. Use tfx.linalg.matvec or tfx.tensordot for vectors.",
                op="MatMul",
            )
    if x.shape.rank is None or y.shape.rank is None:
        return
    inner_x, inner_y = x.shape[-2 if left else -1], y.shape[-1 if right else -2]
    if inner_x is not None and inner_y is not None and inner_x != inner_y:
        raise InvalidArgumentError(
            f"Matrix size-incompatible: In[0]: {x.shape.as_list()}, In[1]: {y.shape.as_list()}; "
            f"the inner dimensions must be equal, but are {inner_x} and {inner_y}"
            f"{' (after transposition)' if left or right else ''}.",
            op="MatMul",
        )


def product(
    x: Tensor, y: Tensor, *, transpose_a: bool = False, transpose_b: bool = False
) -> Tensor:
    """``matmul`` of two tensors that are known to fit; small integers are widened to int32."""
    if x.dtype.is_integer and x.dtype.size < 4:
        wide = cast_to(x, dtypes.int32), cast_to(y, dtypes.int32)
        return cast_to(product(*wide, transpose_a=transpose_a, transpose_b=transpose_b), x.dtype)
    if not (transpose_a or transpose_b):
        return ox.MatMul(x, y)
    if x.dtype in _GEMM_DTYPES and x.shape.rank == 2 and y.shape.rank == 2:
        return ox.Gemm(x, y, transA=int(transpose_a), transB=int(transpose_b))
    x = swap_last_two(x) if transpose_a else x
    return ox.MatMul(x, swap_last_two(y) if transpose_b else y)


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrices ``a`` times vectors ``b``; the batch axes broadcast.

    Args:
        a: ``[..., m, n]``, or ``[..., n, m]`` if transposed.
        b: ``[..., n]``, the same dtype.
        transpose_a: Multiply by the transposed ``a``.
        adjoint_a: Multiply by its transposed conjugates.
        a_is_sparse: Accepted for compatibility.
        b_is_sparse: Accepted for compatibility.
        name: Accepted for compatibility.

    Returns:
        ``[..., m]``.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).numpy()
        array([3., 7.], dtype=float32)
    """
    x, y = same_dtype(a, b, "MatVec")
    column = ox.Unsqueeze(y, int64_constant([-1]))
    result = matmul(x, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
    return ox.Squeeze(result, int64_constant([-1]))


def matrix_transpose(a: Any, name: str | None = None, conjugate: bool = False) -> Tensor:
    """Exchange the last two axes.

    Args:
        a: Tensor of rank 2 or more.
        name: Accepted for compatibility.
        conjugate: Return the conjugates of complex numbers.

    Raises:
        ValueError: rank below 2.

    Example:
        >>> import tfx as tf
        >>> tf.linalg.matrix_transpose(tf.ones([2, 3, 4])).shape
        TensorShape([2, 4, 3])
    """
    x = tensor(a)
    if x.shape.rank is not None and x.shape.rank < 2:
        raise InvalidArgumentError(
            f"Argument `a` should be a (batch) matrix with rank >= 2. Received shape {x.shape}."
        )
    return swap_last_two(conjugates(x) if conjugate else x)


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The conjugate transpose, which is the transpose of real matrices."""
    return matrix_transpose(matrix, conjugate=True)


def swap_last_two(x: Tensor) -> Tensor:
    """``x`` with its last two axes exchanged, also where the rank is unknown."""
    rank = x.shape.rank
    if rank is not None:
        return ox.Transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))
    shape = ox.Shape(x)
    rows, columns = (
        ox.Shape(x, start=-2, end=-1),
        ox.Shape(x, start=-1),
    )
    batch = ox.Slice(shape, int64_constant([0]), int64_constant([-2]))
    # Not -1: beside a size of 0 it could be any number.
    count = ox.ReduceProd(batch, keepdims=1)
    flat = ox.Concat(count, rows, columns, axis=0)
    flipped = ox.Transpose(ox.Reshape(x, flat, allowzero=1), perm=(0, 2, 1))
    target = ox.Concat(batch, columns, rows, axis=0)
    return ox.Reshape(flipped, target, allowzero=1)


@gradient("MatMul")
def _matmul_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, y = op.inputs
    if x.shape.rank == 1 or y.shape.rank == 1:
        return _vector_product_grad(op, dy)
    dx = product(dy, y, transpose_b=True) if op.needs[0] else None
    if dx is not None and y.shape.rank != 2:  # a matrix has no batch that x would be spread over
        dx = unbroadcast(dx, x)
    if not op.needs[1]:
        return dx, None
    rank = x.shape.rank
    if y.shape.rank == 2 and rank is not None and rank > 2:
        # One large product instead of a batch of small ones that is summed afterwards.
        x, dy = _as_rows(x), _as_rows(dy)
    return dx, unbroadcast(product(x, dy, transpose_a=True), y)


forward("MatMul")(bilinear)


def _as_rows(x: Tensor) -> Tensor:
    """``[..., n]`` to ``[rows, n]``."""
    last = x.shape[-1]
    if last is not None and last != 0:
        return ox.Reshape(x, int64_constant([-1, last]))
    head = ox.ReduceProd(ox.Shape(x, end=-1), keepdims=1)
    target = ox.Concat(head, ox.Shape(x, start=-1), axis=0)
    return ox.Reshape(x, target, allowzero=1)


def _vector_product_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """ONNX's MatMul takes vectors as one row or column."""
    x, y = op.inputs
    row, column = x.shape.rank == 1, y.shape.rank == 1
    a = ox.Unsqueeze(x, int64_constant([0])) if row else x
    b = ox.Unsqueeze(y, int64_constant([1])) if column else y
    if column:
        dy = ox.Unsqueeze(dy, int64_constant([-1]))
    if row:
        dy = ox.Unsqueeze(dy, int64_constant([-2]))
    dx = dy_ = None
    if op.needs[0]:
        dx = unbroadcast(product(dy, b, transpose_b=True), a)
        dx = ox.Squeeze(dx, int64_constant([0])) if row else dx
    if op.needs[1]:
        dy_ = unbroadcast(product(a, dy, transpose_a=True), b)
        dy_ = ox.Squeeze(dy_, int64_constant([1])) if column else dy_
    return dx, dy_


@gradient("Gemm")
def _gemm_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """``alpha op(a) op(b) + beta c`` where op() may transpose."""
    a, b, *rest = op.inputs
    left, right = bool(op.attrs.get("transA", 0)), bool(op.attrs.get("transB", 0))
    upstream = scaled(dy, op.attrs.get("alpha", 1.0))
    grads: list[Tensor | None] = [None, None]
    if op.needs[0]:
        grads[0] = (
            product(b, upstream, transpose_a=right, transpose_b=True)
            if left
            else product(upstream, b, transpose_b=not right)
        )
    if op.needs[1]:
        grads[1] = (
            product(upstream, a, transpose_a=True, transpose_b=left)
            if right
            else product(a, upstream, transpose_a=not left)
        )
    for i, c in enumerate(rest, 2):
        needed = c is not None and op.needs[i]
        dc = unbroadcast(scaled(dy, op.attrs.get("beta", 1.0)), c) if needed else None
        grads.append(dc)
    return grads


@forward("Gemm")
def _gemm_forward(op: OpRecord, *tangents: Tensor | None) -> Tensor | None:
    ta, tb = tangents[:2]
    tc = tangents[2] if len(tangents) > 2 else None
    attrs = {k: v for k, v in op.attrs.items() if k != "beta"}
    total = bilinear(OpRecord(op.op, attrs, op.inputs, op.outputs), ta, tb)
    if tc is None:
        return total
    beta = op.attrs.get("beta", 1.0)
    tc = tc if beta == 1.0 else ox.Mul(tc, scalar_like(beta, tc))
    return spread(tc, op.outputs[0]) if total is None else ox.Add(total, tc)


@batching("MatMul")
def _matmul_batching(op: BatchedOp) -> Results:
    a, b = op.input(0), op.input(1)
    ranks = op.rank(0), op.rank(1)
    some = bool(op.static_size)
    if not some and max(ranks) > 2:
        return batched_product(op.full(0), op.full(1), (True, True), ranks, some=some)
    return batched_product(a, b, op.batched[:2], ranks, some=some)


def batched_product(
    a: Tensor, b: Tensor, batched: tuple[bool, ...], ranks: tuple[int, int], *, some: bool
) -> Tensor:
    """The matrix batched_product of all elements, as few and as large ones as can be.

    Args:
        a: Left operand.
        b: Right operand.
        batched: Which of them have the batch in front.
        ranks: The ranks of one element.
        some: Whether there are surely elements: ONNX Runtime does not broadcast to none of them.
    """
    left, right = ranks
    if batched == (True, False) and (right == 2 or (right == 1 and some)):
        return ox.MatMul(a, b)  # rows of all elements, one matrix
    if batched == (False, True) and right == 1 and left <= 2:
        if left == 1:
            return ox.MatMul(b, a)
        return ox.MatMul(b, _flipped(a, 2))
    if not some and batched == (False, True) and ranks == (2, 2):
        return _flipped(ox.MatMul(_flipped(b, 3), _flipped(a, 2)), 3)
    if left == 1:
        a = ox.Unsqueeze(a, int64_constant([-2]))
    if right == 1:
        b = ox.Unsqueeze(b, int64_constant([-1]))
    rank = max(left, right, 2)
    if batched[0]:
        a = aligned(a, rank)
    if batched[1]:
        b = aligned(b, rank)
    found = ox.MatMul(a, b)
    gone = [-2] * (left == 1) + [-1] * (right == 1)
    return ox.Squeeze(found, int64_constant(gone)) if gone else found


def _flipped(x: Tensor, rank: int) -> Tensor:
    perm = (*range(rank - 2), rank - 1, rank - 2)
    return ox.Transpose(x, perm=perm)


@batching("Gemm")
def _gemm_batching(op: BatchedOp) -> Results:
    """A batched_product, and what is added to it."""
    a, b = (_turned(op, i, key) for i, key in enumerate(("transA", "transB")))
    y = batched_product(a, b, op.batched[:2], (2, 2), some=bool(op.static_size))
    batched = any(op.batched[:2])
    y = scaled(y, op.attrs.get("alpha", 1.0))
    if not op.given(2):
        return y
    c = scaled(op.aligned(2, 2), op.attrs.get("beta", 1.0))
    if op.batched[2] and not batched and op.rank(2) > 2:
        raise CannotBatchError("a summand of more than two axes")
    return ox.Add(y, c)


def _turned(op: BatchedOp, i: int, key: str) -> Tensor:
    x = op.input(i)
    if not op.attrs.get(key, 0):
        return x
    return ox.Transpose(x, perm=(0, 2, 1) if op.batched[i] else (1, 0))
