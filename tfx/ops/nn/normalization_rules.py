"""Gradient rules of the normalizing operators, which imported models and ``raw`` have.

A normalization computes ``h = (x - mean(x)) * r`` with ``r = 1 / sqrt(variance(x) + epsilon)`` over
some axes. Its gradient needs two means more, ``(g - mean(g) - h * mean(g * h)) * r``, and that is
all the work here: no rule walks back through mean and variance node by node. 16-bit inputs are
computed in float32, as the kernels do.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, scalar_like, unbroadcast
from tfx.ops.common.batching import (
    BatchedOp,
    Results,
    aligned,
    along_axis,
    as_one_batch,
    batching,
    folded,
    per_channel,
    unfolded,
)
from tfx.ops.common.shapes import (
    concat_shape,
    filled,
    known_rank,
    product,
    reshape_to,
    shape_vector,
)
from tfx.ops.math.arithmetic import add, divide, multiply, pow, subtract
from tfx.ops.math.elementwise import rsqrt, sign, square

_EPSILON = 1e-5


def wide(dtype: DType) -> DType:
    """Return the dtype to compute in: float32 for 16-bit types."""
    return dtypes.float32 if dtype.size < 4 else dtype


def _mean(x: Tensor, axes: Sequence[int]) -> Tensor:
    return ox.ReduceMean(x, int64_constant(axes), keepdims=1)


def _sum(x: Tensor, axes: Sequence[int], keepdims: int = 0) -> Tensor:
    return ox.ReduceSum(x, int64_constant(axes), keepdims=keepdims)


def _centered(x: Tensor, axes: Sequence[int], epsilon: float) -> tuple[Tensor, Tensor]:
    """``x`` without its mean, and the reciprocal of its standard deviation."""
    centered = subtract(x, _mean(x, axes))
    return centered, rsqrt(add(_mean(square(centered), axes), epsilon))


def _through(g: Tensor, h: Tensor, r: Tensor, axes: Sequence[int]) -> Tensor:
    """The gradient of what was normalized to ``h``, from that of ``h``."""
    along = multiply(h, _mean(multiply(g, h), axes))
    return multiply(r, subtract(subtract(g, _mean(g, axes)), along))


def _per_channel(vector: Tensor, rank: int, dtype: DType) -> Tensor:
    """A vector with an element for each channel, in a form that broadcasts to the input."""
    vector = cast_to(vector, dtype)
    if rank <= 2:
        return vector
    return ox.Reshape(vector, int64_constant([-1] + [1] * (rank - 2)))


def _like(gradient: Tensor | None, x: Tensor) -> Tensor | None:
    return None if gradient is None else cast_to(gradient, x.dtype)


def _all_like(gradients: Sequence[Tensor | None], inputs: Sequence[Tensor]) -> list[Tensor | None]:
    return [_like(g, x) for g, x in zip(gradients, inputs, strict=True)]


@gradient("BatchNormalization")
def _batch_norm_grad(op: OpRecord, *dys: Tensor | None) -> Sequence[Tensor | None]:
    if op.attrs.get("training_mode"):
        return _training_batch_norm_grad(op, *dys)
    x, scale, _, mean, variance = op.inputs
    (dy,) = dys
    assert dy is not None
    rank = known_rank(x, op.op)
    kind = wide(mean.dtype)
    axes = [a for a in range(rank) if a != 1]
    r = rsqrt(add(cast_to(variance, kind), op.attrs.get("epsilon", _EPSILON)))
    factor = multiply(cast_to(scale, kind), r)
    dy = cast_to(dy, kind)
    dx = multiply(dy, _per_channel(factor, rank, kind)) if op.needs[0] else None
    total = _sum(dy, axes) if op.needs[2] or op.needs[3] else None
    along = None
    if op.needs[1] or op.needs[4]:
        centered = subtract(cast_to(x, kind), _per_channel(mean, rank, kind))
        along = multiply(_sum(multiply(dy, centered), axes), r)
    dmean = None if total is None else multiply(multiply(total, factor), -1.0)
    dvariance = None if along is None else multiply(multiply(along, multiply(factor, r)), -0.5)
    return _all_like([dx, along, total, dmean, dvariance], op.inputs)


def _training_batch_norm_grad(
    op: OpRecord, dy: Tensor | None, dmean: Tensor | None = None, dvariance: Tensor | None = None
) -> Sequence[Tensor | None]:
    """Return the gradient with the batch's own mean and variance, which update the running ones."""
    x, scale, *_, mean, _ = op.inputs
    rank = known_rank(x, op.op)
    kind = wide(mean.dtype)
    axes = [a for a in range(rank) if a != 1]
    momentum = op.attrs.get("momentum", 0.9)
    wide_x = cast_to(x, kind)
    centered, r = _centered(wide_x, axes, op.attrs.get("epsilon", _EPSILON))
    parts: list[Tensor] = []
    dscale = doffset = None
    if dy is not None:
        dy, h = cast_to(dy, kind), multiply(centered, r)
        sums, alongs = _sum(dy, axes, 1), _sum(multiply(dy, h), axes, 1)
        moved = multiply(add(sums, multiply(h, alongs)), _share(wide_x, axes))
        factor = multiply(r, _per_channel(scale, rank, kind))
        parts.append(multiply(factor, subtract(dy, moved)))
        flat = int64_constant([-1])
        doffset, dscale = ox.Reshape(sums, flat), ox.Reshape(alongs, flat)
    rest = 1.0 - momentum
    if dmean is not None:
        each = multiply(_share(wide_x, axes), multiply(_per_channel(dmean, rank, kind), rest))
        parts.append(ox.Expand(each, shape_vector(x)))
    if dvariance is not None:
        each = multiply(_share(wide_x, axes), _per_channel(dvariance, rank, kind))
        parts.append(multiply(centered, multiply(each, 2.0 * rest)))
    dx = None if not parts else ox.Sum(*parts) if len(parts) > 1 else parts[0]
    old = [None if d is None else multiply(d, momentum) for d in (dmean, dvariance)]
    return _all_like([dx, dscale, doffset, *old], op.inputs)


def _share(x: Tensor, axes: Sequence[int]) -> Tensor:
    """One over the number of elements that are reduced over axes."""
    dims = [shape_vector(x, a, a + 1) for a in axes]
    sizes = dims[0] if len(dims) == 1 else ox.Concat(*dims, axis=0)
    count = ox.ReduceProd(sizes, keepdims=0)
    return divide(scalar_like(1, x), cast_to(count, x.dtype))


@gradient("InstanceNormalization")
def _instance_norm_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    x, scale, _ = op.inputs
    rank, kind = known_rank(x, op.op), wide(x.dtype)
    axes = list(range(2, rank))
    h, r = _normalized(op, cast_to(x, kind), 2)
    dy = cast_to(dy, kind)
    dx = _through(dy, h, multiply(r, _per_channel(scale, rank, kind)), axes)
    dscale = _sum(multiply(dy, h), [0, *axes]) if op.needs[1] else None
    doffset = _sum(dy, [0, *axes]) if op.needs[2] else None
    return _all_like([dx, dscale, doffset], op.inputs)


@gradient("LayerNormalization")
def _layer_norm_grad(
    op: OpRecord, dy: Tensor | None, dmean: Tensor | None = None, dr: Tensor | None = None
) -> Sequence[Tensor | None]:
    """The second and third output are the mean and ``r``."""
    x, scale, *offset = op.inputs
    axes, kind = _trailing(op), wide(x.dtype)
    wide_x = cast_to(x, kind)
    h, r = _normal(op, wide_x, axes)
    parts: list[Tensor] = []
    dscale = doffset = None
    if dy is not None:
        dy = cast_to(dy, kind)
        product = multiply(dy, h)
        if op.needs[0]:
            parts.append(_through_scale(dy, product, cast_to(scale, kind), h, r, axes))
        dscale = unbroadcast(product, scale) if op.needs[1] else None
        if offset and offset[0] is not None and op.needs[2]:
            doffset = unbroadcast(dy, offset[0])
    share = _share(wide_x, axes) if dmean is not None or dr is not None else None
    if dmean is not None:
        parts.append(ox.Expand(multiply(cast_to(dmean, kind), share), shape_vector(x)))
    if dr is not None:
        each = multiply(multiply(cast_to(dr, kind), share), square(r))
        parts.append(multiply(h, multiply(each, -1.0)))
    dx = None if not parts else ox.Sum(*parts) if len(parts) > 1 else parts[0]
    gradients = [_like(dx, x), _like(dscale, scale)]
    return [*gradients, *(_like(doffset, o) if o is not None else None for o in offset)]


def _normal(op: OpRecord, x: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """``h`` and ``r``: from what the operator has saved, or by its own kernel."""
    if len(op.outputs) > 2:
        r = cast_to(op.outputs[2], x.dtype)
        return multiply(subtract(x, cast_to(op.outputs[1], x.dtype)), r), r
    return _normalized(op, x, axes[0])


def _normalized(op: OpRecord, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """``h`` and ``r`` over the axes from one on: one kernel instead of seven in float32."""
    epsilon = op.attrs.get("epsilon", _EPSILON)
    if x.dtype is dtypes.float64:  # whose kernel gives r in float32
        centered, r = _centered(x, range(axis, known_rank(x, op.op)), epsilon)
        return multiply(centered, r), r
    ones = filled(shape_vector(x, axis), 1, x.dtype)
    h, _, r = ox.LayerNormalization(x, ones, axis=axis, epsilon=epsilon, outputs=3)
    return h, r


def _through_scale(
    dy: Tensor, product: Tensor, scale: Tensor, h: Tensor, r: Tensor, axes: Sequence[int]
) -> Tensor:
    """``_through`` of ``dy * scale``, given ``dy * h``: the means are products with the scale."""
    g = multiply(dy, scale)
    if len(axes) > 1 or scale.shape.rank != 1 or scale.shape[0] in (1, None):
        return _through(g, h, r, axes)
    column = ox.Unsqueeze(divide(scale, float(scale.shape[0])), int64_constant([1]))
    along = multiply(h, ox.MatMul(product, column))
    return multiply(r, subtract(subtract(g, ox.MatMul(dy, column)), along))


def _trailing(op: OpRecord) -> list[int]:
    """The axes from ``axis`` on."""
    rank = known_rank(op.inputs[0], op.op)
    return list(range(op.attrs.get("axis", -1) % rank, rank))


@gradient("RMSNormalization")
def _rms_norm_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """Return the gradient, like that of ``LayerNormalization`` without a mean."""
    x, scale = op.inputs
    axes, kind = _trailing(op), wide(x.dtype)
    wide_x, dy = cast_to(x, kind), cast_to(dy, kind)
    r = rsqrt(add(_mean(square(wide_x), axes), op.attrs.get("epsilon", _EPSILON)))
    h = multiply(wide_x, r)
    dx = None
    if op.needs[0]:
        g = multiply(dy, cast_to(scale, kind))
        dx = multiply(r, subtract(g, multiply(h, _mean(multiply(g, h), axes))))
    dscale = unbroadcast(multiply(dy, h), scale) if op.needs[1] else None
    return _all_like([dx, dscale], op.inputs)


@gradient("GroupNormalization")
def _group_norm_grad(op: OpRecord, dy: Tensor) -> Sequence[Tensor | None]:
    """Groups of channels are normalized as one, then scaled channel by channel."""
    x, scale, _ = op.inputs
    rank, kind = known_rank(x, op.op), wide(x.dtype)
    groups = int64_constant([0, op.attrs["num_groups"], -1])
    grouped = ox.Reshape(cast_to(x, kind), groups)
    h, r = _normalized(op, grouped, 2)
    dy, shape = cast_to(dy, kind), shape_vector(x)
    g = ox.Reshape(multiply(dy, _per_channel(scale, rank, kind)), groups)
    dx = reshape_to(_through(g, h, r, [2]), shape)
    others = [0, *range(2, rank)]
    dscale = _sum(multiply(dy, reshape_to(h, shape)), others) if op.needs[1] else None
    doffset = _sum(dy, others) if op.needs[2] else None
    return _all_like([dx, dscale, doffset], op.inputs)


@gradient("MeanVarianceNormalization")
def _mean_variance_norm_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """``(x - mean) / (deviation + 1e-9)``: what does not vary has the gradient 0."""
    (x,) = op.inputs
    rank, kind = known_rank(x, op.op), wide(x.dtype)
    axes = [a % rank for a in op.attrs.get("axes", (0, 2, 3))]
    wide_x, dy = cast_to(x, kind), cast_to(dy, kind)
    centered = subtract(wide_x, _mean(wide_x, axes))
    variance = _mean(square(centered), axes)
    zero, one = scalar_like(0, variance), scalar_like(1, variance)
    varies = ox.Greater(variance, zero)
    reciprocal = rsqrt(ox.Where(varies, variance, one))
    r = ox.Where(varies, reciprocal, zero)
    g = multiply(r, subtract(dy, _mean(dy, axes)))
    along = multiply(multiply(centered, pow(r, 3.0)), _mean(multiply(dy, centered), axes))
    return cast_to(subtract(g, along), x.dtype)


@gradient("LpNormalization")
def _lp_norm_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """``x / norm(x)``; of zeros the gradient is 0."""
    (x,) = op.inputs
    axis, p = int64_constant([op.attrs.get("axis", -1)]), op.attrs.get("p", 2)
    kind = "ReduceL1" if p == 1 else "ReduceL2"
    norm = apply(kind, (x, axis), {"keepdims": 1})
    zero = scalar_like(0, x)
    nonzero = ox.Greater(norm, zero)
    r = divide(1.0, ox.Where(nonzero, norm, scalar_like(1, x)))
    h = multiply(x, r)
    along = ox.ReduceSum(multiply(dy, h), axis, keepdims=1)
    direction = sign(x) if p == 1 else h
    return multiply(ox.Where(nonzero, r, zero), subtract(dy, multiply(direction, along)))


@gradient("LRN")
def _lrn_grad(op: OpRecord, dy: Tensor) -> Tensor:
    """``x / base**beta``, where the base holds the squares of neighbouring channels."""
    kind = wide(op.inputs[0].dtype)
    x, dy = cast_to(op.inputs[0], kind), cast_to(dy, kind)
    size, beta = op.attrs["size"], op.attrs.get("beta", 0.75)
    alpha, bias = op.attrs.get("alpha", 1e-4), op.attrs.get("bias", 1.0)
    before = (size - 1) // 2
    mean = _channel_means(square(x), size, before, size - 1 - before)
    base = add(multiply(mean, alpha), bias)
    power = pow(base, -beta)
    g = divide(multiply(multiply(dy, x), power), base)
    spread = _channel_means(g, size, size - 1 - before, before)
    along = multiply(multiply(x, spread), 2.0 * alpha * beta)
    return cast_to(subtract(multiply(dy, power), along), op.inputs[0].dtype)


def _channel_means(x: Tensor, size: int, before: int, after: int) -> Tensor:
    """The sum of neighbouring channels, divided by ``size`` at the borders, too."""
    shape = shape_vector(x)
    first, one = shape_vector(x, 0, 1), int64_constant([1])
    planes = concat_shape(first, one, shape_vector(x, 1, 2), product(shape_vector(x, 2)))
    pooled = ox.AveragePool(
        reshape_to(x, planes),
        kernel_shape=(size, 1),
        pads=(before, 0, after, 0),
        count_include_pad=1,
    )
    return reshape_to(pooled, shape)


@batching("BatchNormalization")
def _batch_normalization_batching(op: BatchedOp) -> Results:
    """Batch with elements as channels if their parameters differ, otherwise as images."""
    if not op.attrs.get("training_mode") and not any(op.batched[1:]):
        return op.split(op.apply((op.merged(0), *op.inputs[1:]))[0])
    lead = int64_constant([-1])
    vectors = [ox.Reshape(op.full(i), lead) for i in range(1, 5)]
    y, *statistics = op.apply((folded(op.full(0), 1), *vectors))
    return [unfolded(op, y, 1), *(unfolded(op, s, 0) for s in statistics)]


@batching("GroupNormalization", "InstanceNormalization")
def _channel_normalization_batching(op: BatchedOp) -> Results:
    """Every image has its own statistics."""
    scale, bias = op.input(1), op.input(2)
    if not any(op.batched[1:]):
        return op.split(op.apply((op.merged(0), scale, bias))[0])
    rank = op.rank(0)
    y = op.full(0)
    if op.batched[0]:
        y = op.split(op.apply((op.merged(0), *_neutral(op)))[0])
    else:
        y = op.apply((op.input(0), *_neutral(op)))[0]
    scaled = ox.Mul(y, _vector(op, 1, rank))
    return ox.Add(scaled, _vector(op, 2, rank))


def _neutral(op: BatchedOp) -> tuple[Tensor, Tensor]:
    """A scale of ones and a bias of zeros."""
    shapes = [shape_vector(op.input(i), 1 if op.batched[i] else 0) for i in (1, 2)]
    return filled(shapes[0], 1, op.input(1).dtype), filled(shapes[1], 0, op.input(2).dtype)


def _vector(op: BatchedOp, i: int, rank: int) -> Tensor:
    if op.batched[i]:
        return per_channel(op.input(i), rank)
    return ox.Reshape(op.input(i), int64_constant([-1, *([1] * (rank - 2))]))


@batching("LayerNormalization", "RMSNormalization")
def _layer_normalization_batching(op: BatchedOp) -> Results:
    """The same axes, counted from the end."""
    rank = op.rank(0)
    axis = int(op.attrs.get("axis", -1))
    attrs = {**op.attrs, "axis": axis - rank if axis >= 0 else axis}
    if not any(op.batched[1:]):
        return op.apply(op.inputs, attrs)
    scale = op.input(1)
    ones = filled(shape_vector(scale, 1 if op.batched[1] else 0), 1, scale.dtype)
    y, *statistics = op.apply((op.full(0), ones), attrs)
    y = ox.Mul(y, aligned(scale, rank) if op.batched[1] else scale)
    if op.given(2):
        bias = op.input(2)
        y = ox.Add(y, aligned(bias, rank) if op.batched[2] else bias)
    return [y, *statistics]


@batching("MeanVarianceNormalization")
def _mean_variance_normalization_batching(op: BatchedOp) -> Results:
    """The same axes, one further back."""
    axes = op.attrs.get("axes") or (0, 2, 3)
    return op.apply(op.inputs, {"axes": tuple(a + 1 if a >= 0 else a for a in axes)})


batching("LRN")(as_one_batch)
batching("LpNormalization")(along_axis(-1))
