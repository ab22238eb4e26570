"""Components with contents: arrays until somebody needs a tensor, and the other way round.

A component of an element is a NumPy array that nobody writes to any more, or an ``EagerTensor``;
which of the two is decided by who made it. Each conversion takes about two microseconds, so it is
put off until it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfx.framework.tensor import EagerTensor, Tensor, from_array
from tfx.runtime.values import to_numpy

Array: TypeAlias = npt.NDArray[Any]
# The components of an element: arrays, tensors, None, nodes of nested datasets.
Leaves: TypeAlias = tuple[Any, ...]


def tensor_of(leaf: Any) -> Any:
    """A component as an eager tensor; None and datasets stay."""
    return from_array(leaf, owned=True) if isinstance(leaf, np.ndarray) else leaf


def array_of(leaf: Any) -> Array:
    """A component as an array that must not be written to."""
    return leaf if isinstance(leaf, np.ndarray) else to_numpy(leaf._raw)


def scalar(value: Any, dtype: Any = np.int64) -> Array:
    """A scalar component."""
    return np.array(value, dtype)


def text(value: bytes) -> Array:
    """A string component."""
    found = np.empty((), object)
    found[()] = value
    return found


def texts(values: Sequence[bytes]) -> Array:
    """A vector of strings."""
    found = np.empty(len(values), object)
    found[:] = values
    return found


def number(value: Any) -> int:
    """A parameter as a Python integer: of a tensor with contents, its contents."""
    return int(value.numpy()) if isinstance(value, EagerTensor) else int(value)


def is_known(value: Any) -> bool:
    """True unless a parameter is a tensor of a function that is being traced."""
    return not isinstance(value, Tensor) or isinstance(value, EagerTensor)
