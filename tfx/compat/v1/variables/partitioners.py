"""Functions that say into how many pieces a variable is cut, and along which axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.shapes import TensorShape

# From the shape and the dtype of a variable to the number of pieces along each axis.
Partitioner = Callable[..., list[int]]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Cut variables into a number of pieces.

    Args:
        num_shards: How many; at most the size of the axis.
        axis: The axis.

    Returns:
        A function for ``get_variable(partitioner=)`` and ``variable_scope``.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> tf.fixed_size_partitioner(3)(shape=tf.TensorShape([10, 4]), dtype=tf.float32)
        [3, 1]
    """

    def partitioner(shape: Any, **unused: Any) -> list[int]:
        sizes = known_sizes(shape)
        return _along(axis, len(sizes), min(num_shards, sizes[axis]))

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """Cut variables into pieces of a largest size.

    Args:
        max_shard_bytes: The largest size of a piece; one slice is never cut.
        axis: The axis.
        bytes_per_string_element: What strings are taken to need.
        max_shards: At most as many pieces; None: any number.

    Returns:
        A function for ``get_variable(partitioner=)`` and ``variable_scope``.

    Raises:
        ValueError: a number that is not positive.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> cut = tf.variable_axis_size_partitioner(64)
        >>> cut(shape=tf.TensorShape([10, 4]), dtype=tf.float32)
        [3, 1]
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive. Currently, "
            f"max_shard_bytes is {max_shard_bytes} and bytes_per_string_element is "
            f"{bytes_per_string_element}."
        )
    if max_shards is not None and max_shards < 1:
        raise ValueError(f"max_shards must be positive; got {max_shards}.")

    def partitioner(shape: Any, dtype: DTypeLike) -> list[int]:
        sizes = known_sizes(shape)
        a_slice = _bytes(sizes, dtype, bytes_per_string_element) // max(sizes[axis], 1)
        together = max(1, max_shard_bytes // max(a_slice, 1))
        pieces = -(-sizes[axis] // together)
        return _along(axis, len(sizes), pieces if max_shards is None else min(max_shards, pieces))

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """Cut variables into pieces of a least size.

    Args:
        max_partitions: At most as many pieces.
        axis: The axis.
        min_slice_size: The least size of a piece, in bytes.
        bytes_per_string_element: What strings are taken to need.

    Returns:
        A function for ``get_variable(partitioner=)`` and ``variable_scope``.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> cut = tf.min_max_variable_partitioner(4, min_slice_size=1024)
        >>> cut(shape=tf.TensorShape([1000, 10]), dtype=tf.float32)
        [4, 1]
    """

    def partitioner(shape: Any, dtype: DTypeLike) -> list[int]:
        sizes = known_sizes(shape)
        pieces = max(1, _bytes(sizes, dtype, bytes_per_string_element) // min_slice_size)
        return _along(axis, len(sizes), max(1, min(pieces, max_partitions, sizes[axis])))

    return partitioner


def known_sizes(shape: Any) -> list[int]:
    """The sizes of a shape.

    Raises:
        ValueError: one is not known.
    """
    sizes = TensorShape(shape).as_list()
    if None in sizes:
        raise ValueError(f"Variables of shape {TensorShape(shape)} cannot be cut: say all sizes.")
    return [int(size or 0) for size in sizes]


def _along(axis: int, rank: int, pieces: int) -> list[int]:
    found = [1] * rank
    found[axis] = pieces
    return found


def _bytes(sizes: list[Any], dtype: DTypeLike, of_string: int) -> int:
    kind = dtypes.as_dtype(dtype)
    count = 1
    for size in sizes:
        count *= size
    return count * (of_string if kind is dtypes.string else kind.size)
