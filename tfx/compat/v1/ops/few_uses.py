"""Functions of TensorFlow 1 that few programs call: most do what another one does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.framework.convert import convert_to_tensor
from tfx.framework.device import device as device_scope
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.creation import zeros
from tfx.ops.array.gather import gather
from tfx.ops.array.reshape import expand_dims
from tfx.ops.array.scatter import tensor_scatter_nd_update
from tfx.ops.array.shape import shape, size
from tfx.ops.array.unique import unique
from tfx.ops.array.where import boolean_mask, where
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import equal
from tfx.sparse_ops.sparse_tensor import SparseTensor, SparseTensorValue


def device(device_name_or_function: Any) -> contextlib.AbstractContextManager[None]:
    """Put the operations of a ``with`` block on a device; see ``tf.device``.

    Args:
        device_name_or_function: The device, a function that is given each operation and returns
            its device, or None.
    """
    return device_scope(device_name_or_function)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """``gather`` along the last axis of ``indices``; the axes before it are the batch.

    Args:
        params: ``[batch..., n, ...]``.
        indices: ``[batch..., m]`` of integers.
        name: Name of the operation.

    Raises:
        ValueError: ``indices`` has no axis, or one whose number is not known.
    """
    places = convert_to_tensor(indices)
    if not places.shape.rank:
        raise ValueError(
            "batch_gather takes indices of a known rank of 1 or more; got the shape "
            f"{places.shape}."
        )
    last = places.shape.rank - 1
    return gather(params, places, axis=last, batch_dims=last)


class ListDiff(NamedTuple):
    """The result of ``setdiff1d``."""

    out: Tensor
    idx: Tensor


def setdiff1d(
    x: Any, y: Any, index_dtype: DTypeLike = dtypes.int32, name: str | None = None
) -> ListDiff:
    """The elements of ``x`` that are not in ``y``, in order and repeated as in ``x``.

    Args:
        x: A vector.
        y: A vector of the same dtype.
        index_dtype: int32 or int64.
        name: Name of the operation.

    Returns:
        ``(out, idx)``: the elements, and their places in ``x``.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> [part.numpy().tolist() for part in tf.setdiff1d([1, 2, 3, 2], [3])]
        [[1, 2, 2], [0, 1, 3]]
    """
    have = convert_to_tensor(x)
    others = convert_to_tensor(y, have.dtype)
    numbers = unique(concat([have, others], 0)).idx
    count = shape(have)[0]
    theirs = expand_dims(numbers[count:], 1)
    marks = zeros([size(numbers)], dtypes.int32)
    marks = tensor_scatter_nd_update(marks, theirs, zeros([size(theirs)], dtypes.int32) + 1)
    mask = equal(gather(marks, numbers[:count]), 0)
    return ListDiff(boolean_mask(have, mask), cast(where(mask)[:, 0], index_dtype))


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | SparseTensor:
    """A sparse tensor as it is, anything else as a tensor.

    Args:
        value: A ``SparseTensor``, a ``SparseTensorValue``, or what ``convert_to_tensor`` takes.
        dtype: Element type; None: as it comes.
        name: Name of the operation.

    Raises:
        RuntimeError: a sparse tensor of another dtype.
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor(*value)
    if not isinstance(value, SparseTensor):
        return convert_to_tensor(value, dtype)
    if dtype is not None and dtypes.as_dtype(dtype) is not value.dtype:
        raise RuntimeError(
            f"Sparse dtype mismatch. Requested: {dtypes.as_dtype(dtype).name}, Actual: "
            f"{value.dtype.name}"
        )
    return value


@contextlib.contextmanager
def colocate_with(op: Any, ignore_existing: bool = False) -> Iterator[None]:
    """Accepted for compatibility: operations run where their inputs are.

    Args:
        op: An operation.
        ignore_existing: Accepted for compatibility.
    """
    yield


@contextlib.contextmanager
def container(container_name: str) -> Iterator[str]:
    """Accepted for compatibility: variables and queues belong to their session and process.

    Args:
        container_name: A name.
    """
    yield container_name
