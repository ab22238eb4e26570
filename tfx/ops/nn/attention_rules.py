"""Gradient rules of ``Attention`` and ``RotaryEmbedding``, which imported models and ``raw`` have.

The probabilities are computed again from queries and keys; with them the gradient is four matrix
products. Rows in which every key is masked have no probabilities, and no gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.builder import ox
from tfx.framework.convert import embed, int64_constant
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.activations import tanh_slope
from tfx.ops.common.arguments import cast_to, scalar_like, static_ints, unbroadcast
from tfx.ops.common.batching import BatchedOp, Results, aligned, batching, concat_shapes
from tfx.ops.common.shapes import (
    concat_shape,
    dimension,
    filled,
    known_rank,
    reshape_to,
    shape_vector,
    zeros_if_mismatched,
)
from tfx.ops.math.arithmetic import add, divide, multiply, subtract
from tfx.ops.math.elementwise import negative
from tfx.ops.math.trigonometry import tanh
from tfx.ops.nn.normalization_rules import wide

_RAW, _CAPPED, _BIASED, _PROBABILITIES = range(4)


class _Attention:
    """The forward computation of a node, as far as its gradient needs it.

    Everything has the form ``[batch, heads, positions, size]``, with the heads of the queries.
    """

    def __init__(self, op: OpRecord) -> None:
        self.attrs = op.attrs
        given: list[Tensor | None] = [*op.inputs, *(None,) * (7 - len(op.inputs))]
        q, k, v, self.mask, self.past_key, self.past_value, self.lengths = given
        assert q is not None
        assert k is not None
        assert v is not None
        self.kind = wide(q.dtype)
        self.flat = known_rank(q, op.op) == 3
        self.q = self.heads(q, "q_num_heads")
        self.keys = self._present(k, self.past_key)
        self.values = self._present(v, self.past_value)
        self.repeats = self._repeats()
        self.k, self.v = self._repeated(self.keys), self._repeated(self.values)
        self.scale = self._scale()
        # The small tensor is scaled, not the large one.
        self.scaled = multiply(self.q, self.scale)
        raw = _product(self.scaled, _transposed(self.k))
        self.softcap = float(op.attrs.get("softcap", 0.0))
        self.bent = tanh(divide(raw, self.softcap)) if self.softcap else None
        capped = raw if self.bent is None else multiply(self.bent, self.softcap)
        self.allowed = self._allowed(raw)
        self.p = self._probabilities(capped)

    def heads(self, x: Tensor, attribute: str) -> Tensor:
        """``[batch, positions, heads * size]`` with the heads as an axis of their own."""
        x = cast_to(x, self.kind)
        if not self.flat:
            return x
        split = ox.Reshape(x, int64_constant([0, 0, self.attrs[attribute], -1]))
        return ox.Transpose(split, perm=(0, 2, 1, 3))

    def joined_heads(self, x: Tensor, like: Tensor) -> Tensor:
        """The way back, in the dtype and form of an input."""
        if self.flat:
            x = reshape_to(ox.Transpose(x, perm=(0, 2, 1, 3)), shape_vector(like))
        return cast_to(x, like.dtype)

    def _present(self, x: Tensor, past: Tensor | None) -> Tensor:
        x = self.heads(x, "kv_num_heads")
        return x if past is None else ox.Concat(cast_to(past, self.kind), x, axis=2)

    def _repeats(self) -> Tensor | None:
        """Return the number of query heads for each head of the keys; None if each has its own."""
        mine, theirs = dimension(self.q, 1), dimension(self.keys, 1)
        known = static_ints(mine), static_ints(theirs)
        if None not in known and known[0] == known[1]:
            return None
        # Without heads there is nothing to share out.
        return ox.Div(mine, ox.Max(theirs, int64_constant(1)))

    def _repeated(self, x: Tensor) -> Tensor:
        if self.repeats is None:
            return x
        one = ox.Unsqueeze(x, int64_constant([2]))
        spread = concat_shape(shape_vector(x, 0, 2), self.repeats, shape_vector(x, 2))
        whole = concat_shape(shape_vector(x, 0, 1), dimension(self.q, 1), shape_vector(x, 2))
        return reshape_to(ox.Expand(one, spread), whole)

    def summed(self, dx: Tensor, x: Tensor) -> Tensor:
        """The gradient of ``x`` from that of its repetition."""
        if self.repeats is None:
            return dx
        grouped = reshape_to(
            dx, concat_shape(shape_vector(x, 0, 2), self.repeats, shape_vector(x, 2))
        )
        return ox.ReduceSum(grouped, int64_constant([2]), keepdims=0)

    def _scale(self) -> Tensor:
        given = self.attrs.get("scale")
        if given is not None:
            return scalar_like(float(given), self.q)
        size = self.q.shape.as_list()[3]
        if size is not None:
            return scalar_like(1 / math.sqrt(size), self.q)
        root = ox.Sqrt(cast_to(dimension(self.q, 3), self.kind))
        return divide(scalar_like(1, self.q), root)

    def _allowed(self, raw: Tensor) -> Tensor | None:
        """Return a mask of the keys that each query attends to; None means all."""
        conditions: list[Tensor] = []
        if self.mask is not None and self.mask.dtype is dtypes.bool:
            conditions.append(_padded_mask(self.mask, self.keys))
        causal = bool(self.attrs.get("is_causal"))
        left = self.attrs.get("left_window_size", -1)
        right = self.attrs.get("right_window_size", -1)
        keys = _counted(dimension(self.keys, 2), [1, -1])
        if causal or left >= 0 or right >= 0:
            behind = subtract(add(_counted(dimension(self.q, 2), [-1, 1]), self._offset()), keys)
            if causal:
                conditions.append(ox.GreaterOrEqual(behind, int64_constant(0)))
            if left >= 0:
                conditions.append(ox.LessOrEqual(behind, int64_constant(left)))
            if right >= 0:
                conditions.append(ox.GreaterOrEqual(behind, int64_constant(-right)))
        if self.lengths is not None:
            conditions.append(ox.Less(keys, _for_each_batch(self.lengths)))
        found: Tensor | None = None
        for condition in conditions:
            found = condition if found is None else ox.And(found, condition)
        return found

    def _has_windows(self) -> bool:
        return any(self.attrs.get(f"{side}_window_size", -1) >= 0 for side in ("left", "right"))

    def _offset(self) -> Tensor:
        """Return the number of keys before the first query."""
        if self.past_key is not None:
            return ox.Squeeze(dimension(self.past_key, 2))
        if self.lengths is not None:
            return subtract(_for_each_batch(self.lengths), dimension(self.q, 2))
        return int64_constant(0)

    def _probabilities(self, capped: Tensor) -> Tensor:
        logits = capped
        if self.mask is not None and self.mask.dtype is not dtypes.bool:
            logits = add(logits, cast_to(_padded_mask(self.mask, self.keys), self.kind))
        nothing = scalar_like(-math.inf, logits)
        if self.allowed is not None:
            logits = ox.Where(self.allowed, logits, nothing)
        if self.mask is None and self.lengths is None and not self._has_windows():
            return ox.Softmax(logits, axis=-1)  # each query sees some key
        most = ox.ReduceMax(logits, int64_constant([-1]), keepdims=1)
        masked = ox.Equal(most, nothing)
        zero = scalar_like(0, logits)
        found = ox.Softmax(ox.Where(masked, zero, logits), axis=-1)
        return ox.Where(masked, zero, found)


def _product(a: Tensor, b: Tensor) -> Tensor:
    return ox.MatMul(a, b)


def _transposed(x: Tensor) -> Tensor:
    return ox.Transpose(x, perm=(0, 1, 3, 2))


def _counted(length: Tensor, shape: Sequence[int]) -> Tensor:
    """0, 1, 2 ... of a length, in a shape."""
    stop = ox.Squeeze(length)
    numbers = ox.Range(int64_constant(0), stop, int64_constant(1))
    return ox.Reshape(numbers, int64_constant(shape))


def _for_each_batch(lengths: Tensor) -> Tensor:
    return ox.Reshape(lengths, int64_constant([-1, 1, 1, 1]))


def _padded_mask(mask: Tensor, keys: Tensor) -> Tensor:
    """A mask that may be shorter than the keys are; what is beyond its end is masked."""
    have, want = mask.shape.as_list()[-1], keys.shape.as_list()[2]
    if have is not None and have == want:
        return mask
    rank = known_rank(mask, "Attention")
    missing = ox.Sub(dimension(keys, 2), dimension(mask, rank - 1))
    pads = concat_shape(int64_constant([0] * (2 * rank - 1)), missing)
    value = np.array(-math.inf if mask.dtype.is_floating else 0, mask.dtype.as_numpy_dtype)
    return ox.Pad(mask, pads, embed(value))


@gradient("Attention")
def _attention_grad(
    op: OpRecord,
    dy: Tensor | None,
    dkeys: Tensor | None = None,
    dvalues: Tensor | None = None,
    dqk: Tensor | None = None,
) -> Sequence[Tensor | None]:
    f = _Attention(op)
    mode = op.attrs.get("qk_matmul_output_mode", _RAW) if dqk is not None else None
    seen = None if dqk is None else cast_to(dqk, f.kind)
    dv, dp = None, seen if mode == _PROBABILITIES else None
    if dy is not None:
        dy = f.heads(dy, "q_num_heads")
        dv = f.summed(_product(_transposed(f.p), dy), f.values)
        dp = _sum(dp, _product(dy, _transposed(f.v)))
    dlogits = None
    if dp is not None:
        # The mean of dp by the probabilities; without more than dy it is that of dy by y.
        exact = dy is None or mode == _PROBABILITIES or f.kind is dtypes.float64
        parts = (dp, f.p) if exact else (dy, f.heads(op.outputs[0], "q_num_heads"))
        total = ox.ReduceSum(multiply(*parts), int64_constant([-1]), keepdims=1)
        dlogits = multiply(f.p, subtract(dp, total))
    if mode == _BIASED:
        dlogits = _sum(dlogits, _where_allowed(f, seen))
    draw = _sum(dlogits, seen if mode == _CAPPED else None)
    if draw is not None and f.bent is not None:
        draw = multiply(draw, tanh_slope(ox, f.bent))
    draw = _sum(draw, seen if mode == _RAW else None)
    dq = dk = None
    if draw is not None:
        dq = f.joined_heads(multiply(_product(draw, f.k), f.scale), op.inputs[0])
        dk = f.summed(_product(_transposed(draw), f.scaled), f.keys)
    past_key, dk = _split(f, _sum(dk, _wide_or_none(dkeys, f.kind)), f.past_key, op.inputs[1])
    past_value, dv = _split(f, _sum(dv, _wide_or_none(dvalues, f.kind)), f.past_value, op.inputs[2])
    found = (dq, dk, dv, _mask_gradient(f, dlogits), past_key, past_value, None)
    return found[: len(op.inputs)]


def _wide_or_none(x: Tensor | None, kind: DType) -> Tensor | None:
    return None if x is None else cast_to(x, kind)


def _sum(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return a if b is None else b if a is None else add(a, b)


def _where_allowed(f: _Attention, x: Tensor | None) -> Tensor | None:
    if x is None or f.allowed is None:
        return x
    return ox.Where(f.allowed, x, scalar_like(0, x))


def _split(
    f: _Attention, total: Tensor | None, past: Tensor | None, new: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of what was there before and of what came in."""
    if total is None:
        return None, None
    if past is None:
        return None, f.joined_heads(total, new)
    lengths = concat_shape(dimension(past, 2), ox.Sub(dimension(total, 2), dimension(past, 2)))
    axis, zero = int64_constant([2]), int64_constant([0])
    middle = dimension(past, 2)
    before = ox.Slice(total, zero, middle, axis)
    after = ox.Slice(total, middle, ox.ReduceSum(lengths), axis)
    return cast_to(before, past.dtype), f.joined_heads(after, new)


def _mask_gradient(f: _Attention, dlogits: Tensor | None) -> Tensor | None:
    mask = f.mask
    if dlogits is None or mask is None or not mask.dtype.is_floating:
        return None
    rank = known_rank(mask, "Attention")
    if mask.shape.as_list()[-1] != 1:
        end = dimension(mask, rank - 1)
        dlogits = ox.Slice(dlogits, int64_constant([0]), end, int64_constant([3]))
    return cast_to(unbroadcast(dlogits, mask), mask.dtype)


@gradient("RotaryEmbedding")
def _rotary_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """A rotation by the opposite angle; that of the tables is made of the two coordinates."""
    x, cosines, sines, *positions = op.inputs
    dx = None
    if op.needs[0]:
        dx = ox.RotaryEmbedding(dy, cosines, negative(sines), *positions, **op.attrs)
    rest = (None,) * len(positions)
    if not (op.needs[1] or op.needs[2]):
        return dx, None, None, *rest
    (x1, x2), (g1, g2) = _coordinates(op, x, cosines), _coordinates(op, dy, cosines)
    dcos = add(multiply(g1, x1), multiply(g2, x2))
    dsin = subtract(multiply(g2, x1), multiply(g1, x2))
    where = positions[0] if positions else None
    return dx, _of_table(dcos, cosines, where), _of_table(dsin, sines, where), *rest


def _coordinates(op: OpRecord, x: Tensor, table: Tensor) -> list[Tensor]:
    """Both coordinates of what is rotated: ``[batch, positions, heads, size / 2]``."""
    if known_rank(x, op.op) == 4:
        x = ox.Transpose(x, perm=(0, 2, 1, 3))
    else:
        x = ox.Reshape(x, int64_constant([0, 0, op.attrs["num_heads"], -1]))
    half = dimension(table, -1)
    end = ox.Mul(half, int64_constant([2]))
    axis, zero = int64_constant([3]), int64_constant([0])
    if op.attrs.get("interleaved"):
        step = int64_constant([2])
        starts = (zero, int64_constant([1]))
        return [ox.Slice(x, start, end, axis, step) for start in starts]
    return [ox.Slice(x, *bounds, axis) for bounds in ((zero, half), (half, end))]


def _of_table(dx: Tensor, table: Tensor, positions: Tensor | None) -> Tensor:
    """The sum over the heads, and over everything that is at the same position."""
    each = ox.ReduceSum(dx, int64_constant([2]), keepdims=0)
    if positions is None:
        return zeros_if_mismatched(unbroadcast(each, table), table)
    places = ox.Unsqueeze(positions, int64_constant([-1]))
    zeros = filled(shape_vector(table), 0, table.dtype)
    return ox.ScatterND(zeros, places, each, reduction="add")


_MASK = 3


@batching("Attention")
def _attention_batching(op: BatchedOp) -> Results:
    inputs: list[Tensor | None] = [
        None if x is None else _mask(op) if i == _MASK else op.merged(i)
        for i, x in enumerate(op.inputs)
    ]
    return [op.split(y) for y in op.apply(inputs)]


def _mask(op: BatchedOp) -> Tensor:
    """A mask that tells the elements' batches apart, if it has to."""
    x = op.input(_MASK)
    rank = op.rank(_MASK)
    if not op.batched[_MASK] and (rank < 4 or x.shape[0] == 1):
        return x
    whole = aligned(op.full(_MASK), 4)  # [size, batch, heads, queries, keys]
    queries = op.input(0)
    first = 1 if op.batched[0] else 0
    batch = ox.Shape(queries, start=first, end=first + 1)
    rest = ox.Shape(whole, start=2)
    whole = ox.Expand(whole, concat_shapes(op.lead(), batch, rest))
    return ox.Reshape(whole, concat_shapes(int64_constant([-1]), rest))


@batching("RotaryEmbedding")
def _rotary_batching(op: BatchedOp) -> Results:
    """Tables are the same for all elements, or what is at the positions is looked up first."""
    positions = op.given(3)
    if positions and not (op.batched[1] or op.batched[2]):
        tables = [op.input(1), op.input(2), op.merged(3)]
    elif positions:
        tables = [_at_positions(op, i) for i in (1, 2)]
    else:
        tables = [op.merged(i) for i in (1, 2)]
    return op.split(op.apply([op.merged(0), *tables])[0])


def _at_positions(op: BatchedOp, i: int) -> Tensor:
    """``[size * batch, positions, half]`` from a table for each element."""
    where = ox.Unsqueeze(op.full(3), int64_constant([-1]))
    found = ox.GatherND(op.full(i), where, batch_dims=1)
    rest = ox.Shape(found, start=2)
    return ox.Reshape(found, concat_shapes(int64_constant([-1]), rest))
