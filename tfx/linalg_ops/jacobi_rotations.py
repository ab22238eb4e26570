"""Jacobi's method: rotations of many disjoint pairs of rows or columns at a time.

In round r of a tournament each number meets the partner ``(r - i) mod m``. The rotations of a round
touch different pairs, so they are one gather and a few products of whole matrices. It loses fewer
digits than tridiagonal methods and needs no branch; it goes on until nothing is left to rotate.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes
from tfx.framework.apply import apply, apply_n
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.linalg_ops.row_loops import count, numbers
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.traced_once import Composite
from tfx.ops.linalg.matmul import swap_last_two

_SWEEPS = 40


class _Tournament:
    """Who meets whom among ``size`` numbers."""

    def __init__(self, size: Tensor) -> None:
        one, two = int64_constant(1), int64_constant(2)
        odd = apply("Mod", (size, two))
        # An odd number of players: the last one of an even number stands apart.
        self._all = numbers(size)
        self.rounds = apply("Max", (apply("Add", (apply("Sub", (size, one)), odd)), one))
        self._half = apply("Div", (apply("Add", (self.rounds, one)), two))
        self._even = apply("Equal", (odd, int64_constant(0)))

    def partners(self, r: Tensor) -> Tensor:
        """The partner of each number in round ``r``; itself if it has none."""
        met = apply("Mod", (apply("Sub", (r, self._all)), self.rounds))
        alone = apply("Mod", (apply("Mul", (r, self._half)), self.rounds))
        apart = apply("Equal", (self._all, self.rounds))
        met = apply("Where", (apart, alone, met))
        lonely = apply("And", (apply("Equal", (self._all, alone)), self._even))
        return apply("Where", (lonely, self.rounds, met))

    def first(self, partners: Tensor) -> Tensor:
        """Whether each number is the smaller one of its pair."""
        return apply("Less", (self._all, partners))

    def paired(self, partners: Tensor) -> Tensor:
        """Whether each number has a partner."""
        return apply("Not", (apply("Equal", (self._all, partners)),))


def _angles(
    own: Tensor, other: Tensor, mixed: Tensor, first: Tensor, paired: Tensor
) -> tuple[Tensor, Tensor]:
    """Cosine and sine of the rotations that make ``mixed`` zero, ``[batch, n]`` each.

    The sine of the one is minus that of the other of a pair.
    """
    zero, one = scalar_like(0, own), scalar_like(1, own)
    idle = apply("Or", (apply("Equal", (mixed, zero)), apply("Not", (paired,))))
    twice = apply("Add", (mixed, mixed))
    ratio = apply("Div", (apply("Sub", (other, own)), apply("Where", (idle, one, twice))))
    sign = apply("Where", (first, one, apply("Neg", (one,))))
    sign = apply("Where", (apply("Equal", (ratio, zero)), sign, apply("Sign", (ratio,))))
    length = apply("Sqrt", (apply("Add", (one, apply("Mul", (ratio, ratio)))),))
    tangent = apply("Div", (sign, apply("Add", (apply("Abs", (ratio,)), length))))
    tangent = apply("Where", (idle, zero, tangent))
    root = apply("Sqrt", (apply("Add", (one, apply("Mul", (tangent, tangent)))),))
    cosine = apply("Div", (one, root))
    return cosine, apply("Mul", (tangent, cosine))


def _turned(x: Tensor, partners: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """The columns of ``[batch, m, n]`` rotated with those of their partners."""
    axis = int64_constant([1])
    cosine, sine = apply("Unsqueeze", (cosine, axis)), apply("Unsqueeze", (sine, axis))
    other = apply("Gather", (x, partners), {"axis": 2})
    return apply("Sub", (apply("Mul", (x, cosine)), apply("Mul", (other, sine))))


def _identity(x: Tensor, size: Tensor) -> Tensor:
    rows = apply("Unsqueeze", (numbers(size), int64_constant([1])))
    one = cast_to(apply("Equal", (rows, numbers(size))), x.dtype)
    batch = apply("Shape", (x,), {"end": 1})
    ends = apply("Reshape", (size, int64_constant([1])))
    return apply("Expand", (one, apply("Concat", (batch, ends, ends), {"axis": 0})))


def _epsilon(x: Tensor) -> Tensor:
    return scalar_like(1.2e-7 if x.dtype is dtypes.float32 else 2.3e-16, x)


def _symmetric(a: Tensor) -> Sequence[Tensor]:
    """Ascending eigenvalues and eigenvectors of symmetric ``[batch, n, n]``."""
    size = count(a, 1)
    tournament = _Tournament(size)
    zero = scalar_like(0, a)
    every = int64_constant([1, 2])
    a, flaw = _without_flaws(a)
    whole = apply("ReduceSumSquare", (a, every), {"keepdims": 0})
    goal = apply("Mul", (whole, apply("Mul", (_epsilon(a), _epsilon(a)))))
    limit = apply("Mul", (tournament.rounds, int64_constant(_SWEEPS)))
    rows = apply("Unsqueeze", (numbers(size), int64_constant([1])))
    diagonal = apply("Equal", (rows, numbers(size)))

    def goes_on(r: Tensor, m: Tensor, v: Tensor) -> Tensor:
        rest = apply("Where", (diagonal, zero, m))
        left = apply("ReduceSumSquare", (rest, every), {"keepdims": 0})
        return apply("And", (_any(apply("Greater", (left, goal))), apply("Less", (r, limit))))

    def body(r: Tensor, m: Tensor, v: Tensor) -> list[Tensor]:
        partners = tournament.partners(r)
        own = apply("ReduceSum", (apply("Where", (diagonal, m, zero)), int64_constant([2])), _FLAT)
        met = apply("Equal", (apply("Unsqueeze", (partners, int64_constant([1]))), numbers(size)))
        mixed = apply("ReduceSum", (apply("Where", (met, m, zero)), int64_constant([2])), _FLAT)
        other = apply("Gather", (own, partners), {"axis": 1})
        first, paired = tournament.first(partners), tournament.paired(partners)
        turn = _angles(own, other, mixed, first, paired)
        m = _turned(swap_last_two(_turned(m, partners, *turn)), partners, *turn)
        # What was made zero is zero, whatever rounding says.
        gone = apply("And", (met, apply("Not", (diagonal,))))
        m = apply("Where", (gone, zero, m))
        return [apply("Add", (r, int64_constant(1))), m, _turned(v, partners, *turn)]

    start = [int64_constant(0), a, _identity(a, size)]
    _, m, v = while_loop(goes_on, body, start)
    values = apply("ReduceSum", (apply("Where", (diagonal, m, zero)), int64_constant([2])), _FLAT)
    values, v = _in_order(values, v, largest=False)
    return _flawed(values, flaw), apply("Add", (v, flaw))


def _singular(a: Tensor) -> Sequence[Tensor]:
    """``u * s`` (orthogonal columns), singular values and ``v`` of ``[batch, m, n]``, m >= n."""
    size = count(a, 2)
    tournament = _Tournament(size)
    a, flaw = _without_flaws(a)
    limit = apply("Mul", (tournament.rounds, int64_constant(_SWEEPS)))
    never = apply("Cast", (int64_constant(0),), {"to": dtypes.bool.onnx})

    def goes_on(r: Tensor, x: Tensor, v: Tensor, turned: Tensor) -> Tensor:
        # A whole sweep without a rotation, or too many of them.
        done = apply("Equal", (apply("Mod", (r, tournament.rounds)), int64_constant(0)))
        idle = apply("Not", (turned,))
        begun = apply("Greater", (r, int64_constant(0)))
        stop = apply("And", (apply("And", (done, idle)), begun))
        return apply("And", (apply("Not", (stop,)), apply("Less", (r, limit))))

    def body(r: Tensor, x: Tensor, v: Tensor, turned: Tensor) -> list[Tensor]:
        begins = apply("Equal", (apply("Mod", (r, tournament.rounds)), int64_constant(0)))
        turned = apply("And", (turned, apply("Not", (begins,))))
        partners = tournament.partners(r)
        axis = int64_constant([1])
        own = apply("ReduceSumSquare", (x, axis), _FLAT)
        other = apply("Gather", (own, partners), {"axis": 1})
        mate = apply("Gather", (x, partners), {"axis": 2})
        mixed = apply("ReduceSum", (apply("Mul", (x, mate)), axis), _FLAT)
        first, paired = tournament.first(partners), tournament.paired(partners)
        scale = apply("Mul", (apply("Sqrt", (own,)), apply("Sqrt", (other,))))
        skew = apply("Greater", (apply("Abs", (mixed,)), apply("Mul", (scale, _epsilon(x)))))
        skew = apply("And", (skew, paired))
        turn = _angles(own, other, mixed, first, skew)
        x, v = _turned(x, partners, *turn), _turned(v, partners, *turn)
        turned = apply("Or", (turned, _any(skew)))
        return [apply("Add", (r, int64_constant(1))), x, v, turned]

    start = [int64_constant(0), a, _identity(a, size), never]
    _, x, v, _ = while_loop(goes_on, body, start)
    values = apply("ReduceL2", (x, int64_constant([1])), _FLAT)
    values, x, v = _in_order(values, x, v, largest=True)
    return apply("Add", (x, flaw)), _flawed(values, flaw), apply("Add", (v, flaw))


def _without_flaws(a: Tensor) -> tuple[Tensor, Tensor]:
    """Matrices without those that are not finite, and NaN for these and 0 for others.

    Rotations do not mix what is not finite with everything else, as a decomposition must.
    """
    difference = apply("Sub", (a, a))
    flaw = apply("ReduceSum", (difference, int64_constant([1, 2])), {"keepdims": 1})
    return apply("Where", (apply("IsNaN", (flaw,)), scalar_like(0, a), a)), flaw


def _flawed(values: Tensor, flaw: Tensor) -> Tensor:
    return apply("Add", (values, apply("Squeeze", (flaw, int64_constant([2])))))


_FLAT = {"keepdims": 0}


def _any(x: Tensor) -> Tensor:
    flags = apply("Cast", (x,), {"to": dtypes.int32.onnx})
    # Of no elements at all, the largest of these and 0.
    none = apply("Cast", (int64_constant([0]),), {"to": dtypes.int32.onnx})
    flags = apply("Concat", (apply("Reshape", (flags, int64_constant([-1]))), none), {"axis": 0})
    return apply("Cast", (apply("ReduceMax", (flags,), _FLAT),), {"to": dtypes.bool.onnx})


def _in_order(values: Tensor, *columns: Tensor, largest: bool) -> list[Tensor]:
    """Values sorted, and the columns of matrices in the same order."""
    size = apply("Shape", (values,), {"start": 1})
    attrs = {"axis": 1, "largest": int(largest), "sorted": 1}
    found, order = apply_n("TopK", (values, size), attrs, 2)
    made = [found]
    for x in columns:
        wide = apply(
            "Expand", (apply("Unsqueeze", (order, int64_constant([1]))), apply("Shape", (x,)))
        )
        made.append(apply("GatherElements", (x, wide), {"axis": 2}))
    return made


symmetric = Composite(_symmetric, "eigh")
singular = Composite(_singular, "svd")
