"""Keras' dtype rules for the arguments of its NumPy functions."""

from __future__ import annotations

import functools
from typing import Any

from keras.src import tree
from keras.src.backend import config
from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.dtypes import result_type as result_type

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor


def kind_of(x: Any) -> Any:
    """What ``result_type`` takes for a value: its dtype; for a Python number its type."""
    found = getattr(x, "dtype", None)
    if found is not None:
        return standardize_dtype(found)
    if isinstance(x, list | tuple):
        return result_type(*[kind_of(leaf) for leaf in tree.flatten(x)]) if x else "float32"
    return type(x)


def together(*values: Any) -> tuple[Any, ...]:
    """Values as tensors of the dtype that holds them all."""
    if _common(values) is not None:
        return values
    dtype = _holds(config.floatx(), *[kind_of(v) for v in values])
    return tuple([convert_to_tensor(v, dtype) for v in values])


def floats(*values: Any) -> tuple[Any, ...]:
    """Values as tensors of the floating dtype that holds them all."""
    common = _common(values)
    if common is not None and common.is_floating and common.size > 1:  # Keras refuses float8
        return values
    dtype = _holds(config.floatx(), *[kind_of(v) for v in values], float)
    return tuple([convert_to_tensor(v, dtype) for v in values])


def _common(values: tuple[Any, ...]) -> Any:
    """The dtype of tensors that all have the same one; None of any other values."""
    common = getattr(values[0], "dtype", None)
    for value in values:
        if not isinstance(value, tf.Tensor) or value.dtype is not common:
            return None
    return common


@functools.cache
def _holds(floatx: str, *kinds: Any) -> str:
    """The dtype that holds all kinds while ``floatx`` is Keras' floating one."""
    name: str = result_type(*kinds)
    return name


def tensor(x: Any) -> Any:
    """One value as a tensor of its own dtype."""
    return x if isinstance(x, tf.Tensor) else convert_to_tensor(x)


def truth(x: Any) -> Any:
    """One value as truth values: those that are not 0."""
    x = tensor(x)
    return x if x.dtype == tf.bool else tf.not_equal(x, tf.zeros([], x.dtype))


def name_of(x: Any) -> str:
    """The name of a tensor's dtype."""
    name: str = x.dtype.name
    return name


def is_whole(x: Any) -> bool:
    """True for integers and truth values."""
    return bool(x.dtype.is_integer or x.dtype == tf.bool)


def cast(x: Any, dtype: Any) -> Any:
    """A tensor of another dtype; itself where that is its own."""
    return x if x.dtype == dtype else tf.cast(x, dtype)
