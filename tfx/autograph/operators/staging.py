"""The decision whether a construct goes into the graph, and conversion of Python values there."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfx.control_flow.structured_results import spelled
from tfx.control_flow.tensor_array import TensorArray
from tfx.core import nest
from tfx.core.source import user_frame
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable
from tfx.ops.array.creation import zeros

NUMBERS = (bool, int, float, complex, np.ndarray, np.generic)


def is_staged(value: Any) -> bool:
    """True if a value exists only when the graph runs."""
    if isinstance(value, SymbolicTensor):
        return True
    return isinstance(value, Variable) and current().graph is not None


def is_tensor_like(value: Any) -> bool:
    """True if a leaf can be a tensor of the graph."""
    return isinstance(value, (Tensor, Variable, TensorArray, *NUMBERS))


def as_tensor(value: Any, like: Any = None) -> Any:
    """A leaf as a tensor; a Python number takes the dtype of what it must agree with.

    Args:
        value: A leaf.
        like: The leaf on the other side.
    """
    if isinstance(value, TensorArray):
        return value
    if isinstance(value, Variable):
        return value.value()
    if isinstance(value, Tensor):
        return value
    if isinstance(like, Tensor | Variable | TensorArray) and isinstance(value, int | float):
        fits = like.dtype.is_floating or (like.dtype.is_integer and isinstance(value, int))
        if fits and not isinstance(value, bool):
            return convert_to_tensor(value, like.dtype)
    if isinstance(like, float) and type(value) is int:
        return convert_to_tensor(float(value))
    return convert_to_tensor(value)


def same_python(a: Any, b: Any) -> bool:
    """True if two leaves are one Python value, which then needs no place in the graph."""
    if a is b:
        return True
    if isinstance(a, Tensor | Variable | TensorArray) or isinstance(b, Tensor | Variable):
        return False
    try:
        return type(a) is type(b) and bool(a == b)
    except (TypeError, ValueError):
        return False


def blank(tensor: Tensor) -> Tensor:
    """Zeros of a tensor's type, as small as its shape allows."""
    shape = tensor.shape
    sizes = [0 if d is None else d for d in shape.as_list()] if shape.rank else []
    return zeros(sizes, tensor.dtype)


def where() -> str:
    """The user's line, for messages."""
    return user_frame().text()


def shown(value: Any) -> str:
    """A value for messages: what it is, and for a tensor of a graph the line that made it."""
    if isinstance(value, Variable):
        return f"a Variable of {value.dtype.name} {value.shape}"
    if nest.is_nested(value) and not isinstance(value, TensorArray):
        if not isinstance(value, list | tuple | dict):
            return f"{type(value).__name__}({', '.join(map(shown, nest.flatten(value)))})"
        return repr(nest.map_structure(lambda x: _Text(shown(x)), value))
    if value is None or isinstance(value, Tensor | TensorArray):
        return spelled(value)
    text = repr(value)
    text = text if len(text) <= 80 else text[:77] + "..."
    return f"{text} of type {type(value).__name__}"


class _Text(str):
    """Text that shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
