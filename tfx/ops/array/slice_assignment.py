"""``variable[...].assign(...)``: new values for a part of a variable.

The part is found by indexing the positions of the elements in place of the elements: whatever
``getitem`` understands can be assigned to.
"""

from __future__ import annotations

import functools
from typing import Any

from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.builder import ox
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops.array.indexing import getitem
from tfx.ops.common.arguments import tensor


def part_of(variable: Variable, key: Any) -> Tensor:
    """``variable[key]``: a tensor whose ``assign`` changes that part of the variable.

    Example:
        >>> import tfx as tf
        >>> v = tf.Variable([[1, 2], [3, 4]])
        >>> v[:, 0].assign([5, 6]).numpy()
        array([[5, 2],
               [6, 4]], dtype=int32)
    """
    part = getitem(variable, key)
    part.assign = functools.partial(_assign, variable, key)
    return part


def _assign(
    variable: Variable,
    key: Any,
    value: Any,
    use_locking: bool = False,
    name: str | None = None,
    read_value: bool = True,
) -> Variable:
    """Replace ``variable[key]`` by ``value``, which may be broadcast; returns the variable."""
    new = tensor(value, variable.dtype)

    def changed(old: Tensor) -> Tensor:
        shape = ox.Shape(old)
        count = ox.Size(old)
        numbers = ox.Range(int64_constant(0), count, int64_constant(1))
        chosen = getitem(ox.Reshape(numbers, shape), key)
        _check(variable, key, chosen.shape, new.shape)
        rows = ox.Reshape(chosen, int64_constant([-1, 1]))
        values = ox.Expand(new, ox.Shape(chosen))
        flat = ox.Reshape(old, int64_constant([-1]))
        updates = ox.Reshape(values, int64_constant([-1]))
        return ox.Reshape(ox.ScatterND(flat, rows, updates), shape)

    return variable._change(changed)


def _check(variable: Variable, key: Any, part: TensorShape, given: TensorShape) -> None:
    if part.rank is None or given.rank is None:
        return
    surplus = given.rank - part.rank
    pairs = zip(given.as_list(), part.as_list()[max(-surplus, 0) :], strict=False)
    if surplus > 0 or any(h not in (None, 1) and w not in (None, h) for h, w in pairs):
        raise InvalidArgumentError(
            f"Cannot assign a value of shape {given} to a part of shape {part} of variable "
            f"'{variable.name}' (index {key!r}); expected a shape that broadcasts to it."
        )
