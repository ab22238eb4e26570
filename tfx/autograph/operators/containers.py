"""``x[i] = y`` and ``in``."""

from __future__ import annotations

import operator
from typing import Any

from tfx.autograph.operators.logic import not_
from tfx.autograph.operators.staging import is_staged, shown, where
from tfx.control_flow.cond import truth
from tfx.framework.tensor import SymbolicTensor
from tfx.ops.math.comparison import equal, logical_or
from tfx.ops.math.reduction import reduce_any


def set_item(value: Any, container: Any, key: Any) -> None:
    """``container[key] = value``."""
    if is_staged(key) and isinstance(container, dict | list):
        raise TypeError(
            f"A {type(container).__name__} of Python cannot be changed at {shown(key)}, which is "
            f"known when the graph runs [{where()}]. Use keys of Python, such as those of a `for` "
            "over the dict; or one tensor, tf.tensor_scatter_nd_update and tf.gather; or a "
            "tf.TensorArray."
        )
    container[key] = value


def contains(positive: bool, item: Any, container: Any) -> Any:
    """``item in container``, or ``not in``."""
    if isinstance(container, SymbolicTensor):
        found = reduce_any(equal(container, item))
        return found if positive else ~found
    if isinstance(container, list | tuple | set | frozenset | dict | range):
        elements = list(container)
        if is_staged(item) or any(is_staged(x) for x in elements):
            found = _is_among(item, elements)
            return not_(found) if not positive else found
    return operator.contains(container, item) is positive


def _is_among(item: Any, elements: list[Any]) -> Any:
    """Return whether an element is the item or equal to it: a bool, or a tensor of the graph."""
    if any(element is item for element in elements):
        return True
    found: Any = False
    for element in elements:
        same = element == item
        if is_staged(same):
            same = truth(same, "A comparison of `in`")
        elif same:
            return True
        if same is not False:
            found = same if found is False else logical_or(found, same)
    return found
