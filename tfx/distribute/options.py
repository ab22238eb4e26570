"""How strategies would move values between replicas: options that programs give, and one accepts.

With one replica nothing is moved, so these say what they were given and no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, NamedTuple

from tfx.distribute.default import ReduceOp


class InputReplicationMode(Enum):
    """Which part of the replicas an input function is called for."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class InputOptions(NamedTuple):
    """How a dataset reaches the replicas: to the device that asks, whatever is said here.

    Attributes:
        experimental_fetch_to_device: Accepted for compatibility.
        experimental_replication_mode: Accepted for compatibility.
        experimental_place_dataset_on_device: Accepted for compatibility.
        experimental_per_replica_buffer_size: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.distribute.InputOptions().experimental_replication_mode.value
        'PER_WORKER'
    """

    experimental_fetch_to_device: bool | None = None
    experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 1


class CommunicationImplementation(Enum):
    """What carries values between processes."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class CommunicationOptions:
    """How values are carried between processes.

    Args:
        bytes_per_pack: How many bytes are carried at once; 0: as many as there are.
        timeout_seconds: How long to wait; None: forever.
        implementation: What carries them.

    Raises:
        ValueError: a negative number of bytes, or no time at all.

    Example:
        >>> import tfx as tf
        >>> tf.distribute.experimental.CommunicationOptions(timeout_seconds=120.0).timeout_seconds
        120.0
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation: CommunicationImplementation = CommunicationImplementation.AUTO,
    ) -> None:
        if bytes_per_pack < 0:
            raise ValueError(f"bytes_per_pack must be >= 0; got {bytes_per_pack}.")
        if timeout_seconds is not None and timeout_seconds <= 0:
            raise ValueError(f"timeout_seconds must be > 0 or None; got {timeout_seconds}.")
        self.bytes_per_pack = bytes_per_pack
        self.timeout_seconds = timeout_seconds
        self.implementation = CommunicationImplementation(implementation)


class CrossDeviceOps:
    """How the values of replicas are reduced and sent to them; of one replica, as they are.

    Example:
        >>> import tfx as tf
        >>> ops = tf.distribute.HierarchicalCopyAllReduce(num_packs=2)
        >>> tf.distribute.MirroredStrategy(["/cpu:0"], cross_device_ops=ops).num_replicas_in_sync
        1
    """

    def reduce(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any = None
    ) -> Any:
        """The sum or mean over the replicas: the value.

        Args:
            reduce_op: A ``tf.distribute.ReduceOp``.
            per_replica_value: The value of the replica.
            destinations: Where it is wanted.
            options: Accepted for compatibility.

        Raises:
            ValueError: it is no ``ReduceOp``.
        """
        if not isinstance(reduce_op, ReduceOp):
            raise ValueError(f"reduce_op must be a tf.distribute.ReduceOp; got {reduce_op!r}.")
        return per_replica_value

    def batch_reduce(
        self, reduce_op: Any, value_destination_pairs: Iterable[Any], options: Any = None
    ) -> list[Any]:
        """``reduce`` for several values, each with its destinations."""
        return [self.reduce(reduce_op, v, d, options) for v, d in value_destination_pairs]

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """The value at its destinations: the value.

        Raises:
            ValueError: there are none.
        """
        if destinations is None or destinations in ("", [], ()):
            raise ValueError(f"broadcast needs destinations; got {destinations!r}.")
        return tensor


class NcclAllReduce(CrossDeviceOps):
    """Reduction by NCCL.

    Args:
        num_packs: In how many parts values would be carried.

    Raises:
        ValueError: a negative number.
    """

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"num_packs must be >= 0; got {num_packs}.")
        self.num_packs = num_packs


class HierarchicalCopyAllReduce(NcclAllReduce):
    """Reduction along the connections of GPUs.

    Args:
        num_packs: In how many parts values would be carried.

    Raises:
        ValueError: a negative number.
    """


class ReductionToOneDevice(CrossDeviceOps):
    """Reduction on one device.

    Args:
        reduce_to_device: The device.
        accumulation_fn: What adds values.
    """

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Any = None) -> None:
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn
