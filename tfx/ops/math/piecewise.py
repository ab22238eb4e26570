"""Special functions of one number, computed in float64 by piecewise polynomials.

A function is smooth between its singular points and in a variable that maps infinity to a number;
there a table of polynomials is exact to the last digits (``special_tables``). A value costs three
operators for each coefficient, whatever the number of pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.framework.builder import ox
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to, require_dtype, tensor
from tfx.ops.common.traced_once import Composite, Slope
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
    """A function of one floating tensor, element by element, computed in float64.

    Args:
        op: TensorFlow's name of the operation, for messages.
        value: Computes it for float64 tensors; it runs once for each dtype and rank, in a trace.
            For NaN, which it does not get, the result is NaN.
        slope: The derivative.
    """

    def __init__(self, op: str, value: Callable[[Tensor], Tensor], slope: Slope) -> None:
        self._op = op
        self._value = value
        self._composite = Composite(self._compute, op, [slope])

    def __call__(self, x: Any) -> Tensor:
        """The values.

        Raises:
            InvalidArgumentError: a dtype that is not floating.
        """
        given = tensor(x)
        require_dtype(given, given.dtype.is_floating, self._op, "a floating dtype")
        return self._composite(given, shapes=[given.shape.symbolic])[0]

    def _compute(self, x: Tensor) -> list[Tensor]:
        wide = cast_to(x, dtypes.float64)
        missing = ox.IsNaN(wide)
        found = self._value(where(missing, 1.0, wide))
        return [cast_to(where(missing, wide, found), x.dtype)]
