"""Sliding windows: layouts, strides and TensorFlow's paddings, for convolutions and pools.

ONNX wants the channels first; TensorFlow puts them last by default. An operation brings its input
to channels first and its result back, and ONNX Runtime's optimizer removes the transpositions
between consecutive layers. Paddings are made explicit numbers wherever the sizes allow it; sizes
that are known only at run time use ``auto_pad`` or a computed ``Pad``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.tensor import Tensor
from tfx.graph.formulas.windows import Pads
from tfx.ops.common.arguments import (
    cast_to,
    is_tensor_like,
    static_ints,
    tensor,
    whole_numbers,
)

_FORMATS = {
    1: ("NWC", "NCW"),
    2: ("NHWC", "NCHW"),
    3: ("NDHWC", "NCDHW"),
}


@dataclass(frozen=True, slots=True)
class Layout:
    """A data format: the number of spatial axes and the place of the channels.

    Attributes:
        axes: How many spatial axes there are.
        channels_first: ``NCHW`` and not ``NHWC``.
    """

    axes: int
    channels_first: bool

    @classmethod
    def parse(cls, data_format: str | None, axes: int, op: str) -> Layout:
        """Parse TensorFlow's name of a layout; None is channels last.

        Raises:
            ValueError: no such format for this number of spatial axes.
        """
        last, first = _FORMATS[axes]
        if data_format not in (None, last, first):
            raise InvalidArgumentError(
                f"`data_format` of {op} must be {last!r} or {first!r}; got {data_format!r}."
            )
        return cls(axes, data_format == first)

    def to_first(self, x: Tensor) -> Tensor:
        """``x`` with the channels first."""
        if self.channels_first:
            return x
        last = self.axes + 1
        return ox.Transpose(x, perm=(0, last, *range(1, last)))

    def from_first(self, x: Tensor) -> Tensor:
        """The inverse of ``to_first``."""
        if self.channels_first:
            return x
        return ox.Transpose(x, perm=(0, *range(2, self.axes + 2), 1))

    def spatial(self, value: Sequence[Any]) -> list[Any]:
        """The spatial ones of values that are given for every axis."""
        return list(value[2:] if self.channels_first else value[1:-1])

    def per_axis(self, value: Any, name: str, op: str) -> tuple[int, ...]:
        """One positive number for each spatial axis from 1, n or n + 2 numbers.

        Raises:
            ValueError: another count, numbers below 1, or steps along batch or channels.
        """
        given: Any = value if isinstance(value, Sequence | np.ndarray) else [value]
        if is_tensor_like(value):
            given = static_ints(whole_numbers(tensor(value)))
        if given is None:
            raise InvalidArgumentError(
                f"{name} of {op} must be known while a function is traced; got {value!r}."
            )
        items = [int(v) for v in given]
        if len(items) == 1:
            items *= self.axes
        elif len(items) == self.axes + 2:
            outer = items[:2] if self.channels_first else [items[0], items[-1]]
            if outer != [1, 1]:
                raise InvalidArgumentError(
                    f"{name} of {op} in the batch and channel dimensions must be 1; got {value!r}."
                )
            items = self.spatial(items)
        elif len(items) != self.axes:
            raise InvalidArgumentError(
                f"{name} of {op} should be of length 1, {self.axes} or {self.axes + 2}; got "
                f"{value!r}."
            )
        if min(items) < 1:
            raise InvalidArgumentError(f"{name} of {op} must be positive; got {value!r}.")
        return tuple(items)

    def padding(self, padding: Any, op: str) -> str | Pads:
        """``"SAME"``, ``"VALID"`` or the amounts before and after each spatial axis.

        Raises:
            ValueError: anything else.
        """
        if isinstance(padding, str):
            if padding.upper() not in ("SAME", "VALID"):
                raise InvalidArgumentError(
                    f"`padding` of {op} must be 'SAME', 'VALID' or a list of pairs; got "
                    f"{padding!r}."
                )
            return padding.upper()
        pairs = [tuple(int(v) for v in pair) for pair in padding]
        if len(pairs) != self.axes + 2 or any(len(p) != 2 or min(p) < 0 for p in pairs):
            raise InvalidArgumentError(
                f"An explicit `padding` of {op} has a pair of non-negative numbers for each of the "
                f"{self.axes + 2} axes; got {padding!r}."
            )
        outer = pairs[:2] if self.channels_first else [pairs[0], pairs[-1]]
        if any(any(p) for p in outer):
            raise InvalidArgumentError(
                f"`padding` of {op} in the batch and channel dimensions must be 0; got {padding!r}."
            )
        return tuple((p[0], p[1]) for p in self.spatial(pairs))


def computable(x: Tensor) -> Tensor:
    """``x`` in a dtype that ONNX has convolutions and pools for: bfloat16 becomes float32."""
    return cast_to(x, dtypes.float32) if x.dtype is dtypes.bfloat16 else x


def sizes_of(x: Tensor, axes: int) -> tuple[int | None, ...]:
    """Spatial sizes of a tensor whose channels are first."""
    return tuple(x.shape.as_list()[2:]) if x.shape.rank is not None else (None,) * axes
