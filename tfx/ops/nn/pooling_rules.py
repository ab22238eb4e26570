"""Gradient rules of pools that no operation here emits, but imported models and ``raw`` do.

Of several largest elements the first one gets the gradient, as in every maximum over windows. A
norm of zeros has the gradient 0.
"""

from __future__ import annotations

from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.rules import OpRecord, gradient
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.windows import window_of
from tfx.ops.common.arguments import scalar_like
from tfx.ops.common.batching import as_one_batch, batching
from tfx.ops.common.shapes import concat_shape, filled, product, reshape_to, shape_vector
from tfx.ops.math.arithmetic import divide, multiply, pow
from tfx.ops.math.elementwise import abs, sign
from tfx.ops.nn.pooling import spread_over_windows


@gradient("GlobalMaxPool")
def _global_max_pool_grad(op: OpRecord, dy: Tensor) -> Tensor:
    (x,) = op.inputs
    images = shape_vector(x, 0, 2)
    row = reshape_to(x, concat_shape(images, product(shape_vector(x, 2))))
    place = ox.ArgMax(row, axis=2, keepdims=1)
    zeros = filled(shape_vector(row), 0, x.dtype)
    found = ox.ScatterElements(
        zeros, place, reshape_to(dy, concat_shape(images, int64_constant([1]))), axis=2
    )
    return reshape_to(found, shape_vector(x))


@gradient("GlobalLpPool")
def _global_lp_pool_grad(op: OpRecord, dy: Tensor) -> Tensor:
    (x,) = op.inputs
    p = op.attrs.get("p", 2)
    return multiply(_power(x, p), _share(op.outputs[0], dy, p))


@gradient("LpPool")
def _lp_pool_grad(op: OpRecord, dy: Tensor) -> Tensor:
    (x,) = op.inputs
    p = op.attrs.get("p", 2)
    window = window_of(op.attrs, op.attrs["kernel_shape"])
    return multiply(_power(x, p), spread_over_windows(_share(op.outputs[0], dy, p), x, window))


def _power(x: Tensor, p: int) -> Tensor:
    """The slope of ``abs(x)**p / p``."""
    if p == 1:
        return sign(x)
    return x if p == 2 else multiply(sign(x), pow(abs(x), float(p - 1)))


def _share(y: Tensor, dy: Tensor, p: int) -> Tensor:
    """``dy / y**(p - 1)``, 0 where the norm is 0."""
    if p == 1:
        return dy
    zero = scalar_like(0, y)
    none = ox.Equal(y, zero)
    power = ox.Where(none, scalar_like(1, y), y)
    power = power if p == 2 else pow(power, float(p - 1))
    return ox.Where(none, zero, divide(dy, power))


batching("GlobalLpPool", "GlobalMaxPool", "LpPool")(as_one_batch)
