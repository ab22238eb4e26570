"""The shape of a tensor: asking for it, and giving the same elements another one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.apply import apply
from tfx.framework.convert import embed, int64_constant
from tfx.framework.rules import OpRecord, gradient, no_gradient
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.graph.symbolic import reshaped
from tfx.ops._shapes import (
    RawDims,
    common_tensors,
    describe,
    rank_of,
    raw_shape,
    reshape_to,
    shape_argument,
    shape_vector,
    static_dims,
    symbolic_items,
)
from tfx.ops._support import is_tensor_like, static_int, static_ints, tensor, unbroadcast
from tfx.ops.casting import identity


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same elements, in the same order, in another shape.

    Args:
        tensor: Tensor.
        shape: Integers; one of them may be -1 for what is left over.
        name: Accepted for compatibility.

    Raises:
        InvalidArgumentError: the number of elements does not fit.

    Example:
        >>> import tfx as tf
        >>> tf.reshape([1, 2, 3, 4, 5, 6], [2, -1]).numpy()
        array([[1, 2, 3],
               [4, 5, 6]], dtype=int32)
    """
    x, target = _tensor(tensor), shape_argument(shape, "Reshape")
    if isinstance(x, SymbolicTensor):
        target = _without_arithmetic(x, target)
    try:
        known = static_ints(target)
        if known is not None and (0 not in known or _copies(x, known)):
            return apply("Reshape", (x, target))
        return apply("Reshape", (x, target), {"allowzero": 1})
    except InvalidArgumentError:
        empty = _empty_reshaped(x, target)
        if empty is not None:
            return empty
        _explain_reshape(x, target)
        raise


_tensor = tensor


def _without_arithmetic(x: SymbolicTensor, target: Tensor) -> Tensor:
    """A constant target where one says the same: a 0 takes the dimension of ``x`` over.

    ``reshape(x, [shape(x)[0], -1])`` is written that often that it should cost one node.
    """
    source, dims = raw_shape(x), symbolic_items(target)
    if source is None or dims is None or static_ints(target) is not None or 0 in dims:
        return target
    wanted = reshaped(source, dims, allow_zero=True)
    items: list[int] = []
    for i, dim in enumerate(wanted):
        if isinstance(dim, int):
            items.append(dim)
        elif dim is not None and i < len(source) and source[i] == dim:
            items.append(0)
        elif -1 not in items:
            items.append(-1)
        else:
            return target
    return int64_constant(items)


def _copies(x: Tensor, target: list[int]) -> bool:
    """Whether every 0 of a target stands for a dimension that is not known now."""
    shape = raw_shape(x)
    return shape is not None and all(
        d != 0 or (i < len(shape) and not isinstance(shape[i], int)) for i, d in enumerate(target)
    )
