"""``dense_to_sparse_batch``: elements of different shapes as one sparse tensor."""

from __future__ import annotations

from typing import Any

from tfx.core import dtypes
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat
from tfx.ops.array.creation import ones_like
from tfx.ops.array.reshape import expand_dims, reshape
from tfx.ops.array.shape import shape
from tfx.ops.array.where import where
from tfx.ops.debugging.assertions import assert_less_equal
from tfx.ops.math.cast import cast
from tfx.ops.math.comparison import less
from tfx.ops.math.reduction import reduce_max
from tfx.sparse_ops.sparse_tensor import SparseTensor


def sparse_batch(dataset: Any, batch_size: Any, row_shape: Any) -> Any:
    """See ``Dataset.sparse_batch``."""
    sizes = list(row_shape.as_list() if hasattr(row_shape, "as_list") else row_shape)
    limits = [-1 if n is None else int(n) for n in sizes]
    spec = dataset.element_spec
    if not hasattr(spec, "dtype") or spec.shape.rank is None or spec.shape.rank != len(limits):
        raise ValueError(
            f"sparse_batch takes tensors of the rank of row_shape={row_shape}; got elements of "
            f"{spec!r}."
        )

    def apart(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        places = cast(where(ones_like(x, dtypes.bool)), dtypes.int64)
        return places, reshape(x, [-1]), cast(shape(x), dtypes.int64)

    def together(places: Any, values: Any, shapes: Tensor) -> SparseTensor:
        row_limits = convert_to_tensor(limits, dtypes.int64)
        largest = reduce_max(shapes, 0)
        wanted = row_limits
        if min(limits, default=0) < 0:
            wanted = where(less(row_limits, 0), largest, row_limits)
        assert_less_equal(largest, wanted, "sparse_batch: an element is larger than row_shape")
        rows = expand_dims(cast(values.value_rowids(), dtypes.int64), 1)
        indices = concat([rows, reshape(places.flat_values, [-1, len(limits)])], 1)
        count = cast(values.nrows(), dtypes.int64)
        return SparseTensor(indices, values.flat_values, concat([[count], wanted], 0))

    return dataset.map(apart).ragged_batch(batch_size).map(together)


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Any:
    """Batches of elements of different shapes as sparse tensors; see ``Dataset.sparse_batch``.

    Args:
        batch_size: How many make a batch.
        row_shape: The shape of each row; None or -1: that of the largest element.

    Returns:
        A function for ``Dataset.apply``.

    Example:
        >>> import tfx as tf
        >>> rows = tf.data.Dataset.range(1, 3).map(lambda n: tf.range(n))
        >>> batch = next(iter(rows.apply(tf.data.experimental.dense_to_sparse_batch(2, [4]))))
        >>> tf.sparse.to_dense(batch, -1).numpy()
        array([[ 0, -1, -1, -1],
               [ 0,  1, -1, -1]])
    """
    return lambda dataset: sparse_batch(dataset, batch_size, row_shape)
