"""Gradients of the attention operators of ``com.microsoft``, given by standard operators.

``GroupQueryAttention``, ``MultiHeadAttention``, ``Attention`` and ``RotaryEmbedding`` run by ONNX
Runtime's own kernels. Each is written down here once more, and that is what is differentiated; keys
and values of a cache have gradients too. Forms that the CPU's kernels do not take are refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfx.core import dtypes
from tfx.core.errors import UnimplementedError
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, formula, rounded_formula
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like
from tfx.ops.common.shapes import concat_shape, dimension, known_rank, reshape_to, shape_vector
from tfx.ops.nn.quantized_rules import real

_MS = "com.microsoft::"
_QUERIES, _KEYS = 2, 2


def _refuse(op: OpRecord, first: int, names: Sequence[str]) -> None:
    """Refuse inputs that the formula does not know."""
    for i, name in enumerate(names, first):
        if op.given(i) is not None:
            raise UnimplementedError(f"{op.op} with {name} has no gradient", op=op.op)


# Rearrangements


def _heads(x: Tensor, count: int) -> Tensor:
    """``[batch, positions, heads * size]`` as ``[batch, heads, positions, size]``."""
    split = ox.Reshape(x, int64_constant([0, 0, count, -1]))
    return ox.Transpose(split, perm=(0, 2, 1, 3))


def _joined(x: Tensor) -> Tensor:
    """``_heads`` backwards."""
    return ox.Reshape(ox.Transpose(x, perm=(0, 2, 1, 3)), int64_constant([0, 0, -1]))


def _repeated(x: Tensor, times: int) -> Tensor:
    """Each head several times, for queries that share it."""
    if times == 1:
        return x
    one = ox.Unsqueeze(x, int64_constant([2]))
    spread = concat_shape(shape_vector(x, 0, 2), int64_constant([times]), shape_vector(x, 2))
    heads = ox.Mul(dimension(x, 1), int64_constant([times]))
    whole = concat_shape(shape_vector(x, 0, 1), heads, shape_vector(x, 2))
    return reshape_to(ox.Expand(one, spread), whole)


def _counted(length: Tensor) -> Tensor:
    """0, 1, 2 ... below a length."""
    return ox.Range(int64_constant(0), ox.Squeeze(length), int64_constant(1))


def _sliced(x: Tensor, start: Tensor, stop: Tensor, axis: int, step: int = 1) -> Tensor:
    return ox.Slice(x, start, stop, int64_constant([axis]), int64_constant([step]))


# Rotary embeddings


def _rotated(x: Tensor, cosines: Tensor, sines: Tensor, *, interleaved: bool) -> Tensor:
    """Pairs of coordinates turned by angles.

    Args:
        x: ``[batch, heads, positions, size]``.
        cosines: Of the angles, ``[batch or 1, 1, positions, pairs]``; what is beyond the pairs
            stays as it is.
        sines: Likewise.
        interleaved: Whether the coordinates of a pair are neighbours.
    """
    half = dimension(cosines, -1)
    end = ox.Mul(half, int64_constant([2]))
    zero, last = int64_constant([0]), int64_constant([2**62])
    if interleaved:
        x1 = _sliced(x, zero, end, 3, 2)
        x2 = _sliced(x, int64_constant([1]), end, 3, 2)
    else:
        x1, x2 = _sliced(x, zero, half, 3), _sliced(x, half, end, 3)
    y1 = ox.Sub(ox.Mul(x1, cosines), ox.Mul(x2, sines))
    y2 = ox.Add(ox.Mul(x2, cosines), ox.Mul(x1, sines))
    if interleaved:
        axis = int64_constant([4])
        pairs = ox.Concat(ox.Unsqueeze(y1, axis), ox.Unsqueeze(y2, axis), axis=4)
        turned = reshape_to(pairs, concat_shape(shape_vector(x, 0, 3), end))
    else:
        turned = ox.Concat(y1, y2, axis=3)
    return ox.Concat(turned, _sliced(x, end, last, 3), axis=3)


def _at(table: Tensor, positions: Tensor, like: Tensor) -> Tensor:
    """``[batch or 1, 1, positions, pairs]`` of a table of angles."""
    return cast_to(ox.Unsqueeze(ox.Gather(table, positions), int64_constant([1])), like.dtype)


@formula(_MS + "RotaryEmbedding")
def _rotary_embedding(op: OpRecord) -> Tensor:
    x, positions, cosines, sines = op.inputs
    if op.attrs.get("is_packed_batching"):
        raise UnimplementedError("RotaryEmbedding with packed batches has no gradient", op=op.op)
    flat = known_rank(x, op.op) == 3
    if flat:
        count = op.attrs.get("num_heads", 0)
        pairs = cosines.shape.as_list()[-1]
        size = op.attrs.get("rotary_embedding_dim", 0) or (pairs and 2 * pairs)
        if not count and not size:
            raise UnimplementedError(
                "RotaryEmbedding without num_heads needs a table of known width", op=op.op
            )
        shape = [0, 0, count, -1] if count else [0, 0, -1, size]
        turned = ox.Transpose(ox.Reshape(x, int64_constant(shape)), perm=(0, 2, 1, 3))
    else:
        turned = x
    if known_rank(positions, op.op) == 1:  # where the first one is
        steps = ox.Unsqueeze(_counted(dimension(turned, 2)), int64_constant([0]))
        positions = ox.Add(steps, cast_to(positions, dtypes.int64))
    interleaved = bool(op.attrs.get("interleaved"))
    angles = _at(cosines, positions, x), _at(sines, positions, x)
    y = _rotated(turned, *angles, interleaved=interleaved)
    return _joined(y) if flat else y


# Attention


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float | None,
    bias: Sequence[Tensor | None] = (),
    allowed: Tensor | None = None,
    softcap: float = 0.0,
    sink: Tensor | None = None,
) -> Tensor:
    """What queries find in values: ``[batch, heads, queries, size]``.

    Args:
        q: ``[batch, heads, queries, size]``.
        k: ``[batch, heads, keys, size]``.
        v: ``[batch, heads, keys, size of values]``.
        scale: Of the products; None: one over the root of the size.
        bias: What is added to the products, as far as it is given.
        allowed: The keys that each query may see; None: all.
        softcap: The bound that products are bent to; 0: none.
        sink: Logits of a key that has no value, ``[1, heads or 1, 1, 1]``.
    """
    raw = ox.MatMul(ox.Mul(q, _scale_of(q, scale)), ox.Transpose(k, perm=(0, 1, 3, 2)))
    if softcap:
        cap = scalar_like(softcap, raw)
        raw = ox.Mul(ox.Tanh(ox.Div(raw, cap)), cap)
    for part in bias:
        if part is not None:
            raw = ox.Add(raw, cast_to(part, raw.dtype))
    if allowed is not None:
        raw = ox.Where(allowed, raw, scalar_like(-math.inf, raw))
    if sink is None:
        return ox.MatMul(ox.Softmax(raw, axis=-1), v)
    column = concat_shape(shape_vector(raw, 0, 3), int64_constant([1]))
    with_sink = ox.Concat(ox.Expand(cast_to(sink, raw.dtype), column), raw, axis=3)
    p = _sliced(ox.Softmax(with_sink, axis=-1), int64_constant([1]), int64_constant([2**62]), 3)
    return ox.MatMul(p, v)


def _scale_of(q: Tensor, scale: float | None) -> Tensor:
    if scale:
        return scalar_like(scale, q)
    size = q.shape.as_list()[3]
    if size is not None:
        return scalar_like(1 / math.sqrt(size), q)
    return ox.Reciprocal(ox.Sqrt(cast_to(dimension(q, 3), q.dtype)))


def _causal(queries: Tensor, keys: Tensor, first: Tensor) -> Tensor:
    """The keys that are not behind a query: ``[..., queries, keys]``.

    Args:
        queries: How many there are.
        keys: How many there are.
        first: The position of the first query among the keys.
    """
    places = ox.Add(ox.Unsqueeze(_counted(queries), int64_constant([1])), first)
    return ox.LessOrEqual(_counted(keys), places)


def _after(past: Tensor | None, new: Tensor) -> Tensor:
    return new if past is None else ox.Concat(cast_to(past, new.dtype), new, axis=2)


def _penalties(op: OpRecord, mask: Tensor | None, keys: Tensor, batch: Tensor) -> Tensor | None:
    """What a mask adds to the products: 0, or the filter's value where it is 0."""
    if mask is None:
        return None
    rank = known_rank(mask, op.op)
    if rank == 1:
        mask = _within(op, mask, keys, batch)
    shape = {1: [1, 2], 2: [1, 2], 3: [1]}.get(rank)
    if shape is None:
        raise UnimplementedError(f"{op.op} with a mask of rank {rank} has no gradient", op=op.op)
    mask = ox.Unsqueeze(mask, int64_constant(shape))
    value = op.attrs.get("mask_filter_value", -10000.0)
    kind = op.inputs[0].dtype
    like = op.inputs[0]
    hidden = ox.Equal(cast_to(mask, dtypes.int64), int64_constant(0))
    return cast_to(ox.Where(hidden, scalar_like(value, like), scalar_like(0.0, like)), kind)


def _within(op: OpRecord, mask: Tensor, keys: Tensor, batch: Tensor) -> Tensor:
    """``[batch, keys]`` of where each batch's keys end, and perhaps begin."""
    places = ox.Unsqueeze(_counted(keys), int64_constant([0]))
    mask = cast_to(mask, dtypes.int64)
    size = mask.shape.as_list()[0]
    rows = op.inputs[0].shape.as_list()[0]
    if size is not None and rows is not None and size not in (rows, 2 * rows):
        raise UnimplementedError(f"{op.op} with packed lengths has no gradient", op=op.op)
    ends = ox.Unsqueeze(_sliced(mask, int64_constant([0]), batch, 0), int64_constant([1]))
    inside = ox.Less(places, ends)
    if size is not None and rows is not None and size == 2 * rows:
        starts = ox.Unsqueeze(_sliced(mask, batch, int64_constant([2**62]), 0), int64_constant([1]))
        inside = ox.And(inside, ox.GreaterOrEqual(places, starts))
    return cast_to(inside, dtypes.int64)


@formula(_MS + "MultiHeadAttention")
def _multi_head_attention(op: OpRecord) -> Sequence[Tensor]:
    _refuse(op, 8, ("past_sequence_length", "cache_indirection"))
    query, key, value = (op.given(i) for i in range(3))
    count = int(op.attrs["num_heads"])
    if query is None or key is None or value is None or known_rank(query, op.op) != 3:
        raise UnimplementedError(f"{op.op} of packed inputs has no gradient", op=op.op)
    bias = op.given(3)
    rows = [query, key, value]
    if bias is not None:
        rows = _with_bias(op, rows, bias)
    q, k, v = (x if known_rank(x, op.op) == 4 else _heads(x, count) for x in rows)
    k, v = _after(op.given(6), k), _after(op.given(7), v)
    keys = dimension(k, _KEYS)
    allowed = None
    if op.attrs.get("unidirectional"):
        queries = dimension(q, _QUERIES)
        allowed = _causal(queries, keys, ox.Sub(keys, queries))
    penalty = _penalties(op, op.given(4), keys, dimension(q, 0))
    scale = op.attrs.get("scale")
    y = _attend(q, k, v, scale=scale, bias=(op.given(5), penalty), allowed=allowed)
    return _joined(y), k, v


def _with_bias(op: OpRecord, rows: list[Tensor], bias: Tensor) -> list[Tensor]:
    """Rows of queries, keys and values with their parts of the bias, which lie one by one."""
    start, found = int64_constant([0]), []
    for x in rows:
        if known_rank(x, op.op) != 3:
            raise UnimplementedError(f"{op.op} of keys in heads with a bias has no gradient")
        stop = ox.Add(start, dimension(x, 2))
        found.append(ox.Add(x, _sliced(bias, start, stop, 0)))
        start = stop
    return found


@formula(_MS + "Attention")
def _attention(op: OpRecord) -> Sequence[Tensor]:
    _refuse(op, 6, ("past_sequence_length",))
    if op.attrs.get("do_rotary"):
        raise UnimplementedError(f"{op.op} with do_rotary has no gradient", op=op.op)
    x, weights, bias, mask, past = (op.given(i) for i in range(5))
    assert x is not None
    assert weights is not None
    whole = ox.MatMul(x, weights)
    if bias is not None:
        whole = ox.Add(whole, bias)
    count = int(op.attrs["num_heads"])
    sizes = op.attrs.get("qkv_hidden_sizes") or ()
    lengths = int64_constant(list(sizes)) if sizes else None
    options = {} if sizes else {"num_outputs": 3}
    parts = ox.Split(whole, lengths, axis=2, outputs=3, **options)
    q, k, v = (_heads(part, count) for part in parts)
    if past is not None:
        old = [ox.Squeeze(p, int64_constant([0])) for p in ox.Split(past, num_outputs=2, outputs=2)]
        k, v = _after(old[0], k), _after(old[1], v)
    keys, queries = dimension(k, _KEYS), dimension(q, _QUERIES)
    allowed = None
    if op.attrs.get("unidirectional"):
        allowed = _causal(queries, keys, ox.Sub(keys, queries))
    penalty = _penalties(op, mask, keys, dimension(q, 0))
    scale = op.attrs.get("scale")
    y = _attend(q, k, v, scale=scale, bias=(op.given(5), penalty), allowed=allowed)
    if len(op.outputs) == 1:
        return (_joined(y),)
    first = int64_constant([0])
    return _joined(y), ox.Concat(ox.Unsqueeze(k, first), ox.Unsqueeze(v, first), axis=0)


@rounded_formula(_MS + "QAttention")
def _quantized_attention(op: OpRecord) -> Tensor | Sequence[Tensor]:
    """``Attention`` with the numbers that its integers stand for."""
    x, weights, bias, x_scale, w_scale, mask, x_zero, w_zero, past = (op.given(i) for i in range(9))
    assert x is not None
    assert weights is not None
    rows, columns = real(x, x_scale, x_zero), real(weights, w_scale, w_zero)
    given = [rows, columns, bias, mask, past]
    return _attention(OpRecord(op.op, op.attrs, given, op.outputs))


@formula(_MS + "GroupQueryAttention")
def _group_query_attention(op: OpRecord) -> Sequence[Tensor]:
    names = ("k_scale", "v_scale", "q_norm_weight", "k_norm_weight", "a further input")
    _refuse(op, 12, names)
    heads, shared = int(op.attrs["num_heads"]), int(op.attrs["kv_num_heads"])
    q, k, v = _queries_keys_values(op, heads, shared)
    lengths = cast_to(op.inputs[5], dtypes.int64)
    count = dimension(q, _QUERIES)
    ends = ox.Add(ox.Reshape(lengths, int64_constant([-1, 1])), int64_constant(1))
    total = ox.Reshape(cast_to(op.inputs[6], dtypes.int64), int64_constant([1]))
    zero = int64_constant([0])
    # A prompt fills an empty cache; else what is new stands behind what each batch has.
    before = ox.Where(ox.Equal(total, count), zero, ox.Sub(ends, count))
    places = ox.Add(before, ox.Unsqueeze(_counted(count), zero))
    if op.attrs.get("do_rotary"):
        given = op.given(9)
        at = places if given is None else cast_to(given, dtypes.int64)
        # Positions behind the end of a shorter row are not looked at, but are looked up.
        at = ox.Max(at, int64_constant(0))
        angles = _at(op.inputs[7], at, q), _at(op.inputs[8], at, q)
        interleaved = bool(op.attrs.get("rotary_interleaved"))
        q = _rotated(q, *angles, interleaved=interleaved)
        k = _rotated(k, *angles, interleaved=interleaved)
    keys = _in_cache(op.given(3), k, before, ends, total)
    values = _in_cache(op.given(4), v, before, ends, total)
    y = _attend(
        q,
        _repeated(keys, heads // shared),
        _repeated(values, heads // shared),
        scale=op.attrs.get("scale"),
        bias=(op.given(10),),
        allowed=_seen(op, places, ends, keys),
        softcap=float(op.attrs.get("softcap", 0.0)),
        sink=_sink(op, q),
    )
    return _joined(y), keys, values


def _queries_keys_values(op: OpRecord, heads: int, shared: int) -> Sequence[Tensor]:
    q, k, v = (op.given(i) for i in range(3))
    assert q is not None
    if k is None or v is None:  # all in one
        size = ox.Div(dimension(q, 2), int64_constant([heads + 2 * shared]))
        lengths = ox.Mul(size, int64_constant([heads, shared, shared]))
        q, k, v = ox.Split(q, lengths, axis=2, outputs=3)
    return [_heads(x, n) for x, n in ((q, heads), (k, shared), (v, shared))]


def _in_cache(
    past: Tensor | None, new: Tensor, before: Tensor, ends: Tensor, total: Tensor
) -> Tensor:
    """What is there before and what is new, each batch's one behind the other.

    Args:
        past: ``[batch, heads, room, size]``; it may have more room than is filled.
        new: ``[batch, heads, positions, size]``.
        before: How many each batch has, ``[batch, 1]``.
        ends: How many each batch has then, ``[batch, 1]``.
        total: The largest of them.
    """
    if past is None:
        return new
    room, count = dimension(past, 2), dimension(new, 2)
    place = ox.Unsqueeze(_counted(ox.Max(room, total)), int64_constant([0]))
    beyond = ox.Sub(place, before)
    last = ox.Sub(count, int64_constant(1))
    of_new = ox.Add(room, ox.Min(ox.Max(beyond, int64_constant(0)), last))
    taken = ox.Where(ox.Less(beyond, int64_constant(0)), place, of_new)
    every = ox.Transpose(_after(past, new), perm=(0, 2, 1, 3))
    found = ox.GatherND(every, ox.Unsqueeze(taken, int64_constant([2])), batch_dims=1)
    filled = ox.Unsqueeze(ox.Less(place, ends), int64_constant([2, 3]))
    kept = ox.Where(filled, found, scalar_like(0.0, found))
    return ox.Transpose(kept, perm=(0, 2, 1, 3))


def _seen(op: OpRecord, places: Tensor, ends: Tensor, keys: Tensor) -> Tensor:
    """The keys that each query sees: ``[batch, 1, queries, keys]``."""
    key = ox.Reshape(_counted(dimension(keys, _KEYS)), int64_constant([1, 1, -1]))
    query = ox.Unsqueeze(places, int64_constant([2]))
    seen = ox.Less(key, ox.Unsqueeze(ends, int64_constant([2])))
    if op.attrs.get("causal", 1):
        seen = ox.And(seen, ox.LessOrEqual(key, query))
    window = op.attrs.get("local_window_size", -1)
    if window > 0:
        seen = ox.And(seen, ox.Greater(key, ox.Sub(query, int64_constant(window))))
    return ox.Unsqueeze(seen, int64_constant([1]))


def _sink(op: OpRecord, q: Tensor) -> Tensor | None:
    given = op.given(11)
    if given is not None:
        return ox.Reshape(given, int64_constant([1, -1, 1, 1]))
    if op.attrs.get("smooth_softmax", -1) == 1:
        return ox.Reshape(scalar_like(0.0, q), int64_constant([1, 1, 1, 1]))
    return None
