"""Slices and scattered elements of tensors: read, and changed in a copy."""

from __future__ import annotations

from typing import Any

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor

_REDUCTIONS: dict[str | None, Any] = {
    None: tf.tensor_scatter_nd_update,
    "add": tf.tensor_scatter_nd_add,
    "max": tf.tensor_scatter_nd_max,
    "min": tf.tensor_scatter_nd_min,
}


def scatter(indices: Any, values: Any, shape: Any) -> Any:
    """Zeros of a shape with values added at indices."""
    return tf.scatter_nd(convert_to_tensor(indices), convert_to_tensor(values), shape)


def scatter_update(inputs: Any, indices: Any, updates: Any, reduction: str | None = None) -> Any:
    """A copy with elements replaced, or combined by ``"add"``, ``"max"``, ``"min"``, ``"mul"``.

    Raises:
        ValueError: another reduction.
    """
    inputs, indices = convert_to_tensor(inputs), convert_to_tensor(indices)
    updates = convert_to_tensor(updates, inputs.dtype)
    if reduction == "mul":
        return inputs * _products(inputs, indices, updates)
    if reduction not in _REDUCTIONS:
        raise ValueError(f"Unsupported reduction: {reduction}")
    return _REDUCTIONS[reduction](inputs, indices, updates)


def _products(inputs: Any, indices: Any, updates: Any) -> Any:
    """The product of the updates of each place; 1 where there is none."""
    made: Any = tf.raw.ScatterND(
        tf.ones_like(inputs), tf.cast(indices, tf.int64), updates, reduction="mul"
    )
    return made


def slice(inputs: Any, start_indices: Any, shape: Any) -> Any:
    """The part of ``shape`` that begins at ``start_indices``."""
    return tf.slice(convert_to_tensor(inputs), _numbers(start_indices), _numbers(shape))


def _numbers(values: Any) -> Any:
    if isinstance(values, list | tuple) and any(tf.is_tensor(v) for v in values):
        return tf.stack([tf.cast(v, tf.int32) for v in values])
    return values


def slice_update(inputs: Any, start_indices: Any, updates: Any) -> Any:
    """A copy in which the part that begins at ``start_indices`` is ``updates``."""
    inputs = convert_to_tensor(inputs)
    updates = convert_to_tensor(updates, inputs.dtype)
    starts = convert_to_tensor(start_indices, "int32")
    rank = inputs.shape.rank
    sizes = tf.shape(updates)
    # As XLA has it: a part that would reach beyond the end begins earlier.
    starts = tf.clip_by_value(starts, 0, tf.shape(inputs) - sizes)
    grids = tf.meshgrid(*[tf.range(sizes[a]) + starts[a] for a in range(rank)], indexing="ij")
    return tf.tensor_scatter_nd_update(inputs, tf.stack(grids, -1), updates)
