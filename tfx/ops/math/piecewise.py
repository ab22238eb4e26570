"""Special functions, computed in float64, most of them by piecewise polynomials.

A function is smooth between its singular points and in a variable that maps infinity to a number;
there a table of polynomials is exact to the last digits (``special_tables``). A value costs three
operators for each coefficient, whatever the number of pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import broadcast_static_shape
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import (
    cast_to,
    is_tensor_like,
    require_dtype,
    same_dtype,
    tensor,
)
from tfx.ops.common.traced_once import Composite
from tfx.ops.math.special_tables import Table


def number(value: float) -> Tensor:
    """A float64 scalar."""
    return convert_to_tensor(value, dtypes.float64)


def where(condition: Tensor, x: Tensor | float, y: Tensor | float) -> Tensor:
    """``x`` where a condition holds, else ``y``, in float64."""
    a, b = convert_to_tensor(x, dtypes.float64), convert_to_tensor(y, dtypes.float64)
    return ox.Where(condition, a, b)


def piecewise(table: Table, position: Tensor) -> Tensor:
    """The value of a table.

    Args:
        table: Has a row for each piece: coefficients, the constant one first.
        position: Where, counted in pieces; below 0 it is 0. Not NaN.
    """
    last = len(table) - 1
    start = ox.Max(ox.Min(ox.Floor(position), number(last)), number(0))
    piece = ox.Cast(start, to=dtypes.int64.onnx)
    inside = ox.Sub(ox.Mul(ox.Sub(position, start), number(2)), number(1))
    *columns, highest = np.array(table).T
    total = ox.Gather(convert_to_tensor(highest), piece)
    for column in reversed(columns):
        total = ox.Add(ox.Mul(total, inside), ox.Gather(convert_to_tensor(column), piece))
    return total


def polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    """By Horner's rule; the constant coefficient comes first."""
    total = number(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = ox.Add(ox.Mul(total, x), number(c))
    return total


class SpecialFunction:
    """A function of floating tensors, element by element, computed in float64, with broadcasting.

    Args:
        op: TensorFlow's name of the operation, for messages.
        value: Computes it for float64 tensors without NaN; it runs once for each combination of
            dtypes and ranks, in a trace. Of NaN the result is NaN.
        slopes: The derivative by each operand, given all operands; None: no gradient flows to it.
    """

    def __init__(
        self, op: str, value: Callable[..., Tensor], *slopes: Callable[..., Tensor] | None
    ) -> None:
        self._op = op
        self._value = value
        self._composite = Composite(self._compute, op, slopes)

    def __call__(self, *operands: Any) -> Tensor:
        """The values.

        Args:
            operands: Tensors of one floating dtype, or values convertible to them.

        Raises:
            InvalidArgumentError: another dtype.
        """
        # A tensor among them decides for all that are none.
        first = next((x for x in operands if is_tensor_like(x)), operands[0])
        given = [tensor(x) if x is first else same_dtype(first, x, self._op)[1] for x in operands]
        require_dtype(given[0], given[0].dtype.is_floating, self._op, "a floating dtype")
        shape = given[0].shape.symbolic
        for x in given[1:]:
            shape = broadcast_static_shape(shape, x.shape.symbolic)
        return self._composite(*given, shapes=[shape])[0]

    def _compute(self, *operands: Tensor) -> list[Tensor]:
        wide = [cast_to(x, dtypes.float64) for x in operands]
        missing = [ox.IsNaN(x) for x in wide]
        found = self._value(*[where(m, 1.0, x) for m, x in zip(missing, wide, strict=True)])
        for m, x in zip(missing, wide, strict=True):
            found = where(m, x, found)
        return [cast_to(found, operands[0].dtype)]
