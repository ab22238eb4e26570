"""Products of a matrix and a vector along an axis of very many elements, in blocks.

Seen in ONNX Runtime 1.31: where one factor of a product is a vector, its kernels add hardly more
than one element after the other. Of float32 between 0 and 1 a dot product of 4.8 million is off by
1e-5, one with four rows by 8e-5, of ten million by 3e-4. Here such a product becomes many, of
blocks of the factors, then their sum (see ``sums``). Where the inner axis is the first one,
blocks are views; where it is the last one, they are copied to lie together, since the kernel for
one row alone is twenty times slower. Two vectors are multiplied and summed, which is faster than
their product. Products of two matrices are as accurate as those of NumPy's library, and stay.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfx.core import dtypes
from tfx.graph.ir import Attributes, Graph, Node, RawDim, RawShape, Value
from tfx.graph.kernels.accurate_sums import Correction
from tfx.graph.replacement_builder import ReplacementBuilder

_FLOAT, _FLOAT16, _DOUBLE, _BFLOAT16 = 1, 10, 11, 16
_REAL = (_FLOAT, _FLOAT16, _DOUBLE, _BFLOAT16)
# The shortest inner axis that is cut; the best lengths of blocks of a first axis and of a last one.
LEAST = 1 << 16
_BLOCK, _BLOCK_OF_ROWS = 4096, 8192
# The shortest and the longest block where others do not divide the length.
_SHORTEST, _LONGEST = 512, 32768


@dataclass(frozen=True)
class _Form:
    """The layout of the factors of a product of a matrix and a vector.

    Attributes:
        size: Elements along the inner axis.
        matrix: Which input is the matrix; the other one is the vector.
        rows: Whether the inner axis is the last one of the matrix; else it is the first of two.
        unsqueezed: Where the result has an axis of length 1; None: nowhere.
    """

    size: int
    matrix: int
    rows: bool
    unsqueezed: int | None


def _form(op: str, left: RawShape, right: RawShape, attrs: Attributes) -> _Form | None:
    """Return the layout of a long product of a matrix and a vector; None for any other product."""
    if not left or not right:
        return None
    if op == "Gemm":
        return _form_of_gemm(left, right, bool(attrs.get("transA")), bool(attrs.get("transB")))
    size = left[-1]
    if not isinstance(size, int) or size < LEAST or len(right) > 2:
        return None
    if len(right) == 1:
        return _Form(size, 0, True, None)
    if right[1] == 1:
        return _Form(size, 0, True, len(left) - 1)
    if len(left) == 1:
        return _Form(size, 1, False, None)
    return _Form(size, 1, False, 0) if tuple(left[:-1]) == (1,) else None


def _form_of_gemm(
    left: Sequence[RawDim], right: Sequence[RawDim], turned: bool, right_turned: bool
) -> _Form | None:
    if len(left) != 2 or len(right) != 2:
        return None
    size = left[0 if turned else 1]
    if not isinstance(size, int) or size < LEAST:
        return None
    if right[0 if right_turned else 1] == 1:
        return _Form(size, 0, not turned, 1)
    return _Form(size, 1, right_turned, 0) if left[1 if turned else 0] == 1 else None


def is_long(op: str, left: Sequence[int], right: Sequence[int], attrs: Attributes) -> bool:
    """Return whether an operator is a product of a long matrix and a long vector.

    Args:
        op: ``MatMul`` or ``Gemm``.
        left: The shape of the first factor.
        right: The shape of the second one.
        attrs: The operator's attributes.
    """
    return _form(op, tuple(left), tuple(right), attrs) is not None


@functools.lru_cache(maxsize=256)
def _block(size: int, best: int) -> int:
    """The length next to the best one that divides a size; 0: there is none."""
    lengths = [b for b in range(_SHORTEST, _LONGEST + 1) if size % b == 0]
    return min(lengths, key=lambda b: (b % 8 > 0, abs(math.log(b / best))), default=0)


def _product(out: Graph, node: Node, asks: bool) -> bool:
    """Block by block; what no length divides has a rest."""
    a, b = node.inputs[:2]
    if node.tag is not None or a is None or b is None or a.dtype not in _REAL:
        return False
    form = _form(node.op, a.shape, b.shape, node.attrs)
    if form is None:
        return False
    write = ReplacementBuilder(out, node)
    matrix, vector = (a, b) if form.matrix == 0 else (b, a)
    if a.dtype in (_FLOAT16, _BFLOAT16):
        matrix, vector = write.Cast(matrix, to=_FLOAT), write.Cast(vector, to=_FLOAT)
    if _is_vector(matrix, form):
        y = _dot(write, node, matrix, vector)
    else:
        y = _product_of_blocks(write, form, matrix, vector)
        if form.unsqueezed is not None:
            y = write.Unsqueeze(y, write.ints([form.unsqueezed]))
    y = _scaled(write, node, y)
    if y.dtype != node.outputs[0].dtype:
        write.Cast(y, to=node.outputs[0].dtype)
    return write.finish()


def _is_vector(matrix: Value, form: _Form) -> bool:
    """Return whether the matrix has a single row or column, so that it is a vector too."""
    assert matrix.shape is not None
    return all(d == 1 for d in (matrix.shape[:-1] if form.rows else matrix.shape[1:]))


def _dot(write: ReplacementBuilder, node: Node, x: Value, y: Value) -> Value:
    """The product of two vectors, however they lie."""
    flat = write.ints([-1])
    product = write.Mul(write.Reshape(x, flat), write.Reshape(y, flat))
    total = write.ReduceSum(product, write.ints([0]), keepdims=0)
    shape = node.outputs[0].shape
    assert shape is not None
    return write.Reshape(total, write.ints([1] * len(shape))) if shape else total


def _product_of_blocks(
    write: ReplacementBuilder, form: _Form, matrix: Value, vector: Value
) -> Value:
    """Without the vector's axis of length 1. What no length divides has a rest."""
    best = _BLOCK_OF_ROWS if form.rows else _BLOCK
    length = _block(form.size, best)
    if length:
        return _in_blocks(write, form, matrix, vector, form.size, length)
    assert matrix.shape is not None
    axis = len(matrix.shape) - 1 if form.rows else 0
    flat = write.Reshape(vector, write.ints([-1]))
    parts = []
    cut = form.size - form.size % best
    for start, end, length in ((0, cut, best), (cut, form.size, form.size - cut)):
        some = _slice(write, matrix, start, end, axis), _slice(write, flat, start, end, 0)
        parts.append(_in_blocks(write, form, *some, end - start, length))
    return write.Add(*parts)


def _slice(write: ReplacementBuilder, x: Value, start: int, end: int, axis: int) -> Value:
    return write.Slice(x, write.ints([start]), write.ints([end]), write.ints([axis]))


def _in_blocks(
    write: ReplacementBuilder, form: _Form, matrix: Value, vector: Value, size: int, length: int
) -> Value:
    """The sum of the products of blocks."""
    count, keep = size // length, {"keepdims": 0}
    if not form.rows:
        left = write.Reshape(vector, write.ints([count, 1, length]))
        right = write.Reshape(matrix, write.ints([count, length, -1]))
        parts = write.MatMul(left, right)
        return write.ReduceSum(parts, write.ints([0, 1]), **keep)
    assert matrix.shape is not None
    before = len(matrix.shape) - 1
    rows = write.Reshape(matrix, write.ints([-1, count, length]))
    left = write.Transpose(rows, perm=(1, 0, 2))
    right = write.Reshape(vector, write.ints([count, length, 1]))
    parts = write.MatMul(left, right)
    y = write.ReduceSum(parts, write.ints([0, 2]), **keep)
    if before == 1:
        return y
    return write.Reshape(y, write.Shape(matrix, start=0, end=before))


def _scaled(write: ReplacementBuilder, node: Node, y: Value) -> Value:
    """Apply ``alpha``, ``beta`` and the added input of ``Gemm`` to the product."""
    if node.op != "Gemm":
        return y

    def number(value: float) -> Value:
        kind = dtypes.from_onnx(y.dtype).as_numpy_dtype
        return write.graph.add_constant(np.array(value, kind), y.dtype)

    alpha, beta = node.attrs.get("alpha", 1.0), node.attrs.get("beta", 1.0)
    if alpha != 1:
        y = write.Mul(y, number(alpha))
    added = node.inputs[2] if len(node.inputs) > 2 else None
    if added is not None and beta != 0:
        if added.dtype != y.dtype:
            added = write.Cast(added, to=y.dtype)
        if beta != 1:
            added = write.Mul(added, number(beta))
        y = write.Add(y, added)
    return y


CORRECTIONS: dict[str, Correction] = {"Gemm": _product, "MatMul": _product}
MULTIPLIED = frozenset(CORRECTIONS)
