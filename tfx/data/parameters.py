"""What the methods of datasets are given, checked: numbers that may be tensors, datasets."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tfx.core.shapes import TensorShape
from tfx.data.leaves import is_known
from tfx.data.nodes import Node
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import SymbolicTensor
from tfx.framework.variable import Variable


def parameter(value: Any, what: str) -> Any:
    """A number: a Python integer, or a symbolic tensor.

    Args:
        value: An integer, or a scalar tensor, array or variable.
        what: Whose parameter it is, for messages.

    Raises:
        TypeError: it is no integer.
    """
    if isinstance(value, Variable):
        value = value.value()
    if isinstance(value, SymbolicTensor):
        return value
    try:
        return operator.index(value.numpy() if hasattr(value, "numpy") else value)
    except TypeError:
        raise TypeError(
            f"{what} takes an integer; got {value!r} of type {type(value).__name__}."
        ) from None


def flag(value: Any) -> Any:
    """A truth value: a Python one, or a symbolic tensor."""
    if isinstance(value, SymbolicTensor):
        return value
    return bool(value)


def node_of(dataset: Any, what: str) -> Node:
    """The node of a dataset.

    Raises:
        TypeError: it is none.
    """
    node = getattr(dataset, "_node", None)
    if not isinstance(node, Node):
        raise TypeError(
            f"{what} takes tf.data.Dataset objects; got {dataset!r} of type "
            f"{type(dataset).__name__}."
        )
    return node


def shape_parameter(value: Any) -> TensorShape:
    """A shape: of -1 and None nothing is known."""
    if isinstance(value, TensorShape):
        return value
    if is_known(value) and hasattr(value, "dtype"):
        value = [int(n) for n in np.asarray(convert_to_tensor(value)).reshape(-1)]
    if isinstance(value, int):
        value = [value]
    return TensorShape([None if n in (-1, None) else n for n in value])
