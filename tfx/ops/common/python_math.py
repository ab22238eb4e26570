"""Mathematical functions that Python computes: their dtypes, shapes and gradients.

The decision: a function takes and returns float64 arrays of one shape and knows nothing of tensors.
Tensors of narrower dtypes are widened for it, and its result is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tfx.core.dims import broadcast_static_shape
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import is_tensor_like, require_dtype, same_dtype, tensor, unbroadcast
from tfx.ops.common.python_ops import by_python
from tfx.ops.math.arithmetic import multiply

Doubles: TypeAlias = NDArray[np.float64]
# From the operands and the result to the derivative by one operand.
Slope: TypeAlias = Callable[..., Tensor]


def polynomial(coefficients: Sequence[float], x: Doubles) -> Doubles:
    """By Horner's rule; the constant coefficient comes first."""
    total = np.zeros(x.shape)
    for c in reversed(coefficients):
        total = total * x + c
    return total


_finite_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])
_LARGEST_GAMMA = 2.5e305  # its logarithm is in range


def log_gamma(x: Doubles) -> Doubles:
    """``lgamma`` of positive numbers, infinite where it is out of range.

    Args:
        x: The numbers.
    """
    inside = x <= _LARGEST_GAMMA
    found: Doubles = np.where(inside, _finite_log_gamma(np.where(inside, x, 1.0)), np.inf)
    return np.where(np.isnan(x), np.nan, found)


def computed(
    op: str,
    kind: str,
    compute: Callable[..., Doubles],
    operands: Sequence[Any],
    slopes: Sequence[Slope | None],
) -> Tensor:
    """A function of floating tensors, element by element, with broadcasting.

    Args:
        op: TensorFlow's name of the operation, for messages.
        kind: The public name, for messages: ``"math.igamma"``.
        compute: Takes a float64 array for each operand, all of one shape.
        operands: Tensors of one floating dtype, or values convertible to them.
        slopes: For each operand the derivative by it, given all operands as tensors; None: no
            gradient flows to it.
    """
    xs = _of_one_dtype(operands, op)
    dtype = xs[0].dtype
    require_dtype(xs[0], dtype.is_floating, op, "a floating dtype")
    shape = xs[0].shape.symbolic
    for x in xs[1:]:
        shape = broadcast_static_shape(shape, x.shape.symbolic)

    def run(*arrays: Any) -> list[Any]:
        wide = np.broadcast_arrays(*[np.asarray(a, np.float64) for a in arrays])
        with np.errstate(all="ignore"):
            return [np.asarray(compute(*wide), np.float64)]

    def gradient(record: OpRecord, dy: Tensor | None) -> list[Tensor | None]:
        if dy is None:
            return [None] * len(xs)
        given = record.inputs
        return [
            None if slope is None else unbroadcast(multiply(dy, slope(*given)), x)
            for slope, x in zip(slopes, given, strict=True)
        ]

    return by_python(kind, run, xs, [(dtype, shape)], gradient=gradient)[0]


def _of_one_dtype(operands: Sequence[Any], op: str) -> list[Tensor]:
    if len(operands) == 1:
        return [tensor(operands[0])]
    # A tensor among them decides for all that are none.
    first = next((x for x in operands if is_tensor_like(x)), operands[0])
    return [same_dtype(first, x, op)[1] for x in operands]
