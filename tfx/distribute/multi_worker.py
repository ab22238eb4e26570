"""Strategies for several processes, and for variables apart from computations, on where one is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core.errors import UnimplementedError
from tfx.distribute.cluster import TFConfigClusterResolver
from tfx.distribute.one_device import OnOneDevice, the_device

# The jobs whose tasks train together.
_TRAINING = ("chief", "worker")


class MultiWorkerMirroredStrategy(OnOneDevice):
    """Copies of the variables in all processes of a cluster, of which tfx knows one.

    Args:
        cluster_resolver: What knows the cluster; None: the environment variable ``TF_CONFIG``.
        communication_options: Accepted for compatibility.

    Raises:
        UnimplementedError: a cluster of several processes.

    Example:
        >>> import tfx as tf
        >>> tf.distribute.MultiWorkerMirroredStrategy().num_replicas_in_sync
        1
    """

    def __init__(self, cluster_resolver: Any = None, communication_options: Any = None) -> None:
        resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        cluster = resolver.cluster_spec()
        count = sum(cluster.num_tasks(job) for job in cluster.jobs if job in _TRAINING)
        if count > 1:
            raise UnimplementedError(
                f"MultiWorkerMirroredStrategy got a cluster of {count} processes, {cluster}; tfx "
                "trains in one process. Unset TF_CONFIG, or name a cluster of one."
            )
        super().__init__(the_device(None, type(self).__name__))
        self._resolver = resolver

    @property
    def cluster_resolver(self) -> Any:
        """What knows the cluster."""
        return self._resolver


class CentralStorageStrategy(OnOneDevice):
    """Variables on one device and computations on others, which here are the same one.

    Args:
        compute_devices: The name of a device, or a list with one; None: the first GPU, else the
            CPU.
        parameter_device: Accepted for compatibility.

    Raises:
        ValueError: more than one device, or none.

    Example:
        >>> import tfx as tf
        >>> tf.distribute.experimental.CentralStorageStrategy(["/cpu:0"]).num_replicas_in_sync
        1
    """

    def __init__(
        self,
        compute_devices: Sequence[str] | str | None = None,
        parameter_device: str | None = None,
    ) -> None:
        super().__init__(the_device(compute_devices, type(self).__name__))
