"""``x[i] = y``, ``x.append(y)``, ``x.pop()`` and ``in``."""

from __future__ import annotations

import operator
from typing import Any

from tfx.autograph.operators.staging import is_staged, shown, where
from tfx.autograph.operators.watching import check_contents
from tfx.framework.tensor import SymbolicTensor
from tfx.ops.comparison import equal
from tfx.ops.reduction import reduce_any


def set_item(value: Any, container: Any, key: Any) -> Any:
    """``container[key] = value``; returns what the container's name stands for from then on."""
    check_contents(container, "an item is set")
    if is_staged(key) and isinstance(container, dict | list):
        raise TypeError(
            f"A {type(container).__name__} of Python cannot be changed at {shown(key)}, which is "
            f"known when the graph runs [{where()}]. Use keys of Python, such as those of a `for` "
            "over the dict; or one tensor, tf.tensor_scatter_nd_update and tf.gather; or a "
            "tf.TensorArray."
        )
    container[key] = value
    return container


def list_append(container: Any, value: Any) -> Any:
    """``container.append(value)``; returns what the container's name stands for from then on."""
    check_contents(container, ".append() is called", grows=True)
    container.append(value)
    return container


def list_pop(container: Any, *position: Any) -> tuple[Any, Any]:
    """``container.pop()``; returns the container's new value and the element."""
    check_contents(container, ".pop() is called")
    element = container.pop(*position)
    return container, element


def contains(positive: bool, item: Any, container: Any) -> Any:
    """``item in container``, or ``not in``."""
    if isinstance(container, SymbolicTensor):
        found = reduce_any(equal(container, item))
        return found if positive else ~found
    return operator.contains(container, item) is positive
