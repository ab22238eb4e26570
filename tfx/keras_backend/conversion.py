"""What becomes a tensor, and of which dtype: Keras' rules said with tfx's names."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, standardize_dtype
from keras.src.backend.common.dtypes import result_type

import tfx as tf
from tfx.framework.composite.ragged import is_ragged
from tfx.keras_backend.sparse import KINDS, dense, is_sparse


def convert_to_tensor(x: Any, dtype: Any = None, sparse: Any = None, ragged: Any = None) -> Any:
    """Convert an array, a number, a variable or a structure of lists to a tensor.

    Sparse tensors stay what they are, unless ``sparse`` is False; ragged tensors, unless ``ragged``
    is. Slices stay, as with TensorFlow's backend.
    """
    if sparse is False and is_sparse(x):
        x = dense(x)
    if ragged is False and is_ragged(x):
        x = x.to_tensor()
    if dtype is not None:
        dtype = standardize_dtype(dtype)
    if isinstance(x, KerasVariable):
        x = x.value
    if tf.is_tensor(x):
        if isinstance(x, tf.Variable):
            x = tf.convert_to_tensor(x)
        return x if dtype is None or x.dtype == dtype else tf.cast(x, dtype)
    if dtype is None:
        dtype = _own_dtype(x)
    if type(x) in _FREELY and dtype is not None and dtype.startswith(_FREELY[type(x)]):
        return tf.convert_to_tensor(x, dtype)
    plain = not isinstance(x, list | tuple) or dtype is None
    if plain or any(tf.is_tensor(leaf) for leaf in tree.flatten(x)):
        made = tf.convert_to_tensor(x)
    else:
        made = tf.convert_to_tensor(np.asarray(tree.map_structure(_contents, x)))
    return made if dtype is None or made.dtype == dtype else tf.cast(made, dtype)


# The dtypes that a number of Python becomes without a cast.
_FREELY = {
    bool: ("bool",),
    int: ("int", "uint", "float", "bfloat", "complex"),
    float: ("float", "bfloat", "complex"),
}


def _contents(leaf: Any) -> Any:
    return leaf.numpy() if isinstance(leaf, KerasVariable) else leaf


def _own_dtype(x: Any) -> str | None:
    """The dtype of what says none: weak for Python's numbers; None for text and objects."""
    if isinstance(x, np.ndarray | np.generic):
        return None
    if hasattr(x, "dtype") and not isinstance(x, list | tuple):
        return None
    kinds = [getattr(leaf, "dtype", type(leaf)) for leaf in tree.flatten(x)]
    if not kinds or any(kind in (str, bytes) for kind in kinds):
        return None
    try:
        found: str = result_type(*kinds)
    except (ValueError, TypeError):
        return None
    return found


def convert_to_numpy(x: Any) -> Any:
    """Convert a tensor, a variable or an array to an array of its own."""
    if isinstance(x, KerasVariable):
        x = x.value
    if type(x) in KINDS:
        x = dense(x)
    elif is_ragged(x):
        x = x.to_tensor()
    return np.array(x)


def is_tensor(x: Any) -> bool:
    """True for a tensor, or a variable, of tfx."""
    return bool(tf.is_tensor(x))


def shape(x: Any) -> tuple[Any, ...]:
    """The shape in numbers; a scalar tensor for what only a run tells, None for ragged axes.

    Raises:
        ValueError: the rank is unknown.
    """
    if not tf.is_tensor(x):
        if hasattr(x, "shape"):  # symbolic tensors, variables, arrays, tensors of others
            return tuple(x.shape)
        x = convert_to_tensor(x)
    if x.shape.rank is None:
        raise ValueError(
            "All tensors passed to `ops.shape` must have a statically known rank. "
            f"Received: x={x} with unknown rank."
        )
    known = x.shape.as_list()
    if None not in known:
        return tuple(known)
    if is_ragged(x):
        return (known[0] if known[0] is not None else x.nrows(), *known[1:])
    found = tf.shape(x)
    return tuple(found[axis] if size is None else size for axis, size in enumerate(known))


def floats(x: Any) -> Any:
    """A tensor; of integers and truth values in the floating dtype that goes with them."""
    x = convert_to_tensor(x)
    return x if x.dtype.is_floating else tf.cast(x, result_type(standardize_dtype(x.dtype), float))


def cast(x: Any, dtype: Any) -> Any:
    """Convert to another dtype."""
    return convert_to_tensor(x, dtype)
