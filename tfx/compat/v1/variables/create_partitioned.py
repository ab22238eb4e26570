"""``create_partitioned_variables``: pieces of a new variable, by numbers, not by a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.compat.v1.variables.scopes import variable_scope
from tfx.compat.v1.variables.variable_store import get_or_make_partitioned
from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike


def create_partitioned_variables(
    shape: Any,
    slicing: Sequence[int],
    initializer: Any,
    dtype: DTypeLike = dtypes.float32,
    trainable: bool = True,
    collections: Sequence[Any] | None = None,
    name: str | None = None,
    reuse: bool | None = None,
) -> list[Any]:
    """The pieces of a variable that is cut along one axis.

    Args:
        shape: Shape of the whole.
        slicing: How many pieces there are along each axis.
        initializer: A function of shape and dtype, or the values.
        dtype: Element type.
        trainable: Whether it is trained.
        collections: What the pieces are put into; None: the global variables.
        name: Name of the whole; None: ``"PartitionedVariable"``, made unique.
        reuse: Whether it must exist.

    Returns:
        The variables in order.

    Raises:
        ValueError: ``slicing`` does not have a number for each axis, or cuts along several.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     pieces = tf.create_partitioned_variables([5, 2], [2, 1], tf.zeros_initializer())
        >>> [(v.name, v.shape.as_list()) for v in pieces]
        [('PartitionedVariable/part_0:0', [3, 2]), ('PartitionedVariable/part_1:0', [2, 2])]
    """
    with variable_scope(name, default_name="PartitionedVariable", reuse=reuse) as scope:
        found = get_or_make_partitioned(
            lambda **_: list(slicing),
            name=scope.name,
            shape=shape,
            initializer=initializer,
            dtype=dtypes.as_dtype(dtype),
            regularizer=None,
            reuse=scope.reuse,
            auto=False,
            trainable=trainable,
            collections=collections,
            validate_shape=True,
            constraint=None,
        )
    return list(found)
