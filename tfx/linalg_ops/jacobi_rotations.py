"""Jacobi's method: rotations of many disjoint pairs of rows or columns at a time.

In round r of a tournament each number meets the partner ``(r - i) mod m``. The rotations of a round
touch different pairs, so they are one gather and a few products of whole matrices. It loses fewer
digits than tridiagonal methods and needs no branch; it goes on until nothing is left to rotate.
Of complex numbers a rotation turns the phase of the partner, too, so that what mixes them is real.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.kernels.programs import MatrixOperation
from tfx.linalg_ops import lapack
from tfx.linalg_ops.row_loops import count
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.complex_parts import conjugate
from tfx.ops.common.traced_once import Composite
from tfx.ops.linalg.bands import numbers
from tfx.ops.linalg.matmul import adjoint
from tfx.ops.math.complex_parts import real

_SWEEPS = 40


class _Tournament:
    """The schedule of a tournament that pairs ``size`` numbers in rounds."""

    def __init__(self, size: Tensor) -> None:
        one, two = int64_constant(1), int64_constant(2)
        odd = ox.Mod(size, two)
        # An odd number of players: the last one of an even number stands apart.
        self._all = numbers(size)
        self.rounds = ox.Max(ox.Add(ox.Sub(size, one), odd), one)
        self._half = ox.Div(ox.Add(self.rounds, one), two)
        self._even = ox.Equal(odd, int64_constant(0))

    def partners(self, r: Tensor) -> Tensor:
        """The partner of each number in round ``r``; itself if it has none."""
        met = ox.Mod(ox.Sub(r, self._all), self.rounds)
        alone = ox.Mod(ox.Mul(r, self._half), self.rounds)
        apart = ox.Equal(self._all, self.rounds)
        met = ox.Where(apart, alone, met)
        lonely = ox.And(ox.Equal(self._all, alone), self._even)
        return ox.Where(lonely, self.rounds, met)

    def first(self, partners: Tensor) -> Tensor:
        """Return whether each number is the smaller one of its pair."""
        return ox.Less(self._all, partners)

    def paired(self, partners: Tensor) -> Tensor:
        """Return whether each number has a partner."""
        return ox.Not(ox.Equal(self._all, partners))


def _angles(
    own: Tensor, other: Tensor, mixed: Tensor, first: Tensor, paired: Tensor
) -> tuple[Tensor, Tensor]:
    """Cosine and sine of the rotations that make ``mixed`` zero, ``[batch, n]`` each.

    The sine of the one is minus that of the other of a pair, or its conjugate. What mixes two
    numbers may be complex, and then the sine is.
    """
    phase = None
    if mixed.dtype.is_complex:
        size = ox.Abs(mixed)
        none = ox.Equal(size, scalar_like(0, size))
        over = ox.Where(none, scalar_like(1, size), size)
        phase = ox.Div(conjugate(mixed), cast_to(over, mixed.dtype))
        mixed = size
    zero, one = scalar_like(0, own), scalar_like(1, own)
    idle = ox.Or(ox.Equal(mixed, zero), ox.Not(paired))
    twice = ox.Add(mixed, mixed)
    ratio = ox.Div(ox.Sub(other, own), ox.Where(idle, one, twice))
    sign = ox.Where(first, one, ox.Neg(one))
    sign = ox.Where(ox.Equal(ratio, zero), sign, ox.Sign(ratio))
    length = ox.Sqrt(ox.Add(one, ox.Mul(ratio, ratio)))
    tangent = ox.Div(sign, ox.Add(ox.Abs(ratio), length))
    tangent = ox.Where(idle, zero, tangent)
    root = ox.Sqrt(ox.Add(one, ox.Mul(tangent, tangent)))
    cosine = ox.Div(one, root)
    sine = ox.Mul(tangent, cosine)
    if phase is None:
        return cosine, sine
    return cast_to(cosine, phase.dtype), ox.Mul(cast_to(sine, phase.dtype), phase)


def _turned(x: Tensor, partners: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """The columns of ``[batch, m, n]`` rotated with those of their partners."""
    axis = int64_constant([1])
    cosine, sine = ox.Unsqueeze(cosine, axis), ox.Unsqueeze(sine, axis)
    other = ox.Gather(x, partners, axis=2)
    return ox.Sub(ox.Mul(x, cosine), ox.Mul(other, sine))


def _identity(x: Tensor, size: Tensor) -> Tensor:
    rows = ox.Unsqueeze(numbers(size), int64_constant([1]))
    one = cast_to(ox.Equal(rows, numbers(size)), x.dtype)
    batch = ox.Shape(x, end=1)
    ends = ox.Reshape(size, int64_constant([1]))
    return ox.Expand(one, ox.Concat(batch, ends, ends, axis=0))


def _epsilon(x: Tensor) -> Tensor:
    return scalar_like(1.2e-7 if x.dtype is dtypes.float32 else 2.3e-16, x)


def _squares(x: Tensor, axes: Tensor) -> Tensor:
    """The sums of squared magnitudes."""
    return ox.ReduceSumSquare(ox.Abs(x) if x.dtype.is_complex else x, axes, **_FLAT)


def _symmetric(a: Tensor) -> Sequence[Tensor]:
    """Ascending eigenvalues and eigenvectors of self-adjoint ``[batch, n, n]``."""
    size = count(a, 1)
    tournament = _Tournament(size)
    zero = scalar_like(0, a)
    every = int64_constant([1, 2])
    a, flaw = _without_flaws(a)
    whole = _squares(a, every)
    goal = ox.Mul(whole, ox.Mul(_epsilon(whole), _epsilon(whole)))
    limit = ox.Mul(tournament.rounds, int64_constant(_SWEEPS))
    rows = ox.Unsqueeze(numbers(size), int64_constant([1]))
    diagonal = ox.Equal(rows, numbers(size))

    def goes_on(r: Tensor, m: Tensor, v: Tensor) -> Tensor:
        rest = ox.Where(diagonal, zero, m)
        left = _squares(rest, every)
        return ox.And(_any(ox.Greater(left, goal)), ox.Less(r, limit))

    def body(r: Tensor, m: Tensor, v: Tensor) -> list[Tensor]:
        partners = tournament.partners(r)
        own = real(ox.ReduceSum(ox.Where(diagonal, m, zero), int64_constant([2]), **_FLAT))
        met = ox.Equal(ox.Unsqueeze(partners, int64_constant([1])), numbers(size))
        mixed = ox.ReduceSum(ox.Where(met, m, zero), int64_constant([2]), **_FLAT)
        other = ox.Gather(own, partners, axis=1)
        first, paired = tournament.first(partners), tournament.paired(partners)
        # Rounding may leave two numbers of opposite signs, and both must turn by one angle.
        mixed = ox.Where(first, mixed, conjugate(ox.Gather(mixed, partners, axis=1)))
        turn = _angles(own, other, mixed, first, paired)
        m = _turned(adjoint(_turned(m, partners, *turn)), partners, *turn)
        # What was made zero is zero, whatever rounding says.
        gone = ox.And(met, ox.Not(diagonal))
        m = ox.Where(gone, zero, m)
        return [ox.Add(r, int64_constant(1)), m, _turned(v, partners, *turn)]

    start = [int64_constant(0), a, _identity(a, size)]
    _, m, v = while_loop(goes_on, body, start)
    values = real(ox.ReduceSum(ox.Where(diagonal, m, zero), int64_constant([2]), **_FLAT))
    values, v = _in_order(values, v, largest=False)
    return _flawed(values, flaw), ox.Add(v, cast_to(flaw, v.dtype))


def _singular(a: Tensor) -> Sequence[Tensor]:
    """``u * s`` (orthogonal columns), singular values and ``v`` of ``[batch, m, n]``, m >= n."""
    size = count(a, 2)
    tournament = _Tournament(size)
    a, flaw = _without_flaws(a)
    limit = ox.Mul(tournament.rounds, int64_constant(_SWEEPS))
    never = ox.Cast(int64_constant(0), to=dtypes.bool.onnx)

    def goes_on(r: Tensor, x: Tensor, v: Tensor, turned: Tensor) -> Tensor:
        # A whole sweep without a rotation, or too many of them.
        done = ox.Equal(ox.Mod(r, tournament.rounds), int64_constant(0))
        idle = ox.Not(turned)
        begun = ox.Greater(r, int64_constant(0))
        stop = ox.And(ox.And(done, idle), begun)
        return ox.And(ox.Not(stop), ox.Less(r, limit))

    def body(r: Tensor, x: Tensor, v: Tensor, turned: Tensor) -> list[Tensor]:
        begins = ox.Equal(ox.Mod(r, tournament.rounds), int64_constant(0))
        turned = ox.And(turned, ox.Not(begins))
        partners = tournament.partners(r)
        axis = int64_constant([1])
        own = _squares(x, axis)
        other = ox.Gather(own, partners, axis=1)
        mate = ox.Gather(x, partners, axis=2)
        mixed = ox.ReduceSum(ox.Mul(conjugate(x), mate), axis, **_FLAT)
        first, paired = tournament.first(partners), tournament.paired(partners)
        scale = ox.Mul(ox.Sqrt(own), ox.Sqrt(other))
        skew = ox.Greater(ox.Abs(mixed), ox.Mul(scale, _epsilon(scale)))
        skew = ox.And(skew, paired)
        turn = _angles(own, other, mixed, first, skew)
        x, v = _turned(x, partners, *turn), _turned(v, partners, *turn)
        turned = ox.Or(turned, _any(skew))
        return [ox.Add(r, int64_constant(1)), x, v, turned]

    start = [int64_constant(0), a, _identity(a, size), never]
    _, x, v, _ = while_loop(goes_on, body, start)
    size = ox.Abs(x) if x.dtype.is_complex else x
    values = ox.ReduceL2(size, int64_constant([1]), **_FLAT)
    values, x, v = _in_order(values, x, v, largest=True)
    return (
        ox.Add(x, cast_to(flaw, x.dtype)),
        _flawed(values, flaw),
        ox.Add(v, cast_to(flaw, v.dtype)),
    )


def _without_flaws(a: Tensor) -> tuple[Tensor, Tensor]:
    """Matrices without those that are not finite, and NaN for these and 0 for others.

    Rotations do not mix what is not finite with everything else, as a decomposition must.
    """
    difference = ox.Sub(a, a)
    difference = ox.Abs(difference) if a.dtype.is_complex else difference
    flaw = ox.ReduceSum(difference, int64_constant([1, 2]), keepdims=1)
    return ox.Where(ox.IsNaN(flaw), scalar_like(0, a), a), flaw


def _flawed(values: Tensor, flaw: Tensor) -> Tensor:
    return ox.Add(values, ox.Squeeze(flaw, int64_constant([2])))


_FLAT = {"keepdims": 0}


def _any(x: Tensor) -> Tensor:
    flags = ox.Cast(x, to=dtypes.int32.onnx)
    # Of no elements at all, the largest of these and 0.
    none = ox.Cast(int64_constant([0]), to=dtypes.int32.onnx)
    flags = ox.Concat(ox.Reshape(flags, int64_constant([-1])), none, axis=0)
    return ox.Cast(ox.ReduceMax(flags, **_FLAT), to=dtypes.bool.onnx)


def _in_order(values: Tensor, *columns: Tensor, largest: bool) -> list[Tensor]:
    """Values sorted, and the columns of matrices in the same order."""
    size = ox.Shape(values, start=1)
    attrs = {"axis": 1, "largest": int(largest), "sorted": 1}
    found, order = ox.TopK(values, size, **attrs)
    made = [found]
    for x in columns:
        wide = ox.Expand(ox.Unsqueeze(order, int64_constant([1])), ox.Shape(x))
        made.append(ox.GatherElements(x, wide, axis=2))
    return made


symmetric = Composite(
    _symmetric, "eigh", routine=lapack.eigh, kernel=lambda: MatrixOperation.EIGEN_VALUES
)
singular = Composite(
    _singular, "svd", routine=lapack.svd, kernel=lambda: MatrixOperation.SINGULAR_SCALED
)
