"""Arithmetic helpers for writing update rules.

Arithmetic is attached to tensors at run time, where type checkers do not see it: rules work on
``Array``, and the functions here return it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.ops.array import indexed_slices
from tfx.ops.array import where as where_ops
from tfx.ops.common.arguments import cast_to, tensor
from tfx.ops.math import arithmetic, elementwise, trigonometry
from tfx.ops.math import clip as clip_ops
from tfx.optimizers.rows import Rows

Array: TypeAlias = Any
"""A tensor."""

sqrt: Callable[[Array], Array] = elementwise.sqrt
floor: Callable[[Array], Array] = elementwise.floor
ceil: Callable[[Array], Array] = elementwise.ceil
log: Callable[[Array], Array] = elementwise.log
cos: Callable[[Array], Array] = trigonometry.cos
maximum: Callable[[Array, Any], Array] = arithmetic.maximum
minimum: Callable[[Array, Any], Array] = arithmetic.minimum
where: Callable[[Array, Any, Any], Array] = where_ops.where


def absolute(x: Array) -> Array:
    """The elements without their signs."""
    return x.mapped(elementwise.abs) if isinstance(x, Rows) else elementwise.abs(x)


def sign(x: Array) -> Array:
    """-1, 0 or 1."""
    return x.mapped(elementwise.sign) if isinstance(x, Rows) else elementwise.sign(x)


def clip(x: Array, low: float, high: float) -> Array:
    """Elements brought between two limits with 0 between them."""
    if isinstance(x, Rows):
        return x.mapped(lambda values: clip_ops.clip_by_value(values, low, high))
    return clip_ops.clip_by_value(x, low, high)


def times(x: Array, factor: Array, function: Callable[[Array], Array]) -> Array:
    """``x * function(factor)``; the function is computed only where ``x`` is not zero."""
    if isinstance(x, Rows):
        return x.scaled(lambda values, rows: values * function(rows), factor)
    return x * function(factor)


def over(x: Array, divisor: Array, function: Callable[[Array], Array]) -> Array:
    """``x / function(divisor)``; the function is computed only where ``x`` is not zero."""
    if isinstance(x, Rows):
        return x.scaled(lambda values, rows: values / function(rows), divisor)
    return x / function(divisor)


def largest(old: Array, new: Array) -> Array:
    """The larger of two arrays without negative elements."""
    if isinstance(new, Rows):
        return indexed_slices.largest_of(old, new.slices())
    return maximum(old, new)


def real(x: Any) -> Array:
    """A number, tensor or variable in float64."""
    if isinstance(x, int | float):
        return convert_to_tensor(float(x), dtypes.float64)
    return cast_to(tensor(x), dtypes.float64)


def mixed(old: Array, new: Array, kept: float) -> Array:
    """A moving average that keeps the given part of its old value."""
    return old * kept + new * (1.0 - kept)


def towards(old: Array, new: Array, kept: float) -> Array:
    """The same moving average, as one step from the old value towards the new."""
    if isinstance(new, Rows):
        return mixed(old, new, kept)  # the same but for rounding, with less to do for the table
    return old + (new - old) * (1.0 - kept)
