"""Batching rules of matrix products."""

from __future__ import annotations

import re
import string

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import scaled
from tfx.vectorize.rules import BatchedOp, CannotBatchError, Results, aligned, batching


@batching("MatMul")
def _matmul(op: BatchedOp) -> Results:
    a, b = op.input(0), op.input(1)
    ranks = op.rank(0), op.rank(1)
    some = bool(op.static_size)
    if not some and max(ranks) > 2:
        return product(op.full(0), op.full(1), (True, True), ranks, some=some)
    return product(a, b, op.batched[:2], ranks, some=some)


def product(
    a: Tensor, b: Tensor, batched: tuple[bool, ...], ranks: tuple[int, int], *, some: bool
) -> Tensor:
    """The matrix product of all elements, as few and as large ones as can be.

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
def _gemm(op: BatchedOp) -> Results:
    """A product, and what is added to it."""
    a, b = (_turned(op, i, key) for i, key in enumerate(("transA", "transB")))
    y = product(a, b, op.batched[:2], (2, 2), some=bool(op.static_size))
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


@batching("Einsum")
def _einsum(op: BatchedOp) -> Results:
    """One more letter in front of what is batched, and of the result."""
    equation = op.attrs["equation"]
    text = (equation.decode() if isinstance(equation, bytes) else equation).replace(" ", "")
    terms, arrow, result = text.partition("->")
    letter = next((c for c in string.ascii_letters if c not in text), None)
    if letter is None:
        raise CannotBatchError("no letter is left for the batch")
    if not arrow:
        result = _implied(terms)
    parts = terms.split(",")
    marked = [letter + t if batched else t for t, batched in zip(parts, op.batched, strict=True)]
    return op.apply(op.inputs, {"equation": f"{','.join(marked)}->{letter}{result}"})


def _implied(terms: str) -> str:
    letters = re.sub(r"[^A-Za-z]", "", terms)
    once = "".join(sorted(c for c in letters if letters.count(c) == 1))
    return ("..." if "..." in terms else "") + once


@batching("Det")
def _det(op: BatchedOp) -> Results:
    return op.apply(op.inputs)
