"""Gradients of ``RNN``, ``GRU`` and ``LSTM``: one loop backwards, everything else at once.

The states that the operator returned say what each step began with, so all gates of all steps are
computed again by one matrix product. Of the ``LSTM`` the cells are missing: they take a loop
without a product. The loop backwards does nothing but carry the gradients of state and cell from
step to step; with what it collects, the gradients of weights and inputs are a product each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tfx.control_flow.recurrent_activations import activations_of
from tfx.control_flow.recurrent_call import called
from tfx.control_flow.recurrent_layout import RecurrentLayout, chosen, recur
from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.shapes import reversed_along
from tfx.graph.lstm_gradient import LstmGradient, is_plain
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.batching import BatchedOp, Results, batching, folded, unfolded
from tfx.ops.common.shapes import raw_shape, zeros_shaped

_DEFAULTS = {
    "RNN": ("Tanh",),
    "GRU": ("Sigmoid", "Tanh"),
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
}
_INPUTS = ("x", "w", "r", "b", "lengths", "h", "c", "p")


def recurrent_gradients(
    op: str,
    attrs: dict[str, Any],
    inputs: Sequence[Tensor | None],
    states: Tensor,
    dys: Sequence[Tensor | None],
    needs: Sequence[bool],
) -> list[Tensor | None]:
    """Append the nodes that compute the gradients of a recurrent operator's inputs.

    Args:
        op: ``"RNN"``, ``"GRU"`` or ``"LSTM"``.
        attrs: Its attributes.
        inputs: Its inputs in ONNX's order.
        states: Its first result: the state of every step.
        dys: Gradients of its results.
        needs: Which gradients are wanted.
    """
    kind = _PlainLstm if op == "LSTM" and _is_plain(attrs, inputs) else _KINDS[op]
    return kind(op, attrs, inputs, states, dys, needs).gradients()


class _Backward:
    """The backward computation common to all recurrent layers."""

    gates = 1

    def __init__(
        self,
        op: str,
        attrs: dict[str, Any],
        inputs: Sequence[Tensor | None],
        states: Tensor,
        dys: Sequence[Tensor | None],
        needs: Sequence[bool],
    ) -> None:
        self.arguments = (op, attrs, inputs, states, dys, needs)
        given = dict(zip(_INPUTS, inputs, strict=False))
        self.layout = layout = RecurrentLayout(attrs, given.get("lengths"))
        self.attrs = attrs
        self._count = len(inputs)
        self._needs = dict(zip(_INPUTS, needs, strict=False))
        functions = activations_of(attrs, _DEFAULTS[op] * (2 if layout.both else 1))
        # The cell goes into its activation as it is, only gates are clipped.
        self._functions = [
            replace(f, clip=0.0) if op == "LSTM" and i % 3 == 2 else f
            for i, f in enumerate(functions)
        ]
        x, w, r = given["x"], given["w"], given["r"]
        assert x is not None
        assert w is not None
        assert r is not None
        self.x, self.w, self.r = layout.sequence(x), layout.weight(w), layout.weight(r)
        b, h, c, p = (given.get(name) for name in ("b", "h", "c", "p"))
        self.bias = None if b is None else layout.row(b)
        self.c0 = None if c is None else layout.state(c)
        self.peepholes = None if p is None else layout.row(p)
        self.before = layout.before(layout.states(states), None if h is None else layout.state(h))
        self.mask = layout.mask(self.x)
        dy, dh, *rest = [*dys, None, None]
        zero = _first(zeros_shaped(self.before))
        self.dy = None if dy is None else chosen(self.mask, layout.states(dy), 0.0)
        self.dh = zero if dh is None else layout.last_state(dh)
        self.dc = zero if rest[0] is None else layout.last_state(rest[0])

    # Forwards

    def activated(self, number: int, x: Tensor) -> tuple[Tensor, Tensor]:
        """Activation ``number`` of each direction and its derivative."""
        each = len(self._functions) // (2 if self.layout.both else 1)
        mine = [self._functions[i] for i in range(number, len(self._functions), each)]
        if len(set(mine)) == 1:
            return mine[0].both(x)
        parts = apply_split(x, 2, 1)
        made = [f.both(part) for f, part in zip(mine, parts, strict=True)]
        first, second = (ox.Concat(*pair, axis=1) for pair in zip(*made, strict=True))
        return first, second

    def parts(self, x: Tensor, count: int) -> list[Tensor]:
        """The last axis cut into gates."""
        return apply_split(x, count, -1)

    def biases(self, which: int) -> Tensor | None:
        """The bias of the input (0) or of the recurrence (1)."""
        return None if self.bias is None else apply_split(self.bias, 2, -1)[which]

    def projected(self, x: Tensor, w: Tensor, bias: Tensor | None) -> Tensor:
        """All rows times a weight, and a bias."""
        y = self.layout.project(x, w)
        return y if bias is None else ox.Add(y, bias)

    def masked(self, x: Tensor, other: float = 0.0) -> Tensor:
        """Return `x` with the elements after each sequence's end replaced."""
        return chosen(self.mask, x, other)

    # Backwards

    def incoming(self, carried: Tensor, dy: Tensor | None) -> Tensor:
        """The gradient of one step's state."""
        return carried if dy is None else ox.Add(carried, dy)

    def passing(self) -> Tensor | None:
        """Return a mask that is 1 at steps after a sequence's end, else 0; None without lengths."""
        if self.mask is None:
            return None
        return cast_to(ox.Not(self.mask), self.x.dtype)

    def backwards(
        self, step: Any, states: list[Tensor], slices: Sequence[Tensor | None], kept: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The loop from the last step to the first; ``slices`` that are None stay None."""
        there = [x is not None for x in slices]

        def at(states: list[Tensor], now: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
            found = iter(now)
            after: tuple[list[Tensor], list[Tensor]] = step(
                states, [next(found) if t else None for t in there]
            )
            return after

        reverse = [reversed_along(ox, x) for x in slices if x is not None]
        last, rows = recur(at, states, reverse, kept)
        return last, [reversed_along(ox, x) for x in rows]

    def gradients(self) -> list[Tensor | None]:
        raise AssertionError

    def finish(
        self,
        dx: Tensor,
        dr: Tensor,
        dw_rows: Tensor | None,
        dh: Tensor,
        dc: Tensor | None = None,
        dp: Tensor | None = None,
    ) -> list[Tensor | None]:
        """The inputs' gradients.

        Args:
            dx: Of what the input is projected to, ``[..., gates]``.
            dr: Of what the state is projected to.
            dw_rows: Of the recurrent weights; None: they multiply the state.
            dh: Of the initial state.
            dc: Of the initial cell.
            dp: Of the peepholes.
        """
        layout, needs = self.layout, self._needs
        found: dict[str, Tensor | None] = {}
        if needs["x"]:
            found["x"] = layout.sequence_back(layout.pull_back(dx, self.w))
        if needs["w"]:
            found["w"] = layout.weight_back(layout.outer(dx, self.x))
        if needs["r"]:
            rows = layout.outer(dr, self.before) if dw_rows is None else dw_rows
            found["r"] = layout.weight_back(rows)
        if needs.get("b"):
            sums = [layout.summed(dx)]
            sums.append(sums[0] if dr is dx else layout.summed(dr))
            found["b"] = layout.weight_back(ox.Concat(*sums, axis=-1))
        if needs.get("h"):
            found["h"] = layout.state_back(dh)
        if needs.get("c") and dc is not None:
            found["c"] = layout.state_back(dc)
        if needs.get("p") and dp is not None:
            found["p"] = layout.weight_back(dp)
        return [found.get(name) for name in _INPUTS[: self._count]]


class _Rnn(_Backward):
    def gradients(self) -> list[Tensor | None]:
        a = self.projected(self.x, self.w, self.biases(0))
        a = ox.Add(a, self.projected(self.before, self.r, self.biases(1)))
        slope = self.masked(self.activated(0, a)[1])

        def step(states: list[Tensor], now: Any) -> tuple[list[Tensor], list[Tensor]]:
            k, dy, past = now
            dh = self.incoming(states[0], dy)
            carried = ox.MatMul(ox.Mul(dh, k), self.r)
            if past is not None:
                carried = ox.Add(carried, ox.Mul(dh, past))
            return [carried], [dh]

        slices = [slope, self.dy, self.passing()]
        (dh0,), (dh,) = self.backwards(step, [self.dh], slices, [self.dh])
        da = ox.Mul(dh, slope)
        return self.finish(da, da, None, dh0)


class _Gru(_Backward):
    def gradients(self) -> list[Tensor | None]:
        late = bool(self.attrs.get("linear_before_reset"))
        az, ar, ah = self.parts(self.projected(self.x, self.w, self.biases(0)), 3)
        bias = self.biases(1)
        if late:
            qz, qr, q = self.parts(self.projected(self.before, self.r, bias), 3)
        else:
            both, own = self._weights()
            first = None if bias is None else _span(bias, 0, 2, 3)
            qz, qr = self.parts(self.projected(self.before, both, first), 2)
        z, sz = self.activated(0, ox.Add(az, qz))
        r, sr = self.activated(0, ox.Add(ar, qr))
        if late:
            inner = ox.Mul(r, q)
        else:
            last = None if bias is None else _span(bias, 2, 3, 3)
            reset = ox.Mul(r, self.before)
            inner = self.projected(reset, own, last)
        new, sh = self.activated(1, ox.Add(ah, inner))
        kz = ox.Mul(ox.Sub(self.before, new), sz)
        kh = ox.Mul(ox.Sub(scalar_like(1, z), z), sh)
        z = self.masked(z, 1.0)
        if late:
            kr = ox.Mul(ox.Mul(kh, q), sr)
            return self._late(z, kz, kr, kh, ox.Mul(kh, r))
        return self._early(z, kz, kh, r, ox.Mul(self.before, sr), reset)

    def _weights(self) -> tuple[Tensor, Tensor]:
        """The recurrent weights of both gates, and of the new state."""
        axis = 1 if self.layout.both else 0
        z, r, own = apply_split(self.r, 3, axis)
        return ox.Concat(z, r, axis=axis), own

    def _late(
        self, z: Tensor, kz: Tensor, kr: Tensor, kh: Tensor, kq: Tensor
    ) -> list[Tensor | None]:
        """The product before the reset gate: all gradients are multiples of the state's."""
        k = self.masked(ox.Concat(kz, kr, kq, axis=-1))

        def step(states: list[Tensor], now: Any) -> tuple[list[Tensor], list[Tensor]]:
            k, z, dy = now
            dh = self.incoming(states[0], dy)
            da = ox.Mul(ox.Concat(dh, dh, dh, axis=-1), k)
            carried = ox.MatMul(da, self.r)
            return [ox.Add(carried, ox.Mul(dh, z))], [dh]

        (dh0,), (dh,) = self.backwards(step, [self.dh], [k, z, self.dy], [self.dh])
        three = ox.Concat(dh, dh, dh, axis=-1)
        dr = ox.Mul(three, k)
        kx = self.masked(ox.Concat(kz, kr, kh, axis=-1))
        return self.finish(ox.Mul(three, kx), dr, None, dh0)

    def _early(
        self, z: Tensor, kz: Tensor, kh: Tensor, r: Tensor, kr: Tensor, reset: Tensor
    ) -> list[Tensor | None]:
        """The reset gate before the product: its gradient takes a product of its own."""
        kz, kh, kr, r = (self.masked(v) for v in (kz, kh, kr, r))
        both, own = self._weights()

        def step(states: list[Tensor], now: Any) -> tuple[list[Tensor], list[Tensor]]:
            kz, kh, kr, r, z, dy = now
            dh = self.incoming(states[0], dy)
            ds = ox.MatMul(ox.Mul(dh, kh), own)
            da = ox.Concat(ox.Mul(dh, kz), ox.Mul(ds, kr), axis=-1)
            carried = ox.Add(ox.Mul(dh, z), ox.Mul(ds, r))
            return [ox.Add(carried, ox.MatMul(da, both))], [dh, ds]

        slices = [kz, kh, kr, r, z, self.dy]
        (dh0,), (dh, ds) = self.backwards(step, [self.dh], slices, [self.dh, self.dh])
        gates = (ox.Mul(dh, kz), ox.Mul(ds, kr))
        dah = ox.Mul(dh, kh)
        da = ox.Concat(*gates, dah, axis=-1)
        rows: Tensor | None = None
        if self._needs["r"]:
            first = self.layout.outer(ox.Concat(*gates, axis=-1), self.before)
            rows = ox.Concat(first, self.layout.outer(dah, reset), axis=-2)
        return self.finish(da, da, rows, dh0)


class _Lstm(_Backward):
    def gradients(self) -> list[Tensor | None]:
        da, dh, dc, dp = self.slopes()
        return self.finish(da, da, None, dh, dc, dp)

    def slopes(self) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """The gradients of what goes into the gates, of first state and cell, and of peepholes."""
        a = self.projected(self.x, self.w, self.biases(0))
        a = ox.Add(a, self.projected(self.before, self.r, self.biases(1)))
        ai, ao, af, ag = self.parts(a, 4)
        pi, po, pf = (None, None, None) if self.peepholes is None else self.parts(self.peepholes, 3)
        g, sg = self.activated(1, ag)
        cells = self._cells(ai, af, g, pi, pf)
        earlier = self.layout.before(cells, self.c0)
        i, si = self.activated(0, _plus(ai, earlier, pi))
        o, so = self.activated(0, _plus(ao, cells, po))
        f, kf = self._forget(af, earlier, pf, i)
        kc, slope = self.activated(2, cells)
        # What the gradients of cell (i, f, g) and state (o) are multiplied with.
        ki = ox.Mul(g if kf is not None else ox.Sub(g, earlier), si)
        ko, kg = ox.Mul(kc, so), ox.Mul(i, sg)
        kf = zeros_shaped(ki) if kf is None else kf
        k = self.masked(ox.Concat(ki, ko, kf, kg, axis=-1))
        to_cell = self.masked(_plus(ox.Mul(o, slope), ko, po))
        to_before = self.masked(_plus(_plus(f, ki, pi), kf, pf), 1.0)
        return self._backwards(k, to_cell, to_before, earlier, cells)

    def _forget(
        self, af: Tensor, earlier: Tensor, pf: Tensor | None, i: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """The forget gate and its factor; None: it is what the input gate leaves."""
        if self.attrs.get("input_forget"):
            return ox.Sub(scalar_like(1, i), i), None
        f, sf = self.activated(0, _plus(af, earlier, pf))
        return f, ox.Mul(earlier, sf)

    def _cells(
        self, ai: Tensor, af: Tensor, g: Tensor, pi: Tensor | None, pf: Tensor | None
    ) -> Tensor:
        """The cells of all steps."""
        first = _first(zeros_shaped(g)) if self.c0 is None else self.c0
        if pi is None:
            i, _ = self.activated(0, ai)
            f, _ = self._forget(af, af, None, i)

            def step(states: list[Tensor], now: Any) -> tuple[list[Tensor], list[Tensor]]:
                f, new = now
                c = ox.Add(ox.Mul(f, states[0]), new)
                return [c], [c]

            _, (cells,) = recur(step, [first], [f, ox.Mul(i, g)], [first])
            return cells

        def looking(states: list[Tensor], now: Any) -> tuple[list[Tensor], list[Tensor]]:
            # One row of time: activations differ along the axis of directions.
            ai, af, g = (ox.Unsqueeze(v, int64_constant([0])) for v in now)
            c = ox.Unsqueeze(states[0], int64_constant([0]))
            i, _ = self.activated(0, _plus(ai, c, pi))
            f, _ = self._forget(af, c, pf, i)
            c = ox.Add(ox.Mul(f, c), ox.Mul(i, g))
            c = ox.Squeeze(c, int64_constant([0]))
            return [c], [c]

        _, (cells,) = recur(looking, [first], [ai, af, g], [first])
        return cells

    def _backwards(
        self, k: Tensor, to_cell: Tensor, to_before: Tensor, earlier: Tensor, cells: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        def step(states: list[Tensor], now: Any) -> tuple[list[Tensor], list[Tensor]]:
            k, to_cell, to_before, dy, past = now
            dh = self.incoming(states[0], dy)
            dc = ox.Add(states[1], ox.Mul(dh, to_cell))
            da = ox.Mul(ox.Concat(dc, dh, dc, dc, axis=-1), k)
            carried = ox.MatMul(da, self.r)
            if past is not None:
                carried = ox.Add(carried, ox.Mul(dh, past))
            return [carried, ox.Mul(dc, to_before)], [dh, dc]

        slices = [k, to_cell, to_before, self.dy, self.passing()]
        states = [self.dh, self.dc]
        (dh0, dc0), (dh, dc) = self.backwards(step, states, slices, states)
        da = ox.Mul(ox.Concat(dc, dh, dc, dc, axis=-1), k)
        dp: Tensor | None = None
        if self._needs.get("p"):
            di, do, df, _ = self.parts(da, 4)
            terms = [ox.Mul(*pair) for pair in ((di, earlier), (do, cells), (df, earlier))]
            if self.mask is not None:  # cells behind the end may be anything
                terms = [self.masked(t) for t in terms]
            dp = self.layout.summed(ox.Concat(*terms, axis=-1))
        return da, dh0, dc0, dp


class _PlainLstm(_Lstm):
    """One whose way back is a call, for which plans have an operator."""

    def slopes(self) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        op, attrs, inputs, states, dys, needs = self.arguments
        given = dict(zip((*_INPUTS[: len(inputs)], "y"), (*inputs, states), strict=True))
        given |= zip(("dy", "dh", "dc"), dys, strict=False)
        there = {name: x for name, x in given.items() if x is not None}

        def body(inner: dict[str, Tensor]) -> list[Tensor]:
            again = [inner.get(name) for name in _INPUTS[: len(inputs)]]
            slopes = [inner.get(name) for name in ("dy", "dh", "dc")]
            da, dh, dc, _ = _Lstm(op, attrs, again, inner["y"], slopes, needs).slopes()
            return [da, dh, dc]

        x, r = raw_shape(self.x), raw_shape(self.r)
        assert x is not None  # as ``_is_plain`` found
        assert r is not None
        state = (x[1], r[1])
        shapes = ((x[0], x[1], r[0]), state, state)
        da, dh, dc = called("lstm_gradient", there, body, shapes, LstmGradient((*there,)))
        return da, dh, dc, None


def _is_plain(attrs: dict[str, Any], inputs: Sequence[Tensor | None]) -> bool:
    given = dict(zip(_INPUTS, inputs, strict=False))
    x, r = given["x"], given["r"]
    assert x is not None
    assert r is not None
    ranks = {"x": 3, "w": 3, "r": 3, "b": 2, "h": 3, "c": 3}
    known = r.shape.is_fully_defined() and all(
        tensor is None or tensor.shape.rank == ranks.get(name, tensor.shape.rank)
        for name, tensor in given.items()
    )
    more = given.get("lengths") is not None or given.get("p") is not None
    return x.dtype == dtypes.float32 and known and not more and is_plain(attrs)


_KINDS: dict[str, type[_Backward]] = {"RNN": _Rnn, "GRU": _Gru, "LSTM": _Lstm}


def apply_split(x: Tensor, count: int, axis: int) -> list[Tensor]:
    """Equal parts along an axis."""
    return list(ox.Split(x, axis=axis, num_outputs=count, outputs=count))


def _span(x: Tensor, start: int, end: int, count: int) -> Tensor:
    """Some of the equal parts along the last axis."""
    parts = apply_split(x, count, -1)[start:end]
    return parts[0] if len(parts) == 1 else ox.Concat(*parts, axis=-1)


def _plus(x: Tensor, y: Tensor, factor: Tensor | None) -> Tensor:
    """``x + y * factor``; without a factor nothing is added."""
    return x if factor is None else ox.Add(x, ox.Mul(y, factor))


def _first(x: Tensor) -> Tensor:
    return ox.Gather(x, int64_constant(0), axis=0)


_LENGTHS, _STATES = 4, (5, 6)


@batching("GRU", "LSTM", "RNN")
def _recurrent_batching(op: BatchedOp) -> Results:
    """The batch of each input and result grows."""
    op.only(0, _LENGTHS, *_STATES)
    first = bool(op.attrs.get("layout"))
    axis = 0 if first else 1
    given: list[Tensor | None] = []
    for i, x in enumerate(op.inputs):
        if x is None or i not in (0, _LENGTHS, *_STATES):
            given.append(x)
        else:
            given.append(folded(op.full(i), 0 if i == _LENGTHS else axis))
    results = op.apply(given)
    axes = (0, 0, 0) if first else (2, 1, 1)
    return [unfolded(op, y, at) for y, at in zip(results, axes, strict=False)]
