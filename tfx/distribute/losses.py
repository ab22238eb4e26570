"""What replicas do with losses that each of them has as a whole."""

from __future__ import annotations

from typing import Any

from tfx.distribute.default import get_strategy, has_strategy, in_cross_replica_context
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import scalar_like, tensor
from tfx.ops.math.arithmetic import divide
from tfx.ops.math.reduction import reduce_sum


def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The share of a replica in a loss of regularization: its sum over the number of replicas.

    Args:
        regularization_loss: A loss, or several in a tensor.

    Returns:
        A scalar.

    Raises:
        RuntimeError: in the scope of a strategy, outside of its replicas.

    Example:
        >>> import tfx as tf
        >>> float(tf.nn.scale_regularization_loss([0.5, 0.25]))
        0.75
    """
    if has_strategy() and in_cross_replica_context():
        raise RuntimeError(
            "You are calling `scale_regularization_loss` in cross replica context, while it was "
            "expected to be called in replica context: call it in what strategy.run runs."
        )
    total = reduce_sum(tensor(regularization_loss))
    return divide(total, scalar_like(get_strategy().num_replicas_in_sync, total))
