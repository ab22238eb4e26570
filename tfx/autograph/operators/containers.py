"""``x[i] = y``, ``x.append(y)``, ``x.pop()`` and ``in``."""

from __future__ import annotations

import operator
from typing import Any

from tfx.framework.tensor import SymbolicTensor
from tfx.ops.comparison import equal
from tfx.ops.reduction import reduce_any


def set_item(value: Any, container: Any, key: Any) -> Any:
    """``container[key] = value``; returns what the container's name stands for from then on."""
    container[key] = value
    return container


def list_append(container: Any, value: Any) -> Any:
    """``container.append(value)``; returns what the container's name stands for from then on."""
    container.append(value)
    return container


def list_pop(container: Any, *position: Any) -> tuple[Any, Any]:
    """``container.pop()``; returns the container's new value and the element."""
    element = container.pop(*position)
    return container, element


def contains(positive: bool, item: Any, container: Any) -> Any:
    """``item in container``, or ``not in``."""
    if isinstance(container, SymbolicTensor):
        found = reduce_any(equal(container, item))
        return found if positive else ~found
    return operator.contains(container, item) is positive
