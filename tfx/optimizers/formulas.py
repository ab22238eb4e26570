"""What update rules are written with.

Arithmetic is attached to tensors at run time, where type checkers do not see it: rules work on
``Array``, and the functions here return it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.ops import arithmetic, clipping, elementwise, masking, trigonometry
from tfx.ops._support import cast_to, tensor

Array: TypeAlias = Any
"""A tensor."""

sqrt: Callable[[Array], Array] = elementwise.sqrt
absolute: Callable[[Array], Array] = elementwise.abs
sign: Callable[[Array], Array] = elementwise.sign
floor: Callable[[Array], Array] = elementwise.floor
ceil: Callable[[Array], Array] = elementwise.ceil
log: Callable[[Array], Array] = elementwise.log
cos: Callable[[Array], Array] = trigonometry.cos
maximum: Callable[[Array, Any], Array] = arithmetic.maximum
minimum: Callable[[Array, Any], Array] = arithmetic.minimum
where: Callable[[Array, Any, Any], Array] = masking.where
clip: Callable[[Array, float, float], Array] = clipping.clip_by_value


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
    return old + (new - old) * (1.0 - kept)
