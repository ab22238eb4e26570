"""A weight plus a product of two thin matrices, and what operators make of it.

Owns the algebra of ``W + scale * A B``. Must not know variables or adapters. The one decision:
where a weight multiplies something else, ``x W + scale * (x A) B`` is computed, so that neither the
sum nor the gradient with respect to ``W`` ever exists. Any other operator gets the sum itself,
which is exact too. What was measured is in ``docs/adapt.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.composite.adapted_reads import AnsweringTensor
from tfx.framework.context import current
from tfx.framework.tensor import SymbolicTensor, Tensor

Inputs = Sequence[Tensor | None]
Rule = Callable[["FactoredTensor", Inputs, Mapping[str, Any]], "Tensor | None"]


class FactoredTensor(AnsweringTensor):
    """``base + scale * move(a @ b)`` as a tensor of a graph.

    Args:
        total: The sum: a tensor of the graph, which is used where no rule is.
        base: The weight itself, ``[..., out, ...]``.
        a: ``[*rest, rank]``, where ``rest`` are the weight's axes without ``axis``.
        b: ``[rank, out]``.
        scale: A scalar.
        axis: Which axis of the weight is ``out``.
    """

    __slots__ = ("a", "axis", "b", "base", "scale", "total")

    def __init__(
        self, total: SymbolicTensor, base: Tensor, a: Tensor, b: Tensor, scale: Tensor, axis: int
    ) -> None:
        super().__init__(total._symbol, total._graph)
        self.total = total
        self.base, self.a, self.b, self.scale, self.axis = base, a, b, scale, axis
        # The same value, of which tapes know by another object.
        for tape in current().tapes:
            tape.record("Identity", {}, (total,), (self,))

    @property
    def rank_of_weight(self) -> int:
        """How many axes the weight has."""
        rank = self.shape.rank
        assert rank is not None
        return rank

    def answer(
        self, op: str, inputs: Inputs, attrs: Mapping[str, Any]
    ) -> tuple[Tensor, ...] | None:
        """The results of an operator, the quick way; None where there is none."""
        rule = _RULES.get(op)
        result = None if rule is None else rule(self, inputs, attrs)
        return None if result is None else (result,)

    def mapped(self, function: Callable[[Tensor], Tensor]) -> FactoredTensor:
        """The weight and its factors behind a linear function of single elements."""
        total = function(self.total)
        assert isinstance(total, SymbolicTensor)
        parts = [function(x) for x in (self.base, self.a, self.b, self.scale)]
        return FactoredTensor(total, parts[0], parts[1], parts[2], parts[3], self.axis)

    def factors(self, contracted: int) -> tuple[Tensor, bool, Tensor, bool]:
        """The two matrices whose product is a matrix's change, in the order of multiplication.

        Args:
            contracted: The matrix's axis that comes first.

        Returns:
            The first factor and whether it is transposed, the second and whether that is.
        """
        flipped = contracted == self.axis
        return (self.b, True, self.a, True) if flipped else (self.a, False, self.b, False)


def factored(base: Tensor, a: Tensor, b: Tensor, scale: Tensor, axis: int) -> Tensor:
    """A weight with its change: a plain tensor while eager, a ``FactoredTensor`` in a graph.

    Args:
        base: The weight.
        a: See ``FactoredTensor``.
        b: See ``FactoredTensor``.
        scale: A scalar of the same dtype.
        axis: See ``FactoredTensor``.
    """
    rank = base.shape.rank
    assert rank is not None
    change = ox.MatMul(ox.Mul(a, scale), b)
    if axis != rank - 1:
        order = [*range(axis), rank - 1, *range(axis, rank - 1)]
        change = ox.Transpose(change, perm=order)
    total = ox.Add(base, change)
    if isinstance(total, SymbolicTensor):
        return FactoredTensor(total, base, a, b, scale, axis)
    return total


def _is_weight(w: FactoredTensor, inputs: Inputs, place: int) -> bool:
    """True if a weight is one input of an operator and no other."""
    return [i for i, x in enumerate(inputs) if x is w] == [place]


def _turned(x: Tensor, transposed: bool) -> Tensor:
    return ox.Transpose(x, perm=(1, 0)) if transposed else x


def _matmul(w: FactoredTensor, inputs: Inputs, attrs: Mapping[str, Any]) -> Tensor | None:
    x, y = inputs
    assert x is not None
    assert y is not None
    if w.rank_of_weight != 2:
        return None
    if _is_weight(w, inputs, 1):
        first, turn_first, second, turn_second = w.factors(0)
        thin = ox.Mul(ox.MatMul(x, _turned(first, turn_first)), w.scale)
        return ox.Add(ox.MatMul(x, w.base), ox.MatMul(thin, _turned(second, turn_second)))
    if _is_weight(w, inputs, 0):
        first, turn_first, second, turn_second = w.factors(0)
        thin = ox.Mul(ox.MatMul(_turned(second, turn_second), y), w.scale)
        return ox.Add(ox.MatMul(w.base, y), ox.MatMul(_turned(first, turn_first), thin))
    return None


def _gemm(w: FactoredTensor, inputs: Inputs, attrs: Mapping[str, Any]) -> Tensor | None:
    if not _is_weight(w, inputs, 1):
        return None
    x, _, *rest = inputs
    assert x is not None
    transposed = bool(attrs.get("transB", 0))
    first, turn_first, second, turn_second = w.factors(1 if transposed else 0)
    thin = ox.Gemm(
        x,
        first,
        transA=int(attrs.get("transA", 0)),
        transB=int(turn_first),
        alpha=float(attrs.get("alpha", 1.0)),
    )
    thin = ox.Mul(thin, w.scale)
    plain = ox.Gemm(x, w.base, *rest, **attrs)
    return ox.Gemm(thin, second, plain, transB=int(turn_second))


def _gather(w: FactoredTensor, inputs: Inputs, attrs: Mapping[str, Any]) -> Tensor | None:
    if not _is_weight(w, inputs, 0) or w.rank_of_weight != 2 or attrs.get("axis", 0) != 0:
        return None
    index = inputs[1]
    assert index is not None
    first, turn_first, second, turn_second = w.factors(0)
    thin = ox.Mul(ox.Gather(_turned(first, turn_first), index, axis=0), w.scale)
    return ox.Add(ox.Gather(w.base, index, axis=0), ox.MatMul(thin, _turned(second, turn_second)))


def _conv(w: FactoredTensor, inputs: Inputs, attrs: Mapping[str, Any]) -> Tensor | None:
    if not _is_weight(w, inputs, 1) or w.axis != 0 or attrs.get("group", 1) != 1:
        return None
    x, _, *rest = inputs
    assert x is not None
    spatial = w.rank_of_weight - 2
    last = w.rank_of_weight - 1
    filters = ox.Transpose(w.a, perm=(last, *range(last)))
    thin = ox.Mul(ox.Conv(x, filters, **attrs), w.scale)
    back = ox.Unsqueeze(_turned(w.b, True), ox.ints([2 + i for i in range(spatial)]))
    return ox.Add(ox.Conv(x, w.base, *rest, **attrs), ox.Conv(thin, back))


def _transpose(w: FactoredTensor, inputs: Inputs, attrs: Mapping[str, Any]) -> Tensor | None:
    rank = w.rank_of_weight
    perm = [int(p) for p in attrs.get("perm") or reversed(range(rank))]
    rest = [p - (p > w.axis) for p in perm if p != w.axis]
    a = w.a if rest == sorted(rest) else ox.Transpose(w.a, perm=(*rest, rank - 1))
    total = ox.Transpose(w.total, perm=perm)
    assert isinstance(total, SymbolicTensor)
    base = ox.Transpose(w.base, perm=perm)
    return FactoredTensor(total, base, a, w.b, w.scale, perm.index(w.axis))


def _cast(w: FactoredTensor, inputs: Inputs, attrs: Mapping[str, Any]) -> Tensor | None:
    if not dtypes.from_onnx(attrs["to"]).is_floating:
        return None  # not linear: a sum of cut-off parts is not the cut-off sum
    return w.mapped(lambda x: ox.Cast(x, **attrs))


def _identity(w: FactoredTensor, inputs: Inputs, attrs: Mapping[str, Any]) -> Tensor | None:
    return w


def _reshape(w: FactoredTensor, inputs: Inputs, attrs: Mapping[str, Any]) -> Tensor | None:
    """A reshape that changes nothing, as ``tensordot`` makes it of a matrix."""
    target = inputs[1]
    const = target._symbol.const if isinstance(target, SymbolicTensor) else None
    if const is None or not _is_weight(w, inputs, 0):
        return None
    own = [0 if d is None else d for d in w.shape.as_list()]
    wanted = [int(d) for d in const.reshape(-1)]
    known = [d for d in wanted if d != -1]
    if wanted.count(-1) == 1 and math.prod(known) > 0:
        wanted[wanted.index(-1)] = math.prod(own) // math.prod(known)
    return w if wanted == own else None


_RULES: Mapping[str, Rule] = {
    "Cast": _cast,
    "Conv": _conv,
    "Gather": _gather,
    "Gemm": _gemm,
    "Identity": _identity,
    "MatMul": _matmul,
    "Reshape": _reshape,
    "Transpose": _transpose,
}
