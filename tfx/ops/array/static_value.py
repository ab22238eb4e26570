"""``get_static_value``: what is known of a tensor's contents without running anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.framework.tensor import EagerTensor, SymbolicTensor
from tfx.framework.variable import Variable
from tfx.graph.shape_code import contents
from tfx.graph.symbolic_shapes import elements
from tfx.ops.common.shapes import static_dims


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The contents of a tensor where they are known already.

    Args:
        tensor: Tensor; what is no tensor is returned as it is.
        partial: Also take a vector of which only some elements are known; the others are None.

    Returns:
        An array (a NumPy scalar for a scalar); None for a variable, and for a tensor of a function
        being traced whose contents depend on what the function will be called with.

    Example:
        >>> import tfx as tf
        >>> tf.get_static_value(tf.constant([1, 2]))
        array([1, 2], dtype=int32)
    """
    if isinstance(tensor, EagerTensor):
        return tensor.numpy()
    if isinstance(tensor, Variable):
        return None
    if not isinstance(tensor, SymbolicTensor):
        return tensor
    return _of_symbol(tensor, partial)


def _of_symbol(tensor: SymbolicTensor, partial: bool) -> Any:
    value = tensor._symbol
    known = contents(value)
    if known is not None:
        return known.copy()[()]
    dims, shape = elements(value), static_dims(tensor)
    if dims is None or shape is None or not partial:
        return None
    numbers = [d if isinstance(d, int) else None for d in dims]
    if numbers == [None] * len(numbers):
        return None
    return np.array(numbers, object).reshape(shape)[()]
